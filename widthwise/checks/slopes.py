"""Slopes of sizes against width, each with an interval over seeds and a verdict."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.statistics import slope, t_interval
from widthwise.tracing.forward import called
from widthwise.tracing.shapes import tensors

TOLERANCE = 0.15


@dataclass(frozen=True)
class LayerSlope:
    """Slope of log size against log width with its 95 % interval over seeds.

    quantity: "activation" (root mean square after the steps), "change" (root mean square of the
    difference from initialization), or of a weight "decay" (the share of it that a step takes
    away). verdict: "stable", "grows" or "vanishes" when the whole interval lies within TOLERANCE
    of 0, above or below that; else "unclear".
    """

    layer: str
    quantity: str
    slope: float
    low: float
    high: float
    verdict: str


def fit_slopes(
    sizes: Callable[[float, int], dict[tuple[str, str], float]],
    widths: Sequence[float],
    seeds: Sequence[int],
) -> list[LayerSlope]:
    """Fit the slopes of sizes; those that are 0 at every width are left out.

    sizes: (width, seed) -> {(layer, quantity): size}, the same keys in every call.
    Raises UserError unless there are at least two widths above 0: a slope needs two points.
    """
    import numpy as np

    if len(set(widths)) < 2 or min(widths) <= 0:
        raise UserError(f"coordinate-check: widths {list(widths)}: give two or more, above 0")
    measured = {(width, seed): sizes(width, seed) for width in widths for seed in seeds}
    result = []
    for key in measured[widths[0], seeds[0]]:
        found = [each[key] for each in measured.values()]
        if not any(found):
            continue
        if not all(0 < size < math.inf for size in found):
            result.append(LayerSlope(*key, math.nan, math.nan, math.nan, "unclear"))
            continue
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


def table(slopes: Sequence[LayerSlope]) -> list[str]:
    """Lines: a heading, and every layer's slopes."""
    lines = [f"{'layer':24} {'quantity':10} {'slope':>7} {'low':>7} {'high':>7}  verdict"]
    return lines + [
        f"{s.layer:24} {s.quantity:10} {s.slope:7.3f} {s.low:7.3f} {s.high:7.3f}  {s.verdict}"
        for s in slopes
    ]


def activations(model: nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """Name -> output of every submodule without children; `output` is that of the whole model.

    Of outputs that are containers, the first tensor.
    """
    found: dict[str, torch.Tensor] = {}

    def note(name: str) -> Callable:
        return lambda _, __, out: found.update({name: first(out).detach()})

    leaves = [(n, m) for n, m in model.named_modules() if not list(m.children()) and n]
    handles = [module.register_forward_hook(note(name)) for name, module in leaves]
    try:
        with torch.no_grad():
            result = called(model, inputs)
    finally:
        for handle in handles:
            handle.remove()
    found["output"] = first(result)  # in place of a readout's of that name, without its multiplier
    return found


def first(output: object) -> torch.Tensor:
    """The first tensor of a module's output; raises UserError where there is none."""
    found = tensors(output)
    if not found:
        raise UserError(f"coordinate-check: a module returned no tensor, but {type(output)}")
    return found[0]


def root_mean_square(tensor: torch.Tensor) -> float:
    """Root mean square of a tensor's entries."""
    return float(tensor.float().square().mean().sqrt())
