"""Parquet files in parts: encoded by several processes, their shards are those of the documents
read in order, and what a killed call had encoded is not read again."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from data.fineweb import CORPUS as fineweb
from repro.data import leaks, parquet, prepare, tokenization
from repro.data import parts as encoding
from repro.data.needs import Tokens
from repro.data.parquet import File
from repro.data.shards import write_shards
from repro.data.source import Source
from repro.files import read_json, write_json
from repro.lineage.checkout import ROOT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def texts(small_text):
    """200 documents of all lengths, some of them empty."""
    words = small_text.split()
    cuts = np.random.default_rng(0).choice(len(words), size=190, replace=False)
    found = [" ".join(part) for part in np.split(np.array(words, dtype=object), np.sort(cuts))]
    for at in (0, 7, 8, 60, 61, 62, 150, 190, 199):
        found.insert(at, "")
    return found


@pytest.fixture(scope="module")
def tokenizer(texts):
    return tokenization.train_bpe(texts, 300, separator=True)


@pytest.fixture
def files(tmp_path, texts, monkeypatch):
    """Three files of row groups of 16 rows, of which two or three make a part."""
    monkeypatch.setattr(parquet, "PART_BYTES", 20_000)
    folder = tmp_path / "files"
    folder.mkdir()
    for i, part in enumerate((texts[:90], texts[90:110], texts[110:])):
        write_rows(folder / f"train-{i}.parquet", part)
    return [File("stream", str(path)) for path in sorted(folder.iterdir())]


def write_rows(path, texts):
    table = pa.table({"id": range(len(texts)), "text": texts, "url": ["x"] * len(texts)})
    pq.write_table(table, path, row_group_size=16)


def settings(tokenizer, folder, shard_tokens=4_000):
    return {
        "dataset": "stream",
        "split": "train",
        "separator": tokenizer.token_to_id(tokenization.SEPARATOR),
        "shard_tokens": shard_tokens,
        "folder": folder,
    }


def content(folder):
    return {path.name: path.read_bytes() for path in folder.glob("train-*.npy")}


def in_order(documents, tokenizer, folder, **changes):
    """What `write_shards` makes of documents."""
    written = write_shards(
        filter(None, documents), tokenizer, **settings(tokenizer, folder, **changes)
    )
    return written["documents"], written["shards"], content(folder)


def in_parts(parts, tokenizer, folder, limit=None, held_out=None, **changes):
    written = encoding.write_parts(
        parts,
        tokenizer,
        limit=limit,
        held_out=held_out,
        **settings(tokenizer, folder, **changes),
    )
    return written["documents"], written["shards"], content(folder)


@pytest.fixture
def alone(monkeypatch):
    """One process, and the numbers of the parts that it encodes."""
    monkeypatch.setattr(encoding, "usable_cores", lambda: 1)
    made = []
    real = encoding.encode
    monkeypatch.setattr(
        encoding,
        "encode",
        lambda part, path, how: made.append(int(path.stem)) or real(part, path, how),
    )
    return made


def test_parts_are_whole_row_groups_and_hold_every_row_once(files, texts):
    found = list(parquet.parts(files))
    assert len(found) > 5 and {part.file for part in found} == set(files)
    for file in files:
        own = [part for part in found if part.file == file]
        assert [p.first for p in own] == [0, *(p.end for p in own[:-1])]
        assert [p.row for p in own] == np.cumsum([0, *(p.rows for p in own[:-1])]).tolist()
    assert [text for part in found for text in part.documents()] == list(filter(None, texts))


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("shard_tokens", [1_000, 4_000, 10**6])
def test_shards_of_parts_are_those_of_the_documents_in_order(
    files, texts, tokenizer, tmp_path, cores, shard_tokens, monkeypatch
):
    monkeypatch.setattr(encoding, "usable_cores", lambda: cores)
    expected = in_order(texts, tokenizer, tmp_path / "a", shard_tokens=shard_tokens)
    found = in_parts(parquet.parts(files), tokenizer, tmp_path / "b", shard_tokens=shard_tokens)
    assert found == expected and len(expected[1]) == -(-read_tokens(expected) // shard_tokens)
    assert not list((tmp_path / "b" / "parts-train").glob("*.bin"))


def read_tokens(found):
    return sum(entry["tokens"] for entry in found[1])


@pytest.mark.parametrize(
    ("skip", "limit"), [(0, 1), (0, 60), (5, 61), (83, 20), (84, 1_000), (100, 90)]
)
def test_another_split_s_documents_are_left_out_and_others_left(
    files, texts, tokenizer, tmp_path, alone, skip, limit
):
    """Wherever in a part they end; also where empty rows make a part's documents fewer."""
    documents = list(filter(None, texts))[skip : skip + limit]
    expected = in_order(documents, tokenizer, tmp_path / "a")
    parts = parquet.behind(parquet.parts(files), skip)
    assert in_parts(parts, tokenizer, tmp_path / "b", limit=limit) == expected


def test_parts_beyond_the_limit_are_not_encoded(files, tokenizer, tmp_path, alone):
    rows = [part.rows for part in parquet.parts(files)]
    in_parts(parquet.parts(files), tokenizer, tmp_path / "a", limit=rows[0] + 3)
    assert alone == [0, 1]


class Broken(Exception):
    pass


@pytest.mark.parametrize("after", [1, 2, 5])
def test_what_was_encoded_is_not_read_again(
    files, texts, tokenizer, tmp_path, alone, after, monkeypatch
):
    expected = in_order(texts, tokenizer, tmp_path / "a")
    count = len(list(parquet.parts(files)))
    real = encoding.encode

    def breaking(part, path, how):
        if len(alone) == after:
            raise Broken
        return real(part, path, how)

    monkeypatch.setattr(encoding, "encode", breaking)
    with pytest.raises(Broken):
        in_parts(parquet.parts(files), tokenizer, tmp_path / "b")
    monkeypatch.setattr(encoding, "encode", real)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "b").glob("train-*.npy")}
    alone.clear()
    assert in_parts(parquet.parts(files), tokenizer, tmp_path / "b") == expected
    assert alone == list(range(after, count))
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    alone.clear()
    assert in_parts(parquet.parts(files), tokenizer, tmp_path / "b") == expected
    assert alone == [], "a finished split"


@pytest.mark.parametrize("damage", ["shard", "bin", "note"])
def test_what_is_damaged_is_made_again(
    files, texts, tokenizer, tmp_path, alone, damage, monkeypatch
):
    expected = in_order(texts, tokenizer, tmp_path / "a")
    folder = tmp_path / "b"
    if damage == "shard":
        in_parts(parquet.parts(files), tokenizer, folder)
        (folder / "train-00002.npy").write_bytes(b"damaged")
    else:
        with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
            broken.setattr(encoding.Shards, "write", lambda *_: 1 / 0)
            in_parts(parquet.parts(files), tokenizer, folder)
        path = folder / "parts-train" / f"000000.{'bin' if damage == 'bin' else 'json'}"
        path.write_bytes(path.read_bytes()[:-2] + b"zz")
    assert in_parts(parquet.parts(files), tokenizer, folder) == expected


def test_parts_of_another_tokenizer_are_encoded_anew(files, texts, tokenizer, tmp_path, alone):
    in_parts(parquet.parts(files), tokenizer, tmp_path / "b")
    other = tokenization.train_bpe(texts, 200, separator=True)
    alone.clear()
    expected = in_order(texts, other, tmp_path / "a")
    assert in_parts(parquet.parts(files), other, tmp_path / "b") == expected
    assert alone == list(range(len(list(parquet.parts(files)))))


def test_a_fault_in_a_part_is_one_line_from_a_process_too(files, tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "usable_cores", lambda: 2)
    table = pa.table({"text": ["one", None]})
    pq.write_table(table, files[1].place)
    with refused(r"^stream: .*train-1.parquet: 'text' of row 1 is None, exp"):
        in_parts(parquet.parts(files), tokenizer, tmp_path / "b")
    assert not (tmp_path / "b" / "train.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1 cut", r"a.parquet cannot be read as parquet \(.*\); mend or remove it"),
        ({"page": ["x"]}, r"a.parquet: column 'text' is missing, found \['page'\]"),
        ({"text": [3]}, r"a.parquet: 'text' of row 0 is 3, expected a string"),
    ],
)
def test_a_faulty_file_is_named_with_the_fault(tmp_path, content, message):
    path = tmp_path / "a.parquet"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        pq.write_table(pa.table(content), path)
    with refused(message):
        [*parquet.parts([File("own", str(path))]), *File("own", str(path)).texts()]


def test_documents_of_valid_in_parts_of_train_are_noticed(
    files, texts, tokenizer, tmp_path, capsys
):
    long = [text for text in texts if len(text) > leaks.SHORT]
    own = [f"{text} and more of it, which is not in train" for text in long]

    def held_out(met):
        return leaks.held_out_documents("stream", long[5:][:met] + own[: 20 - met])

    with refused("^stream: more than half of the 20 different rows of valid"):
        in_parts(parquet.parts(files), tokenizer, tmp_path / "a", held_out=held_out(11))
    in_parts(parquet.parts(files), tokenizer, tmp_path / "b", held_out=held_out(9))
    assert "9 of the 20 different rows of valid are rows of train too" in capsys.readouterr().out


CODE = """
import sys, time
from pathlib import Path
from repro.data import parquet, parts, tokenization
from repro.data.parquet import File
parts.usable_cores = lambda: 2
parquet.PART_BYTES = 20_000
if __name__ == "__main__":
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file("tokenizer.json")
    files = [File("stream", str(path)) for path in sorted(Path("files").iterdir())]
    def slowly():
        for part in parquet.parts(files):
            time.sleep(float(sys.argv[2]))
            yield part
    parts.write_parts(slowly(), tokenizer, dataset="stream", split="train", shard_tokens=1_000,
        separator=tokenizer.token_to_id(tokenization.SEPARATOR), folder=Path(sys.argv[1]))
"""


def test_a_killed_call_takes_its_processes_along_and_goes_on(files, texts, tokenizer, tmp_path):
    (tmp_path / "call.py").write_text(CODE)
    tokenizer.save(str(tmp_path / "tokenizer.json"))

    def start(pause):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "call.py", "killed", str(pause)]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)

    process = start(0.5)
    notes = tmp_path / "killed" / "parts-train"
    while len(list(notes.glob("*.json"))) < 2:
        assert process.poll() is None, "the call ended before it could be killed"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 20
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.killpg(process.pid, 0)
            time.sleep(0.1)
        pytest.fail("its processes are still there")
    before = {path: path.stat().st_mtime_ns for path in notes.glob("*.json")}
    assert start(0).wait() == 0
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    _, _, expected = in_order(texts, tokenizer, tmp_path / "a", shard_tokens=1_000)
    assert content(tmp_path / "killed") == expected


# The hub's own layouts


SCHEMAS = {
    "fineweb-edu": {
        "id": "<urn:uuid:0>",
        "dump": "CC-MAIN-2013-20",
        "url": "http://example.org",
        "file_path": "s3://commoncrawl/crawl-data/x.warc.gz",
        "language": "en",
        "language_score": 0.98,
        "token_count": 17,
        "score": 2.5,
        "int_score": 3,
    },
    "fineweb": {
        "id": "<urn:uuid:0>",
        "dump": "CC-MAIN-2013-20",
        "url": "http://example.org",
        "date": "2013-05-18T05:48:54Z",
        "file_path": "s3://commoncrawl/crawl-data/x.warc.gz",
        "language": "en",
        "language_score": 0.98,
        "token_count": 17,
    },
    "cc_news": {
        "title": "A title",
        "domain": "example.org",
        "date": "2017-01-01",
        "description": "",
        "url": "http://example.org",
        "image_url": "",
    },
}
LAYOUTS = {  # configuration -> the files of its train split
    "default": "data/*/*",
    "sample-100BT": "sample/100BT/*",
    "CC-MAIN-2013-20": "data/CC-MAIN-2013-20/*",
    "plain_text": "plain_text/train-*",
}


@pytest.fixture
def replica(tmp_path, monkeypatch):
    """Makes a folder of a dataset in the hub's schema and layout: {path: texts}."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")

    def make(schema, contents):
        folder = tmp_path / "hub"
        for name, texts in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            other = {key: [value] * len(texts) for key, value in SCHEMAS[schema].items()}
            first, *rest = [*other.items(), ("text", texts)][
                :: 1 if schema != "fineweb-edu" else -1
            ]
            pq.write_table(pa.table(dict([first, *rest])), path, row_group_size=10)
        lines = "".join(
            f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {pattern}\n"
            for name, pattern in LAYOUTS.items()
        )
        (folder / "README.md").write_text(f"---\nconfigs:\n{lines}---\n")
        return folder

    return make


def at(corpus, folder, tmp_path):
    """A corpus whose hub is a folder."""
    return replace(
        corpus,
        repository=str(folder),
        revision=None,
        lock=tmp_path / "corpus.lock.json",
        valid_tokens=2_000,
        shard_tokens=4_000,
    )


def streamed(folder, configuration):
    """The rows as the hub's own library streams them."""
    import datasets

    rows = datasets.load_dataset(str(folder), configuration, split="train", streaming=True)
    return [row["text"] for row in rows]


@pytest.mark.parametrize(
    ("schema", "configuration", "kept"),
    [
        ("fineweb-edu", "CC-MAIN-2013-20", [0, 1]),
        ("fineweb", "CC-MAIN-2013-20", [0, 1]),
        ("fineweb-edu", "default", [0, 1, 2]),
        ("fineweb-edu", "sample-100BT", [3, 4]),
        ("cc_news", "plain_text", [5, 6]),
    ],
)
def test_replicas_of_the_hub_s_datasets_are_read_in_its_own_order(
    replica, texts, tmp_path, monkeypatch, schema, configuration, kept
):
    monkeypatch.setattr("repro.data.documents.locked_revision", lambda *_: None)
    names = [
        "data/CC-MAIN-2013-20/train-00000-of-00002.parquet",
        "data/CC-MAIN-2013-20/train-00001-of-00002.parquet",
        "data/CC-MAIN-2024-10/000_00000.parquet",
        "sample/100BT/000_00000.parquet",
        "sample/100BT/000_00001.parquet",
        "plain_text/train-00000-of-00002.parquet",
        "plain_text/train-00001-of-00002.parquet",
    ]
    folder = replica(schema, {name: texts[i::7] + texts[:60] for i, name in enumerate(names)})
    corpus = replace(at(fineweb, folder, tmp_path), subset=configuration)
    expected = [text for i in kept for text in texts[i::7] + texts[:60] if text]
    source = Source("real")
    valid, train = (list(corpus.documents(source, split)) for split in ("valid", "train"))
    assert valid + train == expected == list(filter(None, streamed(folder, configuration)))
    parts = list(corpus.parts(source))
    assert [text for part in parts for text in part.documents()] == train


@pytest.fixture
def one_crawl(replica, texts, tmp_path, monkeypatch, alone):
    """A corpus whose hub has one crawl in two files."""
    monkeypatch.setattr("repro.data.documents.locked_revision", lambda *_: None)
    monkeypatch.setattr(parquet, "PART_BYTES", 20_000)
    names = [f"data/CC-MAIN-2013-20/train-0000{i}-of-00002.parquet" for i in (0, 1)]
    return at(
        fineweb, replica("fineweb-edu", {names[0]: texts[:90], names[1]: texts[90:]}), tmp_path
    )


def tokens_of(corpus, folder, *need):
    need = Tokens("fineweb", *(need or [300]))
    prepare.tokenize_stream(corpus, Source("real"), need, folder / "tokens.json")
    manifest = read_json(folder / "tokens.json")
    keys = ("shards", "tokens", "sha256", "separator", "vocab_reached")
    return [manifest[key] for key in keys], content(folder), manifest["documents"]["train"]


def test_a_corpus_in_parts_makes_the_tokens_of_the_stream_and_its_lock(
    one_crawl, tmp_path, monkeypatch
):
    """What was prepared before is what would be prepared now, and a lock of then still holds."""
    with monkeypatch.context() as before:
        before.setattr(type(one_crawl), "parts", lambda *_: None)
        *expected, documents = tokens_of(one_crawl, tmp_path / "before")
    locked = read_json(one_crawl.lock)
    assert locked["splits"]["train"] == documents and "text_sha256" in documents
    assert tokens_of(one_crawl, tmp_path / "after")[:2] == (*expected,)
    assert read_json(one_crawl.lock) == locked
    locked["splits"]["train"]["text_sha256"] = "0" * 64
    write_json(one_crawl.lock, locked)
    with refused("split train has documents .*lock.json says"):
        tokens_of(one_crawl, tmp_path / "other")
    one_crawl.lock.unlink()
    *found, documents = tokens_of(one_crawl, tmp_path / "anew")
    assert found == expected
    assert read_json(one_crawl.lock)["splits"]["train"] == documents
    assert set(documents) == {"documents", "parts_sha256"}


def test_the_beginning_of_a_crawl_is_made_of_its_first_parts(one_crawl, tmp_path, alone):
    gpt2 = (50_257, "gpt2")
    _, whole, _ = tokens_of(one_crawl, tmp_path / "whole", *gpt2)
    count = len(alone)
    alone.clear()
    head = replace(one_crawl, train_documents=70, lock=tmp_path / "head.lock.json")
    _, found, documents = tokens_of(head, tmp_path / "head", *gpt2)
    assert documents["documents"] == 70 and len(alone) < count
    *full, last = sorted(found)
    assert full and [found[name] for name in full] == [whole[name] for name in full]
    assert np.load(tmp_path / "head" / last)[-1] == 50_256
