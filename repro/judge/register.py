"""The register: what was fixed of a claim's test before the runs that judge it were made.

`studies/<paper>/registered.csv` has a row for each. Rows are added, never edited: who changes their
mind adds a new one, and of a claim's rows at a scale and on its data the last one counts for runs
made from then on. Whether a row was there before the runs is asked of git whenever it is shown, and
is no part of a record: the register is read as it stood at the commit that the runs name. No torch.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache

from repro.errors import UserError, did_you_mean
from repro.judge.board import JudgedClaim
from repro.judge.power import TOO_OFTEN
from repro.judge.printed import claims_of
from repro.suite import config, history, registry, rows
from repro.suite.checkout import ROOT
from repro.suite.provenance import mixture
from repro.suite.study import SCALES

LEAST_POWER = 0.9  # planned, of what is registered
SEEDS = re.compile(r"\d+(-\d+)?( \d+(-\d+)?)*")  # 2000-2007 2010
NAMED = re.compile(r"\bseeds?,? (\d+)(?:( to |-| and )(\d+))?")  # seed, 0; seeds 2020 to 2024
MOST_SEEDS = 100_000
BLAMED = re.compile(r"([0-9a-f]{40}) \d+ (\d+)")  # of git: a commit, and the line it brought
UNCOMMITTED = "0" * 40

BEFORE = "registered before"
WAITING = "registered, runs not yet made"
NOT_BEFORE = "not registered before"
NOT = "not registered"
UNKNOWN = "unknown here"


@dataclass(frozen=True)
class Registered:
    """One row of the register. The fields are the file's columns, in its order.

    scale, data: of the runs, as in the paths of results/. claim: its id. estimator: how the
    quantity is taken from the runs. bound: what is expected, as the claim's `Expectation` prints
    it. why: why this bound. rivals: the laws that the test must tell from the paper's. widths,
    grid: of the runs. seeds: those that are judged, as `2000-2007 2010`; others, which only choose,
    stand here too or in the estimator's words. extension:
    those of the one extension that is permitted, empty if none is. power: share of tables that
    agree, planned, under the paper's law. error: the largest share of tables, under a rival or at
    the bound's edge, that would be judged falsely. hours: price in hours of one core. known: what
    was known of the result when the row was written.
    """

    scale: str
    data: str
    claim: str
    estimator: str
    bound: str
    why: str
    rivals: str
    widths: str
    seeds: str
    extension: str
    grid: str
    power: float
    error: float
    hours: float
    known: str

    def __post_init__(self) -> None:
        for column in fields(self):
            cell = str(getattr(self, column.name))
            if not cell.strip() and column.name != "extension":
                raise ValueError(f"{column.name} is empty; say none where there is none")
        if self.scale not in SCALES:
            raise ValueError(f"unknown scale {self.scale!r}, {did_you_mean(self.scale, SCALES)}")
        if not config.is_data_label(self.data, registry.dataset_names()):
            raise ValueError(f"unknown data {self.data!r}; write embedded, real, or covtype=real")
        if both := self.planned & numbers("extension", self.extension):
            raise ValueError(f"seed {min(both)} is in seeds and in extension")
        if not self.power >= LEAST_POWER:
            raise ValueError(f"power {self.power:g} is below {LEAST_POWER}; plan more seeds")
        if not self.error <= TOO_OFTEN:
            raise ValueError(f"error {self.error:g} is above {TOO_OFTEN}; plan a stricter test")
        if not (self.error >= 0 and self.power <= 1 and 0 <= self.hours < math.inf):
            raise ValueError("power, error and hours are no shares and hours")

    @property
    def planned(self) -> frozenset[int]:
        """The seeds without the extension's."""
        return numbers("seeds", self.seeds)

    @property
    def permitted(self) -> frozenset[int]:
        """The seeds with the extension's, and those that the estimator names, as of a sweep that
        only chooses."""
        return self.planned | numbers("extension", self.extension) | self.named

    @property
    def named(self) -> frozenset[int]:
        """The seeds that the estimator names in words."""
        found: set[int] = set()
        for first, joined, last in NAMED.findall(self.estimator):
            ends = int(first), int(last or first)
            ends = ends[0], min(ends[1], ends[0] + MOST_SEEDS)
            found |= {*ends} if joined == " and " else {*range(ends[0], ends[1] + 1)}
        return frozenset(found)

    @property
    def lines(self) -> list[str]:
        """The row in words."""
        extension = f"; one extension by seeds {self.extension}" if self.extension else ""
        return [
            f"bound: {self.bound} ({self.why})",
            f"estimator: {self.estimator}; rivals: {self.rivals}",
            f"widths: {self.widths}; grid: {self.grid}; seeds: {self.seeds}{extension}",
            f"planned: power {self.power:g}, error {self.error:g}, {self.hours:g} core-hours",
            f"known when it was written: {self.known}",
        ]

    @property
    def key(self) -> tuple[str, str, str]:
        """What rows of one claim's test have in common."""
        return self.claim, self.scale, self.data


def numbers(column: str, text: str) -> frozenset[int]:
    """The seeds of a text; none of an empty one. Raises ValueError on anything else."""
    if not text:
        return frozenset()
    if not SEEDS.fullmatch(text):
        raise ValueError(f"{column} {text!r} are no seeds; write them as 2000-2007 2010")
    found: set[int] = set()
    for word in text.split():
        first, _, last = word.partition("-")
        if int(last or first) - int(first) > MOST_SEEDS:
            raise ValueError(f"{column} {text!r} are more than {MOST_SEEDS:,} seeds")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def path(paper: str) -> str:
    """Where a paper's register is, relative to the checkout."""
    return f"studies/{paper}/registered.csv"


def registered(paper: str) -> tuple[Registered, ...]:
    """All rows of a paper's register; none where there is no such file.

    Raises UserError, naming file and line, on a row that is not as `Registered` describes it, or of
    no claim of the paper.
    """
    found = rows.read(path(paper), Registered)
    ids, broken = claims_of(paper) if found else (set(), set())
    for place, row in found:
        if row.claim not in ids and row.claim.split(".")[0] not in broken:
            raise UserError(f"{place}: unknown claim {row.claim!r}, {did_you_mean(row.claim, ids)}")
    return tuple(row for _, row in found)


def rows_of(paper: str, claim: str, scale: str, data: str) -> list[Registered]:
    """The rows of one claim's test, without a look at the paper's other claims."""
    found = (row for _, row in rows.read(path(paper), Registered))
    return [row for row in found if row.key == (claim, scale, data)]


@dataclass(frozen=True)
class Badge:
    """Whether a claim was registered before its runs. word: one of those above. reason: why, or
    what else there is to know; may be ""."""

    word: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def badge(row: JudgedClaim, provenance: Mapping) -> Badge:
    """The badge of a judged claim. provenance: of the figure it was judged on.

    It was registered before if every run is of a commit of this history, with its code unchanged,
    at which the register had a row of the claim that it still has; if all are of one version of
    their code; and if bound and seeds are those of that row.
    """
    paper = row["paper"]
    now = rows_of(paper, row["claim"], row["scale"], row["data"])
    if not now:
        return Badge(NOT)
    if reason := unknown():
        return Badge(UNKNOWN, reason)
    counting, reason = _row_before(paper, now, provenance["made"])
    if counting is None:
        return Badge(NOT_BEFORE, reason)
    if counting.bound != row["expected"]:
        reason = f"it was registered as {counting.bound!r}, and judged by {row['expected']!r}"
    reason = reason or mixture(provenance["made"]) or _other_seeds(paper, counting, provenance)
    if reason:
        return Badge(NOT_BEFORE, reason)
    several = f"the claim has {len(now)} rows; number {now.index(counting) + 1} was there"
    return Badge(BEFORE, several if len(now) > 1 else "")


def waiting(paper: str, row: Registered, expected: str) -> Badge:
    """The badge of a claim whose runs are not made. row: the last of its rows. expected: the bound
    that the claim has today."""
    if row.bound != expected:
        return Badge(WAITING, f"the claim expects {expected!r} today; that needs a new row")
    if not unknown() and row not in at_commit(paper, "HEAD"):
        return Badge(WAITING, "the row is not committed; commit it before any run")
    return Badge(WAITING)


def unknown() -> str:
    """Why nothing can be told of what was registered before what; "" if it can."""
    if history.commits(ROOT) is not None:
        return ""
    if history.git("rev-parse", "--is-shallow-repository", root=ROOT) == "true":
        return "the clone is shallow; git fetch --unshallow"
    return "this is no clone, or there is no git"


def _row_before(
    paper: str, now: Sequence[Registered], made: Sequence[Mapping]
) -> tuple[Registered | None, str]:
    """The row that counts for runs, or None and the reason why none does."""
    if not made:
        return None, "nothing was run for it, so that no commit says when it was judged"
    found = set()
    for made_at in dict.fromkeys(str(entry["commit"] or "") for entry in made):
        commit, _, dirty = made_at.partition("+")
        name = commit[:12]
        if not commit:
            return None, "runs name no commit"
        if dirty:
            return None, f"runs are of commit {name} with changed files"
        if commit not in (history.commits(ROOT) or ()):
            return None, f"runs are of commit {name}, which this history does not have"
        then = [row for row in at_commit(paper, commit) if row.key == now[0].key]
        if not then:
            return None, f"the row is younger than runs of commit {name}"
        if then[-1] not in now:
            return None, f"the row was edited after runs of commit {name}"
        found.add(then[-1])
    if len(found) > 1:
        return None, "a new row was added between its runs"
    return found.pop(), ""


@cache
def at_commit(paper: str, commit: str) -> tuple[Registered, ...]:
    """The rows of a paper's register as it stood at a commit; none where there was none, or where
    its columns were others."""
    content = history.git("show", f"{commit}:{path(paper)}", root=ROOT) or ""
    try:
        found = rows.parsed(path(paper), Registered, content.encode()) if content else ()
    except UserError:
        return ()
    return tuple(row for _, row in found)


def _other_seeds(paper: str, row: Registered, provenance: Mapping) -> str:
    """How the seeds of a figure's runs are not those registered, in words; "" if they are. Claims
    share a figure's runs, so that one may have seeds of its own which no other has registered."""
    if "seeds" not in provenance:
        return "its data do not say of which seeds they are"
    made = set(provenance["seeds"])
    figure = row.claim.split(".")[0]
    beside = (each for _, each in rows.read(path(paper), Registered))
    here = (each for each in beside if each.key[1:] == row.key[1:])
    permitted = {s for each in here if each.claim.split(".")[0] == figure for s in each.permitted}
    if beyond := made - permitted:
        return f"seeds beyond the registered: {listed(beyond)}"
    if missing := row.planned - made:
        return f"seeds that were registered and not run: {listed(missing)}"
    extension = numbers("extension", row.extension)
    if extension & made and extension - made:
        return f"seeds of the extension that were not run: {listed(extension - made)}"
    return ""


def listed(seeds: set[int] | frozenset[int]) -> str:
    """Seeds as text: `2008, 2009`."""
    return ", ".join(map(str, sorted(seeds)))


@cache
def introduced(paper: str) -> list[str]:
    """For each row of a paper's register, in words, the commit that brought it; "" where it is not
    committed, or no git says. Of one call of git."""
    blamed = history.git("blame", "--porcelain", "--", path(paper), root=ROOT) or ""
    commits, days = {}, {}
    commit = ""
    for line in blamed.split("\n"):
        if begins := BLAMED.match(line):
            commit, number = begins.groups()
            commits[int(number)] = commit
        elif line.startswith("committer-time "):  # once a commit
            days[commit] = _day(int(line.split()[1]))
    lines = range(2, len(rows.read(path(paper), Registered)) + 2)  # below the head, a row each
    known = (commits.get(line, UNCOMMITTED) for line in lines)
    return ["" if c == UNCOMMITTED else f"commit {c[:12]}, {days[c]}" for c in known]


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
