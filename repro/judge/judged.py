"""A judged claim as JSON and CSV have it. No torch."""

from typing import TypedDict

from repro.judge.claims import number


class JudgedClaim(TypedDict):
    """A judged claim as JSON has it: a row of claims.json, of a record and of the scoreboard.

    A number that is not finite is None.
    """

    claim: str  # its id, `<figure>.<name>`
    kind: str  # what it rests on: training, theory, arithmetic, or a check of ours
    paper: str  # slug of the paper that makes it: the folder of its study and figure
    figure: str  # `<paper>/<figure>`, whose table it is measured on
    statement: str  # what the paper says, in our words
    source: str  # where the paper says it
    quantity: str  # what is measured, in words
    printed: list[str]  # what the paper prints for it, each number with its place, in words
    expected: str  # the bound it was held against, in words
    expected_paper: str  # the bound at paper scale, in words
    measured: float | None  # the measured value
    low: float | None  # lower end of the 95 % interval; None also of one run
    high: float | None  # its upper end
    n: int  # seeds behind the interval
    seen: str  # what was seen, whether or not it binds; "" where there is no bound
    binds: bool  # whether it is meant to hold at this scale and on this data
    verdict: str  # what was seen where it binds; else that it does not, or has no bound
    reason: str  # why it is not plainly reproduced or not; "" where it is
    p: float | None  # chance of a value this far from the bound's edge, were the truth there
    detail: str  # what a reader wants beside the value; may be ""
    power: str  # how simulated tables fared, by law; "" without trials
    untested: bool  # a training claim that binds, of which no such table was tried
    never: str  # the verdict that can hardly come out of its design; "" where both can
    second: str  # what was measured under other arithmetics; "" where nothing was
    chosen_after_seeing: str  # settings chosen after seeing results; "" where none were
    scale: str  # of its runs
    data: str  # of its runs: `embedded` (synthetic), `real`; what differs from that, by dataset


def interval(row: JudgedClaim) -> str:
    """`value [low, high]`, or the value alone where nothing is random or it is of one run; None is
    not finite."""
    if row["measured"] is None:
        return "nothing finite"
    value, low, high = (
        "not finite" if end is None else number(end, ".3g")
        for end in (row["measured"], row["low"], row["high"])
    )
    return value if row["low"] == row["high"] else f"{value} [{low}, {high}]"
