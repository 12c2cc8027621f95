"""The words of verdicts: of a status, a doubt, a number, and of a test in three forms.

A *cell* is a status with what changes how it is read, a *sentence* says what was measured and
whether it holds, a *row* is a test's line of a table. Terminal, pages, pictures and records take
them from here, and no other module words a verdict. No torch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from repro.verdicts.answers import STATED, TOLERANCE, TRAINING, Test, number
from repro.verdicts.power import EDGE, NO_EFFECT, PAPER, RIVAL, TOO_OFTEN
from repro.verdicts.results import (
    AGREES,
    DIFFERS,
    FEW_SEEDS,
    INCONCLUSIVE,
    LIMIT,
    NO_NUMBER,
    NOISE,
    NOT_FINITE,
    NOT_REPRODUCED,
    ONE_RUN,
    OWN_TOO,
    PROBLEM,
    REPRODUCED,
    RIVAL_TOO,
    UNCLEAR,
    Bound,
    Judged,
    Law,
    Printed,
    Row,
    Taken,
)


@dataclass(frozen=True)
class Status:
    """What a test's verdict is called.

    word: the same everywhere. meaning: one sentence. look: the class of its colours and mark in
    report.css. color: in pictures.
    """

    word: str
    meaning: str
    look: str
    color: str


STATUSES: Mapping[str, Status] = {
    status.word: status
    for status in (
        Status(
            REPRODUCED,
            "The whole interval lies within the bound, also when it is widened until each rival "
            "law's tables seldom agree.",
            "good",
            "#148a53",
        ),
        Status(
            NOT_REPRODUCED,
            "The whole interval lies outside the bound, also when it is widened until the paper's "
            "own tables seldom differ.",
            "bad",
            "#c0262b",
        ),
        Status(
            INCONCLUSIVE,
            "The runs do not tell: the interval crosses the bound, or would once widened, or "
            "something else stands in the way, which is named.",
            "open",
            "#7d8896",
        ),
    )
}
# A negative result is a result: it stands first.
WORST_FIRST = (NOT_REPRODUCED, INCONCLUSIVE, REPRODUCED)
OUTSIDE = "outside the paper's conditions"

# Kinds of doubts -> in words; {} is what is particular to one.
DOUBTS: Mapping[str, str] = {
    PROBLEM: "{}",
    NO_NUMBER: "nothing was measured: the value is no number",
    NOT_FINITE: "the measured value is not finite",
    ONE_RUN: "one run",
    NOISE: "noise: the interval reaches over the bound",
    FEW_SEEDS: "{} seeds or more are needed to tell",
    RIVAL_TOO: "not where the interval is {} times as wide, so that a rival's tables seldom agree",
    LIMIT: "the bound is of the limit, and {} is elsewhere at these sizes",
    OWN_TOO: "not where the interval is {} times as wide, so that the paper's seldom differ",
}
READ = ("measured besides", "value", "to hold it against")  # of `reading`
HEAD = ("verdict", "statement", "the paper prints", "measured")  # of `row`


def interval(row: Row) -> str:
    """`value [low, high]`, or the value alone where nothing is random or it is of one run. Three
    digits, or as many more as tell the interval's ends apart."""
    if row["measured"] is None:
        return "nothing finite"
    if row["low"] == row["high"]:
        return number(row["measured"], ".3g")
    for form in (".3g", ".4g", ".5g", ".6g"):
        value, low, high = (
            "not finite" if end is None else number(end, form)
            for end in (row["measured"], row["low"], row["high"])
        )
        if low != high:
            break
    return f"{value} [{low}, {high}]"


def outside(row: Judged) -> str:
    """What a reader must hear in the same breath where an interval leaves a printed value out, or
    what the paper's formula gives at these sizes."""
    if beyond := beyond_formula(row):
        return beyond
    return f"{value} itself is outside the interval" if (value := left_out(row)) else ""


def beyond_formula(row: Judged) -> str:
    """That no part of an interval is what the paper's formula allows at the sizes of the design;
    else ""."""
    bound, low, high = row["bound"], row["low"], row["high"]
    if not bound["predicted"] or low is None or high is None or low == high:
        return ""
    least, most = bound["predicted"]
    if low <= most and high >= least:
        return ""
    where = "above" if low > most else "below"
    return f"{where} all that {bound['formula']} allows at these sizes"


def predicted(bound: Bound) -> str:
    """What the paper's formula gives: `Theorem 1 at these sizes: -1 to -0.52`; "" without."""
    if not bound["predicted"]:
        return ""
    ends = dict.fromkeys(number(end, ".2g") for end in bound["predicted"])
    return f"{bound['formula']} at these sizes: {' to '.join(ends)}"


def expectation(bound: Bound) -> str:
    """What a quantity is held against, and what the paper predicts, at these sizes and in the limit
    apart: `0 within 0.25; Theorem 1 at these sizes: 0.18; in the limit: 0`. Of a bound with one end
    the paper states a sign only."""
    if its := predicted(bound):
        assert bound["limit"] is not None
        return f"{bound['text']}; {its}; in the limit: {number(bound['limit'])}"
    one_end = (bound["low"] is None) != (bound["high"] is None)
    return bound["text"] + ", the paper's sign only" * (one_end and bound["basis"] == STATED)


def broken(row: Judged) -> str:
    """That a test's design breaks the paper's conditions, and how; "" where it keeps them."""
    return f"{OUTSIDE}: {its}" if (its := row["bound"]["outside"]) else ""


def left_out(row: Judged) -> str:
    """The printed value that an interval within its tolerance leaves out; else ""."""
    bound, value = row["bound"], row["measured"]
    low, high = row["low"], row["high"]
    if bound["basis"] != TOLERANCE or None in (bound["low"], bound["high"], low, high, value):
        return ""
    assert value is not None and low is not None and high is not None
    assert bound["low"] is not None and bound["high"] is not None
    middle = (bound["low"] + bound["high"]) / 2
    if low == high or low <= middle <= high or not bound["low"] <= value <= bound["high"]:
        return ""
    return number(middle)


def why(row: Judged) -> str:
    """What changes how a status is read: the printed value outside, a test that could not fail, and
    why nothing is told; "" where nothing does."""
    doubts = [DOUBTS[each["code"]].format(each["of"]) for each in row["doubts"]]
    beside = [outside(row), *doubts, untested(row)]
    if hardly := never(row["laws"]):
        beside.append(f"by its design it can hardly come out as {hardly}")
    beside.append(broken(row))
    return "; ".join(filter(None, beside))


def untested(row: Judged) -> str:
    """That a test of training was never tried on a table of a rival law; "" of any other."""
    none = row["kind"] == TRAINING and not row["laws"]
    return "untested: no table of a rival law was tried" if none else ""


def cell(row: Judged) -> str:
    """A status with what changes how it is read: `reproduced; -1/2 itself is outside`."""
    return "; ".join(filter(None, [row["status"], why(row)]))


def sentence(row: Judged) -> str:
    """What was measured, and whether it holds: `Reproduced: the slope is -0.4 [-0.5, -0.3], n = 8,
    expected -0.5 within 0.25.`"""
    beside = f"; {why(row)}" if why(row) else ""
    return (
        f"{row['status'].capitalize()}: {row['quantity']} is {interval(row)}{seeds(row)}, expected "
        f"{expectation(row['bound'])}{beside}."
    )


def line(row: Judged) -> str:
    """A test on the terminal, below its statement: status, column, measured, bound, and what the
    paper predicts or asks of such a design."""
    left = f"{value} outside" if (value := left_out(row)) else ""
    measured = (
        f"{row['status']:14} {row['column']}: {interval(row)}, expected {row['bound']['text']}"
    )
    said = measured, left, untested(row), predicted(row["bound"]), broken(row)
    return "; ".join(filter(None, said))


def beside(row: Taken, column: str) -> str:
    """A number below a statement's tests on the terminal, which is no test at its scale."""
    said = side(row) or row["beside"]
    return "; ".join(filter(None, [f"{'a reading':14} {column}: {interval(row)}", said]))


def row(judged: Judged, statement: str, name: str) -> list[str]:
    """A test's line of the table under HEAD. statement: its text. name: its id, which may be a
    link."""
    p = judged["p"]
    chance = "" if p is None else f", p {'< 0.0001' if p < 1e-4 else f'= {p:.2g}'}"
    measured = f"{interval(judged)}{seeds(judged)}{chance}; expected {expectation(judged['bound'])}"
    first = judged["printed"][:1]
    more = len(judged["printed"]) - len(first)
    prints = "".join(map(printed, first)) + (f" (and {more} more)" if more else "")
    return [
        cell(judged),
        f"{statement}: {judged['column']} ({name}, {judged['kind']})",
        prints or "no number",
        f"{measured}. {judged['quantity']}",
    ]


def reading(row: Taken) -> list[str]:
    """A reading's line of the table under READ."""
    beside = "; ".join(filter(None, [row["beside"], side(row), row["problem"]]))
    return [row["quantity"], f"{interval(row)}{seeds(row)}", beside]


# On which side of the bound that it has elsewhere a number lies.
SIDES = {AGREES: "within", DIFFERS: "outside", UNCLEAR: "across"}


def side(row: Taken) -> str:
    """On which side of the bound of another scale a number lies: `outside its bound there, above
    0`; "" where it has none."""
    if not row["bound"]:
        return ""
    away = f"; {OUTSIDE}: {its}" if (its := row["bound"]["outside"]) else ""
    return f"{SIDES[row['seen']]} its bound there, {expectation(row['bound'])}{away}"


def larger(tests: Iterable[Test], scale: str, embedded: bool) -> str:
    """What is tested at other scales or on other data alone: `at scale paper 6 more tests bind:
    fig3.selected-lr, ...`; "" where nothing is."""
    places: dict[str, list[str]] = {}
    for test in tests:
        if not test.binds(scale, embedded):
            places.setdefault(test.place, []).append(test.id)
    parts = [
        f"at {place} {len(ids)} more {'test binds' if len(ids) == 1 else 'tests bind'}: "
        + ", ".join(ids)
        for place, ids in places.items()
    ]
    words = "; ".join(parts)
    return words[:1].upper() + words[1:]


def seeds(row: Row) -> str:
    """`, n = 8`; "" where nothing is random."""
    exact = row["low"] == row["high"] and row["low"] is not None
    return "" if exact or not row["n"] else f", n = {row['n']}"


def printed(number: Printed) -> str:
    """A printed number in words: `1e-3 (Section 4): the best rate`."""
    value = f"{int(number['value']):,}" if number["value"].isdecimal() else number["value"]
    unit = "" if number["unit"] == "1" else f" {number['unit']}"
    return f"{value}{unit} ({number['place']}): {number['what']}"


def laws(found: Sequence[Law]) -> str:
    """How often a test agrees, and how often it is wrong: `agrees under the paper's law 0.97;
    under muP 0.02, SP 0.00; differs at the bound's upper edge 0.03, under the paper's law 0.00`;
    "" where no table was drawn.

    Of a bare sign there is no power: its paper's law has an effect as large as the measured one, so
    that its share is the p-value in another form (Hoenig & Heisey 2001).
    """
    if not found:
        return ""
    bare = any(each["law"] == NO_EFFECT for each in of_role(found, EDGE))
    own = [] if bare else of_role(found, PAPER)
    edge = "with {}" if bare else "at the bound's {}"
    wrong = [f"{edge.format(e['law'])} {e['differs']:.2f}" for e in of_role(found, EDGE)]
    wrong += [f"under the paper's law {each['differs']:.2f}" for each in own]
    rivals = ", ".join(f"{e['law']} {e['agrees']:.2f}" for e in of_role(found, RIVAL))
    words = [f"agrees under the paper's law {each['agrees']:.2f}" for each in own]
    words += [f"agrees under {rivals}"]
    words += [f"differs {', '.join(wrong)}"] if wrong else []
    return "; ".join(words)


def never(found: Sequence[Law]) -> str:
    """Which status can hardly come out of a design, whatever holds; "" where both can.

    That is `reproduced` where tables of the paper's law seldom agree, and `not reproduced` where
    those of no rival differ, but for one that lies at the bound's edge.
    """
    edges = {each["law"] for each in of_role(found, EDGE)}
    own = of_role(found, PAPER)
    rivals = [each for each in of_role(found, RIVAL) if each["law"] not in edges]
    lacking = [REPRODUCED] if own and all(e["agrees"] <= TOO_OFTEN for e in own) else []
    if rivals and all(each["differs"] <= TOO_OFTEN for each in rivals):
        lacking.append(NOT_REPRODUCED)
    return " or ".join(lacking)


def of_role(found: Sequence[Law], role: str) -> list[Law]:
    """Laws of one role."""
    return [each for each in found if each["role"] == role]


def tally(rows: Iterable[Judged]) -> dict[str, int]:
    """Status -> how many have it, without those that none has."""
    found = Counter(row["status"] for row in rows)
    return {status: found[status] for status in STATUSES if found[status]}


def counts(rows: Sequence[Judged]) -> str:
    """How many have each status: `3 reproduced, 1 inconclusive`; of one, its status; "" of none."""
    if len(rows) == 1:
        return rows[0]["status"]
    return ", ".join(f"{number} {status}" for status, number in tally(rows).items())


def worst(row: Judged) -> tuple[bool, int]:
    """What orders tests wherever they are listed: those outside the paper's conditions last."""
    return bool(row["bound"]["outside"]), WORST_FIRST.index(row["status"])
