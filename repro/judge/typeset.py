"""A table of texts, as Markdown, CSV, and, in `repro.judge.drawing` and the report, on a page."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass


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
        csv.writer(buffer, lineterminator="\n").writerows([heads, *self.rows])
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
    """Plain text in Markdown: its asterisks are no emphasis, its lines are kept."""
    return text.replace("*", "\\*").replace("\n", "<br>")
