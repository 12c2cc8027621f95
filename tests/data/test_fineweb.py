import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused

from data.fineweb import CORPUS as fineweb
from repro.data import documents as streams
from repro.data import prepare, shards, tokenization
from repro.data.digests import remembered_sha256
from repro.data.needs import Tokens
from repro.data.shards import write_shards
from repro.data.source import Source
from repro.errors import UserError
from repro.files import read_json, sha256, sha256_file, write_sealed
from repro.lineage.checkout import ROOT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def gpt2():
    return tokenization.gpt2()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello world", [15496, 995]),
        ("hello world", [31373, 995]),
        ("The quick brown fox", [464, 2068, 7586, 21831]),
        ("", []),
    ],
)
def test_gpt2_gives_the_known_ids(gpt2, text, ids):
    assert gpt2.encode(text).ids == ids


def test_gpt2_reads_any_unicode_back(gpt2):
    odd = "naïve  ÅΩ\t\r\n\n 漢字 🤗👩‍👩‍👧 ﷽\u200d\x00\u00a0 zero\u0301 <|endoftext|> I've  "
    assert gpt2.decode(gpt2.encode(odd).ids, skip_special_tokens=False) == odd
    assert gpt2.get_vocab_size() == 50_257
    separator = gpt2.token_to_id(tokenization.SEPARATOR)
    assert separator == 50_256
    assert separator not in gpt2.encode(odd).ids, "a text must not be able to end a document"


def test_gpt2_files_that_are_not_openai_s_are_refused(monkeypatch):
    monkeypatch.setitem(tokenization.GPT2_SHA256, "vocab.bpe", "0" * 64)
    with refused(r"vocab\.bpe has SHA-256 1ce166.*expected 0000.*reinstall"):
        tokenization.gpt2()


def test_gpt2_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(tokenization, "GPT2_PACKAGE", "no-such-package")
    with refused("no-such-package cannot be read.*uv sync"):
        tokenization.gpt2()


def test_gpt2_has_one_size():
    with refused("has 50257 entries, not 512"):
        tokenization.check_vocab_size("gpt2", 512)


@pytest.fixture(scope="module")
def texts(small_text):
    """About 200 documents of all lengths."""
    words = small_text.split()
    cuts = np.random.default_rng(0).choice(len(words), size=200, replace=False)
    return [" ".join(part) for part in np.split(np.array(words, dtype=object), np.sort(cuts))]


@pytest.fixture(scope="module")
def tokenizer(texts):
    return tokenization.train_bpe(texts, 300, separator=True)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(shards, "BATCH", 20)


def write(folder, texts, tokenizer, shard_tokens=4_000, split="train"):
    return write_shards(
        texts,
        tokenizer,
        dataset="stream",
        split=split,
        separator=tokenizer.token_to_id(tokenization.SEPARATOR),
        shard_tokens=shard_tokens,
        folder=folder,
    )


def read(folder, written):
    return np.concatenate([np.load(folder / entry["file"]) for entry in written["shards"]])


def content(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if "verified" not in p.name}


def test_shards_hold_the_documents_with_a_separator_after_each(tmp_path, texts, tokenizer):
    written = write(tmp_path, texts, tokenizer)
    *full, last = [entry["tokens"] for entry in written["shards"]]
    assert len(full) > 3 and set(full) == {4_000} and 0 < last <= 4_000
    tokens = read(tmp_path, written)
    assert tokens.dtype == np.uint16
    separator = tokenizer.token_to_id(tokenization.SEPARATOR)
    ends = np.flatnonzero(tokens == separator)
    assert len(ends) == len(texts) == written["documents"] and ends[-1] == len(tokens) - 1
    for text, part in zip(texts, np.split(tokens[:-1], ends[:-1] + 1), strict=True):
        pieces = "".join(tokenizer.id_to_token(int(i)) for i in part if i != separator)
        assert pieces == "".join(text.split())
    for entry in written["shards"]:
        assert sha256_file(tmp_path / entry["file"]) == entry["sha256"]


def test_a_document_cannot_end_itself(tmp_path, tokenizer):
    written = write(tmp_path, ["ba <|endoftext|> ba", "ko"], tokenizer)
    tokens = read(tmp_path, written)
    assert (tokens == tokenizer.token_to_id(tokenization.SEPARATOR)).sum() == 2


def test_the_size_of_a_shard_changes_no_token(tmp_path, texts, tokenizer):
    found = [
        read(tmp_path / str(size), write(tmp_path / str(size), texts, tokenizer, size))
        for size in (1_000, 4_000, 10**6)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


class Broken(Exception):
    pass


def breaking(texts, after):
    yield from texts[:after]
    raise Broken


@pytest.mark.parametrize("after", [1, 61, 130, 199])
def test_a_stream_that_breaks_leaves_whole_shards_and_goes_on(tmp_path, texts, tokenizer, after):
    undisturbed = write(tmp_path / "whole", texts, tokenizer)
    with pytest.raises(Broken):
        write(tmp_path / "broken", breaking(texts, after), tokenizer)
    left = sorted((tmp_path / "broken").glob("*.npy"))
    assert (len(left) > 0) == (after > 60)
    times = {path: path.stat().st_mtime_ns for path in left}
    assert all(len(np.load(path)) == 4_000 for path in left)
    assert write(tmp_path / "broken", texts, tokenizer) == undisturbed
    assert content(tmp_path / "broken") == content(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())


def test_documents_that_end_with_a_shard_go_on_too(tmp_path, tokenizer):
    """Every document fills its shard to the last token."""
    one = "ba ko ba ko ba"
    size = len(tokenizer.encode(one).ids) + 1
    undisturbed = write(tmp_path / "whole", [one] * 5, tokenizer, size)
    assert [entry["tokens"] for entry in undisturbed["shards"]] == [size] * 5
    with pytest.raises(Broken):
        write(tmp_path / "broken", breaking([one] * 5, 3), tokenizer, size)
    assert write(tmp_path / "broken", [one] * 5, tokenizer, size) == undisturbed


@pytest.mark.slow
def test_a_killed_writer_goes_on_behind_the_last_whole_shard(tmp_path, small_text):
    """kill -9 in the middle, twice; the end is that of an undisturbed run."""
    (tmp_path / "train.txt").write_text(small_text.replace(" . ", " .\n"))
    code = """
import sys, time
from pathlib import Path
from repro.data import shards, tokenization
from repro.data.documents import from_files
shards.BATCH = 20
source = list(from_files("killed", [Path("train.txt")]))
tokenizer = tokenization.train_bpe(source, 300, separator=True)
def slowly():
    for document in source:
        time.sleep(float(sys.argv[2]))
        yield document
shards.write_shards(slowly(), tokenizer, dataset="killed", split="train", separator=1,
    shard_tokens=3_000, folder=Path(sys.argv[1]))
"""

    def start(folder, pause):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, "-c", code, folder, str(pause)], cwd=tmp_path, env=environment
        )

    assert start("whole", 0).wait() == 0
    for count in (2, 5):
        process = start("killed", 0.001)
        while len(list((tmp_path / "killed").glob("train-*.json"))) < count:
            assert process.poll() is None, "the writer ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "killed" / "train.json").exists()
    # What is left of a write that was killed in the middle, which the two above hit only by chance.
    half_written = tmp_path / "killed" / ".train-00001-1r0s3l8y"
    half_written.mkdir()
    (half_written / "train-00001.npy").write_bytes(b"half")
    assert start("killed", 0).wait() == 0
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


def test_a_finished_split_is_not_read_again(tmp_path, texts, tokenizer):
    written = write(tmp_path, texts, tokenizer)
    assert write(tmp_path, breaking(texts, 0), tokenizer) == written


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("train-00002.npy", lambda content: b"damaged"),
        *(
            (name, harm)
            for name in ("train.json", "train-00001.json")
            for harm in (lambda text: text.replace(b"4000", b"3999"), lambda text: b"{}")
        ),
    ],
)
def test_a_shard_that_is_damaged_or_whose_note_was_changed_is_made_again_with_those_behind_it(
    tmp_path, texts, tokenizer, name, harm
):
    """Every shard notes where in the stream it ended: the next one would begin elsewhere."""
    written = write(tmp_path, texts, tokenizer)
    whole = content(tmp_path)
    (tmp_path / name).write_bytes(harm((tmp_path / name).read_bytes()))
    assert write(tmp_path, texts, tokenizer) == written
    assert content(tmp_path) == whole


def test_shards_of_another_tokenizer_or_size_are_made_anew(tmp_path, texts, tokenizer):
    first = write(tmp_path, texts, tokenizer)
    other = tokenization.train_bpe(texts, 200, separator=True)
    second = write(tmp_path, texts, other)
    assert second["shards"] != first["shards"]
    shorter = write(tmp_path, texts, tokenizer, 100_000)
    assert [p.name for p in tmp_path.glob("*.npy")] == ["train-00000.npy"]
    assert len(shorter["shards"]) == 1


def test_other_documents_on_going_on_are_noticed(tmp_path, texts, tokenizer):
    with pytest.raises(Broken):
        write(tmp_path, breaking(texts, 130), tokenizer)
    with refused("stream: the first .* of split train are not those"):
        write(tmp_path, ["another", *texts[1:]], tokenizer)


def test_a_stream_without_documents_is_refused(tmp_path, tokenizer):
    with refused("stream: split train has no documents"):
        write(tmp_path, [], tokenizer)


def test_a_large_vocabulary_takes_four_bytes_a_token(tmp_path, texts, tokenizer):
    names = ("to_str", "encode_batch_fast", "token_to_id")
    large = SimpleNamespace(
        get_vocab_size=lambda: 70_000, **{name: getattr(tokenizer, name) for name in names}
    )
    assert read(tmp_path, write(tmp_path, texts[:3], large)).dtype == np.uint32


@pytest.fixture
def corpus(texts):
    """A streamed dataset in small."""
    parts = {"train": texts[:-20], "valid": texts[-20:]}
    return SimpleNamespace(
        name="stream",
        shard_tokens=4_000,
        bpe_characters=20_000,
        documents=lambda source, split: iter(parts[split]),
        parts=lambda source: None,
        check_documents=lambda source, found: None,
    )


@pytest.fixture
def prepared(corpus, tmp_path):
    module = SimpleNamespace(__name__="data.stream", CORPUS=corpus)
    manifest = tmp_path / "manifest.json"
    prepare.prepare(module, Source("embedded"), {"source": "embedded"}, manifest)

    def tokens(need):
        destination = tmp_path / need.tokenizer / "tokens.json"
        prepare.tokenize(module, Source("embedded"), manifest, need, destination)
        return destination

    return tokens


@pytest.mark.parametrize("need", [Tokens("stream", 300), Tokens("stream", 50_257, "gpt2")])
def test_a_streamed_corpus_is_read_back_memory_mapped(prepared, need, texts):
    path = prepared(need)
    manifest, tokens = tokenization.load_tokens(path)
    assert manifest["vocab_reached"] == need.vocab_size
    assert all(isinstance(shard, np.memmap) for shard in tokens["train"].shards)
    assert {split: len(part) for split, part in tokens.items()} == manifest["tokens"]
    joined = np.concatenate(tokens["valid"].shards)
    assert (joined == manifest["separator"]).sum() == 20
    before = path.read_bytes()
    path.unlink()
    assert prepared(need).read_bytes() == before


def test_a_corpus_in_memory_takes_gpt2_too(tmp_path, small_text, gpt2):
    (tmp_path / "train.txt").write_text(small_text)
    entry = {"file": "train.txt", "sha256": sha256(small_text.encode())}
    write_sealed(tmp_path / "manifest.json", {"splits": {"train": entry}})
    destination = tmp_path / "gpt2" / "tokens.json"
    tokenization.tokenize(tmp_path / "manifest.json", 50_257, destination, "gpt2")
    manifest, tokens = tokenization.load_tokens(destination)
    assert gpt2.decode(tokens["train"].tolist()) == small_text
    assert manifest["vocab_reached"] == 50_257


def test_the_tokenizer_is_trained_on_the_stated_first_part(corpus, texts):
    first = list(prepare.beginning(corpus.documents(None, "train"), corpus.bpe_characters))
    assert first == texts[: len(first)]
    length = sum(map(len, first))
    assert length >= 20_000 > length - len(first[-1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("remove", r"train-00001\.npy: the shard is missing; delete .*tokens\.json and run"),
        ("flip", r"train-00001\.npy: the shard has SHA-256 .*, expected .*; delete"),
    ],
)
def test_a_damaged_shard_is_named(prepared, damage, message):
    path = prepared(Tokens("stream", 300))
    tokenization.load_tokens(path)
    shard = path.parent / "train-00001.npy"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.unlink()
    if damage == "flip":
        shard.write_bytes(data)
    with refused(message):
        tokenization.load_tokens(path)
    path.unlink()
    prepared(Tokens("stream", 300))
    tokenization.load_tokens(path)


def test_checksums_are_taken_once_per_state_of_a_file(tmp_path, monkeypatch):
    from repro.data import digests

    taken = []
    monkeypatch.setattr(digests, "sha256_file", lambda p: taken.append(p) or sha256_file(p))
    path, memory = tmp_path / "shard", tmp_path / "memory.json"
    path.write_bytes(b"one")
    assert {remembered_sha256(path, memory) for _ in range(3)} == {sha256(b"one")}
    assert len(taken) == 1
    path.write_bytes(b"another")
    assert remembered_sha256(path, memory) == sha256(b"another")
    for harm in ("{ cut", memory.read_text().replace(sha256(b"another"), sha256(b"one"))):
        memory.write_text(harm)
        assert remembered_sha256(path, memory) == sha256(b"another")
    assert len(taken) == 4


def test_a_stream_that_breaks_leaves_no_manifest(corpus, tmp_path, texts):
    def broken(source, split):
        yield from texts[:100]
        raise UserError("stream: broke off")

    corpus.documents = broken
    with refused("broke off"):
        prepare.tokenize_stream(
            corpus, Source("real"), Tokens("stream", 300), tmp_path / "t" / "tokens.json"
        )
    assert not (tmp_path / "t" / "tokens.json").exists()


def test_valid_is_the_first_documents_and_train_the_rest(texts, gpt2):
    valid = list(streams.divide("stream", iter(texts), "valid", 3_000))
    train = list(streams.divide("stream", iter(texts), "train", 3_000))
    assert valid + train == texts
    counts = [len(gpt2.encode(text)) + 1 for text in valid]
    assert sum(counts) >= 3_000 > sum(counts[:-1])


def test_a_stream_shorter_than_valid_says_so(texts):
    with refused(r"first 10000000 tokens are kept .*only \d+; give .*valid"):
        list(streams.divide("stream", iter(texts), "train", 10_000_000))


def test_the_embedded_documents_are_the_published_ones(monkeypatch):
    documents = fineweb.documents(Source("embedded"), "valid")
    found = sha256("".join(f"{document}\n" for document in documents).encode())
    assert found == fineweb.sha256["valid"]
    monkeypatch.setitem(fineweb.embedded, "valid", (100, 1))
    with refused(r"fineweb \(synthetic\): split valid has SHA-256"):
        next(fineweb.documents(Source("embedded"), "valid"))


def folder_of(tmp_path, suffix, texts):
    """Texts in two files of a kind and ten more in a validation file."""
    import datasets

    folder = tmp_path / suffix
    folder.mkdir()
    parts = {"train-0": texts[:90], "train-1": texts[90:-10], "valid": texts[-10:]}
    for name, part in parts.items():
        rows = datasets.Dataset.from_dict({"text": part, "url": ["x"] * len(part)})
        path = str(folder / f"{name}.{suffix}")
        rows.to_json(path) if suffix == "jsonl" else rows.to_parquet(path)
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "txt"])
def test_a_folder_is_read_in_order(tmp_path, texts, suffix, cache):
    if suffix == "txt":
        (tmp_path / "txt").mkdir()
        (tmp_path / "txt" / "train.txt").write_text("\n\n".join(texts[:-10]) + "\r\n\n")
        (tmp_path / "txt" / "valid.txt").write_text("\n".join(texts[-10:]))
        folder = tmp_path / "txt"
    else:
        folder = folder_of(tmp_path, suffix, texts)
    source = Source("folder", folder)
    assert list(fineweb.documents(source, "train")) == texts[:-10]
    assert list(fineweb.documents(source, "valid")) == texts[-10:]
    first = fineweb.identity(source)
    (folder / sorted(p.name for p in folder.iterdir())[-1]).write_bytes(b"other")
    assert fineweb.identity(source) != first


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_folder_s_name_is_no_pattern(tmp_path, texts, suffix, cache):
    """Found in review: of g[12] the folder g1 was read, under the digest of g[12]."""
    folder = folder_of(tmp_path, suffix, texts).rename(tmp_path / "g[12]")
    wrong = folder_of(tmp_path, suffix, [f"wrong {text}" for text in texts])
    wrong.rename(tmp_path / "g1")
    assert list(fineweb.documents(Source("folder", folder), "train")) == texts[:-10]
    chained = folder.rename(tmp_path / "a::b")
    if suffix == "parquet":
        assert list(fineweb.documents(Source("folder", chained), "train")) == texts[:-10]
        return
    with refused(r"a path with '::' cannot be read; rename it"):
        list(fineweb.documents(Source("folder", chained), "train"))


def test_a_folder_without_validation_files_is_divided(tmp_path, texts, cache, monkeypatch):
    folder = folder_of(tmp_path, "jsonl", texts)
    (folder / "valid.jsonl").unlink()
    monkeypatch.setattr(fineweb, "valid_tokens", 2_000)
    source = Source("folder", folder)
    valid = list(fineweb.documents(source, "valid"))
    assert 0 < len(valid) < 60
    assert valid + list(fineweb.documents(source, "train")) == texts[:-10]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"has no text to train on, expected train\.txt, \*\.jsonl or \*\.parquet, found \[\]"),
        ({"valid.txt": b"a"}, r"has no text to train on.*found \['valid\.txt'\]"),
        ({"train.txt": b"a", "a.jsonl": b"{}"}, r"files of several kinds \(\.jsonl, \.txt\)"),
        ({"train.txt": b"a\nb \xff c"}, r"train\.txt is not UTF-8 \(byte 0xff at offset 4\)"),
        ({"a.jsonl": b'{"page": "x"}\n'}, r"a\.jsonl: column 'text' is missing, found \['page'\]"),
        ({"a.jsonl": b'{"text": 3}\n'}, r"a\.jsonl: 'text' of row 0 is 3, expected a string"),
        ({"a.jsonl": b'{"text": "x"}\n{"te'}, r"a\.jsonl (cannot be read|broke off)"),
        ({"a.parquet": b"PAR1 cut"}, r"a\.parquet (cannot be read|broke off)"),
    ],
)
def test_a_faulty_folder_is_named_with_the_fault(tmp_path, files, message, cache, monkeypatch):
    monkeypatch.setattr(fineweb, "valid_tokens", 1)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with refused(message) as caught:
        list(fineweb.documents(Source("folder", folder), "train"))
    assert str(caught.value).startswith("fineweb: ")


@pytest.fixture
def hub(tmp_path, texts, cache):
    """A folder in the layout the hub serves: one configuration, two parquet files."""
    import datasets

    folder = tmp_path / "hub"
    for i, part in enumerate((texts[:90], texts[90:])):
        path = folder / "data" / fineweb.subset / f"train-{i:05d}-of-00002.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict({"text": part, "dump": ["x"] * len(part)}).to_parquet(path)
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: {fineweb.subset}\n  data_files:\n    - split: train\n"
        f"      path: data/{fineweb.subset}/*\n---\n"
    )
    return folder


def test_the_hub_is_streamed_and_its_texts_locked(hub, texts, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fineweb, "repository", str(hub))
    monkeypatch.setattr(fineweb, "revision", None)
    monkeypatch.setattr(streams, "locked_revision", lambda *place: None)
    monkeypatch.setattr(fineweb, "valid_tokens", 2_000)
    monkeypatch.setattr(fineweb, "shard_tokens", 4_000)
    monkeypatch.setattr(fineweb, "lock", tmp_path / "fineweb.lock.json")
    source, need = Source("real"), Tokens("fineweb", 300)
    valid = list(fineweb.documents(source, "valid"))
    assert valid + list(fineweb.documents(source, "train")) == texts

    prepare.tokenize_stream(fineweb, source, need, tmp_path / "a" / "tokens.json")
    assert "first download, noted in" in capsys.readouterr().out
    locked = read_json(fineweb.lock)["splits"]
    assert locked["valid"]["documents"] == len(valid)
    assert locked["train"]["documents"] == len(texts) - len(valid)
    gpt2_need = Tokens("fineweb", 50_257, "gpt2")
    prepare.tokenize_stream(fineweb, source, gpt2_need, tmp_path / "b" / "tokens.json")
    assert read_json(fineweb.lock)["splits"] == locked, "the lock holds for every tokenizer"

    shutil.rmtree(hub / "data" / fineweb.subset)
    (hub / "data" / fineweb.subset).mkdir()
    import datasets

    datasets.Dataset.from_dict({"text": texts[:-1]}).to_parquet(
        hub / "data" / fineweb.subset / "train-00000-of-00001.parquet"
    )
    with refused("split train has documents .*lock.json says"):
        prepare.tokenize_stream(fineweb, source, need, tmp_path / "c" / "tokens.json")
    assert not (tmp_path / "c" / "tokens.json").exists()


def test_no_network_ends_in_one_line_with_the_way_out():
    with refused(r"could not be reached.*fineweb=FOLDER"):
        next(fineweb.documents(Source("real"), "valid"))


def test_a_need_has_a_name():
    from repro.data.needs import Arrays

    names = [Tokens("wikitext2", 512), Tokens("fineweb", 50_257, "gpt2"), Arrays("covtype")]
    assert [need.name for need in names] == ["wikitext2/512", "fineweb/gpt2", "covtype"]
