"""What the papers print: numbers of their text, tables and captions, to hold measurements against.

They are in `studies/<paper>/printed.csv`, a row a number. None was read off a picture. What was run
is in the studies themselves.
"""

import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from repro.core import catalog, rows
from repro.errors import UserError, did_you_mean
from repro.verdicts import results
from repro.verdicts.figure import figure_named

# -1/2, 0.0020, 1e-3, <1
NUMBER = re.compile(r"[<>]?-?\d+(/[1-9]\d*|(\.\d+)?(e-?\d\d?)?)")
LONGEST = 40  # characters of a number


@dataclass(frozen=True)
class Printed:
    """One printed number. The fields are the file's columns, in its order.

    claim: id of the claim it is held beside, or "" where none measures it.
    value: with the paper's digits (`0.0020`, `16.0`, `-1/2`). Where the paper says only on which
        side, `<` or `>` before it; so where it says it in words: "a lower loss" is a ratio `<1` or
        a difference `<0`, "the same" a ratio 1 or a difference 0.
    unit: in plain words, `1` where there is none. A relation is of the claim's own quantity, a
        number may be a part of it: a rate, where the claim measures a distance from that rate.
    place: where it is printed. what: what it is of, in a few words.
    """

    claim: str
    value: str
    unit: str
    place: str
    what: str

    def __post_init__(self) -> None:
        if len(self.value) > LONGEST or not NUMBER.fullmatch(self.value):
            raise ValueError(
                f"value {reprlib.repr(self.value)} is no number; write it as 0.4, -1/2, 1e-3 or <1"
            )
        for column in ("unit", "place", "what"):
            if not getattr(self, column).strip():
                raise ValueError(f"{column} is empty")

    @property
    def relation(self) -> str:
        """`<` or `>`, or "" where the value itself is printed."""
        return self.value[0] if self.value.startswith(("<", ">")) else ""

    @property
    def number(self) -> float:
        """The value as a number, without the relation."""
        return float(Fraction(self.value.removeprefix(self.relation)))


def as_json(row: Printed) -> results.Printed:
    """A printed number as a row of results has it."""
    return {
        "value": row.value,
        "number": row.number,
        "unit": row.unit,
        "place": row.place,
        "what": row.what,
    }


def path(paper: str) -> str:
    """Where what a paper prints is noted, relative to the checkout."""
    return f"studies/{paper}/printed.csv"


def printed(paper: str) -> tuple[Printed, ...]:
    """All that a paper prints, each row of a claim there is; nothing where there is no such file.

    Raises UserError, naming file and line, on a row that is not as `Printed` describes it.
    """
    ids, broken = claims_of(paper)
    for place, row in _rows(paper):
        if row.claim and row.claim not in ids and row.claim.split(".")[0] not in broken:
            near = did_you_mean(row.claim, ids)
            raise UserError(f"{place}: unknown claim {row.claim!r}, {near}")
    return tuple(row for _, row in _rows(paper))


def rows_of(paper: str) -> list[Printed]:
    """All that a paper prints, whether or not there is a claim of that id."""
    return [row for _, row in _rows(paper)]


def targets_of(paper: str, claim: str) -> list[Printed]:
    """What a paper prints for a claim."""
    return [row for row in rows_of(paper) if row.claim == claim]


def numbers(paper: str, claim: str) -> list[float]:
    """The values that a paper prints for a claim, without those of which it gives a side only."""
    return [row.number for row in targets_of(paper, claim) if not row.relation]


def _rows(paper: str) -> Sequence[tuple[str, Printed]]:
    """Place and content of every row."""
    return rows.read(path(paper), Printed)


def claims_of(paper: str) -> tuple[set[str], set[str]]:
    """Ids of a paper's tests and readings, and the figures of which nobody can know them: their
    files are broken."""
    ids, broken = set(), set()
    for name in catalog.figure_names():
        if name.startswith(f"{paper}/"):
            try:
                ids |= {each.id for each in figure_named(name).answers}
            except UserError:
                broken.add(name.split("/")[1])
    return ids, broken
