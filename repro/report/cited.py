"""What pages say of who the papers are, and which of their figures are on record. No torch.

All of it is made from studies/<slug>/paper.toml and the folders of figures, by `repro new pages`.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from repro.core import catalog, discovery
from repro.core.papers import Paper
from repro.core.study import SCALES
from repro.lineage.checkout import ROOT
from repro.products.records import recorded_at
from repro.report import marks
from repro.verdicts.typeset import markdown

PART = "papers"
SMOKE, DEFAULT = SCALES[:2]


def write(root: Path = ROOT) -> list[Path]:
    """Write what is made of the papers into its pages; returns their paths."""
    for name, lines in PAGES.items():
        marks.fill(root / name, PART, lines)
    return [root / name for name in PAGES]


def outdated(root: Path = ROOT) -> list[str]:
    """The pages that `write` would change."""
    filled = {name: marks.filled(root / name, PART, lines) for name, lines in PAGES.items()}
    return [name for name, text in filled.items() if (root / name).read_text() != text]


def on_record(figure_name: str) -> bool:
    """Whether a figure has a record at each scale that every one is to have."""
    return all(recorded_at(scale, "embedded", figure_name) for scale in (SMOKE, DEFAULT))


def _papers() -> list[Paper]:
    return [paper for paper in discovery.papers().values() if not paper.ours]


def _linked(paper: Paper, words: str) -> str:
    return f"[{words}]({paper.url})"


def _sentence() -> list[str]:
    """Where the papers are, for the first page."""
    papers = "; ".join(_linked(paper, paper.heading) for paper in _papers())
    return [f"The papers: {papers}."]


def _list() -> list[str]:
    """The papers, a line each."""
    return [
        f"- {paper.heading}, *{paper.title}* ({_linked(paper, paper.cited)})" for paper in _papers()
    ]


def _figures() -> list[str]:
    """The table of what can be built, by paper."""
    table = [["paper", "slug", "built, and on record", "not run yet"]]
    for paper in discovery.papers().values():
        names = [n for n in catalog.figure_names() if n.startswith(f"{paper.slug}/")]
        kept = [name.split("/")[1] for name in names if on_record(name)]
        other = [name.split("/")[1] for name in names if not on_record(name)]
        if paper.ours:
            link = os.path.relpath(paper.page, "docs")
            who = f"Ours: [*{paper.title}*]({link})"
        else:
            who = f"{paper.heading}, *{paper.title}* ({_linked(paper, paper.cited)})"
        table.append([who, f"`{paper.slug}`", ", ".join(kept), ", ".join(other)])
    return markdown(table)


def _references() -> list[str]:
    """The papers as CITATION.cff lists them."""
    lines = ["references:"]
    for paper in _papers():
        lines += ["  - type: article", f'    title: "{paper.title}"', "    authors:"]
        for name in paper.authors:
            family, given = name.split(", ")
            lines.append(f"      - {{ given-names: {given}, family-names: {family} }}")
        lines.append(f"    year: {paper.year}")
        if paper.printed:
            lines.append(f'    collection-title: "{paper.printed}"')
        lines.append("    identifiers:")
        lines.append(f'      - {{ type: other, value: "arXiv:{paper.arxiv}v{paper.version}" }}')
    return lines


PAGES: dict[str, Callable[[], Sequence[str]]] = {
    "README.md": _sentence,
    "docs/index.md": _list,
    "docs/first-figure.md": _figures,
    "CITATION.cff": _references,
}
