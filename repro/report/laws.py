"""Laws that papers state for a best rate, held against every slope on record. No torch.

Two tables of data: studies/laws.csv, a row a law, and studies/slopes.csv, a row a slope that the
suite measures, with what it is of. A law and a slope are the same thing where they have one
quantity and where all that the law asks for is so of the slope's runs.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from repro.core import rows
from repro.core.study import SCALES
from repro.errors import UserError
from repro.files import read_as, read_table
from repro.products.claims_json import Filed
from repro.products.records import CLAIMS, RECORDS, read_record, recorded_at
from repro.verdicts.answers import Measurement
from repro.verdicts.intervals import joined, of_estimators
from repro.verdicts.results import PROBLEM, Row
from repro.verdicts.run_sweeps import slope_over_seeds, sweep_of
from repro.verdicts.typeset import markdown, plain
from widthwise.checks.sweep import NEAR, Sweep, Sweeps

LAWS, SLOPES = "studies/laws.csv", "studies/slopes.csv"
ABSTRACT = "abstract only"
AGREES, EXCLUDED, OTHER = "agrees", "excluded", "another thing"
DIFFERS = f"differs, {ABSTRACT}"  # what was read in an abstract alone is never called excluded
CLOSE = "near, not equal"
UNTOLD = "cannot be told"
WORDS = (EXCLUDED, DIFFERS, CLOSE, AGREES, UNTOLD)  # a negative result stands first
TEXT = re.compile(r"arXiv \d{4}\.\d{5}v\d+|[\w.-]+/[\w.-]+ [0-9a-f]{7,40}")
NUMBER = re.compile(r"-?\d+(/[1-9]\d*|\.\d+)?")
QUANTITY = re.compile(r"\w.* against \w.*")
A_SLOPE = re.compile(r"slope of log|exponent (in|of) ")  # how a claim's quantity begins
LR, LOSS = "lr", "train_loss"  # columns of the tables that slopes are read from
# Usual powers are 1/2 apart. Half way to the next one a slope is still nearest to its law; an
# interval that spans three of them tells none from another.
HALF_WAY, SPANS_THREE = 0.25, 1.0


@dataclass(frozen=True)
class Law:
    """A power law that somebody states. The fields are the file's columns, in its order.

    law: a name for it. paper: whose. text: what was read, `arXiv 2506.15025v1` or a repository and
    its commit. quantity: `best rate against width`. exponent: with the text's digits. where: what
    it is meant for, in words that slopes.csv has too, between semicolons. place: where the formula
    stands, or ABSTRACT. words: what the text says.
    """

    law: str
    paper: str
    text: str
    quantity: str
    exponent: str
    where: str
    place: str
    words: str

    def __post_init__(self) -> None:
        if not TEXT.fullmatch(self.text):
            raise ValueError(f"text {self.text!r}: write it as arXiv 2506.15025v1 or a/b 92d63d4")
        if not NUMBER.fullmatch(self.exponent):
            raise ValueError(f"exponent {self.exponent!r} is no number; write it as -1/2 or 0.32")
        if not (self.place.strip() and self.words.strip()):
            raise ValueError(f"place and words: say where the formula stands, or {ABSTRACT!r}")
        _check(self)

    @property
    def number(self) -> float:
        return float(Fraction(self.exponent))

    @property
    def source(self) -> str:
        """The text that was read, a link."""
        name, number = self.text.split(" ")
        page = f"arxiv.org/abs/{number}" if name == "arXiv" else f"github.com/{name}/tree/{number}"
        return f"{self.paper}, [{self.text}](https://{page})"


@dataclass(frozen=True)
class Slope:
    """A slope that the suite measures. The fields are the file's columns, in its order.

    figure: whose record has it. slope: the claim's id, or a name for what is read from the figure's
    table. quantity, where: as of a law. over: the column that the best rate is held against; empty
    of a claim. rows: which rows of the table, `stage=shallow | stage=deep & model.depth=4`.
    """

    figure: str
    slope: str
    quantity: str
    where: str
    over: str
    rows: str

    def __post_init__(self) -> None:
        if bool(self.over) != bool(self.rows):
            raise ValueError("over and rows belong together: a slope of a claim has neither")
        if wrong := [part for part in self._parts() if "=" not in part]:
            raise ValueError(f"rows {wrong[0]!r}: write them as column=value")
        _check(self)

    def _parts(self) -> list[str]:
        return [part for part in re.split(r" [|&] ", self.rows) if part]

    def choices(self) -> list[dict[str, str]]:
        """Each a choice of rows by column and value; together they are the slope's."""
        every = [each.split(" & ") for each in self.rows.split(" | ")]
        return [dict(part.split("=", 1) for part in parts) for parts in every]


def _check(row: Law | Slope) -> None:
    if not QUANTITY.fullmatch(row.quantity):
        raise ValueError(f"quantity {row.quantity!r}: say what goes with what, `... against ...`")
    if not tags(row) <= {word.strip() for word in row.where.split(";")} - {""}:
        raise ValueError(f"where {row.where!r} is empty between two semicolons")


def tags(row: Law | Slope) -> set[str]:
    """What a law asks for, or what is so of a slope's runs."""
    return {word.strip() for word in row.where.split(";")}


@dataclass(frozen=True)
class Measured:
    """A slope as one record has it. problem: why nothing can be told from it, "" where it can."""

    slope: Slope
    scale: str
    data: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    problem: str = ""

    @property
    def doubt(self) -> str:
        """Why nothing can be told from it; "" where it can."""
        if self.problem or self.low is None or self.high is None:
            return self.problem or "no interval"
        return "its interval spans 1 or more" if self.high - self.low >= SPANS_THREE else ""

    def holds(self, number: float) -> bool:
        """Whether its interval contains a number."""
        return self.low is not None and self.high is not None and self.low <= number <= self.high

    @property
    def interval(self) -> str:
        if self.value is None:
            return "-"
        if self.low is None or self.high is None:
            return f"{self.value:z.2f}"
        return f"{self.value:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


def laws() -> list[Law]:
    """Every law on file; raises UserError, naming the line, where one is not as `Law` has it."""
    return _named([(place, law, law.law) for place, law in rows.read(LAWS, Law)])


def slopes() -> list[Slope]:
    """Every slope on file, as `laws`."""
    found = rows.read(SLOPES, Slope)
    return _named([(place, each, f"{each.figure} {each.slope}") for place, each in found])


def _named(found: Sequence[tuple[str, object, str]]) -> list:
    seen: set[str] = set()
    for place, _, name in found:
        if name in seen:
            raise UserError(
                f"{place}: {name!r} stands there twice; give each row a name of its own"
            )
        seen.add(name)
    return [row for _, row, _ in found]


def missing(law: Law, slope: Slope) -> list[str]:
    """Why a slope is another thing than a law speaks of; empty where it is the same."""
    if law.quantity != slope.quantity:
        return [law.quantity]
    return sorted(tags(law) - tags(slope))


def says(law: Law, found: Measured) -> str:
    """What a slope on record says of a law: AGREES where its interval contains the exponent, CLOSE
    where it does not and all of it is nearer than half way to the next usual power, as the suite's
    own claims are judged."""
    if missing(law, found.slope):
        return OTHER
    if found.doubt:
        return UNTOLD
    if found.holds(law.number):
        return AGREES
    ends = [abs(end - law.number) for end in (found.low, found.high) if end is not None]
    if max(ends) < HALF_WAY:
        return CLOSE
    return DIFFERS if law.place == ABSTRACT else EXCLUDED


def measured() -> list[Row]:
    """The tests and readings on record, without those of the scale that judges nothing."""
    every = read_as(RECORDS / CLAIMS, Filed, "write it again with repro record --again")
    return [row for key in ("tests", "readings") for row in every[key] if row["scale"] != SCALES[0]]


def name_of(row: Any) -> str:
    """The id of a test or reading."""
    return row["test"] if "test" in row else row["reading"]


def on_record(known: Sequence[Slope], recorded: Sequence[Row]) -> list[Measured]:
    """The slopes that are on record, in the order of the file. recorded: what is there."""
    found = []
    for slope in known:
        of_it = [r for r in recorded if (r["figure"], name_of(r)) == (slope.figure, slope.slope)]
        found += [of_row(slope, row) for row in of_it]
        found += _of_tables(slope, recorded) if slope.over else []
    return found


def _of_tables(slope: Slope, recorded: Sequence[Row]) -> list[Measured]:
    """A slope that is read from its figure's table, of every scale and data that has one."""
    places = dict.fromkeys((c["scale"], c["data"]) for c in recorded if c["figure"] == slope.figure)
    bases = [(*at, base) for at in places for base in recorded_at(*at, slope.figure)]
    for *_, base in bases:
        read_record(base)  # its digests
    return [of_table(slope, scale, data, base.with_suffix(".csv")) for scale, data, base in bases]


def unnamed(known: Sequence[Slope], recorded: Sequence[Row]) -> list[str]:
    """What on record has a slope as its quantity, and is not in the file; once a record."""
    named = {slope.slope for slope in known}
    found = [name_of(row) for row in recorded if A_SLOPE.match(row["quantity"])]
    return [name for name in found if name not in named]


def of_row(slope: Slope, row: Any) -> Measured:
    """A slope as a test or a reading has it. What is said of the test's own bound is no matter of
    a law."""
    doubts = row.get("doubts", ())
    problem = joined(row.get("problem", ""), *(d["of"] for d in doubts if d["code"] == PROBLEM))
    ends = row["measured"], row["low"], row["high"]
    return Measured(slope, row["scale"], row["data"], *ends, row["n"], problem)


def of_table(slope: Slope, scale: str, data: str, table: Path) -> Measured:
    """A slope of the best rate that no claim has, from a figure's table: by the estimator of the
    claims that are of such slopes."""

    found = _slope(read_table(table), slope)
    value, low, high = (
        None if math.isnan(each) else each for each in (found.value, found.low, found.high)
    )
    return Measured(slope, scale, data, value, low, high, found.n, found.problem)


def _slope(data, slope: Slope) -> Measurement:
    curves: dict[float, Sweep] = {}
    for choice in slope.choices():
        for size, runs in _chosen(data, slope, choice).groupby(slope.over):
            curves[float(size)] = sweep_of(runs, LR, LOSS)
    if len(curves) < 2:
        raise UserError(f"{SLOPES}: {slope.slope}: no two values of {slope.over} in its rows")
    sweeps = Sweeps(sorted(curves.items()))
    edges = [f"{size:g}" for size, each in sweeps.items() if each.at_edge]
    problem = f"the best rate is at its grid's edge: {', '.join(edges)}" if edges else ""
    first, second = (slope_over_seeds(sweeps, reach, problem) for reach in (NEAR, 2 * NEAR))
    return of_estimators(first, second)


def _chosen(data, slope: Slope, choice: dict[str, str]):
    """The rows of a table that have these values, a number as it may be written."""
    for column, value in choice.items():
        if column not in data:
            raise UserError(f"{SLOPES}: {slope.slope}: its table has no column {column}")
        known = data[column]
        data = data[known == (float(value) if known.dtype.kind in "if" else value)]
    return data


def lines() -> list[str]:
    """What records say of the laws that one of their slopes is of; every law; and the slopes that
    are another thing for all of them."""
    stated, known, recorded = laws(), slopes(), measured()
    found, others = on_record(known, recorded), unnamed(known, recorded)
    pairs = [(law, each) for law in stated for each in found if not missing(law, each.slope)]
    pairs.sort(key=lambda pair: WORDS.index(says(*pair)))
    same = {each.slope for _, each in pairs}
    alone = [each.slope.slope for each in found if each.slope not in same] + others
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(alone))
    said = Counter(says(*pair) for pair in pairs)
    number = len(found) + len(others)
    words = "; ".join(f"{word} {said[word]}" for word in WORDS)
    return [
        f"{len(stated)} laws of {len({law.text for law in stated})} texts, {number} slopes on "
        f"record. Of {len(pairs)} pairs that are the same thing: {words}.",
        "",
        *markdown([HEAD, *(_line(*pair, stated) for pair in pairs)]),
        *["", "Every law, and how many slopes on record say what of it:", ""],
        *markdown([HEAD_OF_LAWS, *(_counts(law, found, len(others)) for law in stated)]),
        *["", f"Slopes on record that are another thing for every law here: {names or 'none'}."],
    ]


HEAD = ("says", "law", "exponent", "slope on record", "measured", "n")
HEAD_OF_LAWS = ("law", "exponent", "is meant for", *WORDS, OTHER, "place, and what it says")


def _line(law: Law, found: Measured, stated: Sequence[Law]) -> list[str]:
    """A pair's line. Of what is so of the runs it shows what the law does not ask for."""
    word = says(law, found)
    if word == AGREES:
        rivals = (each for each in stated if says(each, found) == AGREES)
        also = {each.number: each.exponent for each in rivals if each.number != law.number}
        word += f", as does {' and '.join(also.values())}" if also else ""
    elif word == UNTOLD:
        word += f": {found.doubt}"
    further = [each for each in found.slope.where.split("; ") if each not in tags(law)]
    slope = f"`{found.slope.slope}`, {found.scale}, {found.data}"
    at = "<br>".join(filter(None, [slope, plain("; ".join(further))]))
    return [word, f"`{law.law}`", law.exponent, at, found.interval, str(found.n)]


def _counts(law: Law, found: Sequence[Measured], others: int) -> list[str]:
    """A law's line. others: slopes that are another thing than any law speaks of."""
    said = Counter(says(law, each) for each in found)
    said[OTHER] += others
    told = [str(said[word] or "-") for word in (*WORDS, OTHER)]
    name = f"`{law.law}`: {law.quantity}<br>{law.source}"
    return [name, law.exponent, plain(law.where), *told, plain(f"{law.place}: {law.words}")]
