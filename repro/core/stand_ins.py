"""Runs stood in for by made-up records: what an evaluation of a study reads, before it is run.

All choices of a study are made as they would be. A loss is a bowl over every axis of a stage's
grid, with noise, so that what is made of it has a number. No torch.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from repro.core import discovery
from repro.core.runs import Run
from repro.core.suite import Suite
from repro.tasks import TASKS
from repro.tasks.recorded import WORD, Number


def contents(suite: Suite, modules: Iterable[str], share: float = 0.5) -> dict[str, dict]:
    """Stage or round -> what a cell of all its runs would hold, of made-up records; of those of
    some studies that have runs.

    share: of a stage's values on an axis those that lie below the best."""
    results: dict[str, dict] = {}
    found: dict[str, dict] = {}
    for module in modules:
        for name in discovery.stages(module):
            runs = [run for cell in suite.cells(name) for run in cell.runs]
            middle = _middle(runs, share)
            for run in runs:
                spec, tuned = run.resolve(lambda up: up.choose(lambda one: results[one.id]))
                made = [] if None in tuned.values() else [*_records(run, spec, tuned, middle)]
                results[run.id] = {
                    **{"id": run.id, "spec": spec, "axes": run.axes, "tuned": tuned},
                    **{"records": made, "file": "", "sha256": ""},
                }
            if runs:
                found[name] = {"runs": [results[run.id] for run in runs]}
    return found


def _logs(axes: Mapping) -> Iterator[tuple[str, float]]:
    """Axes that are numbers, as log2; 0 is four octaves below the values from 2^-4 on."""
    for axis, value in axes.items():
        if isinstance(value, float) and axis != "seed":
            yield axis, math.log2(value) if value > 0 else -8.0


def _middle(runs: Iterable[Run], share: float) -> dict[str, float]:
    """Axis -> where among a stage's values its best is."""
    values: dict[str, list[float]] = {}
    for run in runs:
        for axis, place in _logs(run.axes):
            values.setdefault(axis, []).append(place)
    return {axis: float(np.quantile(sorted({*its}), share)) for axis, its in values.items()}


def _records(run: Run, spec: Mapping, tuned: Mapping, middle: Mapping) -> Iterator[dict]:
    """Made-up records of a run: a loss that falls, lowest in the middle of its stage's grid."""
    rng = np.random.default_rng(int(run.id[:12], 16))
    declared = TASKS[run.task].records
    number = spec[declared.count] if declared.count else 1
    points = {axis: value for axis, value in tuned.items() if isinstance(value, float)}
    bowl = sum(
        0.03 * (place - middle.get(axis, place)) ** 2
        for axis, place in _logs({**run.axes, **points})
    )
    forms = {**declared.columns, **declared.evaluated, **declared.some}
    names = [*_layers(run.task)] or [{}]
    for index in range(1, number + 1):
        falls = 1 + bowl + math.exp(-3 * index / number)
        for fixed in names:
            yield {
                name: _value(form, falls, rng)
                for name, form in forms.items()
                if name not in ("step", *fixed)
            } | {**fixed, **({"step": spec["steps"] * index // number} if "step" in forms else {})}


def _layers(task: str) -> Iterator[dict]:
    """What tells apart the records of one run, of a task that does not count steps."""
    if task == "decoder_sign_step":
        from repro.tasks.decoder_sign_step import LAYERS

        yield from ({"layer": layer} for layer in LAYERS)


def _value(form: Any, falls: float, rng: np.random.Generator) -> Any:
    """A made-up value of a form of `recorded`, with one in a hundred of noise."""
    noisy = falls * (1 + 0.01 * float(rng.standard_normal()))
    if isinstance(form, tuple):
        return _value(form[0], falls, rng)
    if isinstance(form, list):
        return [noisy]
    if isinstance(form, dict):
        return {"all": noisy}
    if form is WORD:
        return "made up"
    assert isinstance(form, Number)
    if form.whole:
        return 100
    return 1 / (1 + noisy) if form.high == 1 else noisy


def recorded(stage: str) -> frozenset[str]:
    """The columns of a stage's table that its runs record, but for the step."""
    return TASKS[discovery.study(stage).task].records.names - {"step"}
