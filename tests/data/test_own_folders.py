"""Folders of one's own that would silently be other data: each is read as it is, or named."""

import numpy as np
import pytest
from PIL import Image
from refusals import refused

from repro.data import documents, image_folder, text
from repro.data.parquet import File


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
