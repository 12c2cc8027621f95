"""An entry of the board of transfer: `--config entry=FILE.py` puts a user's file in the place of
the parametrizations of three workloads. No torch at import.

The file defines NAME, and `rules(family)` as any parametrization, or PARAMETRIZATION, the name of
one that is there. It may define OPTIMIZER, settings that replace a workload's own ({"name": "muon",
"momentum": 0.95, "adjust_lr_fn": "original"}, {"weight_decay": 0.1}), and OCTAVES, by which its
grids of learning rates are moved. Here it is read and not carried out: so all but its rules are
literals.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from repro.core.names import StageName
from repro.core.study import Study
from repro.errors import UserError
from repro.files import open_file, read_as, sha256, write_bytes
from repro.lineage import foreign
from repro.training.settings import OPTIMIZERS, misfit
from widthwise.parametrization.named import find

FIGURE = "transfer/leaderboard"  # whose runs an entry has
WORKLOADS = ("decoder", "mlp", "gru")  # of it, those that are cheap
STAGES = ("proxy", "wide")
FOLDER = Path("results", "entries")  # copies that a run takes, whatever becomes of the file
WORDS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "muon": "Muon"}  # the board's
# What a workload's own optimizer has beside what an entry gives (`entered`).
OWN = {"name": "adamw", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.0, "clip": None}
NAME = r"[A-Za-z0-9][A-Za-z0-9 (),.=_+-]{0,38}[A-Za-z0-9)]|[A-Za-z0-9]"
STEM = r"\w[\w-]{0,59}"  # of its file: a folder of records/ has it
MOST = 100_000  # characters of a file
COOKIE = re.compile(r"coding[:=]\s*[-\w.]+")  # PEP 263: code that reads as a comment
PROXY = "(proxy)"  # of runs at the narrow width, which all rows share
REMEDY = "make it again with repro record --config entry=FILE.py"
CONSTANTS = ("NAME", "PARAMETRIZATION", "OPTIMIZER", "OCTAVES")


@dataclass(frozen=True)
class EntryFile:
    """What an entry's file says. given: where it was. stem: of its name. text: of it.
    parametrization: a name, or "" where it has rules of its own. settings: what replaces a
    workload's optimizer settings. octaves: the grids' shift."""

    given: str
    stem: str
    text: str
    name: str
    parametrization: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    octaves: float = 0.0

    @property
    def optimizer(self) -> str:
        """Its optimizer in the board's words."""
        name = self.settings.get("name", "adamw")
        return WORDS.get(name, name)

    @property
    def digest(self) -> str:
        """SHA-256 of its text, which the specs of its runs have."""
        return sha256(self.text.encode())

    @property
    def copy(self) -> Path:
        """Where its runs find it: an editor that saves another text moves no run that goes on."""
        return FOLDER / self.digest[:12] / f"{self.stem}.py"

    @property
    def as_recorded(self) -> dict:
        """What its runs' provenance says of it, and `of_record` reads."""
        return {"file": f"{self.stem}.py", "lines": self.text.split("\n")}

    def refuse_another(self, there: Path) -> None:
        """Raise UserError where a record's JSON is there and of an entry of another name."""
        if there.exists() and load(str(there)).name != self.name:
            raise UserError(f"{there}: is of another entry; give {self.given} another name")

    def keep(self) -> "EntryFile":
        """This, with its copy there. Raises UserError where the copy holds another text."""
        if not self.copy.exists():
            write_bytes(self.copy, self.text.encode())
        if self.copy.read_bytes() != self.text.encode():
            raise UserError(f"{self.copy}: was changed; delete it and run the same command again")
        return self

    def over(self, own: Mapping) -> dict:
        """An optimizer's settings with the entry's in place; of another, those that it uses."""
        its = OPTIMIZERS.get(str(self.settings.get("name", own["name"])), ())
        return {**{key: value for key, value in own.items() if key in its}, **self.settings}

    def has_runs(self, stage: StageName) -> bool:
        """Whether an entry has runs of a stage."""
        paper, study = stage.module.split("/")
        return paper == "transfer" and study in WORKLOADS and stage.stage in STAGES

    def entered(self, study: Study) -> Study:
        """A stage's grids and settings with the entry's. Carries the file out, where it has
        rules; raises UserError where they are none."""
        ours = self.parametrization or self.copy.as_posix()
        rows = find(ours).rules("sgd" if self.settings.get("name") == "sgd" else "adam")
        if any(rule.init is None for rule in rows.values()):
            words = "leaves initial values as made, which the board's models draw"
            raise UserError(f"{self.given}: {words}; give each rule an init")

        def grid(own: Mapping) -> dict:
            moved = {"lr": [rate * 2.0**self.octaves for rate in own["lr"]]} if "lr" in own else {}
            its = {"parametrization": [ours]} if "parametrization" in own else {}
            return {**own, **moved, **its}

        scales = {
            name: replace(scale, grid=grid(scale.grid)) for name, scale in study.scales.items()
        }
        optimizer = self.over(study.spec["optimizer"])
        its = {"parametrization": ours, "optimizer": optimizer, "entry": self.digest}
        return replace(study, spec={**study.spec, **its}, grid=grid(study.grid), scales=scales)


def load(given: str) -> EntryFile:
    """An entry by its file, or by the JSON of its record, which holds the file's text."""
    path = Path(given)
    if path.suffix not in (".py", ".json") or not path.is_file():
        raise UserError(f"config key entry: {given!a} is no file; give a FILE.py that has a NAME")
    if path.suffix == ".json":
        return of_record(read_as(path, dict, REMEDY), given)
    with open_file(path) as file:
        content = file.read(MOST + 1)
    try:
        return parse(content.decode(), given, path.stem)
    except UnicodeDecodeError as error:
        raise UserError(f"{given}: is no UTF-8 text ({error.reason}); save it as such") from None


def of_record(saved: Any, given: str) -> EntryFile:
    """The entry that a record's JSON is of. Raises UserError, naming it, where there is none."""
    made_of = saved.get("provenance") if isinstance(saved, dict) else None
    found = made_of.get("entry") if isinstance(made_of, dict) else None
    if not (
        isinstance(found, dict)
        and foreign.fits(found.get("file"), rf"{STEM}\.py")
        and foreign.fits(found.get("lines"), [r"[^\n]*"])
    ):
        raise UserError(f"{given}: holds no entry of the board; {REMEDY}")
    return parse("\n".join(found["lines"]), given, found["file"].removesuffix(".py"))


def parse(text: str, given: str, stem: str = "entry") -> EntryFile:
    """What an entry's text says, which is not carried out. Raises UserError, naming the file, on
    one that is no entry, and on one whose code may look to a reader like another. stem: of its
    name."""
    check_text(text, given)
    if not foreign.fits(stem, STEM):
        raise UserError(f"{given}: a folder is named by it; name it by letters, digits, _ and -")
    said, has_rules = _literals(text, given)
    name, settings, octaves = said.get("NAME"), said.get("OPTIMIZER", {}), said.get("OCTAVES", 0.0)
    if not foreign.fits(name, NAME):
        raise UserError(
            f"{given}: NAME must be 1 to 40 letters, digits and (),.=_+- that end in a letter, "
            f"digit or ), got {_short(name)}"
        )
    if has_rules == ("PARAMETRIZATION" in said):
        raise UserError(f"{given}: define rules(family), or PARAMETRIZATION, the name of a table")
    parametrization = said.get("PARAMETRIZATION", "")
    if not isinstance(parametrization, str) or parametrization.endswith(".py"):
        raise UserError(f"{given}: PARAMETRIZATION must be a name, got {_short(parametrization)}")
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise UserError(f"{given}: OPTIMIZER must be a mapping of settings")
    if isinstance(octaves, bool) or not isinstance(octaves, int | float) or not abs(octaves) <= 20:
        raise UserError(f"{given}: OCTAVES must be a number of octaves, got {_short(octaves)}")
    if not has_rules:
        try:
            find(parametrization)
        except UserError as error:
            raise UserError(f"{given}: {error}") from None
    found = EntryFile(given, stem, text, str(name), parametrization, dict(settings), float(octaves))
    if wrong := misfit(found.over(OWN)):
        raise UserError(f"{given}: OPTIMIZER {wrong}")
    return found


def check_text(text: str, given: str) -> None:
    """Raise UserError unless a text is code as it reads."""
    if len(text) > MOST:
        raise UserError(f"{given}: is longer than {MOST:,} characters; an entry is a short file")
    for number, line in enumerate(text.split("\n"), 1):
        if odd := next((c for c in line if not c.isprintable()), None):
            raise UserError(
                f"{given}, line {number}: has {odd!a}, which cannot be seen; take it out"
            )
        if number <= 2 and "#" in line and COOKIE.search(line):
            raise UserError(f"{given}, line {number}: says another coding; save it as UTF-8")


def plain(node: ast.AST, name: str) -> bool:
    """Whether a statement is the assignment of a value to one name."""
    if isinstance(node, ast.AnnAssign):
        return node.value is not None and ast.unparse(node.target) == name
    return isinstance(node, ast.Assign) and [*map(ast.unparse, node.targets)] == [name]


def bound(tree: ast.AST, name: str) -> int:
    """How often a text gives a name a value, or may, wherever in it."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            count += node.id == name and not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.alias):
            count += (node.asname or node.name) in (name, "*")
        elif isinstance(node, ast.Global | ast.Nonlocal):
            count += name in node.names
        elif not isinstance(node, ast.Attribute | ast.keyword | ast.arg):
            count += name in (getattr(node, "name", None), getattr(node, "rest", None))
    return count


def _literals(text: str, given: str) -> tuple[dict[str, Any], bool]:
    """(the constants of an entry's text, whether it defines rules)."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{given}: is no Python ({str(error).splitlines()[0]}); mend it") from None
    for name in CONSTANTS:
        if bound(tree, name) > 1 or bound(tree, name) > sum(
            plain(node, name) for node in tree.body
        ):
            raise UserError(
                f"{given}: {name} is given twice, or not as `{name} = ...` of a line of "
                "its own, so that Python may take another; leave one such line"
            )
    found: dict[str, Any] = {}
    rules = False
    for node in tree.body:
        targets: list[Any] = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value:
            targets = [node.target]
        names = {each.id for each in targets if isinstance(each, ast.Name)}
        own = getattr(node, "name", "") if isinstance(node, ast.FunctionDef) else ""
        rules = rules or own == "rules" or "rules" in names
        for name in names & {*CONSTANTS}:
            try:
                found[name] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                raise UserError(
                    f"{given}: {name} must be a literal, for it is read and not carried out; "
                    "write its value"
                ) from None
    return found, rules


def _short(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."


def named(file: EntryFile, table: Any) -> Any:
    """The scores' table of an entry's runs, by its name and optimizer in place of where its file
    was read."""
    names = table["parametrization"].where(table["parametrization"] == PROXY, file.name)
    return table.assign(parametrization=names, optimizer=file.optimizer)
