"""The report of what is on record, under results/ of the site, with a way back from its pages."""

import html
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "results"
NAV = '<nav aria-label="Site">\n'  # of the report's templates
PAPER = r'<a href="(papers/[^"]+)">([^<]+)</a>'


def make(app) -> None:
    """Write the report into the site, before the pages that link to it."""
    folder = Path(app.outdir) / FOLDER
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as empty:  # without results/: what is shown is on record
        call = [sys.executable, "-m", "repro", "report", "--folder", str(folder)]
        done = subprocess.run(call, cwd=empty, env=env, capture_output=True, text=True)
    if done.returncode:
        raise ExtensionError(f"repro report: {done.stderr.strip()}")
    for page in folder.rglob("*.html"):
        root = "../" * len(page.relative_to(folder).parts)
        page.write_text(with_way_back(page.read_text("utf-8"), root), "utf-8")


def with_way_back(page: str, root: str) -> str:
    """A page of the report with a link to the site's first page ahead of its own."""
    if page.count(NAV) != 1:
        raise ExtensionError(f"results: no {NAV.strip()} in a page of the report")
    return page.replace(NAV, f'{NAV}<a href="{root}index.html">Docs</a>\n')


def papers(folder: Path) -> list[tuple[str, str]]:
    """(page, heading) of the papers, as the report's own pages link them."""
    nav = (folder / "index.html").read_text("utf-8").partition(NAV)[2].partition("</nav>")[0]
    return [(page, html.unescape(heading)) for page, heading in re.findall(PAPER, nav)]


def at_the_side(app, pagename, templatename, context, doctree) -> None:
    """What the bar at the side has: the papers, and headings that say of which level they are."""
    context["report_papers"] = papers(Path(app.outdir) / FOLDER)
    tree = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def setup(app) -> dict[str, bool]:
    """As an extension of Sphinx."""
    app.connect("builder-inited", make)
    app.connect("html-page-context", at_the_side, priority=900)  # behind the theme's own
    return {"parallel_read_safe": True}
