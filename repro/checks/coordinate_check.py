"""Coordinate check with a numeric verdict: do activations keep their size as width grows?

Yang et al. (arXiv 2203.03466), Appendix D.1, judge by plots. Here, after a few steps, log
activation size is fitted against log width in each layer; the slope has an interval over seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from repro.checks.tiny import tiny_run
from repro.data.random_data import random_data
from repro.errors import UserError
from repro.statistics import slope, t_interval
from repro.suite.spec import override
from repro.tasks import TASKS
from repro.training.loop import Training

TOLERANCE = 0.15


@dataclass(frozen=True)
class LayerSlope:
    """Slope of log size against log width with its 95 % interval over seeds.

    quantity: "activation" (root mean square after the steps) or "change" (root mean square of the
    difference from initialization). verdict: "stable", "grows" or "vanishes" when the whole
    interval lies within TOLERANCE of 0, above or below that; else "unclear".
    """

    layer: str
    quantity: str
    slope: float
    low: float
    high: float
    verdict: str


def coordinate_check(
    sizes: Callable[[float, int], dict[tuple[str, str], float]],
    widths: Sequence[float],
    seeds: Sequence[int],
) -> list[LayerSlope]:
    """Fit the slopes of activation sizes.

    sizes: (width, seed) -> {(layer, quantity): root mean square}, the same keys in every call.
    Raises UserError unless there are at least two widths above 0: a slope needs two points.
    """
    import numpy as np

    if len(set(widths)) < 2 or min(widths) <= 0:
        raise UserError(f"coordinate-check: widths {list(widths)}: give two or more, above 0")
    measured = {(width, seed): sizes(width, seed) for width in widths for seed in seeds}
    result = []
    for key in measured[widths[0], seeds[0]]:
        slopes = [
            slope(np.log(widths), [np.log(measured[width, seed][key]) for width in widths])
            for seed in seeds
        ]
        fitted, low, high = t_interval(slopes)
        result.append(LayerSlope(*key, fitted, low, high, _verdict(low, high)))
    return result


def _verdict(low: float, high: float) -> str:
    if low >= -TOLERANCE and high <= TOLERANCE:
        return "stable"
    if low > TOLERANCE:
        return "grows"
    if high < -TOLERANCE:
        return "vanishes"
    return "unclear"


def activations(model: nn.Module, *inputs: torch.Tensor) -> dict[str, torch.Tensor]:
    """Name -> output of every submodule without children; `output` is that of the whole model."""
    found: dict[str, torch.Tensor] = {}
    leaves = [(n, m) for n, m in model.named_modules() if not list(m.children()) and n]
    handles = [
        module.register_forward_hook(
            lambda _, __, out, name=name: found.update({name: out.detach()})
        )
        for name, module in leaves
    ]
    with torch.no_grad():
        result = model(*inputs)
    for handle in handles:
        handle.remove()
    found["output"] = result  # in place of a readout's of that name, which lacks its multiplier
    return found


def model_sizes(task: str, spec: Mapping, *, steps: int):
    """The argument `sizes` of `coordinate_check` for a training task, trained on one random batch.

    Width and seed of the spec are replaced; all its other settings hold, also the data's shape.
    """

    def sizes(width: float, seed: int) -> dict[tuple[str, str], float]:
        changed = override(spec, {"model.width": width, "seed": seed})
        data = random_data(changed, "cpu")
        return train_and_measure(TASKS[task].build(changed, data, "cpu"), steps)

    return sizes


def train_and_measure(training: Training, steps: int) -> dict[tuple[str, str], float]:
    """(layer, "activation" | "change") -> root mean square after `steps` steps on the first batch.

    The steps use neither clipping nor a schedule.
    """
    model, optimizer = training.model, training.optimizer
    batch = next(iter(training.batches.from_step(0)))
    inputs = batch[:-2] if len(batch) > 2 else batch[:1]  # an encoder-decoder has two inputs
    before = activations(model, *inputs)
    for _ in range(steps):
        optimizer.zero_grad()
        training.loss(model, batch).backward()
        optimizer.step()
    after = activations(model, *inputs)
    result = {}
    for layer in before:
        result[layer, "activation"] = float(after[layer].square().mean().sqrt())
        result[layer, "change"] = float((after[layer] - before[layer]).square().mean().sqrt())
    return result


def report(
    name: str, model: str, widths: Sequence[float] | None, steps: int, seeds: int
) -> list[str]:
    """Lines of a table: every layer's slopes, and the verdict over all changes.

    name: a parametrization. model: one of `repro.checks.tiny.MODELS`. widths: None: the model's.
    """
    if steps < 1:
        raise UserError(f"coordinate-check: steps {steps}: without a step nothing changes; give 1")
    task, spec, its_widths = tiny_run(model, name)
    widths = widths or its_widths
    found = coordinate_check(model_sizes(task, spec, steps=steps), widths, range(seeds))
    lines = [f"{'layer':24} {'quantity':10} {'slope':>7} {'low':>7} {'high':>7}  verdict"]
    lines += [
        f"{s.layer:24} {s.quantity:10} {s.slope:7.3f} {s.low:7.3f} {s.high:7.3f}  {s.verdict}"
        for s in found
    ]
    changes = {s.verdict for s in found if s.quantity == "change"}
    verdict = "width-independent" if changes == {"stable"} else ", ".join(sorted(changes))
    lines.append(f"{name}: changes over widths {list(widths)} are {verdict}")
    return lines
