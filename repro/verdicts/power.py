"""What a claim's test would say if the paper's law held, another did, or the truth lay at an edge.

A figure names the laws (`laws`) and draws tables from them (`simulate`), of the design on
record and with seed noise of its size; `repro.authoring.trials` puts many through the figure's own
`measure` and the verdict's own rule, and keeps the counts in `studies/<paper>/power.csv`.

The counts say how often a verdict would be false, and the factors how much wider an interval must
be for that to be seldom. Where tables with the truth at the bound's edge differ too often, the
interval is widened until they do not, and then judged: so a verdict grows with its distance. It
agrees only if it would be inside still when widened until a rival's tables seldom agree, and
differs only if beyond it when widened until the paper's own seldom differ. How often the test
agrees under the paper's law, its power, is a figure of the design: it says how many seeds are
needed and whether not telling is a surprise, and withholds nothing. No torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from repro.core import rows
from repro.errors import UserError
from repro.verdicts.results import AGREES, DIFFERS, Law

TOO_OFTEN = 0.05  # a false verdict comes out more often
PAPER, RIVAL, EDGE = "paper", "rival", "edge"
LOWER, UPPER = "lower edge", "upper edge"  # of a bound: the truth lies there
MAKE = "python -m repro power"


@dataclass(frozen=True)
class Laws:
    """What a claim's test has to tell apart.

    paper: short name of the paper's law. rivals: names of those it could be taken for: no effect,
    another parametrization's, the sign flipped, a term left out. Both are facts of theory; what a
    law leaves open, as a curve's shape or the size of an effect, is the recorded table's. edge: the
    law under which the truth lies at the bound's edge, one of the rivals; where none is named, what
    was measured under the paper's law is shifted there.
    """

    paper: str
    rivals: tuple[str, ...]
    edge: str = ""

    def __post_init__(self) -> None:
        names = (self.paper, *self.rivals)
        if isinstance(self.rivals, str) or not self.rivals:
            raise UserError(f"laws {names}: rivals holds no name; give a tuple, as ('no effect',)")
        if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
            raise UserError(f"laws {names}: give every law a name of its own")
        if self.edge and self.edge not in self.rivals:
            raise UserError(f"laws {names}: edge {self.edge!r} is none of the rivals")

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the paper's first."""
        return self.paper, *self.rivals


# Of a claim of a sign alone: the recorded difference on the paper's side, none of it, all of it on
# the other side; and by law the side, 1 the paper's.
AS_CLAIMED, NO_EFFECT = "as claimed", "no effect"
SIGN = Laws(AS_CLAIMED, (NO_EFFECT, "the opposite"), edge=NO_EFFECT)
SIDES = dict(zip(SIGN.names, (1, 0, -1), strict=True))


@dataclass(frozen=True)
class Trial:
    """How one law fared in one claim's test. The fields are the file's columns, in its order.

    scale, data: of the record whose design was drawn. role: PAPER, RIVAL or EDGE. draws: how many
    tables. agrees, differs: in how many the whole interval met the bound, or lay beside it.
    factor: how many times as wide intervals must be for a false verdict of this law to come out in
    2.5 % at most. digest: SHA-256 of the data.csv on record.
    """

    scale: str
    data: str
    claim: str
    law: str
    role: str
    draws: int
    agrees: int
    differs: int
    factor: float
    digest: str

    def __post_init__(self) -> None:
        counted = self.agrees >= 0 <= self.differs
        if not counted or self.agrees + self.differs > self.draws or self.draws < 1:
            raise ValueError(f"its counts do not add up; make it anew: {MAKE}")

    @property
    def agree(self) -> float:
        """Share of the draws that agree."""
        return self.agrees / self.draws

    @property
    def differ(self) -> float:
        """Share of the draws that differ."""
        return self.differs / self.draws


def as_json(trial: Trial) -> Law:
    """A trial as a row of results has it."""
    return {
        "law": trial.law,
        "role": trial.role,
        "agrees": round(trial.agree, 4),
        "differs": round(trial.differ, 4),
    }


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


def roles(found: Sequence[Trial]) -> dict[str, list[Trial]]:
    """The trials by role."""
    return {role: [t for t in found if t.role == role] for role in (PAPER, RIVAL, EDGE)}


def factor(found: Sequence[Trial], role: str) -> float:
    """The largest factor of the trials of a role; 1 of none."""
    return max((t.factor for t in roles(found)[role]), default=1.0)


def errors(seen: str, found: Sequence[Trial]) -> list[tuple[str, float]]:
    """Laws under which what was seen would be a false verdict, and how often each gives it before
    intervals are calibrated: agreement under a rival, a difference under the paper's law and with
    the truth at an edge."""
    of = roles(found)
    if seen == AGREES:
        return [(t.law, t.agree) for t in of[RIVAL]]
    return [(t.law, t.differ) for t in (*of[EDGE], *of[PAPER])] if seen == DIFFERS else []
