"""A figure's files, made of its runs by one job: table, picture, text, claims.

They lie in a folder whose name is a digest of all that they are made of, so that none is ever out
of date: those of other settings, code or evidence have another folder.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from repro.core.locks import only_writer
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import key_of, read_json, sha256_file, write_bytes, write_json
from repro.lineage import code
from repro.lineage.code import NOT_SHOWN
from repro.lineage.uses import source
from repro.products.published import CLAIMS, DATA, MANIFEST, PROVENANCE, manifest_of
from repro.products.run_table import made_of, reduce
from repro.verdicts import evidence, printed
from repro.verdicts.figure import figure_named
from repro.verdicts.judged_claims import HEAD, JudgedClaim, outcome, table_line, told_first
from repro.verdicts.judging import footer, render, table_of
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
    prints = [str(row) for row in printed.rows_of(paper)]  # some are drawn
    return key_of([runs, code.listing(code_of_figure(figure_name)), known, prints])


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
        write_figure(folder, figure_name, folder / DATA, read_json(folder / PROVENANCE))
        source.cache_clear()  # code, too, may have been changed meanwhile
        write_json(folder / MANIFEST, manifest_of(folder, figure_name, _key(suite, figure_name)))
    return folder


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
