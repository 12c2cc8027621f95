"""What a figure's tests and readings came to: facts, as JSON has them. No torch.

They are the rows of a record, of results/ and of claims.json; `repro.verdicts.words` words them.
"""

from collections.abc import Sequence
from typing import TypedDict

from repro.core.papers import is_a_paper
from repro.verdicts.answers import OF_A_PAPER

# What was seen of an interval and a bound.
AGREES = "agrees"
DIFFERS = "differs"
UNCLEAR = "unclear"
SEEN = (AGREES, DIFFERS, UNCLEAR)
# A test's status.
REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
INCONCLUSIVE = "inconclusive"
TOLD = (REPRODUCED, NOT_REPRODUCED)
# Why a test tells nothing: kinds of doubts.
PROBLEM = "problem"
NO_NUMBER = "no number"
NOT_FINITE = "not finite"
ONE_RUN = "one run"
NOISE = "noise"
FEW_SEEDS = "few seeds"
RIVAL_TOO = "rival"
OWN_TOO = "own law"
LIMIT = "limit"


class Bound(TypedDict):
    """What a quantity was held against."""

    text: str  # the bound in words
    low: float | None  # its lower end; null where there is none
    high: float | None  # its upper end; null where there is none
    strict: bool  # whether its ends do not count as inside
    basis: str  # stated by the paper, a tolerance of ours around a printed value, or ours
    why: str  # what a tolerance, or a bound of ours, was chosen by; may be ""
    formula: str  # the paper's formula that predicts the quantity; "" where it has none
    predicted: list[float]  # what that allows at the design's own sizes: two ends; none without it
    limit: float | None  # what it comes to in the limit of large sizes; null without it
    outside: str  # how the design breaks the paper's conditions; "" where it keeps them


class Printed(TypedDict):
    """A number that the paper prints, to hold the measured value against."""

    value: str  # as printed, with the paper's digits; `<` or `>` where it says only a side
    number: float  # the value as a number, without that sign
    unit: str  # in plain words; `1` where there is none
    place: str  # where the paper prints it
    what: str  # what it is of; may be a part of the quantity


class Law(TypedDict):
    """How a test fared on tables drawn from a law."""

    law: str  # the name of the law
    role: str  # the paper's, a rival's, or the truth at the edge of the bound
    agrees: float  # in which share of the tables the whole interval met the bound
    differs: float  # in which share it lay beside it


class Doubt(TypedDict):
    """Why a test tells nothing, or not plainly."""

    code: str  # which of the kinds of doubts
    of: str  # what is particular to it: a number, or a figure's own words; may be ""


class Row(TypedDict):
    """What tests and readings have in common. A number that is not finite is None."""

    figure: str  # `<paper>/<figure>`, whose table it is measured on
    scale: str  # of its runs
    data: str  # of its runs: `embedded` (synthetic), `real`; what differs from that, by dataset
    quantity: str  # what is measured, in words
    measured: float | None  # the measured value
    low: float | None  # lower end of the 95 % interval; null also of one run
    high: float | None  # its upper end
    n: int  # seeds behind the interval
    printed: list[Printed]  # what the paper prints for it
    detail: str  # what a reader wants beside the value; may be ""


class Judged(Row):
    """A test that binds at its scale and on its data."""

    test: str  # its id, `<figure>.<name>`
    statement: str  # the statement it is of, by its id within the paper
    column: str  # on which network or in which setting
    kind: str  # what it rests on: training, theory, arithmetic, or a check of ours
    bound: Bound  # what the interval was held against
    status: str  # reproduced, not reproduced or inconclusive
    doubts: list[Doubt]  # why nothing can be told; none where it can
    p: float | None  # chance of a value this far from the bound's edge, were the truth there
    calibration: float  # how many times as wide as its estimator's the interval was made
    laws: list[Law]  # how it fared on simulated tables


class Taken(Row):
    """A number that is held against nothing at its scale."""

    reading: str  # its id, `<figure>.<name>`
    beside: str  # what a reader may hold it against, in words; may be ""
    bound: Bound | None  # of a test at another scale, that one's; null of what is none anywhere
    seen: str  # on which side of that bound the interval lies; "" where there is none
    problem: str  # why nothing can be told from the value; "" where it can


class Results(TypedDict):
    """What came of one figure."""

    tests: list[Judged]  # those that bind
    readings: list[Taken]  # what was measured besides


def paper_of(row: Row) -> str:
    """The slug of the paper whose figure a row is of."""
    return row["figure"].partition("/")[0]


def of_a_paper(row: Judged) -> bool:
    """Whether a test is of a paper's statement; else it is ours."""
    return row["kind"] in OF_A_PAPER and is_a_paper(paper_of(row))


def in_family(row: Judged) -> bool:
    """Whether a test is one of a paper's random ones, which chance has a try at."""
    return of_a_paper(row) and row["p"] is not None


def families(rows: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Paper -> its random tests of one scale and data."""
    own = [row for row in rows if in_family(row)]
    return {p: [r for r in own if paper_of(r) == p] for p in dict.fromkeys(map(paper_of, own))}


def survivors(rows: Sequence[Judged]) -> set[tuple[str, str]]:
    """(paper, test) of the random tests that stand when a paper's are taken together, by Holm's
    method at 5 %."""
    from repro.statistics import holm

    return {
        (paper, row["test"])
        for paper, family in families(rows).items()
        for row, stands in zip(family, holm([row["p"] or 0.0 for row in family]), strict=True)
        if stands
    }
