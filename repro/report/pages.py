"""Writes the pages of what is on record, as Markdown with tables and plots in HTML, and puts each
figure's files with them."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from markupsafe import Markup

from repro.core import catalog
from repro.core.names import SMALL
from repro.errors import UserError, did_you_mean
from repro.files import json_bytes, sha256_file, write_bytes
from repro.lineage import arithmetic, history
from repro.lineage.checkout import ROOT
from repro.lineage.provenance import code_versions, commit, listed, standing
from repro.products import claims_json, forecast
from repro.products.known import origin
from repro.products.picture import unclean
from repro.report import address, board, front, text
from repro.report.model import FigureView, PaperView, Site
from repro.verdicts import claims
from repro.verdicts.judged_claims import JudgedClaim, interval, told
from repro.verdicts.typeset import no_formula
from repro.verdicts.words import NOT_REPRODUCED, SEEN, STATUSES, counted

if TYPE_CHECKING:
    from jinja2 import Environment

RESULTS = "results"  # where the pages are in the site
DOCS = f"docs/{RESULTS}"  # and among its sources
CHALLENGE = "../contributing.html#challenge-a-verdict"  # where no issue form is known


def write(shown: Site, folder: Path) -> None:
    """Write all pages and files into an empty folder."""
    rows = [claim.row for claim in shown.claims]
    write_bytes(folder / "claims.csv", as_csv(rows), durable=False)
    filed = [claim.filed for claim in shown.claims]
    every = json_bytes(claims_json.whole(filed, history.head() or ""))
    write_bytes(folder / "claims.json", every, durable=False)
    fill = filler(shown, folder)
    claims_of = front.stated(shown)
    first = {
        "findings": front.findings(shown, claims_of),
        "registered": front.registered(shown),
        "sure": text.how_sure(shown.main_rows),
        "origin": origin(f.known for f in shown.main),
    }
    fill(folder / "index.html", "index.md", stated=claims_of, **first)
    fill(folder / "claims.html", "claims.md", groups=front.groups(shown))
    fill(folder / "figures.html", "figures.md")
    for claim in claims_of.values():
        fill(folder / unquote(claim.page), "claim.md", stated=claim)
    for paper in shown.papers:
        fill(folder / paper.page, "paper.md", paper=paper, body=findings(shown, paper))
    for figure in shown.figures:
        paper = next(each for each in shown.papers if each.slug == figure.paper)
        files = copy_files(figure, folder)
        plot = script_json(figure.plot.content()) if figure.plot else ""
        page = folder / f"{figure.path}.html"
        values = {"files": files, "plot": plot, "stated": claims_of}
        sorted_claims = front.by_verdict(figure.claims)
        aside = figure not in shown.main
        fill(
            page,
            "figure.md",
            figure=figure,
            paper=paper,
            claims=sorted_claims,
            aside=aside,
            **values,
        )
    board.write(shown, folder, fill, lambda *asked: cell_links(shown, folder, *asked))


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
    content = {"claims": known.claims, "provenance": known.provenance}
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
    for words, target in plots.items():
        name, _, state = target.partition("#")
        if name not in catalog.figure_names():
            hint = did_you_mean(name, catalog.figure_names())
            raise UserError(f"figures/{figure.name}.py: the board leads to figure {name!r}, {hint}")
        if name in pages:
            links.append((words, f"{pages[name]}#{state}" if state else pages[name]))
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
    claims = {claim.row["claim"]: claim.name for figure in figures for claim in figure.claims}
    return Markup(text.moved(paper.text, f"studies/{paper.slug}", f"{DOCS}/papers", claims))


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
        "interval": interval,
        "counted": text.counted,
        "held": text.held,
        "count_of": counted,
        "told": told,
        "number": claims.number,
        "minutes": text.minutes,
        "sha256": sha256_file,
        "arithmetic": arithmetic.of,
        "versions": lambda made: listed(code_versions(made)),
        "standing": standing,
        "unclean": unclean,
        "absolute": lambda name: address.absolute(f"{RESULTS}/{name}"),
        "heading": text.heading,
        "plain": text.plain,
    }
    environment.globals |= {
        "aside": False,  # one of another scale or other data, which a search need not find too
        "cores": forecast.CORES,
        "statuses": STATUSES,
        "refuted": NOT_REPRODUCED,
        "seens": SEEN,
        "kinds": claims.KINDS,
        "of_a_paper": claims.OF_A_PAPER,
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


def as_csv(rows: Iterable[JudgedClaim]) -> bytes:
    """Judged claims as CSV, what the paper prints in one cell."""
    buffer = io.StringIO()
    columns = [*JudgedClaim.__annotations__]
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {**row, "printed": "; ".join(row["printed"])}
        writer.writerow({k: no_formula(v) if isinstance(v, str) else v for k, v in cells.items()})
    return buffer.getvalue().encode()
