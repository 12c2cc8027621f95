"""The power of a claim's test: how often it would agree if the paper's law held, or another did.

A figure's file names the laws (`LAWS`) and draws tables from them (`simulate`), of the design on
record and with seed noise of its size; `repro.judge.trials` puts many through the figure's own
`measure` and the verdict's own rule, and keeps the counts in `studies/<paper>/power.csv`. A test
that seldom agrees under the paper's law, or agrees under a rival's, tells nothing at that scale,
whatever the runs gave. No torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from repro.errors import UserError
from repro.judge import rows

ENOUGH = 0.80  # agrees at least as often under the paper's law
TOO_OFTEN = 0.05  # agrees more often under a rival's
PAPER, RIVAL = "paper", "rival"
MAKE = "python -m repro power"


@dataclass(frozen=True)
class Laws:
    """What a claim's test has to tell apart.

    paper: short name of the paper's law. rivals: names of those it could be taken for: no effect,
    another parametrization's, the sign flipped, a term left out. Both are facts of theory; what a
    law leaves open, as a curve's shape or the size of an effect, is the recorded table's.
    """

    paper: str
    rivals: tuple[str, ...]

    def __post_init__(self) -> None:
        names = (self.paper, *self.rivals)
        if isinstance(self.rivals, str) or not self.rivals:
            raise UserError(f"laws {names}: rivals holds no name; give a tuple, as ('no effect',)")
        if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
            raise UserError(f"laws {names}: give every law a name of its own")

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the paper's first."""
        return self.paper, *self.rivals


# Of a claim of a sign alone: the recorded difference on the paper's side, none of it, all of it on
# the other side; and by law the side, 1 the paper's.
AS_CLAIMED = "as claimed"
SIGN = Laws(AS_CLAIMED, ("no effect", "the opposite"))
SIDES = dict(zip(SIGN.names, (1, 0, -1), strict=True))


@dataclass(frozen=True)
class Trial:
    """How one law fared in one claim's test. The fields are the file's columns, in its order.

    scale, data: of the record whose design was drawn. role: PAPER or RIVAL. draws: how many tables.
    agrees, differs: in how many the whole interval met the bound, or lay beside it. digest: SHA-256
    of the data.csv on record.
    """

    scale: str
    data: str
    claim: str
    law: str
    role: str
    draws: int
    agrees: int
    differs: int
    digest: str

    def __post_init__(self) -> None:
        counted = self.agrees >= 0 <= self.differs
        if not counted or self.agrees + self.differs > self.draws or self.draws < 1:
            raise ValueError(f"its counts do not add up; make it anew: {MAKE}")

    @property
    def share(self) -> float:
        """Share of the draws that agree."""
        return self.agrees / self.draws


def path(paper: str) -> str:
    """Where a paper's trials are, relative to the checkout."""
    return f"studies/{paper}/power.csv"


def trials(paper: str) -> list[Trial]:
    """All of a paper's trials; none where there is no such file. Raises UserError, naming the line,
    on one that `write` would not have written."""
    return [trial for _, trial in rows.read(path(paper), Trial)]


def write(paper: str, found: Sequence[Trial]) -> None:
    """Write a paper's trials, the whole file or nothing."""
    rows.write(path(paper), Trial, found)


def of_claim(paper: str, claim: str, scale: str, data: str) -> list[Trial]:
    """The trials of one claim's test, the paper's law first."""
    return [t for t in trials(paper) if (t.claim, t.scale, t.data) == (claim, scale, data)]


def in_words(found: Sequence[Trial]) -> str:
    """`0.97; rivals: muP 0.02, SP 0.00`: the shares that agree."""
    of = {
        role: [f"{t.law} {t.share:.2f}" for t in found if t.role == role] for role in (PAPER, RIVAL)
    }
    return f"{', '.join(of[PAPER])}; rivals: {', '.join(of[RIVAL])}" if found else ""


def shortfall(found: Sequence[Trial]) -> str:
    """Why a test with these trials tells nothing, in words; "" if it does."""
    weak, blind = [], []
    for trial in found:
        if trial.role == PAPER and trial.share < ENOUGH:
            weak.append(f"{trial.share:.0%} under the paper's law")
        if trial.role == RIVAL and trial.share > TOO_OFTEN:
            blind.append(f"{trial.law} passes in {trial.share:.0%}")
    reasons = [*weak, *blind]
    return f"power: {', '.join(reasons)}".replace("%", " %") if reasons else ""
