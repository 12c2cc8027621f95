"""The table of `python -m repro cost`: what figures cost. Loads torch only to measure a device."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repro import cost
from repro.data.needs import Tokens
from repro.errors import UserError
from repro.suite import measured, registry
from repro.suite.cluster import CPU_RATE, STEP_SECONDS, Site, needed_memory, request
from repro.suite.measured import SHARE
from repro.suite.plan import Cell, Run
from repro.suite.registry import keeps_checkpoints
from repro.suite.suite import Suite
from repro.tasks import TASKS

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

    unit: its head. words: what it rests on, of which notes say more, a line each. of: (cells, their
    unfinished runs) -> an amount, None where it is not known. speeds: of the GPU, where it is one's
    hours.
    """

    unit: str
    words: str
    of: Callable[[Sequence[Cell], Sequence[Run]], float | None]
    notes: tuple[str, ...] = ()
    speeds: cost.Speeds | None = None


def at_rate(rate: float, words: str) -> Price:
    """Hours at a number of operations per second. words: which device finds it."""

    def hours(cells: Sequence[Cell], unfinished: Sequence[Run]) -> float:
        return cost.hours(sum(run.cost.flops for run in unfinished), rate)

    return Price("hours", words, hours)


def on_gpu(cores: int = cost.CORES) -> Price:
    """Hours on one H100 (`cost.gpu_hours`), fed by so many cores."""
    words = (
        "hours: one H100 at 40 % (assumed) of its dense peaks and 70 % (assumed) of its memory's "
        "speed, at least 0.25 ms (assumed) a layer"
    )
    speeds = replace(cost.ASSUMED, cores=cores)
    return Price("hours", words, at_speeds(speeds), speeds=speeds)


def at_speeds(speeds: cost.Speeds) -> Callable[[Sequence[Cell], Sequence[Run]], float]:
    """`Price.of`: hours of one GPU that is so fast."""
    return lambda cells, unfinished: sum(cost.gpu_hours(run.cost, speeds) for run in unfinished)


def by_file(path: Path, suite: Suite, figures: Iterable[str], cores: int = cost.CORES) -> Price:
    """Hours on the device that a file of `benchmarks/gpu.sh` is of, fed by so many cores. Its notes
    say which of the numbers behind these figures are measured, and which assumed.

    Raises UserError on any other file.
    """
    found = measured.read(path)
    speeds = replace(found.speeds, cores=cores)
    cells = [c for name in figures for part in suite.figure_cells(name).values() for c in part]
    costs = [run.cost for cell in cells for run in cell.runs if run.cost.seen]
    trained = sorted({(each.model, each.precision) for each in costs})
    known = ", ".join(" ".join(pair) for pair in trained if pair in speeds.steps)
    others = ", ".join(" ".join(pair) for pair in trained if pair not in speeds.steps)
    notes = (
        f"measured: training steps of {known or 'none of these models'}; at least "
        f"{1e3 * speeds.layer_seconds:.2g} ms a layer",
        f"assumed: {100 * SHARE:.0f} % of the measured speed of products, beside memory at its "
        f"measured {speeds.bandwidth / 1e9:.3g} GB/s, for {others}",
    )
    words = f"hours: one {found.name}, measured ({path.name})"
    return Price("hours", words, at_speeds(speeds), notes if others else notes[:1], speeds)


def matmul_peak(
    device: str = "cpu", repeats: int = 10, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Operations per second of square matrix products: the best of several sizes and `repeats`.

    float32 on a CPU, on every thread torch uses; bfloat16 on CUDA. clock: in seconds; of one thread
    beside other work, the process' own.
    """
    import torch

    on_cpu = torch.device(device).type == "cpu"
    dtype, sizes = (torch.float32, (512, 1024)) if on_cpu else (torch.bfloat16, (4096, 8192))
    best = 0.0
    for n in sizes:
        a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
        for _ in range(repeats):
            start = clock()
            a @ b
            if not on_cpu:
                torch.cuda.synchronize()
            best = max(best, 2 * n**3 / (clock() - start))
    return best


def device_price(device_flops: float | None, measure: bool, cores: int = cost.CORES) -> Price:
    """Hours on a device.

    device_flops: at this rate. measure: at `SHARE` of this machine's `matmul_peak`, on its
    GPU if it has one. With neither: on one H100, fed by so many cores.
    Raises UserError unless device_flops is positive and finite.
    """
    if device_flops is not None:
        if not 0 < device_flops < math.inf:
            raise UserError(f"--device-flops {device_flops:g}: give operations per second, above 0")
        return at_rate(device_flops, f"hours: at {device_flops:.3g} FLOP/s, as given")
    if not measure:
        return on_gpu(cores)
    import torch

    if torch.cuda.is_available():
        peak, place = matmul_peak("cuda"), f"{torch.cuda.get_device_name()}, bfloat16"
    else:
        peak = matmul_peak(repeats=40)
        place = f"CPU, {torch.get_num_threads()} threads, float32"
    text = f"{100 * SHARE:.0f} % (assumed) of the {peak:.3g} FLOP/s that matrix products reach"
    return at_rate(SHARE * peak, f"hours: at {text} here ({place})")


def effort(run: Run) -> float:
    """Seconds that a run might take: right in proportion to others of its figure."""
    operations = run.cost.flops
    return max(operations / CPU_RATE, run.spec.get("steps", 0) * STEP_SECONDS["cpu"], 1e-3)


def _number(value: float) -> str:
    """A number with three significant digits; `-` for 0."""
    return f"{float(f'{value:.3g}'):,g}" if value else "-"


def feeding(suite: Suite, figures: Iterable[str], price: Price) -> list[str]:
    """A line on the cores that decode image files for a GPU, of the run that reads most of them;
    none where no run reads any, or the price is of no GPU."""
    read = [
        (run.cost.images, cost.cores_needed(run.cost, price.speeds), study)
        for name in figures
        for study, cells in suite.figure_cells(name).items()
        for run in (run for cell in cells for run in cell.runs)
        if price.speeds and run.cost.images
    ]
    if not read or not price.speeds:
        return []
    _, needed, study = max(read)
    there, each = price.speeds.cores, _number(1e3 * price.speeds.image_seconds)
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
        corpus, source = getattr(registry.dataset(name), "CORPUS", None), suite.source(name)
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


def gpu_memory(suite: Suite, figures: Iterable[str], site: Site) -> dict[str, float]:
    """Study whose runs train on GPUs, all stages together -> bytes of the smallest GPU that holds
    them; the largest first."""
    most: dict[str, float] = {}
    if suite.config.scale not in site.gpu_scales:
        return most
    stages = {s: c for name in figures for s, c in suite.figure_cells(name).items()}
    for stage, cells in stages.items():
        study = "/".join(stage.split("/")[:2]).partition("+")[0]
        for cell in cells:
            if any(run.cost.seen for run in cell.runs):
                least = min(needed_memory(cell, site).values())
                most[study] = max(most.get(study, 0.0), least)
    return dict(sorted(most.items(), key=lambda pair: -pair[1]))


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
        *price.notes,
        "FLOPs, read: of all runs. state: weights, gradients, optimizer, float32. "
        "activations: an estimate, float32, of one microbatch",
        f"GPUs: of the largest job, on nodes of {site.gpus_per_node} of {site.gpu_memory_gb:g} GB",
    ]
    for name, *values in rows:
        padded = [f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:{widths[0]}}", *padded]).rstrip())
    return lines
