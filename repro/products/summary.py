"""How statements fared: the lines at the end of a workflow, and README's table."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from repro.core import discovery
from repro.core.study import SCALES
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_json
from repro.lineage.provenance import REMEDIES, mixture
from repro.products import records, status
from repro.products.built import finished
from repro.products.claims_json import Part, read_results
from repro.products.published import PROVENANCE, RESULTS
from repro.verdicts import badge, statements, words
from repro.verdicts.answers import TRAINING
from repro.verdicts.figure import figure_named
from repro.verdicts.results import REPRODUCED, Judged, of_a_paper, paper_of
from repro.verdicts.typeset import markdown
from repro.workflow.progress import duration

SMOKE = SCALES[0]
MOST = 12  # tests on a terminal
COLUMNS = 100  # of it
FIRST = "fig3"  # the page that README's first call builds
HEAD = ["paper", "statements", "all tests reproduced", "some", "none", "none tested yet"]


def on_record() -> list[str]:
    """README's table, and what is to be known of it; lines of Markdown."""
    parts = [part for part in records.every() if part.figure["scale"] != SMOKE]
    strongest = status.strongest(row for part in parts for row in part.tests)
    rows = []
    for paper in discovery.papers().values():
        if not paper.ours:
            link = f"[{paper.heading}](studies/{paper.slug}/README.md)"
            rows.append([link, *by_fate(paper.slug, strongest)])
    return [*markdown([HEAD, *rows]), "", said(parts)]


def first_call() -> list[str]:
    """What README's first call ended with, as it is on record; lines of Markdown."""
    of = "reduced", "embedded"
    tests = [
        row
        for part in records.every()
        for row in part.tests
        if (row["scale"], row["data"]) == of and row["figure"].endswith(f"/{FIRST}")
    ]
    return ["```text", *_told(tests), "```"]


def by_fate(paper: str, strongest: Sequence[Judged]) -> list[str]:
    """How many statements of a paper there are, and by how they fared, as under HEAD."""
    found = [each for each in statements.fared(paper, strongest) if not each.of.ours]
    count = Counter(map(_fared, found))
    return [str(len(found)), *(str(count[each]) for each in ("all", "some", "no", ""))]


def said(parts: Sequence[Part]) -> str:
    """How many tests by training there are, and what they rest on."""
    every = [row for part in parts for row in part.tests]
    trained = [
        row for row in status.strongest(every) if of_a_paper(row) and row["kind"] == TRAINING
    ]
    before = [row for row in trained if row["registered"] == badge.BEFORE]
    tried, stand = status.tried_again(every)
    chosen = {
        (of["figure"], of["scale"], of["data"])
        for of in (part.figure for part in parts)
        if of["chosen_after_seeing"]
    }
    seen = [row for row in trained if (row["figure"], row["scale"], row["data"]) in chosen]
    return (
        f"Of the papers' {len(trained)} tests by training {words.counts(trained)}. "
        f"{len(before)} of them were registered before their runs: {words.counts(before)}. "
        f"{len(seen)} rest on settings that were chosen because they had shown the effect. "
        f"A stronger record tried {tried} decided tests again; {stand} kept their status."
    )


def _fared(found: statements.Fared) -> str:
    """Whether all, some or none of a statement's tests are reproduced; "" where it has none."""
    good = [cell.status == REPRODUCED for cell in found.cells]
    return "" if not good else "all" if all(good) else "some" if any(good) else "no"


def summary(suite: Suite, built: dict[str, bool], seconds: float) -> str:
    """Text for the terminal at the end of a workflow: its figures, what was stated, measured and
    found, and what to call next.

    built: figure -> whether it was built or up to date. seconds: how long the workflow took.
    """
    lines = [f"scale {suite.config.scale}, data {suite.label}, {duration(seconds)}"]
    if suite.config.scale == SMOKE:
        lines.insert(0, "smoke proves the pipeline: its runs are too short for a test of training")
    tests: list[Judged] = []
    readings = 0
    for figure_name, is_built in sorted(built.items()):
        file = f"figures/{figure_name}.pdf"
        try:
            if is_built:
                folder = finished(suite, figure_name)
                results = read_results(folder / RESULTS)
                tests += results["tests"]
                readings += len(results["readings"])
                several = mixture(read_json(folder / PROVENANCE)["made"])
                lines += [f"{file}: {several}; {REMEDIES}"] if several else []
            lines.append(file if is_built else f"{file}: not built, see the errors above")
        except UserError as error:
            lines.append(f"{file}: {error}")
    lines += _told(tests)
    lines += _besides(suite, [name for name, is_built in built.items() if is_built], readings)
    if tests:
        first = min(tests, key=lambda row: (words.worst(row), not of_a_paper(row)))
        name = f"{paper_of(first)}/{first['test']}"
        lines.append(f"next: {suite.command(f'show {name}', program='python -m repro')}")
    return "\n".join(lines)


def folded(text: str) -> Iterator[str]:
    """A text's lines, of at most COLUMNS where no command is longer: one is not divided. What goes
    on is indented by two more."""
    for line in text.splitlines():
        whole = re.sub(r"uv run [^)]*", lambda call: call[0].replace(" ", "\0"), line)
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        parts = textwrap.wrap(
            whole,
            COLUMNS,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield from (part.replace("\0", " ") for part in parts or [""])


def _told(tests: Sequence[Judged]) -> Iterator[str]:
    """Statements, each with its tests below it; those of ours beside a paper's statement last, as
    of a figure with a reader's own settings."""
    groups: list[tuple[str, list[Judged]]] = []
    for paper in dict.fromkeys(map(paper_of, tests)):
        own = discovery.papers().get(paper)
        heading, known = own.heading if own else paper, statements.of_paper(paper)
        told = []
        for fared in statements.fared(paper, tests):
            rows = [row for cell in fared.cells for row in cell.tests]
            told += [row["test"] for row in rows]
            whose = f"of ours, beside {heading}" if fared.of.ours else heading
            groups.append((f"{whose}: {fared.of.text}", rows))
        rest = [row for row in tests if paper_of(row) == paper and row["test"] not in told]
        for name in dict.fromkeys(row["statement"] for row in rest):
            rows = [row for row in rest if row["statement"] == name]
            groups.append((f"of ours, beside {heading}: {known[name].text}", rows))
    shown = 0
    for head, rows in groups:
        if rows and shown < MOST:
            yield from textwrap.wrap(head, COLUMNS, subsequent_indent="  ")
        for row in rows[: max(MOST - shown, 0)]:
            yield from textwrap.wrap(
                words.line(row), COLUMNS, initial_indent="  ", subsequent_indent=" " * 17
            )
        shown += len(rows)
    if shown > MOST:
        yield f"  and {shown - MOST} tests more, on the figures' pages"


def _besides(suite: Suite, figures: list[str], readings: int) -> Iterator[str]:
    """How much else was measured, and what larger scales test."""
    scale = suite.config.scale
    elsewhere = sum(
        not test.binds(scale, suite.is_embedded(name))
        for name in figures
        for test in figure_named(name).tests
    )
    if readings or elsewhere:
        yield (
            f"besides: {readings} readings, {elsewhere} tests of larger scales or other data, on "
            f"figures/<paper>/<figure>.md"
        )
