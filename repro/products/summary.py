"""How statements fared: the lines at the end of a workflow, and README's table."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from repro.core import catalog, discovery
from repro.core.papers import is_a_paper
from repro.core.study import SCALES
from repro.core.suite import Suite, load
from repro.errors import UserError
from repro.lineage.provenance import REMEDIES, mixture
from repro.products import gate, records, status
from repro.products.built import finished
from repro.products.claims_json import Part
from repro.verdicts import badge, preregistration, statements, words
from repro.verdicts.answers import CONTROL, TRAINING, Reading, Test
from repro.verdicts.figure import figure_named
from repro.verdicts.results import (
    AGREES,
    DIFFERS,
    INCONCLUSIVE,
    NOT_REPRODUCED,
    REPRODUCED,
    UNCLEAR,
    Judged,
    Taken,
    of_a_paper,
    paper_of,
)
from repro.verdicts.typeset import markdown
from repro.workflow.progress import duration

SMOKE, DEFAULT = SCALES[:2]
# Status -> what is said of runs that no row of the register asked for.
SEEN = {REPRODUCED: AGREES, NOT_REPRODUCED: DIFFERS, INCONCLUSIVE: "open"}
MOST = 12  # tests on a terminal
COLUMNS = 100  # of it
README_COLUMNS = 118
FIRST = "fig3"  # the page that README's first call builds
HEAD = [
    "paper",
    "statements",
    "all tests reproduced",
    "some",
    "none",
    words.OUTSIDE,
    "none tested yet",
]


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
    """What README's first call does, and ended with, as it is on record; lines of Markdown."""
    from repro.products import forecast  # whoever looks up what is on record plans no run

    of, suite = ("reduced", "embedded"), load([])
    cells = [suite.figure_cells(name) for name in catalog.pages()[FIRST]]
    runs = {
        run.id for by_stage in cells for own in by_stage.values() for c in own for run in c.runs
    }
    parts = [
        part
        for part in records.every()
        if (part.figure["scale"], part.figure["data"]) == of
        and part.figure["figure"].endswith(f"/{FIRST}")
    ]
    tests = [row for part in parts for row in part.tests]
    readings = [row for part in parts for row in part.readings]
    does = (
        f"This Snakemake workflow takes {forecast.promise(suite, FIRST)} on {forecast.CORES} "
        "cores. "
        f"It draws Figure 3 of {len(cells)} papers from {len(runs)} small models, and ends with "
        "what was measured:"
    )
    head = [*textwrap.wrap(does, README_COLUMNS), ""]
    return [*head, "```text", *_by_statement(tests, readings), "```"]


def by_fate(paper: str, strongest: Sequence[Judged]) -> list[str]:
    """How many statements of a paper there are, and by how they fared, as under HEAD."""
    found = [each for each in statements.fared(paper, strongest) if not each.of.ours]
    count = Counter(map(_fared, found))
    return [str(len(found)), *(str(count[each]) for each in ("all", "some", "no", "outside", ""))]


def said(parts: Sequence[Part]) -> str:
    """How many tests by training there are, and what they rest on."""
    every = [row for part in parts for row in part.tests]
    trained = [
        row for row in status.strongest(every) if of_a_paper(row) and row["kind"] == TRAINING
    ]
    before = [row for row in trained if row["registered"] == badge.BEFORE]
    beside = [row for row in trained if row["bound"]["outside"]]
    tried, stand = status.tried_again(every)
    chosen = {
        (of["figure"], of["scale"], of["data"])
        for of in (part.figure for part in parts)
        if of["chosen_after_seeing"]
    }
    seen = [row for row in trained if (row["figure"], row["scale"], row["data"]) in chosen]
    sides = _sides(parts)
    registered = f"{len(before)} of them were registered before their runs: {words.counts(before)}"
    if reason := badge.unknown():
        registered = (
            "Which of them were registered before their runs, and so which of several records "
            f"counts, is unknown here ({reason})"
        )
    return (
        f"Of the papers' {len(trained)} tests by training {words.counts(trained)}. {registered}. "
        f"{len(beside)} are {words.OUTSIDE}: {words.counts(beside)}. "
        f"{len(seen)} rest on settings that were chosen because they had shown the effect. "
        f"A stronger record tried {tried} decided tests again; {stand} kept their status. "
        f"{sum(sides.values())} numbers are tests at a larger scale alone: {sides[AGREES]} lie "
        f"within their bound there, {sides[DIFFERS]} outside, {sides[UNCLEAR]} across."
    )


def _sides(parts: Sequence[Part]) -> Counter[str]:
    """Of the papers' numbers that no record has as a test, on which side they lie of the bound that
    they have elsewhere: how many each, a number by its largest scale."""
    tested = {(paper_of(row), row["test"]) for part in parts for row in part.tests}
    found = {
        (paper_of(row), row["reading"]): row["seen"]
        for part in sorted(parts, key=lambda part: SCALES.index(part.figure["scale"]))
        for row in part.readings
        if row["seen"] and row["measured"] is not None and is_a_paper(paper_of(row))
    }
    return Counter(seen for key, seen in found.items() if key not in tested)


def _fared(found: statements.Fared) -> str:
    """Whether all, some or none of a statement's tests within the paper's conditions are
    reproduced; `outside` where it has only others, "" where it has none."""
    good = [cell.status == REPRODUCED for cell in found.cells if not cell.outside]
    if not good:
        return "outside" if found.cells else ""
    return "all" if all(good) else "some" if any(good) else "no"


def summary(suite: Suite, built: dict[str, bool], seconds: float) -> str:
    """Text for the terminal at the end of a workflow: its figures, what was stated, measured and
    found, and what to call next.

    built: figure -> whether it was built or up to date. seconds: how long the workflow took.
    """
    lines = [f"scale {suite.config.scale}, data {suite.label}, {duration(seconds)}"]
    if suite.config.scale == SMOKE:
        lines.insert(0, "smoke proves the pipeline: its runs are too short for a test of training")
    tests: list[Judged] = []
    readings: list[Taken] = []
    for figure_name, is_built in sorted(built.items()):
        file = f"figures/{figure_name}.pdf"
        try:
            if is_built:
                folder = finished(suite, figure_name)
                results = gate.results(folder)
                tests += results["tests"]
                readings += results["readings"]
                several = mixture(gate.provenance(folder)["made"])
                lines += [f"{file}: {several}; {REMEDIES}"] if several else []
            lines.append(file if is_built else f"{file}: not built, see the errors above")
        except UserError as error:
            lines.append(f"{file}: {error}")
    lines += _by_statement(tests, readings)
    names = [name for name, is_built in built.items() if is_built]
    lines += _not_listed(suite, names, [row["reading"] for row in readings])
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


def _by_statement(tests: Sequence[Judged], readings: Sequence[Taken] = ()) -> Iterator[str]:
    """Statements, each with its tests below it, and numbers that are beside them; those of ours
    beside a paper's statement last, as of a figure with a reader's own settings."""
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
            yield from _folded_below(words.line(_as_seen(row)))
        if rows and shown + len(rows) <= MOST:
            yield from (
                line for said in _readings_of(rows, readings) for line in _folded_below(said)
            )
        shown += len(rows)
    if shown > MOST:
        yield f"  and {shown - MOST} tests more, on the figures' pages"


def _as_seen(row: Judged) -> Judged:
    """A test by runs at the default scale of which the register knows nothing: whether they agree,
    for its status there is a registered one's."""
    if row["kind"] not in (TRAINING, CONTROL) or row["scale"] != DEFAULT:
        return row
    known = {each.claim for each in preregistration.registered(paper_of(row))}
    return row if row["test"] in known else {**row, "status": SEEN[row["status"]]}


def _folded_below(text: str) -> list[str]:
    """A line below a statement, folded."""
    return textwrap.wrap(text, COLUMNS, initial_indent="  ", subsequent_indent=" " * 17)


def _readings_of(rows: Sequence[Judged], readings: Sequence[Taken]) -> Iterator[str]:
    """The numbers that figures have of the statement that some tests are of, and that are none."""
    statement = rows[0]["statement"]
    for name in dict.fromkeys(row["figure"] for row in rows):
        its = (a for a in figure_named(name).answers if isinstance(a, Test | Reading))
        columns = {each.id: each.column for each in its if each.statement == statement}
        for row in readings:
            if row["figure"] == name and row["reading"] in columns and row["measured"] is not None:
                yield words.beside(row, columns[row["reading"]])


def _not_listed(suite: Suite, figures: list[str], read: Sequence[str]) -> Iterator[str]:
    """How much else was measured, and what larger scales test. read: ids of what was measured and
    held against nothing, tests that bind elsewhere among them."""
    scale = suite.config.scale
    elsewhere = {
        test.id
        for name in figures
        for test in figure_named(name).tests
        if not test.binds(scale, suite.is_embedded(name))
    }
    readings = sum(name not in elsewhere for name in read)
    said = [f"{readings} reading{'s' * (readings > 1)}"] if readings else []
    if tests := len(elsewhere):
        said.append(f"{tests} test{'s' * (tests > 1)} of larger scales or other data")
    if said:
        yield f"besides: {', '.join(said)}, on figures/<paper>/<figure>.md"
