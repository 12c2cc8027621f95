"""Writes the pages of what is on record, as Markdown with tables and plots in HTML, and puts each
figure's files with them."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from markupsafe import Markup

from repro.core import catalog
from repro.core.names import SMALL
from repro.errors import UserError, did_you_mean
from repro.files import json_bytes, sha256_file, write_bytes
from repro.lineage import arithmetic, history
from repro.lineage.checkout import ROOT
from repro.lineage.provenance import code_versions, commit, listed, standing
from repro.products import claims_json, forecast, status, summary
from repro.products.known import origin
from repro.products.picture import unclean
from repro.products.records import told_of_changed
from repro.report import address, board, front, text
from repro.report.front import Tested
from repro.report.model import FigureView, PaperView, Site, address_of
from repro.verdicts import answers, words
from repro.verdicts.figure import figure_named
from repro.verdicts.typeset import no_formula

if TYPE_CHECKING:
    from jinja2 import Environment

RESULTS = "results"  # where the pages are in the site
DOCS = f"docs/{RESULTS}"  # and among its sources
HOME = "_answers.html"  # what the first page of docs/ includes, and no page of its own
CHALLENGE = "../contributing.html#challenge-a-verdict"  # where no issue form is known


def write(shown: Site, folder: Path) -> None:
    """Write all pages and files into an empty folder."""
    parts = [figure.part for figure in shown.figures]
    every = claims_json.whole(parts, history.head() or "")
    write_bytes(folder / "claims.csv", as_csv(every["tests"]), durable=False)
    write_bytes(folder / "claims.json", json_bytes(every), durable=False)
    fill = filler(shown, folder)
    tests = front.tested(shown)
    matrices = {paper.slug: front.matrix(paper.slug, tests) for paper in shown.papers}
    strongest = [test.first.row for test in tests.values()]
    first = {
        "cards": front.cards(shown, tests),
        "fates": {slug: summary.by_fate(slug, strongest) for slug in matrices},
        "said": summary.said(
            [f.part for f in shown.figures if f.suite.config.scale != summary.SMOKE]
        ),
        "origin": origin(f.known for f in shown.main),
    }
    fill(folder / "index.html", "index.md", matrices=matrices, **first)
    fill(folder / HOME, "_answers.md", cards=first["cards"])
    fill(folder / "claims.html", "claims.md", matrices=matrices, tests=tests)
    fill(folder / "figures.html", "figures.md", tests=tests)
    for test in tests.values():
        fill(folder / unquote(test.first.address), "claim.md", tested=test)
    for paper in shown.papers:
        matrix, body = matrices[paper.slug], findings(shown, paper)
        fill(folder / paper.page, "paper.md", paper=paper, body=body, matrix=matrix, tests=tests)
    for figure in shown.figures:
        lead_on(figure, tests, folder)
        paper = next(each for each in shown.papers if each.slug == figure.paper)
        files = copy_files(figure, folder)
        plot = script_json(figure.plot.content()) if figure.plot else ""
        page = folder / f"{figure.path}.html"
        values = {"files": files, "plot": plot, "tests": tests}
        aside = figure not in shown.main
        fill(page, "figure.md", figure=figure, paper=paper, aside=aside, **values)
    board.write(shown, folder, fill, lambda *asked: cell_links(shown, folder, *asked))


def lead_on(figure: FigureView, tests: Mapping[str, Tested], folder: Path) -> None:
    """What was a claim's page, and is a reading now, or binds at a larger scale alone, leads on to
    the figure's."""
    for answer in figure_named(figure.name).answers:
        path = folder / unquote(address_of(f"{figure.paper}/{answer.id}"))
        if f"{figure.paper}/{answer.id}" not in tests and not path.exists():
            to = f"../../{figure.page}"
            page = f'<meta http-equiv="refresh" content="0; url={to}"><a href="{to}">Moved</a>'
            write_bytes(path, page.encode(), durable=False)


def copy_files(figure: FigureView, folder: Path) -> dict[str, str]:
    """Put a figure's files beside its page; returns what each is -> its name there."""
    known, base = figure.known, folder / figure.path
    base.parent.mkdir(parents=True, exist_ok=True)
    drawn = known.picture
    # PDFs are in results/; records/ have none.
    sources = {
        ("data.csv", ".csv"): known.data,
        ("picture.png", ".png"): drawn,
        ("small.png", SMALL): drawn.with_suffix(SMALL),
        ("picture.pdf", ".pdf"): drawn.with_name("figure.pdf"),
        ("sheet.pdf", "-sheet.pdf"): drawn.with_name("sheet.pdf"),
    }
    names = {}
    for (what, suffix), source in sources.items():
        if source.exists():
            names[what] = base.name + suffix
            shutil.copyfile(source, base.with_name(names[what]))
    if figure.table:
        names["table.csv"] = f"{base.name}-table.csv"
        write_bytes(base.with_name(names["table.csv"]), figure.table.csv(), durable=False)
    content = {"results": known.results, "provenance": known.provenance}
    for what, value in content.items():
        names[f"{what}.json"] = f"{base.name}-{what}.json"
        write_bytes(base.with_name(names[f"{what}.json"]), json_bytes(value), durable=False)
    return {what: quote(name) for what, name in names.items()}


def cell_links(
    shown: Site, folder: Path, figure: FigureView, plots: Mapping[str, str], files: Sequence[str]
) -> list[tuple[str, str]]:
    """The links of a cell of the board, as words and an address from the site's root. The files
    that they lead to are copied. Raises UserError where a target does not exist.

    plots: words -> `<paper>/<figure>#<what its plot is asked>`, as `transfer/shift#workload=mlp`: a
    setting's value by its column's name, `up`, `along`, and `table=open`; left out where the site
    has not that figure. files: paths in the checkout.
    """
    pages = {f.name: f.page for f in shown.figures if f.place == figure.place}
    links = []
    for shown_as, target in plots.items():
        name, _, state = target.partition("#")
        if name not in catalog.figure_names():
            hint = did_you_mean(name, catalog.figure_names())
            raise UserError(f"figures/{figure.name}.py: the board leads to figure {name!r}, {hint}")
        if name in pages:
            links.append((shown_as, f"{pages[name]}#{state}" if state else pages[name]))
    return links + [(Path(path).name, copy_source(figure, path, folder)) for path in files]


def copy_source(figure: FigureView, path: str, folder: Path) -> str:
    """Copy a file of the checkout into the site, as a text that every browser shows; returns its
    address. Raises UserError where there is no such file."""
    root, source = ROOT.resolve(), (ROOT / path).resolve()
    if not (source.is_file() and source.is_relative_to(root)):
        raise UserError(f"figures/{figure.name}.py: leads to {path}, no file of the checkout")
    name = f"source/{source.relative_to(root).as_posix()}.txt"
    _copy(source, folder / name)
    return quote(name)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def script_json(value: object) -> str:
    """JSON for a script element of a page, which must hold neither its end nor the begin of a
    comment, behind which a browser takes the rest of the page for script."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def findings(shown: Site, paper: PaperView) -> Markup:
    """A paper's page of studies/, without its heading, as it is read from its place in the site."""
    figures = (figure for figure in shown.figures if figure.paper == paper.slug)
    tests = {test.row["test"]: test.name for figure in figures for test in figure.tests}
    return Markup(text.moved(paper.text, f"studies/{paper.slug}", f"{DOCS}/papers", tests))


def templates() -> "Environment":
    """The templates with what is the same in every site."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("repro.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "formulae": text.formulae,
        "interval": words.interval,
        "expectation": words.expectation,
        "counted": text.counted,
        "cell": words.cell,
        "why": words.why,
        "outside": words.outside,
        "sentence": words.sentence,
        "seeds": words.seeds,
        "why_stronger": status.why_stronger,
        "prints": words.printed,
        "count": words.counts,
        "number": answers.number,
        "minutes": text.minutes,
        "sha256": sha256_file,
        "arithmetic": arithmetic.of,
        "versions": lambda made: listed(code_versions(made)),
        "standing": standing,
        "unclean": unclean,
        "absolute": lambda name: address.absolute(f"{RESULTS}/{name}"),
        "heading": text.heading,
        "plain": text.plain,
        "unlinked": text.unlinked,
    }
    environment.globals |= {
        "aside": False,  # one of another scale or other data, which a search need not find too
        "cores": forecast.CORES,
        "statuses": words.STATUSES,
        "tally": front.tally,
        "read": words.READ,
        "fate": summary.HEAD,
        "form_of": address.challenge,
        "how_to_challenge": CHALLENGE,
    }
    return environment


def filler(shown: Site, folder: Path) -> Callable:
    """A function of (path, template, values) that writes a page."""
    environment = templates()
    environment.globals |= {
        "heading": {paper.slug: paper.heading for paper in shown.papers},
        "site": shown,
        "changed": told_of_changed(
            each.known.data.with_suffix("") for each in shown.figures if each.known.recorded
        ),
        "has_board": board.is_shown(shown),
        "commit": commit(),
    }

    def fill(path: Path, template: str, **values: object) -> None:
        """path: of the page that a browser opens."""
        name = path.relative_to(folder)
        root = "../" * (len(name.parts) - 1)
        here = quote(name.as_posix())
        page = environment.get_template(template).render(root=root, here=here, **values)
        write_bytes(path.with_suffix(".md"), page.encode(), durable=False)

    return fill


def as_csv(rows: Iterable[claims_json.FiledTest]) -> bytes:
    """Tests as CSV, with what else there is in words."""
    buffer = io.StringIO()
    plain = ("test", "statement", "column", "kind", "figure", "scale", "data", "quantity")
    numbers = ("measured", "low", "high", "n", "p")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*plain, "bound", *numbers, "status", "why", "registered"])
    for row in rows:
        got: Mapping[str, Any] = row
        cells = [*(got[key] for key in plain), row["bound"]["text"], *(got[key] for key in numbers)]
        cells += [row["status"], words.why(row), row["registered"]]
        writer.writerow([no_formula(cell) if isinstance(cell, str) else cell for cell in cells])
    return buffer.getvalue().encode()
