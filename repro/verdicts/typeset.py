"""A table of texts, as Markdown, CSV, and on a page (`drawing`, and the report)."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

TAG = re.compile(r"<(?=[A-Za-z/!?])")
# `-0.5 [-1, 0]` is a number with its interval; what calls something has a bracket or a bar.
FORMULA = re.compile(r"[=@\t\r]|[+-].*[(!|]", re.DOTALL)
POWER = re.compile(r"\^(-?\d+(?:\.\d+)?(?:/\d+)?)|(?<=\d)e([+-]\d+)\b")


@dataclass(frozen=True)
class Table:
    """What a figure that is a table shows.

    columns: its heads, which may have two lines. rows: texts, one a column. note: what is to be
    known of its cells, a line.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def csv(self) -> bytes:
        """Its heads and cells as CSV."""
        buffer = io.StringIO()
        heads = [head.replace("\n", " ") for head in self.columns]
        rows = [[no_formula(cell) for cell in row] for row in (heads, *self.rows)]
        csv.writer(buffer, lineterminator="\n").writerows(rows)
        return buffer.getvalue().encode()

    def markdown(self) -> list[str]:
        """Its lines as a Markdown table, with the note below."""
        lines = markdown([[plain(cell) for cell in row] for row in (self.columns, *self.rows)])
        return [*lines, "", plain(self.note)] if self.note else lines


def markdown(table: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table, its first row the head. The cells are Markdown."""
    head, *rows = ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in table]
    return [head, "|" + "---|" * len(table[0]), *rows]


def plain(text: str) -> str:
    """Plain text in Markdown: asterisks are no emphasis, tags no HTML, its lines are kept."""
    return TAG.sub(r"\<", text.replace("*", "\\*")).replace("\n", "<br>")


def powers(text: str) -> str:
    """Plain text for matplotlib, its powers set as such: of `n^-1/2`, and of ten in `3e-05`."""

    def raised(found: re.Match) -> str:
        power, ten = found.groups()
        return f"$^{{{power}}}$" if power else rf"$\times 10^{{{int(ten)}}}$"

    return POWER.sub(raised, text.replace("$", r"\$"))


def no_formula(text: str) -> str:
    """A cell of a CSV file that a spreadsheet shows as it is, and does not carry out."""
    return f"'{text}" if FORMULA.match(text) else text
