import importlib
import shutil
from types import SimpleNamespace

import pytest
from refusals import refused

from data.ccnews import CORPUS as ccnews
from repro.data import prepare
from repro.data.needs import Tokens
from repro.data.source import Source
from repro.files import read_json, sha256, write_json

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def texts(small_text):
    return [line + " ." for line in small_text.replace(" . ", " .\n").splitlines()]


def test_the_embedded_documents_are_the_stated_ones_and_have_sentences(monkeypatch):
    documents = list(ccnews.documents(Source("embedded"), "valid"))
    found = sha256("".join(f"{document}\n" for document in documents).encode())
    assert found == ccnews.sha256["valid"]
    stops = [document.split().count(".") for document in documents]
    assert sum(stops) / len(stops) > 7, "a permutation of sentences needs some"
    assert all(document.endswith(" .") for document in documents[:-1])
    monkeypatch.setitem(ccnews.embedded, "valid", (100, 1))
    with refused(r"ccnews \(synthetic\): split valid has SHA-256"):
        next(ccnews.documents(Source("embedded"), "valid"))


@pytest.fixture
def hub(tmp_path, texts, monkeypatch):
    """A folder in the layout the hub serves, and the hub's answer about its newest revision."""
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "hub"
    path = folder / ccnews.subset / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    datasets.Dataset.from_dict({"title": ["x"] * len(texts), "text": texts}).to_parquet(path)
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: {ccnews.subset}\n  data_files:\n    - split: train\n"
        f"      path: {ccnews.subset}/*\n---\n"
    )
    newest = SimpleNamespace(sha="5" * 40)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda self, repository: newest)
    monkeypatch.setattr(ccnews, "repository", str(folder))
    monkeypatch.setattr(ccnews, "lock", tmp_path / "ccnews.lock.json")
    monkeypatch.setattr(ccnews, "valid_tokens", 2_000)
    monkeypatch.setattr(ccnews, "shard_tokens", 4_000)
    return SimpleNamespace(folder=folder, newest=newest, path=path)


def test_the_first_read_writes_the_revision_and_the_digests(hub, texts, tmp_path, capsys):
    source, before = Source("real"), ccnews.identity(Source("real"))
    valid = list(ccnews.documents(source, "valid"))
    first = read_json(ccnews.lock)
    assert first["revision"] == "5" * 40 and "splits" not in first
    assert "ccnews: first download, noted in" in capsys.readouterr().out
    hub.newest.sha = "6" * 40
    assert valid + list(ccnews.documents(source, "train")) == texts
    need = Tokens("ccnews", 300)
    prepare.tokenize_stream(ccnews, source, need, tmp_path / "a" / "tokens.json")
    locked = read_json(ccnews.lock)
    assert locked.items() >= first.items(), "a later read takes the locked revision"
    assert locked["splits"]["valid"]["documents"] == len(valid)
    assert ccnews.identity(source) == before, "an id does not change with the lock file"

    shutil.rmtree(hub.folder / ccnews.subset)
    hub.path.parent.mkdir()
    import datasets

    datasets.Dataset.from_dict({"text": texts[:-1]}).to_parquet(hub.path)
    with refused("split train has documents .*lock.json says"):
        prepare.tokenize_stream(ccnews, source, need, tmp_path / "b" / "tokens.json")


def test_the_locked_revision_is_the_one_asked_for(hub, monkeypatch):
    import datasets

    write_json(ccnews.lock, {"revision": "7" * 40})
    asked = []
    load = datasets.load_dataset_builder
    monkeypatch.setattr(
        datasets,
        "load_dataset_builder",
        lambda *a, revision, **k: asked.append(revision) or load(*a, **k),
    )
    next(ccnews.documents(Source("real"), "valid"))
    assert asked == ["7" * 40]


def test_no_network_ends_in_one_line_and_leaves_no_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(ccnews, "lock", tmp_path / "ccnews.lock.json")
    with refused(r"could not be asked for.*ccnews=FOLDER"):
        next(ccnews.documents(Source("real"), "valid"))
    assert not ccnews.lock.exists()


def test_an_empty_validation_set_is_named(tmp_path):
    module = importlib.import_module("data.ccnews")
    (tmp_path / "train.txt").write_text("one two .\n")
    (tmp_path / "valid.txt").write_text("\n \n")
    with refused("^ccnews: split valid has no documents; give a source"):
        prepare.prepare(module, Source("folder", tmp_path), {}, tmp_path / "manifest.json")
    assert not (tmp_path / "manifest.json").exists()


def test_a_folder_is_read_in_order(tmp_path, texts):
    (tmp_path / "train.txt").write_text("\n".join(texts[:-10]))
    (tmp_path / "valid.txt").write_text("\n".join(texts[-10:]))
    source = Source("folder", tmp_path)
    assert list(ccnews.documents(source, "train")) == texts[:-10]
    assert list(ccnews.documents(source, "valid")) == texts[-10:]
    assert "train.txt sha256" in ccnews.describe(source)
