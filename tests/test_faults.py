"""kill -9 at every change of the disk, for each kind of job that writes in place: the same job goes
on, ends with the same bytes, and leaves nothing of the dead one where a reader looks.
docs/promises.md names these tests."""

import os
import signal
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.authoring import new
from repro.core import execute
from repro.core.locks import held_by_another, only_writer, replacing
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.data import prepare
from repro.data.source import Source
from repro.errors import UserError
from repro.files import read_json, write_bytes, write_json
from repro.lineage import arithmetic
from repro.products import published, records
from repro.report import build
from repro.tasks import TASKS, Task
from repro.tasks.recorded import TRAINED, Records

pytestmark = pytest.mark.long

FIGURE = "embedding_lr/table1"
CHANGES = {f"os.{name}" for name in ("remove", "rename", "mkdir", "rmdir", "link", "symlink")}
EVERY = 4  # of the changes at which a job is killed by default


KEPT = records.ROOT / "records" / "smoke" / "embedded" / "cpu" / FIGURE
BUILT = Path("results", "smoke", "embedded", FIGURE, "key")


def before(place: Path) -> None:
    """A figure as if it were built, an earlier site, and a page."""
    for name in published.files(FIGURE):
        write_bytes(place / BUILT / name, published.BEGINS.get(name[-4:], b"a\n1\n"))
    saved = read_json(KEPT.with_suffix(".json"))
    for source, target in ((".csv", "data.csv"), (".png", "table1.png")):
        write_bytes(place / BUILT / target, KEPT.with_suffix(source).read_bytes())
    write_json(place / BUILT / "results.json", records.results_of(saved))
    said = published.manifest_of(place / BUILT, FIGURE, "key")
    write_json(place / BUILT / published.MANIFEST, said)
    (place / "README.md").write_text("before")
    report(place)


def publish(place: Path) -> None:
    """A figure's files to figures/."""
    published.publish(place / BUILT)


def record(place: Path) -> None:
    """A figure to records/."""
    folder = place / BUILT
    made = read_json(KEPT.with_suffix(".json"))["provenance"] | {"chosen_after_seeing": ""}
    config = SimpleNamespace(scale="smoke", arithmetic=arithmetic.DEFAULT, entry=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "RECORDS", place / "records")
        patch.setattr(records, "_to_record", lambda suite, unclean: [(FIGURE, folder, made)])
        records.record(SimpleNamespace(config=config, label="embedded"))


def report(place: Path) -> None:
    """A site in place of an earlier one."""
    site = place / "report"
    build.check_replaceable(site)
    with replacing(site) as made:
        for name in ("index.html", "a/b.html", "a/c.html"):
            write_bytes(made / name, name.encode(), durable=False)
        build.note_files(made)
        build.check_replaceable(site)


def new_figure(place: Path) -> None:
    """A study, a figure and a page that lists it."""

    def run(call, cwd, **_):
        (cwd / "README.md").write_text("made anew")
        return SimpleNamespace(returncode=0, stdout="README.md\n", stderr="")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new, "ROOT", place)
        patch.setattr(new.subprocess, "run", run)
        try:
            new._written({"studies/p/a.py": "a", "figures/p/a.py": "b"}, "p/a")
        except UserError as error:
            if "is there already, as it would be written" not in str(error):
                raise


def train(place: Path) -> None:
    """A cell of two runs."""

    class Fake(Task):
        def run(self, spec, **context):
            return [{"step": 1, "train_loss": float(spec["seed"])}]

    runs = tuple(Run("fake", 1, {"x": 1.5, "seed": k}, {"seed": k}, {}) for k in range(2))
    with pytest.MonkeyPatch.context() as patch:
        fake = Fake(1, "fake", lambda spec: [], lambda spec: 0.0, Records(TRAINED))
        patch.setitem(TASKS, "fake", fake)
        patch.setattr(execute, "stopwatch", lambda device: lambda: 1.0)
        cell, device = Cell("p/s", {}, runs), "cpu"
        execute.run_cell(cell, place / "cell.json", place / "runs", {}, device, lambda *_: print)


def fetch(place: Path) -> None:
    """A text of two splits, where no other job is at it."""
    module = SimpleNamespace(__name__="data.mine", splits=lambda _: {"train": "a b", "valid": "c"})
    with only_writer(place / "text"):
        prepare.prepare(module, Source("embedded"), {}, place / "text" / "manifest.json")


JOBS = (publish, record, report, new_figure, train, fetch)


def changes_the_disk(event, arguments):
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in CHANGES


def killed_at(number: int, job, place: Path) -> bool:
    """Whether a process that does a job is killed, before its n-th change of the disk."""
    pid = os.fork()
    if pid == 0:
        left = [number]

        def hook(event, arguments):
            if changes_the_disk(event, arguments):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.addaudithook(hook)
            job(place)
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or status == 0
    return os.WIFSIGNALED(status)


def contents(place: Path) -> dict[str, bytes]:
    """Every file below a place, the folders too, by its path from there."""
    every = {path.relative_to(place).as_posix(): path for path in sorted(place.rglob("*"))}
    return {name: path.read_bytes() if path.is_file() else b"" for name, path in every.items()}


def faults(job, tmp_path: Path, patch, every: int) -> tuple[int, list[str]]:
    """(how many changes a job makes, at which it is not gone on with)."""
    whole, wrong, number = at(tmp_path / "whole", patch), [], 0
    (tmp_path / "scratch").mkdir()  # what a killed job had there is for the system to empty
    patch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    job(whole)
    hidden = [name for name in contents(whole) if "/." in f"/{name}" or name.endswith(".lock")]
    assert not hidden
    while True:
        place = at(tmp_path / f"{number}", patch)
        if not killed_at(number, job, place):
            return number, wrong
        if held := held_by_another(place / ".record.lock"):
            wrong.append(f"{number}: {held} is said to record")
        try:
            job(place)
        except UserError as error:
            wrong.append(f"{number}: {error}")
        found = contents(place)
        if found != contents(whole):
            wrong.append(f"{number}: {sorted(found.items() ^ contents(whole).items())[:2]}")
        number += every


def at(place: Path, patch) -> Path:
    place.mkdir()
    patch.chdir(place)
    before(place)
    return place


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_a_job_killed_at_a_change_of_the_disk_is_gone_on_with(job, tmp_path, monkeypatch):
    """Found in review: report refused its own rest for ever; record and publish left hidden folders
    where git takes them up, and a dead process was said to record."""
    number, wrong = faults(job, tmp_path, monkeypatch, EVERY)
    assert not wrong and number >= 2 * EVERY


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_a_job_killed_at_any_change_of_the_disk_is_gone_on_with(job, tmp_path, monkeypatch):
    number, wrong = faults(job, tmp_path, monkeypatch, 1)
    assert not wrong and number > 2 * EVERY
