"""Every reader of what somebody else may have made: an honest file is changed at every node, and
must be taken as it is or refused in one line that names it. What is taken is used, too."""

import csv
import io
import json
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mutants
import pytest
import torch
from refusals import refused
from torch import nn

from repro.core import cells, config, papers, upstream
from repro.core.rows import parsed
from repro.core.schedule import Cell, Run
from repro.data import lockfiles
from repro.errors import UserError
from repro.files import seal, sha256
from repro.lineage import checkout
from repro.lineage.checkout import ROOT
from repro.lineage.provenance import code_versions, doubts, listed, mixture, unclean
from repro.products import gate, records
from repro.products.published import BEGINS, MANIFEST, PROVENANCE, RESULTS, files, publish
from repro.tasks import TASKS, Task
from repro.tasks.recorded import COUNT, LOSS, NUMBER, WORD, Records
from repro.verdicts import tabulate, words
from repro.verdicts.power import Trial
from repro.verdicts.preregistration import Registered
from repro.verdicts.printed import Printed
from repro.verdicts.statements import Statement
from repro.workflow import calls
from widthwise.tracing.roles import Roles, roles

RECORD = records.RECORDS / "smoke" / "embedded" / "cpu" / "embedding_lr" / "fig1.json"
MADE = {
    "device": "cpu",
    "arithmetic": "avx2 (Intel)",
    "inputs": {"wikitext2": "0" * 64},
    "host_cpu": "Intel(R) Xeon(R) CPU @ 2.20GHz",
    "versions": {"torch": "2.13.0+cpu", "tokenizers": None},
    "seconds": 0.5,
    "commit": None,
    "ranks": 1,
    "layout": {"data": 2},
    "modules": ["repro.tasks"],
    "code_sha256": "1" * 64,
    "trees": {"repro": "2" * 40},
}
RUN = Run("task", 1, {"seed": 0, "model": {"width": 8}}, {"seed": 0}, {"a": {"source": "embedded"}})
CELL = Cell("paper/study", {"width": 8}, (RUN,))


def cell() -> dict:
    run = {
        "id": RUN.id,
        "spec": dict(RUN.spec),
        "axes": dict(RUN.axes),
        "datasets": dict(RUN.datasets),
        "provenance": MADE,
        "sha256_checkpoint": "3" * 64,
        "tuned": {},
        "records": [
            {"step": 1, "loss": 2.5, "by": {"a": [1, 2.5]}},
            {"step": 2, "loss": "inf", "by": {}},
        ],
    }
    axes = dict(CELL.axes)
    return {"format": cells.FORMAT, "id": CELL.id, "study": CELL.study, "axes": axes, "runs": [run]}


def read_cell(path: Path) -> None:
    content = cells.read_cell(path, CELL)
    cells.check_compatible({path: content})
    tabulate.frame([content]).to_csv()
    for entry in [run["provenance"] for run in content["runs"]]:
        entry = entry | {"runs": 1}
        str([listed(code_versions([entry])), mixture([entry]), doubts([entry])])


def placed(path: Path, *names: str) -> Path:
    """The file, where one of its kind lies."""
    there = Path(*names)
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_bytes(path.read_bytes())
    return there


@contextmanager
def named_by(path: Path, there: Path):
    """What is said of a file that was `placed`, or of its folder, is said of it."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace(str(there), path.name)) from None


def read_record(path: Path) -> None:
    there = placed(path, *RECORD.parts[-5:])
    with named_by(path, there):
        saved = gate.record(there.with_suffix(""))
    made = saved["provenance"]["made"]
    str([listed(code_versions(made)), mixture(made), doubts(made), unclean(saved["provenance"])])
    worded(saved)


FOLDER = ("smoke", "embedded", "embedding_lr", "fig1", "key")


def read_provenance(path: Path) -> None:
    there = placed(path, *FOLDER, PROVENANCE)
    with named_by(path, there):
        said = gate.provenance(there.parent)
    str([listed(code_versions(said["made"])), doubts(said["made"]), unclean(said)])


def provenance() -> dict:
    made = json.loads(RECORD.read_text())["provenance"]
    own = {"figure": "embedding_lr/fig1", "files": [], "arithmetic": "avx2"}
    return made | own | {"chosen_after_seeing": ""}


def read_manifest(path: Path) -> None:
    there = placed(path, *FOLDER, MANIFEST)
    for name in files("embedding_lr/fig1"):
        there.with_name(name).write_bytes(begun(name))
    with named_by(path, there.parent):
        publish(there.parent)
    every = {found.as_posix() for found in Path().rglob("*") if found.is_file()} - {path.name}
    assert all(name.startswith(("smoke/", "figures/embedding_lr/fig1.")) for name in every)


def begun(name: str) -> bytes:
    return BEGINS.get(Path(name).suffix, b"a,b\n1,2\n")


def manifest() -> dict:
    digests = {name: sha256(begun(name)) for name in files("embedding_lr/fig1")}
    return {"figure": "embedding_lr/fig1", "key": "key", "files": digests}


def read_choice(path: Path) -> None:
    its = [SimpleNamespace(identity=each["reference"]) for each in choice()["taken"]]
    chosen = SimpleNamespace(id="c", taken=its)
    taken = upstream._read(chosen, path)  # type: ignore[arg-type]
    str([*taken["taken"], {**taken["results"]}, {**taken["made"]}])


def choice() -> dict:
    taken = [{"reference": {"Best": {"stage": "tune"}}, "value": 2.0}]
    made = {"device": "cpu", "arithmetic": "avx2"}
    results = {"run 1": "0" * 64}
    return {"id": "c", "files": [[1, 2]], "results": results, "made": made, "taken": taken}


def worded(results: dict) -> None:
    for row in results["tests"]:
        str([words.row(row, "It falls", row["test"]), words.line(row), words.sentence(row)])
        str([words.laws(row["laws"]), words.worst(row), *map(words.printed, row["printed"])])
    str([words.reading(row) for row in results["readings"]])


def make(width: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(5, width), nn.LayerNorm(width), nn.Linear(width, 5))


TOKENS = torch.arange(5)[None]


def read_roles(path: Path) -> None:
    found = Roles.load(path)
    try:
        str([found, found.at(make(16))])
    except UserError as error:  # of what is right by itself, and of another model
        raise UserError(f"{path}: {error}") from None


def saved_roles() -> dict:
    found = Path("roles-of-now.json")
    roles(make, 8, TOKENS).save(found)
    content = json.loads(found.read_text())
    found.unlink()
    return content


def read_config(path: Path) -> None:
    try:
        config.parse(config.defaults(path, path.read_text()), ["wikitext2"])
    except UserError as error:  # whose values come from files and words together
        raise UserError(f"{path}: {error}") from None


def toml(value: object) -> str:
    """As far as JSON is TOML."""
    pairs = value.items() if isinstance(value, dict) else [("title", value)]

    def inline(value: object) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {inline(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return f"[{', '.join(map(inline, value))}]"
        return json.dumps(value)

    return "".join(f"{json.dumps(k)} = {inline(v)}\n" for k, v in pairs)


def read_paper(path: Path) -> None:
    file = Path("studies", "x", papers.FILE)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(path.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkout, "ROOT", Path())
        try:
            found = papers.paper.__wrapped__("x")
        except UserError as error:
            raise UserError(str(error).replace(str(file), str(path))) from None
    str([found.heading, found.url, found.cited, found.ours])


def read_results(path: Path) -> None:
    there = placed(path, *FOLDER, RESULTS)
    with named_by(path, there):
        worded(gate.results(there.parent))


@dataclass(frozen=True)
class Reader:
    """honest: what the file holds. read: reads and uses it. sealed: whether it is sealed anew.
    write: its text."""

    honest: Any
    read: Any
    sealed: bool = False
    write: Any = json.dumps


CHOSEN = {"scale": "smoke", "figures": ["a/b"], "max_gpu_hours": 2.5, "wikitext2": "real"}
LOCK = {"revision": "a", "splits": {"train": {"text_sha256": "0"}}, "first_download": "2026"}
CALL = {"process": 1, "machine": "a", "executor": "local"}
PAPER = ROOT / "studies" / "embedding_lr" / papers.FILE
READERS = {
    "results": Reader(
        lambda: {k: json.loads(RECORD.read_text())[k] for k in ("tests", "readings")}, read_results
    ),
    "a paper": Reader(lambda: tomllib.loads(PAPER.read_text()), read_paper, write=toml),
    "a cell": Reader(cell, read_cell, True),
    "a record": Reader(lambda: json.loads(RECORD.read_text()), read_record),
    "a provenance": Reader(provenance, read_provenance),
    "a manifest": Reader(manifest, read_manifest),
    "a choice": Reader(choice, read_choice, True),
    "roles": Reader(saved_roles, read_roles),
    "a configuration": Reader(lambda: CHOSEN, read_config),
    "a lock file": Reader(lambda: LOCK, lambda path: lockfiles.check("a", path, "a", {})),
    "a note of a call": Reader(lambda: CALL, lambda path: calls._is_gone(calls._read(path))),
}


HELD = Records({"step": COUNT, "loss": LOSS, "by": {WORD: [NUMBER]}})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TASKS, "task", Task(1, "", list, lambda spec: 0, HELD))


def refusals(read, name: str) -> str:
    """ "" where a file is taken; what is wrong with how it is refused."""
    try:
        read()
    except UserError as error:
        said = str(error)
        good = name in said and "\n" not in said and len(said) < 1_000
        return "" if good else f"says {said[:200]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def unreadable(reader: Reader, every: bool) -> list[str]:
    path, wrong = Path("given.json"), []
    for what, value in mutants.of(reader.honest(), every):
        if reader.sealed and isinstance(value, dict):
            try:
                value = seal(value)
            except ValueError:  # infinity, which a seal cannot be of
                value = value | {"sha256": "0" * 64}
        path.write_text(reader.write(value))
        if fault := refusals(lambda: reader.read(path), path.name):
            wrong.append(f"{what}: {fault}")
    return wrong


@pytest.mark.parametrize("name", READERS)
def test_an_honest_file_is_taken(name):
    reader = READERS[name]
    content = seal(reader.honest()) if reader.sealed else reader.honest()
    Path("given.json").write_text(reader.write(content))
    if name == "a lock file":
        with refused("truncated or another dataset"):
            reader.read(Path("given.json"))
    else:
        reader.read(Path("given.json"))


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_taken_or_refused_by_name(name):
    assert unreadable(READERS[name], every=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_every_change_of_a_file_is_taken_or_refused_by_name(name):
    assert unreadable(READERS[name], every=True) == []


STUDIES = ROOT / "studies"
TABLES = {
    "printed.csv": (Printed, lambda row: str([row, row.number, row.relation])),
    "registered.csv": (Registered, lambda row: str([row.lines, row.asked, row.key])),
    "statements.csv": (Statement, lambda row: str([row, row.ours])),
    "power.csv": (Trial, str),
}
CELLS = (
    "",
    " ",
    "-",
    "nan",
    "inf",
    "1e999",
    "1" * 5_000,
    "a\x1b[2J",
    "a\nb",
    '"',
    "\0",
    "\ud800",
    "²",
)


def tables(name: str, every: bool):
    """(what was changed, the file so changed), of the first rows of a paper's table."""
    lines = next(iter(sorted(STUDIES.glob(f"*/{name}")))).read_text().splitlines()[:4]
    rows = [*csv.reader(lines)]
    yield "cut", ("\n".join(lines))[:-40].encode()
    yield "no text", "\n".join(lines).encode() + b"\xff"
    yield "nothing", b""
    for (i, j), cell in mutants.cells(rows, CELLS, every):
        changed = [[*row] for row in rows]
        changed[i][j] = cell
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(changed)
        yield f"{i}, {j}: {cell[:9]!r}", buffer.getvalue().encode("utf-8", "surrogatepass")
    for j in range(len(rows[0])):
        short = [[*row[:j], *row[j + 1 :]] for row in rows]
        yield f"without column {j}", "\n".join(map(",".join, short)).encode()


def unreadable_rows(name: str, every: bool) -> list[str]:
    kind, use = TABLES[name]

    def read(data: bytes) -> None:
        for place, row in parsed.__wrapped__(name, kind, data):
            try:
                use(row)
            except UserError as error:
                raise UserError(f"{place}: {error}") from None

    found = ((what, refusals(partial(read, data), name)) for what, data in tables(name, every))
    return [f"{what}: {fault}" for what, fault in found if fault]


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_table_is_taken_or_refused_by_file_and_line(name):
    assert unreadable_rows(name, every=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_change_of_a_table_is_taken_or_refused_by_file_and_line(name):
    assert unreadable_rows(name, every=True) == []
