"""Several who record at once: every digest is right, and nobody is told to restore anything."""

import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from filelock import FileLock

from repro.__main__ import main
from repro.errors import UserError
from repro.files import read_json, write_bytes, write_json
from repro.lineage import arithmetic, history
from repro.products import records

FIGURES = ("embedding_lr/table1", "embedding_lr/table2", "embedding_lr/table3")
KEPT_AT = records.RECORDS / "smoke" / "embedded" / "cpu"  # of the checkout


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A folder a figure, as if it were built: with what is on record of it. Records go to another
    place."""
    found = {}
    for name in FIGURES:
        saved = read_json((KEPT_AT / name).with_suffix(".json"))
        folder = tmp_path / "results" / "smoke" / "embedded" / name / "key"
        png = f"{name.split('/')[1]}.png"
        for source, target in ((".csv", folder / "data.csv"), (".png", folder / png)):
            write_bytes(target, (KEPT_AT / name).with_suffix(source).read_bytes())
        write_json(folder / "results.json", records.results_of(saved))
        found[name] = [(name, folder, saved["provenance"] | {"chosen_after_seeing": ""})]
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(records, "ROOT", tmp_path)
    monkeypatch.setattr(records, "_to_record", lambda suite, unclean: found[suite.figure])
    return found


def suite_of(figure, of=arithmetic.DEFAULT):
    config = SimpleNamespace(scale="smoke", arithmetic=of, entry=None)
    return SimpleNamespace(config=config, label="embedded", figure=figure)


def slowly(monkeypatch, module, name):
    """What reads a table of all takes its time, so that another may write it meanwhile."""
    real = getattr(module, name)

    def slow(*given):
        found = real(*given)
        time.sleep(0.05)
        return found

    monkeypatch.setattr(module, name, slow)


def at_once(suites):
    """All recorded by threads side by side; the errors."""
    errors = []

    def act(suite):
        try:
            records.record(suite)
        except UserError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=act, args=(suite,)) for suite in suites]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_three_who_record_at_once_vouch_for_all_three(finished, monkeypatch):
    """Found in review: of eight rounds four ended in "restore records/ with git", two with wrong
    sums."""
    slowly(monkeypatch, records, "sums")
    assert at_once(map(suite_of, FIGURES)) == []
    folder = records.RECORDS / "smoke" / "embedded" / "cpu"
    assert [each for name in FIGURES for each in records.read_record(folder / name)["tests"]]
    every = read_json(records.RECORDS / records.CLAIMS)
    assert [part.figure for part in records.every()] == every["figures"]
    assert len(every["figures"]) == len(FIGURES)
    assert not records._lock().exists()


def test_what_is_recorded_again_and_is_the_same_keeps_its_bytes(finished, monkeypatch):
    """Or each commit of records would have all of them anew."""
    monkeypatch.setattr(records.history, "head", lambda: "a" * 40)
    suite = suite_of(FIGURES[0])
    records.record(suite)
    before = {p: p.read_bytes() for p in records.RECORDS.rglob("*") if p.is_file()}
    monkeypatch.setattr(records.history, "head", lambda: "b" * 40)
    records.record(suite)
    assert before == {p: p.read_bytes() for p in records.RECORDS.rglob("*") if p.is_file()}
    (records.RECORDS / records.CLAIMS).write_text("<<<<<<< a conflict")
    records.record(suite)
    assert read_json(records.RECORDS / records.CLAIMS)["commit"] == "b" * 40


def test_what_is_of_another_arithmetic_is_not_recorded(finished):
    with pytest.raises(UserError, match="arithmetic=portable: records are of the default one"):
        records.record(suite_of(FIGURES[0], "portable"))


def test_who_reads_a_record_that_is_being_written_is_told_so(finished):
    """Found in review: "restore records/ with git", where there was nothing to restore."""
    records.record(suite_of(FIGURES[0]))
    base = records.RECORDS / "smoke" / "embedded" / "cpu" / FIGURES[0]
    base.with_suffix(".csv").write_text("half")
    with pytest.raises(UserError, match="is not what SHA256SUMS says; restore records/ with git"):
        records.read_record(base)
    records._lock().write_text("process 1 on another")  # of one that was killed
    with pytest.raises(UserError, match="is not what SHA256SUMS says; restore records/ with git"):
        records.read_record(base)
    assert not records._lock().exists()
    with FileLock(records._lock()):
        records._lock().write_text("process 1 on another")
        with pytest.raises(UserError, match="says; process 1 on another records at this moment, "):
            records.read_record(base)


def test_a_record_that_is_not_as_committed_is_named(tmp_path, monkeypatch):
    """Found in review: a record edited together with SHA256SUMS was shown as if git had it so."""

    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, "-C", tmp_path, *words], check=True, capture_output=True)

    bases = [tmp_path / "records" / "smoke" / "embedded" / "cpu" / "p" / name for name in "ab"]
    for base in bases:
        for suffix in records.KEPT:
            write_bytes(base.with_suffix(suffix), b"as it was")
    monkeypatch.setattr(records, "ROOT", tmp_path)
    history._is_checkout.cache_clear()
    assert records.not_committed(bases) == []  # nobody can say
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "records")
    history._is_checkout.cache_clear()
    assert records.not_committed(bases) == []
    write_bytes(bases[1].with_suffix(".csv"), b"edited")
    assert records.not_committed(bases) == [bases[1]]
    new = bases[0].with_name("new")
    write_bytes(new.with_suffix(".json"), b"new")
    assert records.not_committed([*bases, new]) == [bases[1], new]
    assert records.not_committed([]) == []


@pytest.mark.parametrize(
    "words", [["show", "{test}"], ["show", "{figure}"], ["show", "{paper}"], ["show", "statements"]]
)
def test_whoever_shows_a_record_says_that_it_is_not_as_committed(
    tmp_path, monkeypatch, capsys, words
):
    """Found in review: all but one command showed it without a word."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "READ", {})
    changed = KEPT_AT / FIGURES[1]
    monkeypatch.setattr(records, "not_committed", lambda bases: [b for b in bases if b == changed])
    row = read_json(changed.with_suffix(".json"))["tests"][0]
    names = {"test": f"embedding_lr/{row['test']}", "figure": FIGURES[1], "paper": "embedding_lr"}
    assert main([word.format(**names) for word in words] + ["--config", "scale=smoke"]) == 0
    name = f"records/smoke/embedded/cpu/{FIGURES[1]}"
    assert capsys.readouterr().err == f"warning: not as committed: {name}\n"
