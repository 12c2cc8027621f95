"""The coordinate check of a model of one's own, with a numeric verdict.

After a few steps every layer's activations should have changed as much at one width as at another
(Yang et al., arXiv 2203.03466, Appendix D.1). A wrong weight decay does not show there: where there
is one, the share of each weight that one step without gradients takes away is held against the
width too, and should be the same.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from widthwise.checks.given import Batches, Loss, batches_of, inputs_of, loss_of
from widthwise.checks.slopes import (
    LayerSlope,
    activations,
    fit_slopes,
    root_mean_square,
    table,
)
from widthwise.errors import UserError
from widthwise.parametrization.plans import plan
from widthwise.parametrization.recipes import Recipe
from widthwise.tracing.roles import Roles, made, roles

Sizes = dict[tuple[str, str], float]  # (layer, quantity) -> size
JUDGED = ("change", "decay")


@dataclass(frozen=True)
class CoordinateCheck:
    """What a coordinate check found; printed, a table and the verdict.

    slopes: of every layer, and of weights that decay. sizes: (width, seed) -> what they are of.
    """

    slopes: tuple[LayerSlope, ...]
    widths: tuple[float, ...]
    sizes: Mapping[tuple[float, int], Mapping[tuple[str, str], float]]

    @property
    def verdict(self) -> str:
        """Whether all changes, and all decays, are stable ("width-independent"); else the
        first of "grows", "vanishes" and "unclear" that one of them is."""
        found = {s.verdict for s in self.slopes if s.quantity in JUDGED}
        order = ("grows", "vanishes", "unclear")
        return next((word for word in order if word in found), "width-independent")

    @property
    def passed(self) -> bool:
        """Whether the verdict is "width-independent"."""
        return self.verdict == "width-independent"

    @property
    def reason(self) -> str:
        """The verdict, and of how many layers, in a line."""
        if self.passed:
            return f"width-independent over widths {list(self.widths)}"
        bad = [s for s in self.slopes if s.quantity in JUDGED and s.verdict == self.verdict]
        judged = sum(s.quantity in JUDGED for s in self.slopes)
        more = "; give more seeds or widths" if self.verdict == "unclear" else ""
        what = "is unclear" if self.verdict == "unclear" else f"{self.verdict} with the width"
        return (
            f"{bad[0].layer} ({bad[0].quantity}) {what}, slope "
            f"{bad[0].slope:.2f}, one of {len(bad)} of {judged}, over widths {list(self.widths)}"
            f"{more}"
        )

    def __str__(self) -> str:
        return "\n".join([*table(self.slopes), self.reason])

    def plot(self, path: str) -> None:
        """Draw sizes against widths, a curve a layer, to a file; needs matplotlib."""
        from matplotlib.figure import Figure

        quantities = list(dict.fromkeys(s.quantity for s in self.slopes))
        figure = Figure(figsize=(4.5 * len(quantities), 3.5), layout="constrained")
        for place, quantity in enumerate(quantities, 1):
            axes = figure.add_subplot(1, len(quantities), place)
            for each in self.slopes:
                if each.quantity == quantity:
                    means = [self._mean(width, (each.layer, quantity)) for width in self.widths]
                    axes.plot(self.widths, means, marker="o", label=each.layer)
            axes.set(xscale="log", yscale="log", xlabel="width", title=quantity)
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
        figure.savefig(path)

    def _mean(self, width: float, key: tuple[str, str]) -> float:
        """The geometric mean over seeds."""
        found = [each[key] for (at, _), each in self.sizes.items() if at == width]
        return math.exp(sum(map(math.log, found)) / len(found)) if min(found) > 0 else math.nan


def coordinate_check(
    make: Callable[[int], nn.Module],
    recipe: str | Recipe | None,
    batches: Batches,
    widths: Sequence[int],
    *,
    lr: float | Mapping[str, float] = 0.01,
    weight_decay: float = 0.0,
    optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
    loss: Loss | None = None,
    steps: int = 4,
    after: int = 0,
    seeds: int = 4,
    readout: str | None = None,
    given: Mapping[str, str] = MappingProxyType({}),
) -> CoordinateCheck:
    """Train a model at several widths and fit how its layers' changes depend on the width.

    make: width -> the module. The least of the widths is the base.
    recipe: a Recipe, a name, or the path of a file; None to check the model as `make` returns it,
        with an `optimizer` of its own: model -> torch optimizer, say another implementation's.
    batches: (inputs, targets), ..., taken in turn, or a function of the seed that returns them;
        inputs is a tensor, a tuple of positional arguments, or a mapping of keywords. In place of
        a pair, a mapping of keywords, with which the model returns its own loss (`labels`).
    lr, weight_decay: at the base width, as `Plan.groups` takes them. Decays that are added to
        gradients, which Adam then divides by their size, are not judged.
    optimizer: groups -> torch optimizer, in place of the recipe's own class.
    loss: (model, batch) -> scalar; None: cross-entropy of whole numbers, else mean squared error.
    steps, after: what `steps` steps change is measured, after so many before them: a check of
        updates in the midst of training.
    readout, given: as in `plan` and `roles`.
    Raises UserError on fewer than two widths, no step, a loss that is not finite, or steps that
    change nothing, as the functions it calls.
    """
    widths = sorted(widths)
    if recipe is None and optimizer is None:
        raise UserError(
            "coordinate-check: without a recipe give optimizer= as a function of the model"
        )
    if seeds < 1:
        raise UserError(f"coordinate-check: seeds {seeds}: give 2 or more")
    found: Roles | None = None
    if recipe is not None and len(set(widths)) > 1:
        inputs = inputs_of(batches_of(batches, 0)[0])
        found = roles(make, widths[0], inputs, other=widths[-1], given=given)

    def build(width: int) -> tuple[nn.Module, torch.optim.Optimizer]:
        model = made(make, width)
        if recipe is None or found is None:
            assert optimizer is not None
            return model, optimizer(model)
        return model, planned(model, found, recipe, lr, weight_decay, optimizer, readout)

    def measure(width: float, seed: int) -> Sizes:
        width = int(width)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model, its_optimizer = build(width)
            data = batches_of(batches, seed)
            sizes = train_and_measure(
                model, its_optimizer, data, loss, steps, start=after, seed=seed
            )
            if any(group.get("weight_decay") for group in its_optimizer.param_groups):
                sizes |= _decays(*build(width))
        return sizes

    return over_widths(measure, widths, seeds)


def planned(
    model: nn.Module,
    found: Roles,
    recipe: str | Recipe,
    lr: float | Mapping[str, float],
    weight_decay: float,
    optimizer: Callable[[Any], torch.optim.Optimizer] | None,
    readout: str | None,
) -> torch.optim.Optimizer:
    """Give a fresh model a recipe's initial values and factors; returns its optimizer."""
    its_plan = plan(model, found, recipe, readout=readout).init_()
    return (optimizer or its_plan.recipe.optimizer.kind)(its_plan.groups(lr, weight_decay))


def over_widths(
    measure: Callable[[float, int], Sizes], widths: Sequence[float], seeds: int
) -> CoordinateCheck:
    """The check of what a function of width and seed measures.

    Raises UserError on fewer than two widths, or where no layer's output changed.
    """
    sizes: dict[tuple[float, int], Sizes] = {}

    def kept(width: float, seed: int) -> Sizes:
        sizes[width, seed] = measure(width, seed)
        return sizes[width, seed]

    slopes = fit_slopes(kept, widths, range(seeds))
    if not any(each.quantity == "change" for each in slopes):
        raise UserError(
            "coordinate-check: no layer's output changed at any width: lr is 0, or the optimizer "
            "is over other parameters"
        )
    return CoordinateCheck(tuple(slopes), tuple(widths), sizes)


def train_and_measure(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence,
    loss: Loss | None,
    steps: int,
    *,
    start: int = 0,
    seed: int = 0,
) -> Sizes:
    """Root mean square of each layer's output ("activation") after steps on the batches in turn,
    and of its difference ("change") from that at the step `start`.

    seed: of what the model draws while it is measured, as dropout does.
    Raises UserError on a loss that is not finite, and without a step.
    """
    if steps < 1:
        raise UserError(f"coordinate-check: steps {steps}: without a step nothing changes; give 1")
    inputs = inputs_of(batches[0])
    before: dict[str, torch.Tensor] = {}
    for step in range(start + steps):
        if step == start:
            before = _seen(model, inputs, seed)
        optimizer.zero_grad()
        value = loss_of(model, batches[step % len(batches)], loss)
        if not bool(torch.isfinite(value.detach())):
            raise UserError(
                f"coordinate-check: loss {float(value.detach())} at step {step}: lower lr"
            )
        value.backward()
        optimizer.step()
    after = _seen(model, inputs, seed)
    result = {}
    for layer in before:
        result[layer, "activation"] = root_mean_square(after[layer])
        result[layer, "change"] = root_mean_square(after[layer] - before[layer])
    return result


def _decays(model: nn.Module, optimizer: torch.optim.Optimizer) -> Sizes:
    """(weight, "decay") -> the share of it that a step without gradients takes away.

    Left out are weights that such a step does not shrink alike in all their entries.
    """
    before = {n: p.detach().double() for n, p in model.named_parameters() if p.ndim > 1}
    before = {name: start.clone() for name, start in before.items() if bool(start.any())}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    result = {}
    for name, start in before.items():
        step = start - model.get_parameter(name).detach().double()
        along = float((step * start).sum())
        if along > 0.99 * float(step.norm() * start.norm()):
            result[name, "decay"] = along / float(start.square().sum())
    return result


def _seen(model: nn.Module, inputs: Any, seed: int) -> dict[str, torch.Tensor]:
    """Activations, dropout drawn alike each time; those of whole numbers are none."""
    torch.manual_seed(seed)
    found = activations(model, inputs)
    return {name: t for name, t in found.items() if t.is_floating_point()}
