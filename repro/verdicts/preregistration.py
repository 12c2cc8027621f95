"""The register: what was fixed of a claim's test before the runs that judge it were made.

`studies/<paper>/registered.csv` has a row for each. Rows are added, never edited: who changes their
mind adds a new one, and of a claim's rows at a scale and on its data the last one counts for runs
made from then on. Its seeds are derived from the commit that brought it (`repro.core.seeds`).
Whether it was there before the runs, `repro.verdicts.badge` asks of git. No torch.
"""

import math
import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache

from repro.core import config, discovery, rows, seeds
from repro.core.study import SCALES
from repro.errors import UserError, did_you_mean
from repro.lineage import history
from repro.lineage.checkout import ROOT
from repro.verdicts.power import TOO_OFTEN
from repro.verdicts.printed import claims_of

LEAST_POWER = 0.9  # planned under the paper's law, of what is registered
LEAST_TOLD = 0.6  # planned at the recorded value
# A row that begins what was known so was planned by it; older ones by twice the deviation.
RULE = "planned with the upper 80 % bound of the recorded deviation"
ARMS = re.compile(r"[a-z0-9][a-z0-9.-]* \d+(; [a-z0-9][a-z0-9.-]* \d+)*")
BLAMED = re.compile(r"([0-9a-f]{40}) \d+ (\d+)")  # of git: a commit, and the line it brought
# Whose earlier files say what was registered, and what the first record of the same data said.
LOOKED_AT = ("studies", "records")
UNCOMMITTED = "0" * 40
SEARCHED = "and those that a search adds"  # of a grid's values
# Rows of before there were these words name every point that a search may add, as code.
PROPOSED = re.compile(r"(?: ?Proposal\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))+")


@dataclass(frozen=True)
class Registered:
    """One row of the register. The fields are the file's columns, in its order.

    scale, data: of the runs, as in the paths of results/. claim: its id. estimator: how the
    quantity is taken from the runs. bound: what is expected, as the claim's `Expectation` prints
    it. why: why this bound. rivals: the laws that the test must tell from the paper's. window: what
    a final loss is the mean over. widths, grid: of the runs. arms: whose seeds are judged or
    choose, each with their number, as `fig3-d16 24; fig3-tuning 8`. power: share of tables that
    agree, planned as `known` says (RULE), under the paper's law. told: the same for a
    truth at the recorded value. error: the largest share of tables, under a rival or at the bound's
    edge, that would be judged falsely. seconds: price of the figure in seconds of one core. known:
    what was known of the result when the row was written.
    """

    scale: str
    data: str
    claim: str
    estimator: str
    bound: str
    why: str
    rivals: str
    window: str
    widths: str
    arms: str
    grid: str
    power: float
    told: float
    error: float
    seconds: float
    known: str

    def __post_init__(self) -> None:
        for column in fields(self):
            if not str(getattr(self, column.name)).strip():
                raise ValueError(f"{column.name} is empty; say none where there is none")
        if self.scale not in SCALES:
            raise ValueError(f"unknown scale {self.scale!r}, {did_you_mean(self.scale, SCALES)}")
        if not config.is_data_label(self.data, discovery.dataset_names()):
            raise ValueError(f"unknown data {self.data!r}; write embedded, real, or covtype=real")
        if not ARMS.fullmatch(self.arms):
            raise ValueError(f"arms {self.arms!r} are no names with numbers; write: narrow 24")
        if not self.power >= LEAST_POWER:
            raise ValueError(f"power {self.power:g} is below {LEAST_POWER}; plan more seeds")
        if not self.told >= LEAST_TOLD:
            raise ValueError(f"told {self.told:g} is below {LEAST_TOLD}; plan more seeds")
        if not self.error <= TOO_OFTEN:
            raise ValueError(f"error {self.error:g} is above {TOO_OFTEN}; plan a stricter test")
        shares = self.error >= 0 and self.power <= 1 and self.told <= 1
        if not (shares and 0 <= self.seconds < math.inf):
            raise ValueError("power, told, error and seconds are no shares and seconds")

    @property
    def asked(self) -> dict[str, int]:
        """Arm -> how many seeds of it the test has."""
        pairs = (pair.split(" ") for pair in self.arms.split("; "))
        return {arm: int(number) for arm, number in pairs}

    @property
    def planned(self) -> str:
        """The grid in words."""
        axes = ((axis, PROPOSED.sub("", axis)) for axis in self.grid.split("; "))
        return "; ".join(a if a == without else f"{without} {SEARCHED}" for a, without in axes)

    @property
    def lines(self) -> list[str]:
        """The row in words."""
        return [
            f"bound: {self.bound} ({self.why})",
            f"estimator: {self.estimator}; window: {self.window}; rivals: {self.rivals}",
            f"widths: {self.widths}; grid: {self.planned}; seeds: {self.arms}",
            f"planned: power {self.power:g}, told at the recorded value {self.told:g}, error "
            f"{self.error:g}, {self.seconds:g} s of a core",
            f"known when it was written: {self.known}",
        ]

    @property
    def key(self) -> tuple[str, str, str]:
        """What rows of one claim's test have in common."""
        return self.claim, self.scale, self.data


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


@cache
def at_commit(paper: str, commit: str) -> tuple[Registered, ...]:
    """The rows of a paper's register as it stood at a commit; none where there was none, or where
    its columns were others."""
    return tuple(_at(path(paper), Registered, commit))


@cache
def arms_at(paper: str, commit: str) -> dict[str, seeds.Arm]:
    """Name -> arm, as a paper's seeds stood at a commit."""
    return {arm.arm: arm for arm in _at(seeds.path(paper), seeds.Arm, commit)}


def _at(name: str, kind: type, commit: str) -> list:
    content = history.git("show", f"{commit}:{name}", root=ROOT) or ""
    try:
        found = rows.parsed(name, kind, (content + "\n").encode()) if content else ()
    except UserError:
        return []
    return [row for _, row in found]


def unknown() -> str:
    """Why nothing can be told of what was registered before what; "" if it can."""
    if history.commits(ROOT) is not None:
        if history.lacks(LOOKED_AT, ROOT):
            return "the clone is partial; git fetch --refetch --no-filter"
        return ""
    if history.git("rev-parse", "--is-shallow-repository", root=ROOT) == "true":
        return "the clone is shallow; git fetch --unshallow"
    return "this is no clone, or there is no git"


@cache
def introduced(paper: str) -> list[str]:
    """For each row of a paper's register, in words, the commit that brought it; "" where it is not
    committed, or no git says."""
    return ["" if not commit else f"commit {commit[:12]}, {day}" for commit, day in brought(paper)]


def brought(paper: str) -> list[tuple[str, str]]:
    """For each row of a paper's register the commit that brought it, and its day; "" where it is
    not committed, or no git says: of a shallow clone it names the commit that is there. Of one call
    of git."""
    blame = ("blame", "--porcelain", "--", path(paper))
    blamed = "" if unknown() else history.git(*blame, root=ROOT) or ""
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
    return [("", "") if c == UNCOMMITTED else (c, days[c]) for c in known]


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
