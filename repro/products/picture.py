"""A figure's files, made of its runs by one job: table, picture, text, tests and readings.

They lie in a folder whose name is a digest of all that they are made of, so that none is ever out
of date: those of other settings, code or evidence have another folder.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from repro.core.locks import only_writer
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import key_of, sha256_file, write_bytes, write_json
from repro.lineage import code
from repro.lineage.code import NOT_SHOWN
from repro.lineage.provenance import unclean
from repro.lineage.uses import source
from repro.products import gate
from repro.products.published import DATA, MANIFEST, RESULTS, manifest_of
from repro.products.run_table import made_of, reduce
from repro.verdicts import evidence, printed, statements, words
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import footer, outcome, render, table_of
from repro.verdicts.results import Results
from repro.verdicts.typeset import markdown, plain

MADE_BY = ("repro/verdicts/tabulate.py", "repro/verdicts/judging.py")


def folder_of(suite: Suite, figure_name: str) -> Path:
    """Where a figure's files are, `<figure>/<key>`. The key is of its runs, by the ids of their
    cells and what is said of them (`made_of`); of the code that makes rows of them, measures,
    judges and draws; and of the evidence that verdicts rest on beside the runs. The training code
    is not among it: its results reach a figure as cells, whose ids contain the task's version."""
    if figure_name not in suite.keys:
        suite.keys[figure_name] = _key(suite, figure_name)
    return suite.paths.figure(figure_name) / suite.keys[figure_name]


def _key(suite: Suite, figure_name: str) -> str:
    paper, runs = figure_name.split("/")[0], made_of(suite, figure_name)
    known = evidence.as_json(evidence.load(paper, figure_named(figure_name), runs))
    prints = [asdict(row) for row in printed.rows_of(paper)]  # some are drawn
    stated = [asdict(row) for row in statements.of_paper(paper).values()]
    return key_of([runs, code.listing(code_of_figure(figure_name)), known, prints, stated])


@cache
def code_of_figure(figure_name: str) -> list[str]:
    """Every file of the checkout whose code makes a figure of its runs: all that its own file and
    MADE_BY import, directly or not, also within functions."""
    return sorted(code.reached([f"figures/{figure_name}.py", *MADE_BY], NOT_SHOWN))


def make(suite: Suite, figure_name: str, key: str = "") -> Path:
    """Make a figure's files of its runs; returns their folder. manifest.json has the digests of
    them all, and is written last.

    key: the one that was planned with; raises UserError where it is another now.
    """
    folder = folder_of(suite, figure_name)
    if key not in ("", folder.name):
        raise UserError(
            f"{figure_name}: its settings, code or evidence were changed since this was planned; "
            "run the same command again"
        )
    with only_writer(folder):
        reduce(suite, figure_name, folder)
        write_figure(folder, figure_name, folder / DATA, gate.provenance(folder))
        source.cache_clear()  # code, too, may have been changed meanwhile
        write_json(folder / MANIFEST, manifest_of(folder, figure_name, _key(suite, figure_name)))
    return folder


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
    if chosen := provenance.get("chosen_after_seeing"):
        lines += [plain(f"Settings chosen after seeing results: {chosen}."), ""]
    stated = statements.of_paper(figure_name.split("/")[0])
    rows = [
        [plain(part) for part in words.row(row, stated[row["statement"]].text, row["test"])]
        for row in sorted(results["tests"], key=words.worst)
    ]
    lines += [*markdown([words.HEAD, *rows]), ""] if rows else []
    readings = [[plain(part) for part in words.reading(row)] for row in results["readings"]]
    lines += [*markdown([words.READ, *readings]), ""] if readings else []
    tests = () if "entry" in provenance else figure.tests
    if larger := words.larger(tests, provenance["scale"], provenance["embedded"]):
        lines += [f"{larger}.", ""]
    lines += [f"{plain(unclean(provenance))}", ""] if unclean(provenance) else []
    lines += [plain(footer(figure_name, provenance, sha256_file(data)))]
    write_bytes(base.with_name(f"{base.name}.md"), ("\n".join(lines) + "\n").encode())


def as_shown(figure_name: str, data: Path, scale: str) -> bytes:
    """What a figure shows, as CSV: a table's cells; of a plot the data. data: its data.csv."""
    table = table_of(figure_name, data, scale)
    return table.csv() if table else data.read_bytes()
