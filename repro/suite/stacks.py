"""Which runs of a job are trained as one (`repro.training.stacked`), and what that takes."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from repro import cost
from repro.suite.plan import Cell, Run
from repro.tasks import TASKS

H100_BYTES = 80e9
Key = TypeVar("Key")


def stacks(
    runs: Sequence[Run], key: Callable[[Run], str | None], size: Callable[[Run], int]
) -> list[dict[int, Run]]:
    """The runs to train as one, each by its place among all.

    key: what a run shares with those that differ from it in numbers alone (`Task.stack_key`), None
        for one that is trained alone. size: how many like it at most.
    """
    found: list[dict[int, Run]] = []
    growing: dict[str, dict[int, Run]] = {}  # key -> the stack that takes the next run
    for index, run in enumerate(runs):
        most = size(run)
        shared = key(run) if most > 1 else None
        if shared is None or len(growing.get(shared, {})) in (0, most):
            found.append({})
            if shared is not None:
                growing[shared] = found[-1]
        (found[-1] if shared is None else growing[shared])[index] = run
    return found


def gpu_hours(cells: Iterable[Cell], left: Callable[[Run], bool], stacking: str = "auto") -> float:
    """Hours on one H100 (`cost.gpu_hours`) for the runs of some cells, each counted once and
    launched with those that are trained as one with it.

    left: whether a run is to be counted. stacking: as `Config.stacked`.
    """
    spent, seen = 0.0, set()
    for cell in cells:
        new = [run for run in cell.runs if run.id not in seen and left(run)]
        seen |= {run.id for run in new}

        def size(run: Run, runs: int = len(cell.runs)) -> int:
            return TASKS[run.task].stack_size(run.spec, runs, "cuda", H100_BYTES, stacking)

        # What is taken from upstream are numbers, in which runs of a stack may differ.
        for stack in stacks(new, lambda run: TASKS[run.task].stack_key(run.spec), size):
            first = next(iter(stack.values()))
            spent += cost.gpu_hours(TASKS[first.task].cost(first.spec), len(stack))
    return spent
