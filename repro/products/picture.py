"""A figure's picture, the text beside it, what it shows as CSV, and its tests and readings.

They lie in a folder below their table's, whose name is a digest of the code and the evidence that
they are made of beside the table.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from repro.core.locks import only_writer
from repro.errors import UserError
from repro.files import key_of, read_json, sha256_file, write_bytes, write_json
from repro.lineage import code
from repro.lineage.code import NOT_SHOWN
from repro.products.published import DATA, MANIFEST, PROVENANCE, RESULTS, manifest_of
from repro.verdicts import evidence, printed, statements, words
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import footer, outcome, render, table_of
from repro.verdicts.results import Results
from repro.verdicts.typeset import markdown, plain

JUDGING = "repro/verdicts/judging.py"


@cache
def picture_key(figure_name: str, scale: str, label: str, embedded: bool) -> str:
    """The key of a picture beside its table: the code that measures, judges and draws, and the
    evidence that verdicts rest on beside the runs (`repro.verdicts.evidence`)."""
    paper = figure_name.split("/")[0]
    runs = {"scale": scale, "label": label, "embedded": embedded}
    known = evidence.as_json(evidence.load(paper, figure_named(figure_name), runs))
    prints = [asdict(row) for row in printed.rows_of(paper)]  # some are drawn
    stated = [asdict(row) for row in statements.of_paper(paper).values()]
    return key_of([code.listing(code_of_picture(figure_name)), known, prints, stated])


@cache
def code_of_picture(figure_name: str) -> list[str]:
    """Every file of the checkout whose code makes a figure's verdicts and picture: all that its own
    file and `repro.verdicts.judging` import, directly or not, also within functions."""
    return sorted(code.reached([f"figures/{figure_name}.py", JUDGING], NOT_SHOWN))


def draw(folder: Path) -> None:
    """Judge and draw a figure, whose table is in the folder above this one: picture, its text, what
    it shows as CSV, results.json; and manifest.json, the digests of them all."""
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


def write_figure(folder: Path, figure_name: str, data: Path, provenance: dict) -> Results:
    """Write a figure's picture, text, CSV and results into a folder; returns the results."""
    base = folder / figure_name.split("/")[1]
    results = render(figure_name, data, provenance, base)
    write_text(base, figure_name, data, results, provenance)
    write_bytes(base.with_suffix(".csv"), as_shown(figure_name, data, provenance["scale"]))
    write_json(folder / RESULTS, results)
    return results


def write_text(
    base: Path, figure_name: str, data: Path, results: Results, provenance: Mapping
) -> None:
    """Write `<base>.md`: a figure's title, its picture `<base>.png` or its table, caption, tests
    and readings, and what is tested at larger scales.

    data: its data.csv. provenance: as in provenance.json.
    """
    figure = figure_named(figure_name)
    table = table_of(figure_name, data, provenance["scale"])
    shown = table.markdown() if table else [f"![{figure.title}]({base.name}.png)"]
    found = outcome(figure_name, results)
    lines = [f"# {plain(figure.title)}", "", *([f"**{plain(found)}.**", ""] if found else [])]
    lines += [*shown, "", plain(figure.caption), ""]
    if chosen := provenance["chosen_after_seeing"]:
        lines += [plain(f"Settings chosen after seeing results: {chosen}."), ""]
    stated = statements.of_paper(figure_name.split("/")[0])
    rows = [
        [plain(part) for part in words.row(row, stated[row["statement"]].text, row["test"])]
        for row in sorted(results["tests"], key=words.worst)
    ]
    lines += [*markdown([words.HEAD, *rows]), ""] if rows else []
    readings = [[plain(part) for part in words.reading(row)] for row in results["readings"]]
    lines += [*markdown([words.READ, *readings]), ""] if readings else []
    if larger := words.larger(figure.tests, provenance["scale"], provenance["embedded"]):
        lines += [f"{larger}.", ""]
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
