import hashlib
import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from data import wikitext2
from repro.data import lockfiles, prepare, text, tokenization
from repro.data.source import Source
from repro.errors import UserError
from repro.files import read_json, read_sealed, sha256, write_bytes, write_json, write_sealed
from repro.lineage import arithmetic
from repro.lineage.checkout import ROOT


def folder_source(folder):
    return Source("folder", folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.txt", None, "train.txt is missing"),
        ("train.txt", b"", "train.txt is empty"),
        ("train.txt", b" \n\n", "train.txt is empty"),
        ("valid.txt", b"", "valid.txt is empty"),
        ("test.txt", b"fine \xff not", r"test.txt is not UTF-8 \(byte 0xff at offset 5\)"),
    ],
)
def test_a_faulty_folder_is_named_with_the_fault(text_folder, name, content, message):
    if content is None:
        (text_folder / name).unlink()
    else:
        (text_folder / name).write_bytes(content)
    with refused(message):
        wikitext2.identity(folder_source(text_folder))


WIKITEXT = {
    "train": ["", " = Robert <unk> = \n", "", " Robert <unk> is an actor . \n", " He acts . \n"],
    "valid": ["", " = Homarus gammarus = \n", " A lobster , of the genus Homarus . \n"],
    "test": [" = Du Fu = \n", " A poet of the Tang dynasty . \n"],
}


def wikitext_folder(folder, kind):
    """The rows in one of the layouts in which WikiText is published."""
    folder.mkdir()
    for split, rows in WIKITEXT.items():
        if kind == "parquet":
            for i, part in enumerate((rows[:-1], rows[-1:])):
                name = f"{text.HUB_SPLITS[split]}-0000{i}-of-00002.parquet"
                pq.write_table(pa.table({"text": part}), folder / name)
        else:
            (folder / kind.format(split)).write_text("".join(rows))
    return folder


@pytest.mark.parametrize("kind", ["{}.txt", "wiki.{}.tokens", "wiki.{}.raw", "parquet"])
def test_wikitext_is_read_in_every_layout_in_which_it_is_published(tmp_path, kind):
    source = folder_source(wikitext_folder(tmp_path / "wikitext-2", kind))
    identity = wikitext2.identity(source)
    assert len(identity["sha256"]) == (6 if kind == "parquet" else 3)
    assert "train" in wikitext2.describe(source)
    prepare.prepare(wikitext2, source, identity, tmp_path / "p" / "manifest.json")
    for split, rows in WIKITEXT.items():
        assert text.read_split(tmp_path / "p" / "manifest.json", split) == "".join(rows)
    tokenization.tokenize(
        tmp_path / "p" / "manifest.json", 64, tmp_path / "p" / "t" / "tokens.json"
    )
    path = next(path for path in source.folder.iterdir() if "train" in path.name)
    path.write_bytes(b"")
    with refused(rf"^wikitext2: .*{path.name}"):
        wikitext2.identity(source)


def test_a_folder_of_two_layouts_is_refused(tmp_path):
    folder = wikitext_folder(tmp_path / "wikitext-2", "parquet")
    (folder / "wiki.train.raw").write_text("the same, raw")
    with refused(r"several kinds \(wiki.train.raw, train-00000-of-00002"):
        wikitext2.identity(folder_source(folder))


@pytest.mark.parametrize("kind", ["{}.txt", "wiki.{}.tokens", "parquet"])
def test_every_kind_of_folder_is_read_by_a_command(tmp_path, kind):
    """Found in review: parquet loaded numpy before the command had set its arithmetic."""
    folder = wikitext_folder(tmp_path / "wikitext-2", kind)
    words = ["fetch", "wikitext2", "--config", f"wikitext2={folder}"]
    call = [sys.executable, "-P", "-m", "repro", *words]
    taken = arithmetic.SETTINGS["avx2"]
    env = {name: value for name, value in os.environ.items() if name not in taken}
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(call, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (manifest,) = (tmp_path / "resources" / "wikitext2").glob("*/manifest.json")
    assert read_sealed(manifest)["splits"].keys() == {"train", "valid", "test"}


def test_parquet_whose_validation_is_trained_on_is_refused(tmp_path):
    folder = wikitext_folder(tmp_path / "wikitext-2", "parquet")
    rows = [f"A sentence number {i} of more than forty characters . \n" for i in range(9)]
    for name, part in {"train": rows, "validation": rows[::-1]}.items():
        for path in folder.glob(f"{name}-*"):
            pq.write_table(pa.table({"text": part}), path)
    with refused("more than half of the 9 different rows of valid are rows"):
        prepare.prepare(wikitext2, folder_source(folder), {}, tmp_path / "p" / "manifest.json")


def test_a_folder_is_known_by_its_content_wherever_it_lies(text_folder, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "train.txt").write_bytes((text_folder / "train.txt").read_bytes())
    first = wikitext2.identity(folder_source(text_folder))
    assert wikitext2.identity(folder_source(moved)) == first
    (moved / "train.txt").write_text("another text")
    assert wikitext2.identity(folder_source(moved)) != first


@pytest.fixture(scope="module")
def embedded():
    return wikitext2.splits(Source("embedded"))


def test_the_embedded_text_is_the_published_one(embedded):
    found = {split: sha256(content.encode()) for split, content in embedded.items()}
    assert found == wikitext2.EMBEDDED_SHA256


def test_the_embedded_words_follow_the_stated_zipf_mandelbrot_law(embedded):
    """Counts of the most frequent words against p_i = (i + 1)^-1.1 / Z, within 5 sigma."""
    from collections import Counter

    words = embedded["train"].split()
    law = (np.arange(1, 30_001) + 1.0) ** -1.1
    law /= law.sum()
    counts = Counter(words)
    assert len(words) == 450_000
    observed = np.array([count for _, count in counts.most_common(20)]) / len(words)
    np.testing.assert_allclose(observed, law[:20], rtol=0.1)


def test_consecutive_embedded_words_share_information(embedded):
    """Mutual information of neighbours, plug-in over the 60 most frequent words, is far over
    that of the same words shuffled: there is something to learn."""
    from collections import Counter

    words = embedded["train"].split()
    common = {w for w, _ in Counter(words).most_common(60)}

    def information(sequence):
        pairs = Counter(
            (a, b)
            for a, b in zip(sequence, sequence[1:], strict=False)
            if a in common and b in common
        )
        total = sum(pairs.values())
        left, right = Counter(), Counter()
        for (a, b), n in pairs.items():
            left[a] += n
            right[b] += n
        return sum(
            n / total * np.log(n * total / (left[a] * right[b])) for (a, b), n in pairs.items()
        )

    shuffled = list(np.random.default_rng(0).permutation(words))
    assert information(words) > 0.5
    assert information(shuffled) < 0.1


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A dataset folder in the layout the hub serves, three parquet splits with a config."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rows = {
        "train": [" = A title = \n", "", " some <unk> words . \n", " more words . \n"],
        "validation": [" valid words . \n"],
        "test": ["", " test words . \n"],
    }
    folder = tmp_path / "hub"
    for split, lines in rows.items():
        path = folder / "wikitext-2-v1" / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict({"text": lines}).to_parquet(path)
    configs = "\n".join(
        f"    - split: {split}\n      path: wikitext-2-v1/{split}-*" for split in rows
    )
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: wikitext-2-v1\n  data_files:\n{configs}\n---\n"
    )
    return folder, rows


LINES = {"train": 4, "valid": 1, "test": 2}


def test_the_real_loader_reads_the_hub_s_layout(hub):
    folder, rows = hub
    found = text.download("wikitext2", str(folder), "wikitext-2-v1", None, LINES)
    assert found == {
        "train": rows["train"],
        "valid": rows["validation"],
        "test": rows["test"],
    }


def test_a_truncated_download_is_refused(hub):
    with refused("split train has 4 lines, expected 36718.*truncated"):
        text.download("wikitext2", str(hub[0]), "wikitext-2-v1", None, wikitext2.LINES)


def test_a_missing_column_is_named(hub):
    import datasets

    path = hub[0] / "wikitext-2-v1" / "test-00000-of-00001.parquet"
    for split in hub[1]:
        datasets.Dataset.from_dict({"page": ["x"] * LINES.get(split, 1)}).to_parquet(
            path.with_name(f"{split}-00000-of-00001.parquet")
        )
    with refused(r"column 'text' is missing, found \['page'\]"):
        text.download(
            "wikitext2", str(hub[0]), "wikitext-2-v1", None, {"train": 4, "valid": 1, "test": 2}
        )


def test_no_network_ends_in_one_line_with_the_way_out():
    with refused() as caught:
        text.download(
            "wikitext2", "Salesforce/wikitext", "wikitext-2-v1", wikitext2.REVISION, LINES
        )
    message = str(caught.value)
    assert "could not be fetched" in message and "wikitext2=FOLDER" in message
    assert "\n" not in message


def test_the_first_download_is_locked_with_its_date(tmp_path, capsys):
    lock = tmp_path / "wikitext2.lock.json"
    found = {"train": {"text_sha256": "a"}}
    lockfiles.check("wikitext2", lock, "revision", found)
    before = read_json(lock)
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", before.pop("first_download"))
    assert before == {"revision": "revision", "splits": found}
    assert "commit that file" in capsys.readouterr().out
    for said in (read_json(lock), {"revision": "revision", "sha256": {"train": "a"}}):  # old form
        write_json(lock, said)
        lockfiles.check("wikitext2", lock, "revision", found)
        with refused("split train has text_sha256 b, wikitext2.lock.json"):
            lockfiles.check("wikitext2", lock, "revision", {"train": {"text_sha256": "b"}})
        with refused("split train has nothing, wikitext2.lock.json says"):
            lockfiles.check("wikitext2", lock, "revision", {})
        assert read_json(lock) == said, "a lock file is written once"


@pytest.mark.parametrize("content", ["", "[1]", '{"splits": [1]}', '{"revision": 1}', "{ cut"])
def test_a_damaged_lock_file_is_one_line(tmp_path, content):
    lock = tmp_path / "wikitext2.lock.json"
    lock.write_text(content)
    with refused(r"wikitext2\.lock\.json: .*delete it"):
        lockfiles.check("wikitext2", lock, "revision", {"train": {"text_sha256": "a"}})


def test_rows_are_known_as_the_published_files(monkeypatch):
    rows = {"train": ["", " = a = \n"]}
    sha1 = hashlib.sha1(b" \n = a = \n").hexdigest()
    monkeypatch.setattr(wikitext2, "PUBLISHED_SHA1", {"train": sha1})
    assert wikitext2.is_published(rows)
    assert not wikitext2.is_published({"train": ["", " = b = \n"]})


def prepared(folder, data):
    """The manifest of a prepared text."""
    write_bytes(folder / "train.txt", data)
    entry = {"file": "train.txt", "bytes": len(data), "sha256": sha256(data)}
    write_sealed(folder / "manifest.json", {"splits": {"train": entry}})
    return folder / "manifest.json"


@pytest.fixture
def corpus(tmp_path, small_text):
    return prepared(tmp_path, small_text.encode())


def test_tokens_decode_to_the_text_and_are_the_same_every_time(corpus, small_text):
    digests = []
    for name in ("a", "b"):
        manifest = corpus.parent / name / "tokens.json"
        tokenization.tokenize(corpus, 300, manifest)
        digests.append(json.loads(manifest.read_text())["sha256"])
    assert digests[0] == digests[1]

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(manifest.parent / "tokenizer.json"))
    manifest, arrays = tokenization.load_tokens(manifest)
    pieces = "".join(tokenizer.id_to_token(int(i)) for i in arrays["train"])
    assert pieces == "".join(small_text.split())
    assert manifest["vocab_reached"] == 300 and arrays["train"].dtype == np.uint16


def test_a_vocabulary_that_cannot_be_reached_is_reported_not_refused(tmp_path, capsys):
    text = prepared(tmp_path, b"only a few words here . only a few .")
    tokenization.tokenize(text, 32_768, tmp_path / "m" / "tokens.json")
    manifest, _ = tokenization.load_tokens(tmp_path / "m" / "tokens.json")
    assert manifest["vocab_reached"] < 60
    assert (
        f"vocabulary 32768 asked for, {manifest['vocab_reached']} reached"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("damage", ["text", "tokens"])
def test_damaged_data_is_refused(corpus, damage):
    manifest = corpus.parent / "m" / "tokens.json"
    if damage == "text":
        (corpus.parent / "train.txt").write_text("other")
        with refused("train.txt: is missing or changed"):
            tokenization.tokenize(corpus, 300, manifest)
    else:
        tokenization.tokenize(corpus, 300, manifest)
        path = manifest.parent / "tokens.safetensors"
        path.write_bytes(path.read_bytes()[:-2])
        with refused("changed since it was written; delete"):
            tokenization.load_tokens(manifest)


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    import os

    (tmp_path / "kept").write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refused("kept: could not be written .No space left on device"):
        write_bytes(tmp_path / "kept", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_bytes() == b"old"


def test_what_cannot_be_made_of_a_shard_is_tried_once(tmp_path):
    """It was made a second time, in memory, before its error was said."""
    from repro.data.shards import _Derived

    tried = []

    def make(shard):
        tried.append(shard)
        raise UserError("no sentence in it")

    with refused("no sentence in it"):
        _Derived(tmp_path / "train-00000.npy", "cut", {}).make(np.zeros(3), make, wait=True)
    assert len(tried) == 1
