"""The page of the board of transfer: a matrix whose cells lead to what they are read off."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.core import catalog
from repro.report.model import FigureView, Site
from repro.transfer_bench import leaders, references
from repro.transfer_bench.matrix import FEWEST, Board, BoardRow
from repro.transfer_bench.score import Estimate, Interval

NAME = "board.html"


@dataclass(frozen=True)
class Cell:
    """What an entry loses on a workload. value, interval: `7`, `[4, 10]`, "" where it is undefined.
    key: by which it is sorted. parts: what else is known, words -> number. why: why it is
    undefined. note: what its interval leaves out. mark: "best", "tied" with it, or "". reference:
    whether its own tuned loss is the workload's. links: words and an address from the site's
    root."""

    value: str
    interval: str
    key: float | None
    parts: Mapping[str, str]
    why: str
    note: str
    mark: str
    reference: bool
    links: list[tuple[str, str]]


@dataclass(frozen=True)
class Row:
    """An entry. group: entries of one are tied, None without a median. cells: one a column, None
    where it was not trained."""

    name: str
    parametrization: str
    optimizer: str
    sent_in: bool
    group: int | None
    median: str
    interval: str
    key: float | None
    defined: int
    cells: list[Cell | None]


@dataclass(frozen=True)
class Column:
    """A workload: its words, and what it is held against; "" where there is no reference."""

    words: str
    reference: str
    gain: str
    slug: str


@dataclass(frozen=True)
class Page:
    """A board at one scale on one source of data. figure: the numbers' own page. elsewhere: other
    places -> their page. versions: all that there are references of."""

    place: str
    page: str
    version: str
    versions: list[str]
    columns: list[Column]
    rows: list[Row]
    figure: FigureView
    elsewhere: Mapping[str, str]

    @property
    def optimizers(self) -> list[str]:
        """Those of its rows."""
        return sorted({row.optimizer for row in self.rows})

    @property
    def fewest(self) -> int:
        """Of how many workloads a median is at least."""
        return FEWEST


def write(
    shown: Site,
    folder: Path,
    fill: Callable,
    linked: Callable[..., list[tuple[str, str]]],
) -> None:
    """Write the board's pages, one a place; none where the scores are not in the site.

    linked: (figure, plots, files) -> links, whose files are copied (`pages.cell_links`).
    """
    figures = [figure for figure in shown.figures if figure.name == leaders.FIGURE]
    for figure in figures:
        others = {f.place: address(f, shown) for f in figures if f is not figure}
        board = leaders.board(figure.suite, figure.known.data)
        page = made(figure, board, address(figure, shown), others, linked)
        fill(folder / page.page, "board.md", board=page)


def address(figure: FigureView, shown: Site) -> str:
    """A board's page, from the site's root: the configured one has the shortest."""
    return NAME if figure in shown.main else f"board/{figure.place.replace('/', '-')}.html"


def is_shown(shown: Site) -> bool:
    """Whether a site has a board at the configured scale and data."""
    return any(figure.name == leaders.FIGURE for figure in shown.main)


def made(
    figure: FigureView, board: Board, page: str, elsewhere: Mapping[str, str], linked: Callable
) -> Page:
    """A board's page."""
    columns = [
        Column(words, *held_against(board, column), column)
        for column, words in board.columns.items()
    ]
    rows = [row_of(figure, board, row, linked) for row in board.rows]
    return Page(
        figure.place,
        page,
        board.version,
        references.versions(),
        columns,
        rows,
        figure,
        elsewhere,
    )


def held_against(board: Board, column: str) -> tuple[str, str]:
    """What a column's reference is, and what its width gains; "" where there is none."""
    found = board.references.get(column)
    if found is None:
        return "", ""
    return found.of, f"{found.gain:.3f} \N{PLUS-MINUS SIGN} {found.error:.3f} nats"


def row_of(figure: FigureView, board: Board, row: BoardRow, linked: Callable) -> Row:
    """A row with its cells."""
    module = catalog.figure_module(leaders.FIGURE)
    cells: list[Cell | None] = []
    for column in board.columns:
        found = row.scores.get(column)
        if found is None:
            cells.append(None)
            continue
        chain = row.chains[column]
        parts = {
            "regret": nats(found.regret),
            "penalty": nats(found.penalty),
            "transferred rate": power(chain.place),
            "its own best rate": power(chain.own_place),
            "ratio": f"{chain.ratio:g}",
            "seeds": f"{len(chain.tuned_on)} tune, {len(chain.seeds)} judge",
        }
        cells.append(
            Cell(
                *split("" if found.problem else leaders.numbers(found.lost)),
                None if found.problem else found.lost.value,
                {name: words for name, words in parts.items() if words},
                found.problem,
                "; ".join(filter(None, [found.own, found.note])),
                mark(board.best.get(column, ()), row.name),
                found.reference == row.name,
                linked(figure, *module.leads_to(row, column)),
            )
        )
    known = math.isfinite(row.median.value)
    return Row(
        row.name,
        row.parametrization,
        row.optimizer,
        bool(row.source),
        board.group.get(row.name),
        *split(leaders.numbers(row.median) if known else ""),
        row.median.value if known else None,
        len(row.defined),
        cells,
    )


def split(words: str) -> tuple[str, str]:
    """`7 [4, 10]` as its number and its interval."""
    value, bracket, rest = words.partition(" [")
    return value, f"[{rest}" if bracket else ""


def mark(best: Sequence[str], name: str) -> str:
    """A row's place among those that lose least on a workload, the first of them first."""
    return "best" if best[:1] == [name] else "tied" if name in best else ""


def nats(found: Estimate | Interval) -> str:
    """`0.020 [0.013, 0.027] nats`; "" where it is undefined."""
    if not math.isfinite(found.value):
        return ""
    ends = "" if math.isnan(found.low) else f" [{found.low:z.3f}, {found.high:z.3f}]"
    return f"{found.value:z.3f}{ends} nats"


def power(log2: float) -> str:
    """`2^-5.09`; "" where there is none."""
    return f"2^{log2:.2f}" if math.isfinite(log2) else ""
