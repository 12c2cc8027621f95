"""Which short runs share a job on a GPU. No torch."""

from collections.abc import Iterable, Sequence
from operator import itemgetter

from repro.core.schedule import Cell
from repro.cost import gpu_hours
from repro.tasks import TASKS

# What a job on a GPU should last: its place in a queue and the start of torch take minutes.
JOB_SECONDS = 600.0


def filled(cells: Iterable[Cell]) -> list[Cell]:
    """Cells of one stage for GPUs, those of less than JOB_SECONDS joined so that each has about as
    much, or all there is. Joined are cells that read the same data: what a job reads is in the
    provenance of each of its runs."""
    jobs: list[tuple[int, list[Cell]]] = []  # each with the place of its first cell
    short: dict[tuple, list[tuple[float, int, Cell]]] = {}
    for place, cell in enumerate(cells):
        seconds = 3600 * sum(gpu_hours(run.cost) for run in cell.runs)
        if seconds < JOB_SECONDS and any(run.cost.seen for run in cell.runs):
            needs = {need: None for r in cell.runs for need in TASKS[r.task].needs(r.spec)}
            short.setdefault((*needs,), []).append((seconds, place, cell))
        else:
            jobs.append((place, [cell]))
    for priced in short.values():
        total = sum(seconds for seconds, _, _ in priced)
        count, before = max(1, int(total / JOB_SECONDS)), 0.0
        shared: dict[int, tuple[int, list[Cell]]] = {}
        for seconds, place, cell in priced:
            number = int(count * (before + seconds / 2) / total)
            shared.setdefault(number, (place, []))[1].append(cell)
            before += seconds
        jobs += shared.values()
    return [_joined(together) for _, together in sorted(jobs, key=itemgetter(0))]


def _joined(cells: Sequence[Cell]) -> Cell:
    """One cell with the runs of several of a stage, and the axes that all of them have alike."""
    first = cells[0]
    axes = {k: v for k, v in first.axes.items() if all(cell.axes[k] == v for cell in cells)}
    return Cell(first.study, axes, tuple(run for cell in cells for run in cell.runs))
