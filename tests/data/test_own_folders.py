"""Folders of one's own that would silently be other data: each is read as it is, or named."""

import subprocess

import numpy as np
import pytest
from PIL import Image
from refusals import refused

from data import wikitext2
from repro.data import documents, image_folder, prepare, text, tokenization
from repro.data.parquet import File
from repro.data.source import Source


@pytest.fixture
def images(tmp_path):
    """Two classes of one image each; function -> their listing."""
    for split in ("train", "val"):
        for name in ("a", "b"):
            (tmp_path / split / name).mkdir(parents=True)
            Image.new("RGB", (4, 4)).save(tmp_path / split / name / "0.png")
    return tmp_path


def listing(folder):
    return image_folder.list_folder.__wrapped__("imagenet", folder)


@pytest.mark.parametrize(
    ("left", "says"),
    [
        ("train/a/1.webp", "train/a/1.webp is of no format that is read .*convert it"),
        ("train/a/1.TIF", "train/a/1.TIF is of no format that is read"),
        ("val/b/deeper/1.png", "val/b/deeper is a folder within a class; move its images"),
        ("train/1.png", "train has 1 images outside of its class folders"),
        ("val/1.gif", "val has 1 images outside of its class folders"),
    ],
)
def test_what_would_be_left_out_of_a_folder_of_images_is_named(images, left, says):
    """Found in review: images in nested folders and of other types, without a word."""
    (images / left).parent.mkdir(exist_ok=True)
    (images / left).write_bytes((images / "train/a/0.png").read_bytes())
    with refused(f"^imagenet: .*{says}"):
        listing(images)


def test_what_systems_put_beside_images_is_no_image(images):
    """macOS's `._0.jpg` was listed, and stopped training later."""
    before = listing(images)
    for name in ("train/a/._0.png", "train/a/.DS_Store", "train/._a.png", "train/a/list.txt"):
        (images / name).write_bytes(b"Mac OS X")
    (images / "train/.cache").mkdir()
    (images / "train/a/.thumbnails").mkdir()
    assert listing(images) == before


def decoded(folder, image, **options):
    image.save(folder / "train/a/0.png", **options)
    found = image_folder.ImageFiles("imagenet", folder / "train", {"a": {"0.png": 1}})
    return np.asarray(found.image(0))


RAMP = np.arange(256, dtype=np.uint8).reshape(16, 16)


def test_sixteen_bits_of_grey_keep_their_values(images):
    """99.6 % of the pixels of a ramp became white: Pillow clips them."""
    wide = Image.fromarray(RAMP.astype(np.uint16) * 256 + 255)
    assert wide.mode == "I;16"
    np.testing.assert_array_equal(decoded(images, wide), np.stack([RAMP] * 3, -1))


@pytest.mark.parametrize("kind", ["RGBA", "LA", "P", "L with a colour that is transparent"])
def test_what_is_transparent_lies_on_white(images, kind):
    alpha = Image.fromarray(np.where(RAMP < 100, 0, 255).astype(np.uint8))
    grey = Image.fromarray(RAMP)
    expected = np.where(RAMP < 100, 255, RAMP)
    if kind == "RGBA":
        found = decoded(images, Image.merge("RGBA", (grey, grey, grey, alpha)))
    elif kind == "LA":
        found = decoded(images, Image.merge("LA", (grey, alpha)))
    elif kind == "P":
        found = decoded(images, grey.convert("P"), transparency=bytes([0] * 100 + [255] * 156))
    else:
        found = decoded(images, grey, transparency=7)
        expected = np.where(RAMP == 7, 255, RAMP)
    np.testing.assert_array_equal(found, np.stack([expected] * 3, -1))


def test_an_image_of_32_bits_is_refused_by_name(images):
    Image.fromarray(RAMP.astype(np.float32)).save(images / "train/a/0.png", format="TIFF")
    found = image_folder.ImageFiles("imagenet", images / "train", {"a": {"0.png": 1}})
    with refused(r"a/0.png cannot be decoded \(its pixels have 32 bits"):
        found.image(0)


PARTS = "train-0000{}-of-00003.parquet"


@pytest.mark.parametrize("files", [documents.folder_files, text.folder_files])
@pytest.mark.parametrize(
    ("here", "says"),
    [
        ([0, 1], "has 2 of the 3 parts of train-*.parquet, part 2 is missing; get them all"),
        ([0, 2], "part 1 is missing"),
        ([1, 2], "part 0 is missing"),
        ([0, 1, 2], ""),
    ],
)
def test_a_part_of_a_set_that_is_missing_is_named(tmp_path, files, here, says):
    """Half a download was a corpus."""
    for number in here:
        (tmp_path / PARTS.format(number)).touch()
    if says:
        with refused() as caught:
            files("fineweb", tmp_path)
        assert says in str(caught.value) and str(caught.value).startswith("fineweb: ")
    else:
        assert len(files("fineweb", tmp_path)["train"]) == 3


def test_of_two_columns_of_one_name_none_is_chosen(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "train.parquet")
    with refused(r"train.parquet: has 2 columns 'text'; leave the one"):
        list(File("fineweb", str(tmp_path / "train.parquet")).texts())


TEXT = "One line of a text .\n\nAnother line , with caf\u00e9 .\n" * 40
ASCII = TEXT.replace("\u00e9", "e")
WRITTEN = {
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "CR": TEXT.replace("\n", "\r").encode(),
    "a mark of the byte order": TEXT.encode("utf-8-sig"),
    "two files joined": TEXT[: len(TEXT) // 2].encode("utf-8-sig")
    + TEXT[len(TEXT) // 2 :].encode("utf-8-sig"),
}


def tokens(folder, kind):
    """Token ids of a folder's train.txt, and its documents as those of a stream."""
    source = Source("folder", folder)
    made = folder.with_name(f"made-{kind}") / "manifest.json"
    prepare.prepare(wikitext2, source, {}, made)
    tokenization.tokenize(made, {"bpe": 64, "gpt2": 50_257}[kind], made, kind)
    return tokenization.load_tokens(made)[1]["train"].tolist()


@pytest.mark.parametrize("written", WRITTEN)
def test_a_text_has_the_same_tokens_whatever_system_wrote_it(tmp_path, monkeypatch, written):
    """Found in review: GPT-2's tokenizer made 12 % more of CRLF, and a mark was a letter."""
    monkeypatch.setattr(text, "PIECE", 97)  # line ends and characters are cut in two
    found = []
    for name, data in (("as it is", TEXT.encode()), ("written", WRITTEN[written])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.txt").write_bytes(data)
        folder = tmp_path / name
        read = [*documents.from_files("fineweb", [folder / "train.txt"])]
        found.append((tokens(folder, "bpe"), tokens(folder, "gpt2"), read))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            TEXT.replace("\u00e9", "e").encode("utf-16-le"),
            "has NUL bytes.*iconv -f UTF-16LE -t UTF-8 OLD > NEW",
        ),
        (TEXT.encode("utf-16-be"), "is not UTF-8.*iconv -f UTF-16BE -t UTF-8"),
        (TEXT.encode("utf-16"), "is not UTF-8.*iconv -f UTF-16 -t UTF-8"),
        (TEXT.encode("utf-32"), "is not UTF-8.*iconv -f UTF-32 -t UTF-8"),
        (TEXT.encode() + b"\0" * 9999, "has NUL bytes.* remove them: tr -d '\\\\0' < OLD > NEW"),
        (TEXT.encode("latin-1"), "is not UTF-8.*with iconv from the encoding that it has"),
    ],
)
def test_what_is_no_text_is_refused_and_read_after_what_the_error_says(tmp_path, data, says):
    """Found in review: of UTF-16 every second character was NUL, and a verdict was made."""
    (path := tmp_path / "train.txt").write_bytes(data)
    with refused(f"^wikitext2: {path} {says}") as caught:
        text.folder_digests("wikitext2", tmp_path)
    with refused(f"^fineweb: {path} {says}"):
        list(documents.from_files("fineweb", [path]))
    if " > NEW" in says:
        call = str(caught.value).rsplit(": ", 1)[1]
        new = tmp_path / "new"
        call = call.replace("OLD", str(path)).replace("NEW", str(new))
        subprocess.run(call, shell=True, check=True)
        new.replace(path)
        text.folder_digests("wikitext2", tmp_path)
        assert "".join(text.blocks(path)) in (TEXT, ASCII)


@pytest.mark.parametrize("corpus", [text, documents])
@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("valid", "valid"), ("val", "valid"), ("dev", "valid"), ("validation", "valid"),
        ("eval", "valid"), ("VAL", "valid"), ("test", "test"), ("Testing", "test"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["{}.txt", "{}-00000.parquet"])
def test_a_name_says_the_split_of_a_file(tmp_path, corpus, name, split, suffix):
    """Found in review: val.jsonl was trained on, and val.txt was not read."""
    for each in ("train", name):
        (tmp_path / suffix.format(each)).touch()
    other = tmp_path / suffix.format(name)
    if (corpus, split) == (documents, "test"):
        with refused(f"^fineweb: {other} says by its name that it is test, and is not read"):
            corpus.folder_files("fineweb", tmp_path)
        other.unlink()  # moved out, as it says
        assert [*corpus.folder_files("fineweb", tmp_path)["train"]]
    else:
        assert corpus.folder_files("fineweb", tmp_path)[split] == [other]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ("train.jsonl my_val.jsonl", "my_val.jsonl"),
        ("train.jsonl devSet.jsonl", "devSet.jsonl"),
        ("data-0.jsonl latest.jsonl contest.jsonl developer.jsonl", ""),
        ("train.jsonl train_dev.jsonl", "says by its name that it is train and valid; rename it"),
        ("trainval.jsonl", "says by its name that it is train and valid"),
        ("train.jsonl test.jsonl", "test.jsonl says by its name that it is test, and is not read"),
        ("train.jsonl valid.json", "valid.json says by its name that it is valid, and is not read"),
        ("train.txt my_val.txt", "my_val.txt says by its name that it is valid, and is not read"),
    ],
)
def test_other_names_of_a_stream_s_files(tmp_path, files, says):
    for name in files.split():
        (tmp_path / name).touch()
    if "says" in says:
        with refused(says):
            documents.folder_files("fineweb", tmp_path)
    else:
        found = documents.folder_files("fineweb", tmp_path)["valid"]
        assert [path.name for path in found] == says.split()


def test_of_two_texts_of_a_split_none_is_chosen(tmp_path):
    for name in ("train", "val", "dev"):
        (tmp_path / f"{name}.txt").write_text("a")
    with refused("dev.txt and .*val.txt are both valid; keep one of them"):
        text.folder_files("wikitext2", tmp_path)
