"""What the stages of `benchmarks/gpu.sh` share: a device, and runs of the suite on random data."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch

from benchmarks import step
from repro import backend
from repro.core import catalog, config, discovery
from repro.core.runs import Run
from repro.core.spec import override
from repro.core.suite import Suite
from repro.data.random_data import random_data
from repro.tasks import TASKS
from repro.training import loop

STEPS = 12


class Left(Exception):
    """Why a stage is left out."""


class Late(Exception):
    """A stage has taken longer than it may."""


@dataclass(frozen=True)
class Bench:
    """What the stages share. device: cpu or cuda."""

    device: torch.device

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def memory(self) -> float:
        """Bytes of the device; a CPU's are enough for its toy sizes."""
        return backend.memory(self.device.type)

    @property
    def runs(self) -> dict[tuple[str, str], list[Run]]:
        """(model, precision) -> the runs of all figures that train such a model from nothing, the
        smallest first; at paper scale on a GPU, at smoke scale on a CPU."""
        return trained("paper" if self.on_gpu else "smoke")

    def wait(self) -> None:
        """Wait for queued work."""
        step.synchronize(self.device)

    def seconds(self, call: Callable[[], object], times: int = 10, before: int = 3) -> float:
        """Seconds of a call, the median of `times` after some `before`."""
        for _ in range(before):
            call()
        found = []
        for _ in range(times):
            self.wait()
            begin = time.perf_counter()
            call()
            self.wait()
            found.append(time.perf_counter() - begin)
        return statistics.median(found)


@cache
def trained(scale: str) -> dict[tuple[str, str], list[Run]]:
    """See `Bench.runs`."""
    suite = Suite(config.parse({"scale": scale}, discovery.dataset_names()))
    found: dict[tuple[str, str], dict[str, Run]] = {}
    for figure in filter(suite.offers, catalog.figure_names()):
        shown = [cell for cells in suite.figure_cells(figure).values() for cell in cells]
        for cell in suite.with_upstream(shown):
            for run in cell.runs:
                if run.cost.seen and not run.upstream and "trains" not in run.spec:
                    pair = run.spec["model"]["name"], run.cost.precision
                    found.setdefault(pair, {})[run.id] = run
    return {pair: sorted(by_id.values(), key=size) for pair, by_id in sorted(found.items())}


def size(run: Run) -> int:
    """The number of a run's parameters."""
    return run.cost.parameters


def plain(spec: Mapping, **changes: object) -> dict:
    """A spec that draws nothing while it trains, and reads tokens alone; with changes."""
    model = {k: 0.0 if "dropout" in k else v for k, v in spec["model"].items()}
    without = {"data.text": None} if "text" in spec["data"] else {}
    return override({**spec, "model": model, "threads": 1}, without | changes)


def built(task: str, spec: Mapping, device: torch.device) -> loop.Training:
    """A run on random data, that is evaluated on none."""
    training = TASKS[task].build(spec, random_data(spec, device), device)
    return replace(training, held_out=(), evaluate=None, schedule=None)


def losses(training: loop.Training, steps: int = STEPS, state: Path | None = None) -> list[float]:
    """The loss of each step. state: where the run is resumed from."""
    one = replace(training, steps=steps, evaluations=steps)
    with tempfile.TemporaryDirectory() as folder:
        place = state or Path(folder) / "state"
        found = loop.train(one, progress=lambda step, loss: None, checkpoint=place)
    return [record["train_loss"] for record in found]


def apart(found: Sequence[float], expected: Sequence[float]) -> float:
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True))


def clear(bench: Bench) -> None:
    """Free the device's memory of what is used no more."""
    gc.collect()
    if bench.on_gpu:
        torch.cuda.empty_cache()
