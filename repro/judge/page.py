"""What stands beside a picture, as text: its caption and claims, or the table itself, and its data.

`<figure>.md` lies beside `<figure>.png`, under figures/, results/ and records/.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from repro.files import sha256_file, write_bytes
from repro.judge.board import HEAD, entries
from repro.judge.figure import figure_named
from repro.judge.judged import JudgedClaim
from repro.judge.judging import footer, table_of
from repro.judge.outcome import outcome
from repro.judge.typeset import markdown, plain


def write_page(
    base: Path, figure_name: str, data: Path, claims: Sequence[JudgedClaim], provenance: Mapping
) -> None:
    """Write `<base>.md`: a figure's title, its picture `<base>.png` or its table, caption, claims.

    data: its data.csv. provenance: as in provenance.json.
    """
    figure = figure_named(figure_name)
    table = table_of(figure_name, data, provenance["scale"])
    shown = table.markdown() if table else [f"![{figure.title}]({base.name}.png)"]
    rows = [entries(row, f"`{row['claim']}`") for row in claims]
    found = outcome(figure_name, claims)
    lines = [f"# {plain(figure.title)}", "", *([f"**{plain(found)}.**", ""] if found else [])]
    lines += [*shown, "", plain(figure.caption), ""]
    lines += [*markdown([HEAD, *rows]), ""] if rows else []
    lines += [f"{plain(unclean(provenance))}", ""] if unclean(provenance) else []
    lines += [plain(footer(figure_name, provenance, sha256_file(data)))]
    write_bytes(base.with_name(f"{base.name}.md"), ("\n".join(lines) + "\n").encode())


def unclean(provenance: Mapping) -> str:
    """The mark of a record whose runs cannot be traced to one clean version of their code, as a
    sentence; "" for all others."""
    why = "; ".join(provenance.get("unclean", ()))
    return f"Recorded as it is: {why}." if why else ""


def cells(figure_name: str, data: Path, scale: str) -> bytes:
    """What a figure shows, as CSV: a table's cells; of a plot the data. data: its data.csv."""
    table = table_of(figure_name, data, scale)
    return table.csv() if table else data.read_bytes()
