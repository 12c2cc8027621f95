"""The table of `python -m repro show cost`: what figures cost. No torch."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from repro import cost
from repro.core import discovery
from repro.core.discovery import keeps_checkpoints
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.core.suite import Suite
from repro.data.needs import Tokens
from repro.errors import UserError
from repro.tasks import TASKS
from repro.workflow.cluster import (
    MOST_DAYS,
    Site,
    needed_memory,
    request,
)

# Of a core, measured where decoders of width 16 to 256 train: operations a second, and a step of
# next to none. What a cluster is asked for allows for more (`repro.workflow.cluster`).
CORE_RATE = 6e10
SMALLEST_STEP = 0.0015

HEADER = (  # between a row's name and its price
    "jobs",
    "runs",
    "to do",
    "FLOPs",
    "read",
    "parameters",
    "state GB",
    "activations GB",
    "GPUs",
)


@dataclass(frozen=True)
class Price:
    """What runs are paid in, the last column of the table.

    unit: its head. words: what it rests on. of: (cells, their unfinished runs) -> an amount, None
    where it is not known. cores: how many feed a GPU, where it is one's hours.
    """

    unit: str
    words: str
    of: Callable[[Sequence[Cell], Sequence[Run]], float | None]
    cores: int | None = None


def on_gpu(cores: int = cost.CORES) -> Price:
    """Hours on one H100 (`cost.gpu_hours`), fed by so many cores."""
    words = (
        "hours: one H100 at 40 % (assumed) of its dense peaks and 70 % (assumed) of its memory's "
        "speed, at least 0.25 ms (assumed) a layer"
    )

    def hours(cells: Sequence[Cell], unfinished: Sequence[Run]) -> float:
        return sum(cost.gpu_hours(run.cost, cores) for run in unfinished)

    return Price("hours", words, hours, cores)


def on_h100(hours: float) -> str:
    """Hours of a GPU in words."""
    return f"about {hours:.3g} GPU-hours on an H100"


def effort(run: Run) -> float:
    """Seconds that a run might take: right in proportion to others of its figure."""
    steps = run.spec.get("steps", 0)
    return max(run.cost.flops / CORE_RATE + steps * SMALLEST_STEP, 1e-3)


def _number(value: float) -> str:
    """A number with three significant digits; `-` for 0."""
    return f"{float(f'{value:.3g}'):,g}" if value else "-"


def feeding(suite: Suite, figures: Iterable[str], price: Price) -> list[str]:
    """A line on the cores that decode image files for a GPU, of the run that reads most of them;
    none where no run reads any, or the price is of no GPU."""
    read = [
        (run.cost.images, cost.cores_needed(run.cost), study)
        for name in figures
        for study, cells in suite.figure_cells(name).items()
        for run in (run for cell in cells for run in cell.runs)
        if run.cost.images
    ]
    if not read or price.cores is None:
        return []
    _, needed, study = max(read)
    there, each = price.cores, _number(1e3 * cost.IMAGE_SECONDS)
    words = f"images: {each} ms of a core each; {_number(needed)} cores feed a run of {study}"
    if needed <= there:
        return [f"{words}, and {there} are there: the GPU binds"]
    slower = _number(needed / there)
    return [f"warning: {words}, and {there} are there: they bind, it takes {slower} times as long"]


def passes(suite: Suite, figures: Iterable[str]) -> list[str]:
    """A line for every corpus that some figures' runs read: over how much of it, and how often.

    A corpus is a dataset that is read as a stream; of a folder's size nothing is known.
    """
    most: dict[str, tuple[float, str]] = {}
    runs = {
        run.id: (run, study)
        for name in figures
        for study, cells in suite.figure_cells(name).items()
        for cell in cells
        for run in cell.runs
    }
    for run, study in runs.values():
        read = run.cost
        for need in TASKS[run.task].needs(run.spec):
            if read.unit == "tokens" and isinstance(need, Tokens):
                most[need.dataset] = max(most.get(need.dataset, (0, "")), (read.seen, study))
    lines = []
    for name, (seen, study) in sorted(most.items()):
        corpus, source = getattr(discovery.dataset(name), "CORPUS", None), suite.source(name)
        if corpus and (size := corpus.tokens(source)):
            words = f"{name} ({source.word}): {_number(seen / size)} passes over about "
            words += f"{_number(size)} tokens by a run of {study}"
            larger = "data=real" if source.kind == "embedded" else f"{name}=FOLDER"
            remedy = f": it reads text again; a larger corpus: {larger}"
            lines.append(f"warning: {words}{remedy}" if seen > size else words)
    return lines


def _row(
    suite: Suite, name: str, cells: Iterable[Cell], price: Price, site: Site
) -> tuple[str, ...]:
    """A line of the table, entries as in HEADER. A run that is in several cells counts once."""
    distinct = {(cell.study, cell.id): cell for cell in cells}.values()
    runs = {run.id: run for cell in distinct for run in cell.runs}
    costs = {key: run.cost for key, run in runs.items()}
    unfinished = [run for run in runs.values() if not suite.is_finished(run)]
    seen = {unit: 0 for unit in ("tokens", "samples")}
    for run_cost in costs.values():
        if run_cost.unit:
            seen[run_cost.unit] += run_cost.seen

    def largest(field: str, unit: float = 1.0) -> str:
        value = max((getattr(run_cost, field) for run_cost in costs.values()), default=0) / unit
        return _number(value)

    flops = sum(run_cost.flops for run_cost in costs.values())
    spent = price.of([*distinct], unfinished)
    return (
        name,
        str(len(distinct)),
        str(len(runs)),
        str(len(unfinished)),
        _number(flops),
        " + ".join(f"{_number(count)} {unit}" for unit, count in seen.items() if count) or "-",
        largest("parameters"),
        largest("state_bytes", 1e9),
        largest("activation_bytes", 1e9),
        _gpus(suite, distinct, site),
        (_number(spent) if spent is not None else "?") if unfinished else "0",
    )


def _gpus(suite: Suite, cells: Iterable[Cell], site: Site) -> str:
    """How many GPUs the largest job asks for; `none` where the site's cannot hold it."""
    try:
        asked = [request(cell, suite.config.scale, site).gpus for cell in cells]
    except UserError:
        return "none"
    return str(max(asked, default=0) or "-")


def _trained(suite: Suite, figures: Iterable[str], site: Site) -> Iterator[tuple[str, Cell]]:
    """(study, all stages together; cell) of what trains on a site's GPUs behind some figures."""
    if suite.config.scale not in site.gpu_scales:
        return
    stages = {s: c for name in figures for s, c in suite.figure_cells(name).items()}
    for stage, cells in stages.items():
        study = "/".join(stage.split("/")[:2]).partition("+")[0]
        yield from ((study, cell) for cell in cells if any(run.cost.seen for run in cell.runs))


def gpu_memory(suite: Suite, figures: Iterable[str], site: Site) -> dict[str, float]:
    """Study whose runs train on GPUs, all stages together -> bytes of the smallest GPU that holds
    them; the largest first."""
    most: dict[str, float] = {}
    for study, cell in _trained(suite, figures, site):
        most[study] = max(most.get(study, 0.0), min(needed_memory(cell, site).values()))
    return dict(sorted(most.items(), key=lambda pair: -pair[1]))


Longest = tuple[float, int]  # days of a job, and how many GPUs of one node it takes them on


def longest(suite: Suite, figures: Iterable[str], site: Site) -> dict[str, Longest]:
    """Study whose runs train on GPUs -> its longest job, all of it yet to do; the longest first.
    Without what no GPU of the site holds."""
    most: dict[str, Longest] = {}
    for study, cell in _trained(suite, figures, site):
        try:
            gpus = request(cell, suite.config.scale, site).gpus
        except UserError:
            continue
        days = sum(cost.gpu_hours(run.cost) for run in cell.runs) / 24 / gpus
        most[study] = max(most.get(study, (0.0, 0)), (days, gpus))
    return dict(sorted(most.items(), key=lambda pair: -pair[1][0]))


def too_long(suite: Suite, figures: Iterable[str], site: Site) -> list[str]:
    """A line for each study with a job that is refused unless `max_days` allows it."""
    found = longest(suite, figures, site).items()
    return [
        f"warning: {study}: {_on_a_node(job, MOST_DAYS)}"
        for study, job in found
        if job[0] > MOST_DAYS
    ]


def refusal(suite: Suite, cells: Iterable[Cell], site: Site) -> str:
    """What is said of the longest of some jobs, if what is left of it takes longer than `max_days`;
    else ""."""
    most = suite.config.max_days or MOST_DAYS
    asked = [(cell, request(cell, suite.config.scale, site).gpus) for cell in cells]
    left = [(suite.gpu_hours([cell]) / 24 / max(1, n), n, cell.study) for cell, n in asked]
    days, gpus, study = max(left)
    if days <= most:
        return ""
    remedy = f"allow it with --config max_days={math.ceil(days)}"
    return f"{study}: {_on_a_node((days, gpus), most)}: {remedy}"


def _on_a_node(job: Longest, most: float) -> str:
    days, gpus = job
    return (
        f"a job takes {_number(days)} days on one node of {gpus} GPUs; for {_number(most)} days it "
        f"would take {math.ceil(days / most)} nodes, and no job spans nodes"
    )


def too_large(suite: Suite, figures: Iterable[str], site: Site) -> list[str]:
    """A line for each study that no GPU of the site holds."""
    memory = 1e9 * site.gpu_memory_gb
    needed = gpu_memory(suite, figures, site)
    return [
        f"warning: {study}: {cost.too_small(least, memory)}"
        for study, least in needed.items()
        if least > memory
    ]


@dataclass(frozen=True)
class Room:
    """What a figure's runs take on GPUs, with all that they start from. hours: of one H100.
    memory: bytes of the largest. disk: bytes of the checkpoints that are kept for later stages."""

    hours: float
    memory: int
    disk: int


def room(suite: Suite, figure_name: str) -> Room:
    """What a figure's runs that train take, finished or not."""
    shown = [cell for cells in suite.figure_cells(figure_name).values() for cell in cells]
    stages = {run.id: (c.study, run) for c in suite.with_upstream(shown) for run in c.runs}
    costs = [(study, run.cost) for study, run in stages.values()]
    trained = [(study, spent) for study, spent in costs if spent.seen]
    # Weights and the optimizer's averages, without gradients.
    kept = (s.state_bytes - cost.BYTES * s.parameters for n, s in trained if keeps_checkpoints(n))
    return Room(
        hours=sum(cost.gpu_hours(spent) for _, spent in trained),
        memory=max((spent.memory_bytes for _, spent in trained), default=0),
        disk=sum(kept),
    )


def hours_by_paper(suite: Suite, figures: Iterable[str], price: Price) -> dict[str, float | None]:
    """Paper -> hours of the unfinished runs behind these figures of it and of what they start from,
    each once; None where they are not known."""
    by_paper: dict[str, dict[str, Cell]] = {}
    for name in figures:
        found = [cell for cells in suite.figure_cells(name).values() for cell in cells]
        paper = by_paper.setdefault(name.split("/")[0], {})
        paper.update({cell.id: cell for cell in suite.with_upstream(found)})
    in_hours = {"hours": 1.0, "minutes": 1 / 60}[price.unit]
    result: dict[str, float | None] = {}
    for name, by_id in by_paper.items():
        runs = {run.id: run for cell in by_id.values() for run in cell.runs}
        left = [run for run in runs.values() if not suite.is_finished(run)]
        spent = price.of([*by_id.values()], left)
        result[name] = None if spent is None else round(spent * in_hours, 3)
    return result


def table(
    suite: Suite,
    figures: list[str],
    price: Price,
    site: Site,
    by_study: bool = True,
) -> list[str]:
    """Lines of text: what every study behind some figures costs, by figure, and a total.

    Runs, FLOPs and what is read are summed over all runs, `to do` and the price over the unfinished
    ones; parameters, memory and GPUs are those of the largest run. A run that several studies or
    figures share counts once in the total.
    price: what runs are paid in. site: the cluster whose GPUs jobs would ask for.
    by_study: if False, one line for each figure and one for the cells that several figures share.
    """
    rows: list[tuple[str, ...]] = [("figure, study" if by_study else "figure", *HEADER, price.unit)]
    all_cells = []
    for figure_name in figures:
        studies = suite.figure_cells(figure_name)
        cells = [cell for study_cells in studies.values() for cell in study_cells]
        if by_study:
            rows.append((figure_name, *[""] * (len(HEADER) + 1)))
            rows += [_row(suite, f"  {name}", part, price, site) for name, part in studies.items()]
        else:
            rows.append(_row(suite, figure_name, cells, price, site))
        all_cells.append(cells)
    if not by_study:
        users = Counter(i for cells in all_cells for i in {r.id for c in cells for r in c.runs})
        shared = [c for cells in all_cells for c in cells if any(users[r.id] > 1 for r in c.runs)]
        rows.append(_row(suite, "of these in several figures", shared, price, site))
    rows.append(_row(suite, "total", [cell for cells in all_cells for cell in cells], price, site))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"scale {suite.config.scale}, data {suite.label}",
        f"{price.words}; of the runs to do",
        "FLOPs, read: of all runs. state: weights, gradients, optimizer, float32. "
        "activations: an estimate, float32, of one microbatch",
        f"GPUs: of the largest job, on nodes of {site.gpus_per_node} of {site.gpu_memory_gb:g} GB",
    ]
    for name, *values in rows:
        padded = [f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:{widths[0]}}", *padded]).rstrip())
    return lines
