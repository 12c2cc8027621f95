from refusals import refused

from data.fineweb import CORPUS as fineweb
from data.fineweb_edu import CORPUS as fineweb_edu
from data.fineweb_head import CORPUS as fineweb_head
from repro.data import documents as streams
from repro.data.source import Source
from repro.files import read_json, sha256


def test_the_embedded_documents_are_the_stated_ones_and_their_own(monkeypatch):
    found = "".join(f"{d}\n" for d in fineweb_edu.documents(Source("embedded"), "valid"))
    assert sha256(found.encode()) == fineweb_edu.sha256["valid"]
    assert not set(fineweb_edu.sha256.values()) & set(fineweb.sha256.values())
    monkeypatch.setitem(fineweb_edu.embedded, "valid", (100, 1))
    with refused(r"fineweb_edu \(synthetic\): split valid has SHA-256"):
        next(fineweb_edu.documents(Source("embedded"), "valid"))


def test_the_hub_is_read_in_every_crawl_and_divided(monkeypatch, small_text):
    asked = []

    def from_hub(*place):
        asked.append(place)
        yield from small_text.splitlines()

    monkeypatch.setattr(streams, "from_hub", from_hub)
    monkeypatch.setattr(fineweb_edu, "valid_tokens", 2_000)
    parts = [list(fineweb_edu.documents(Source("real"), split)) for split in ("valid", "train")]
    assert parts[0] and parts[0] + parts[1] == small_text.splitlines()
    assert set(asked) == {("fineweb_edu", fineweb.repository, "default", fineweb.revision)}


def test_what_was_read_is_locked(monkeypatch, tmp_path):
    monkeypatch.setattr(fineweb_edu, "lock", tmp_path / "lock.json")
    found = {"train": {"documents": 3, "text_sha256": "a"}}
    fineweb_edu.check_documents(Source("real"), found)
    assert read_json(fineweb_edu.lock)["revision"] == fineweb.revision
    with refused("fineweb_edu: split train has documents 4"):
        fineweb_edu.check_documents(Source("real"), {"train": found["train"] | {"documents": 4}})


def test_a_folder_takes_the_place_of_both(tmp_path):
    (tmp_path / "train.txt").write_text("one\n\ntwo\n")
    (tmp_path / "valid.txt").write_text("three\n")
    source = Source("folder", tmp_path)
    assert list(fineweb_edu.documents(source, "train")) == ["one", "two"]
    assert list(fineweb_edu.documents(source, "valid")) == ["three"]
    assert fineweb_edu.identity(source)["sha256"].keys() == {"train.txt", "valid.txt"}
    assert "train.txt sha256" in fineweb_edu.describe(source)


def test_the_head_of_a_crawl_ends_after_so_many_documents(tmp_path, monkeypatch):
    assert fineweb_head.train_documents == 1_000_000
    assert "1,000,000 documents of CC-MAIN-2013-20" in fineweb_head.describe(Source("real"))
    monkeypatch.setattr(fineweb_head, "train_documents", 3)
    monkeypatch.setattr(fineweb_head, "valid_tokens", 1)
    (tmp_path / "train.txt").write_text("".join(f"Document {i}.\n" for i in range(9)))
    source = Source("folder", tmp_path)
    assert list(fineweb_head.documents(source, "valid")) == ["Document 0."]
    assert list(fineweb_head.documents(source, "train")) == [f"Document {i}." for i in (1, 2, 3)]
    assert fineweb_head.identity(source)["train_documents"] == 3
    monkeypatch.chdir(tmp_path)
    with refused(
        "fineweb: the first 5500000 tokens are kept for validation.* only 36; give"
    ) as told:
        fineweb.identity(source)
    assert "give a folder with valid.txt" in str(told.value)
    (tmp_path / "valid.txt").write_text("Another document.\n")
    assert "train_documents" not in fineweb.identity(source), "after what the error says"
