"""The tables of docs/cost.md: what every figure takes and judges, scale by scale. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from repro.core import catalog, discovery
from repro.core.config import parse
from repro.core.study import GPU_SCALES, SCALES
from repro.core.suite import Suite
from repro.products.records import read_record, recorded
from repro.verdicts.figure import figure_named
from repro.verdicts.typeset import markdown
from repro.workflow import budget
from repro.workflow.cluster import Site

NONE = "-"
LISTED = 16  # GB of a GPU, from which on the table of GPUs names a study
DAYS = "study: days of its longest job, on as many GPUs of one node as it asks for"
SMALLEST = "study: GB of the smallest GPU that holds its runs"


@dataclass(frozen=True)
class Figure:
    """What a figure takes at a scale. hours: of one core of the machine of records/, or of an H100;
    None where nothing is on record, 0 where the figure lacks the scale. memory: bytes of its
    largest run. disk: bytes of the checkpoints that are kept for later stages. data: names of its
    datasets. judged: how many of its tests bind."""

    hours: float | None
    memory: int
    disk: int
    data: tuple[str, ...]
    judged: int


def suite_at(scale: str) -> Suite:
    """The suite at a scale on the data meant for it: generated for a CPU, real for a GPU."""
    data = "real" if scale in GPU_SCALES else "embedded"
    return Suite(parse({"scale": scale, "data": data}, discovery.dataset_names()))


def of_figure(suite: Suite, name: str) -> Figure:
    """What a figure takes under a configuration."""
    scale = suite.config.scale
    if not suite.offers(name):
        return Figure(0.0, 0, 0, (), 0)
    room = budget.room(suite, name)
    hours: float | None = room.hours
    if scale not in GPU_SCALES:
        bases = recorded(suite, name)
        made = read_record(bases[0])["provenance"]["made"] if bases else None
        hours = sum(entry["seconds"] for entry in made) / 3600 if made else None
    embedded = suite.is_embedded(name)
    judged = sum(test.binds(scale, embedded) for test in figure_named(name).tests)
    return Figure(hours, room.memory, room.disk, tuple(suite.figure_datasets(name)), judged)


def number(value: float | None, digits: int = 2) -> str:
    """A number with so many significant digits, `-` for 0, `?` where it is not known."""
    if value is None:
        return "?"
    return f"{float(f'{value:.{digits}g}'):,.12g}" if value else NONE


def lines(names: Sequence[str] | None = None) -> list[str]:
    """The tables, of these figures or of all."""
    names = [*(names or catalog.figure_names())]
    suites = {scale: suite_at(scale) for scale in SCALES}
    found = {n: {scale: of_figure(suites[scale], n) for scale in SCALES} for n in names}
    time, room, papers = [], [], []
    for name, at in found.items():
        tests = len(figure_named(name).tests)
        judged = ", ".join(str(at[scale].judged) for scale in SCALES)
        hours = [number(at[s].hours, 2 if s in GPU_SCALES else 1) for s in SCALES]
        time.append([f"`{name}`", *hours, f"{judged} of {tests}"])
        memory = [number(at[s].memory / 1e9, 2) for s in GPU_SCALES]
        disk = [number(at[s].disk / 1e9, 2) for s in GPU_SCALES]
        data = [", ".join(at[s].data) or NONE for s in GPU_SCALES]
        room.append([f"`{name}`", *memory, *disk, *data])
    price = budget.on_gpu()
    offered = {s: [name for name in names if suites[s].offers(name)] for s in GPU_SCALES}
    spent = {s: budget.hours_by_paper(suites[s], offered[s], price) for s in GPU_SCALES}
    for paper in spent[GPU_SCALES[-1]]:  # which every study has
        papers.append([f"`{paper}`", *(number(spent[s].get(paper, 0), 3) for s in GPU_SCALES)])
    needed = {s: budget.gpu_memory(suites[s], offered[s], Site()) for s in GPU_SCALES}
    largest = {n for at in needed.values() for n, held in at.items() if held > 1e9 * LISTED}
    gpus = [
        [f"`{name}`", *(number(needed[s].get(name, 0) / 1e9, 2) for s in GPU_SCALES)]
        for name in sorted(largest, key=lambda name: (-needed[GPU_SCALES[-1]][name], name))
    ]
    jobs = {s: budget.longest(suites[s], offered[s], Site()) for s in GPU_SCALES}
    long = [
        [f"`{name}`", *(_days(jobs[s].get(name)) for s in GPU_SCALES)]
        for name, (days, _) in jobs[GPU_SCALES[-1]].items()
        if days > 1
    ]
    uses = ("memory, GB", "disk, GB", "real data")
    tables = (
        [["hours of one H100, what figures share counted once", *GPU_SCALES], *papers],
        [["figure: hours", *SCALES, f"tests that bind ({', '.join(SCALES)})"], *time],
        [["figure", *(f"{use}, {s}" for use in uses for s in GPU_SCALES)], *room],
        [[DAYS, *GPU_SCALES], *long],
        [[SMALLEST, *GPU_SCALES], *gpus],
    )
    first, *others = map(markdown, tables)
    return first + [line for each in others for line in ["", *each]]


def _days(job: budget.Longest | None) -> str:
    """`125 on 8`; NONE where a study lacks the scale."""
    return f"{number(job[0])} on {job[1]}" if job else NONE
