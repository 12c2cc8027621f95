"""A figure's picture, the text beside it, what it shows as CSV, and its claims.

They lie in a folder below their table's, whose name is a digest of the code and the evidence that
they are made of beside the table.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from repro.core.locks import only_writer
from repro.errors import UserError
from repro.files import key_of, read_json, sha256_file, write_bytes, write_json
from repro.lineage import code
from repro.lineage.code import NOT_SHOWN
from repro.products.published import CLAIMS, DATA, MANIFEST, PROVENANCE, manifest_of
from repro.verdicts import evidence, printed
from repro.verdicts.figure import figure_named
from repro.verdicts.judged_claims import HEAD, JudgedClaim, outcome, table_line, told_first
from repro.verdicts.judging import footer, render, table_of
from repro.verdicts.typeset import markdown, plain

JUDGING = "repro/verdicts/judging.py"


@cache
def picture_key(figure_name: str, scale: str, label: str, embedded: bool) -> str:
    """The key of a picture beside its table: the code that measures, judges and draws, and the
    evidence that verdicts rest on beside the runs (`repro.verdicts.evidence`)."""
    paper = figure_name.split("/")[0]
    runs = {"scale": scale, "label": label, "embedded": embedded}
    known = evidence.as_json(evidence.load(paper, figure_named(figure_name), runs))
    prints = [str(row) for row in printed.rows_of(paper)]  # some are drawn
    return key_of([code.listing(code_of_picture(figure_name)), known, prints])


@cache
def code_of_picture(figure_name: str) -> list[str]:
    """Every file of the checkout whose code makes a figure's verdicts and picture: all that its own
    file and `repro.verdicts.judging` import, directly or not, also within functions."""
    return sorted(code.reached([f"figures/{figure_name}.py", JUDGING], NOT_SHOWN))


def draw(folder: Path) -> None:
    """Judge and draw a figure, whose table is in the folder above this one: picture, its text, what
    it shows as CSV, claims.json; and manifest.json, the digests of them all."""
    data = folder.parent / DATA
    provenance = read_json(data.with_name(PROVENANCE))
    if sha256_file(data) != provenance["data_sha256"]:
        raise UserError(
            f"{data}: was changed after it was written; delete it and run the same command again"
        )
    figure_name = provenance["figure"]
    runs = provenance["scale"], provenance["label"], provenance["embedded"]
    with only_writer(folder):
        write_figure(folder, figure_name, data, provenance)
        key = picture_key(figure_name, *runs)
        write_json(folder / MANIFEST, manifest_of(folder, figure_name, key))


def write_figure(folder: Path, figure_name: str, data: Path, provenance: dict) -> list[JudgedClaim]:
    """Write a figure's picture, text, CSV and claims into a folder; returns its judged claims."""
    base = folder / figure_name.split("/")[1]
    claims = render(figure_name, data, provenance, base)
    write_text(base, figure_name, data, claims, provenance)
    write_bytes(base.with_suffix(".csv"), as_shown(figure_name, data, provenance["scale"]))
    write_json(folder / CLAIMS, claims)
    return claims


def write_text(
    base: Path, figure_name: str, data: Path, claims: Sequence[JudgedClaim], provenance: Mapping
) -> None:
    """Write `<base>.md`: a figure's title, its picture `<base>.png` or its table, caption, claims.

    data: its data.csv. provenance: as in provenance.json.
    """
    figure = figure_named(figure_name)
    table = table_of(figure_name, data, provenance["scale"])
    shown = table.markdown() if table else [f"![{figure.title}]({base.name}.png)"]
    rows = [table_line(row, f"`{row['claim']}`") for row in sorted(claims, key=told_first)]
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


def as_shown(figure_name: str, data: Path, scale: str) -> bytes:
    """What a figure shows, as CSV: a table's cells; of a plot the data. data: its data.csv."""
    table = table_of(figure_name, data, scale)
    return table.csv() if table else data.read_bytes()
