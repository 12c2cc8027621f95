"""The coordinate check of a model of one's own, with a numeric verdict.

What theory speaks of is measured at several widths: the stream, attention's logits and the output,
how much a few training steps change them (Yang et al., arXiv 2203.03466, Appendix D.1), how much
every tensor's update moves the loss, and how much of every weight a step's decay takes away, which
shows in nothing else. `widthwise.checks.slopes` has the law of each.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from widthwise.checks.depths import laws, pooled
from widthwise.checks.given import Batches, Loss, batches_of, inputs_of, loss_of
from widthwise.checks.seen import look
from widthwise.checks.slopes import (
    TOLERANCE,
    LayerSlope,
    Measured,
    fit_slopes,
    root_mean_square,
    table,
)
from widthwise.errors import UserError
from widthwise.files import calling
from widthwise.parametrization.plans import PLAN, plan
from widthwise.parametrization.recipes import Recipe
from widthwise.printed import progress_printer
from widthwise.tracing.making import check_anew, made
from widthwise.tracing.roles import Roles, roles
from widthwise.tracing.stacks import stacks
from widthwise.tracing.warnings import UNSEEN


@dataclass(frozen=True)
class CoordinateCheck:
    """What a coordinate check found; printed, a table and the verdict.

    slopes: of all that was judged. widths: or depths, as `axis` says. measured: (width, seed) ->
    what they are of. deep: the same over depths, where these were asked for. unseen: what `roles`
    warns of and no slope shows, attention without a softmax. other: where the optimizer is not the
    recipe's, what `Plan.check` says of it.
    """

    slopes: tuple[LayerSlope, ...]
    widths: tuple[float, ...]
    measured: Mapping[tuple[float, int], Measured]
    axis: str = "width"
    deep: "CoordinateCheck | None" = None
    unseen: tuple[str, ...] = ()
    other: str = ""

    @property
    def verdict(self) -> str:
        """What all slopes say: "wrong" where one grows or vanishes beyond its law, else "unclear"
        where one is that or something is unseen, else "right"."""
        found = {s.verdict for part in self.parts for s in part.slopes}
        if found & {"grows", "vanishes"}:
            return "wrong"
        return "unclear" if "unclear" in found or self.unseen else "right"

    @property
    def parts(self) -> "tuple[CoordinateCheck, ...]":
        """Over widths, and over depths."""
        return (self,) if self.deep is None else (self, self.deep)

    @property
    def passed(self) -> bool:
        """Whether the verdict is "right"."""
        return self.verdict == "right"

    @property
    def reason(self) -> str:
        """The verdict, and what is furthest from its law, in a line."""
        if self.passed:
            over = f"{len(self.slopes)} slopes are as muP has them over {self._sizes}"
            more = f", {len(self.deep.slopes)} over {self.deep._sizes}" if self.deep else ""
            return f"right: {over}{more}"
        if all(s.verdict == "right" for part in self.parts for s in part.slopes):
            return f"unclear: {len(self.slopes)} slopes are right, but {self.unseen[0]}"
        wanted = {"unclear"} if self.verdict == "unclear" else {"grows", "vanishes"}
        bad = [(part, s) for part in self.parts for s in part.slopes if s.verdict in wanted]
        part, worst = max(bad, key=lambda each: _distance(each[1]))
        law = " to ".join(f"{each:g}" for each in dict.fromkeys(worst.law))
        slope = f"{worst.slope:.2f} [{worst.low:.2f}, {worst.high:.2f}]"
        what = f"{worst.verdict} with the {part.axis}"
        more = f"; the optimizer is not the recipe's: {self.other}" if self.other else ""
        if worst.verdict == "unclear":
            slope += f", {worst.wider:.2f} over the wider half,"
            what, more = "cannot be told", f"; give more seeds, wider models or a lower lr{more}"
        count = sum(s.verdict in wanted for s in part.slopes)
        return (
            f"{self.verdict}: {worst.layer or 'the model'} ({worst.quantity}) {what}, slope {slope}"
            f" where {law} is right; {count} of {len(part.slopes)} slopes, over {part._sizes}{more}"
        )

    @property
    def _sizes(self) -> str:
        return f"{self.axis}s {list(self.widths)}"

    def __str__(self) -> str:
        lines = list(table(self.slopes))
        if self.deep is not None:
            lines += [f"over {self.deep._sizes}:", *table(self.deep.slopes)]
        return "\n".join([*lines, *(f"warning: {line}" for line in self.unseen), self.reason])

    def plot(self, path: str) -> None:
        """Draw every size over the narrowest model's, a curve a width, to a file; needs
        matplotlib. Depths follow."""
        from widthwise.checks.picture import draw

        draw(self.parts, self.verdict, self.reason, path)


def _distance(slope: LayerSlope) -> float:
    """How far a slope is from its law."""
    least, most = slope.law
    return max(least - slope.slope, slope.slope - most) if math.isfinite(slope.slope) else math.inf


def coordinate_check(
    make: Callable[[Any], nn.Module],
    recipe: str | Recipe | None,
    batches: Batches,
    widths: Sequence[int],
    *,
    depths: Sequence[int] | None = None,
    lr: float | Mapping[str, float] = 0.01,
    weight_decay: float = 0.0,
    optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
    loss: Loss | None = None,
    steps: int = 4,
    after: int = 0,
    seeds: int = 4,
    tolerance: float = TOLERANCE,
    given: Mapping[str, str] = MappingProxyType({}),
    progress: Callable[[str], object] | None = None,
) -> CoordinateCheck:
    """Train a model at several widths and fit how what it does depends on the width.

    make: width -> the module. The least of the widths is the base.
    recipe: a Recipe, a name, or the path of a file; None to check the model as `make` returns it,
        with an `optimizer` of its own: model -> torch optimizer, say another implementation's.
    batches: (inputs, targets), ..., taken in turn, or a function of the seed that returns them;
        inputs is a tensor, a tuple of positional arguments, or a mapping of keywords, of shapes
        that do not grow with the width: (batch, features), or token ids (batch, length) with
        targets (batch, length) for outputs (batch, length, vocabulary). In place of
        a pair, a mapping of keywords, with which the model returns its own loss (`labels`).
    depths: then make takes {"width": ..., "depth": ...}; widths are held against each other at the
        least depth, depths at the least width (`widthwise.checks.depths`). The law is that of a
        recipe with depth="1/L": with "1/sqrt(L)" layers learn less the deeper the model is.
    lr, weight_decay: at the base width, as `Plan.groups` takes them. Decays that are added to
        gradients, which Adam then divides by their size, are not judged.
    optimizer: groups -> torch optimizer, in place of the recipe's own class.
    loss: (model, batch) -> scalar; None: cross-entropy of whole numbers, else mean squared error.
    steps, after: what `steps` steps change is measured, after so many before them: a check of
        updates in the midst of training.
    tolerance: how far a slope may be from its law; 1/4, half the way to the nearest wrong law,
        since every power of a table is a multiple of 1/2.
    given: as in `roles`. progress: is called with a line as each model is begun; None: after two
        seconds lines go to stderr.
    A width should be larger than the number of things that a batch has to tell apart: below, what a
    step does to one of them is drowned by what it does to the others, which falls as n^-1/2.
    Raises UserError on fewer than two widths, no step, a loss that is not finite, or steps that
    change nothing, as the functions it calls.
    """
    widths, deep = sorted(widths), sorted(set(depths or ()))
    _check_asked(recipe is None and optimizer is None, seeds, depths)

    def size(width: float, depth: float | None = None) -> Any:
        if not deep:
            return int(width)
        return {"width": int(width), "depth": deep[0] if depth is None else int(depth)}

    check_anew(make, size(widths[0]))
    tell = progress_printer(progress)
    found: Roles | None = None
    if recipe is not None and len(set(widths)) > 1:
        inputs = inputs_of(batches_of(batches, 0)[0])
        found = roles(make, size(widths[0]), inputs, other=size(widths[-1]), given=given)
    unseen = tuple(line for line in found.warnings if UNSEEN in line) if found else ()

    others: list[str] = []  # of what `build` made first

    def build(of_size: Any) -> tuple[nn.Module, torch.optim.Optimizer]:
        model = made(make, of_size)
        if recipe is None or found is None:
            assert optimizer is not None
            return model, optimizer(model)
        its_optimizer = planned(model, found, recipe, lr, weight_decay, optimizer)
        if not others:
            others.append(_other(model, its_optimizer))
        return model, its_optimizer

    def measure(of_size: Any, seed: int) -> tuple[nn.Module, Measured]:
        tell(f"coordinate-check: {of_size}, seed {seed}: {after + steps} steps")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model, its_optimizer = build(of_size)
            data = batches_of(batches, seed)
            found = train_and_measure(
                model, its_optimizer, data, loss, steps, start=after, seed=seed
            )
            if any(group.get("weight_decay") for group in its_optimizer.param_groups):
                sizes = {**found.sizes, **_decays(*build(of_size))}
                found = Measured(sizes, found.extents)
        return model, found

    wide = over_widths(lambda n, seed: measure(size(n), seed)[1], widths, seeds, tolerance)
    wide = replace(wide, unseen=unseen, other="".join(others))
    if not deep:
        return wide
    over = _over_depths(
        lambda depth, seed: measure(size(widths[0], depth), seed),
        [_shapes(made(make, size(widths[0], depth))) for depth in (deep[0], deep[-1])],
        deep,
        seeds,
        tolerance,
        wide.slopes,
    )
    return replace(wide, deep=over)


def _check_asked(no_optimizer: bool, seeds: int, depths: Sequence[int] | None) -> None:
    """Raise UserError where there is nothing to step with, or too few seeds or depths."""
    if no_optimizer:
        raise UserError(
            "coordinate-check: without a recipe give optimizer= as a function of the model"
        )
    if seeds < 1:
        raise UserError(f"coordinate-check: seeds {seeds}: give 2 or more")
    if depths is not None and (len({*depths}) < 2 or min(depths) < 1):
        raise UserError(f"coordinate-check: depths {list(depths)}: give two or more, above 0")


def _over_depths(
    measure: Callable[[float, int], tuple[nn.Module, Measured]],
    ends: Sequence[Any],
    depths: Sequence[int],
    seeds: int,
    tolerance: float,
    slopes: Sequence[LayerSlope],
) -> CoordinateCheck:
    """The check over depths at one width. measure: (depth, seed) -> the model, and what was
    measured. ends: shapes of the shallowest model and of the deepest. slopes: over widths."""
    layers = stacks(*ends)
    if not layers:
        raise UserError(
            "coordinate-check: depths: make ignores its depth: no stack has more layers"
        )

    def pooled_at(depth: float, seed: int) -> Measured:
        model, found = measure(depth, seed)
        return pooled(found, [stack.at(_shapes(model)) for stack in layers])

    fitted, measured = fit_slopes(pooled_at, depths, range(seeds), tolerance, laws(slopes, layers))
    return CoordinateCheck(tuple(fitted), tuple(depths), measured, "depth")


def _other(model: nn.Module, optimizer: torch.optim.Optimizer) -> str:
    """Why an optimizer is not that of a model's plan; "" where it is, or that cannot be seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            vars(model)[PLAN].check(optimizer)
        except UserError as error:
            return str(error).removeprefix("check: ")
    return ""


def _shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def planned(
    model: nn.Module,
    found: Roles,
    recipe: str | Recipe,
    lr: float | Mapping[str, float],
    weight_decay: float,
    optimizer: Callable[[Any], torch.optim.Optimizer] | None,
) -> torch.optim.Optimizer:
    """Give a fresh model a recipe's initial values; returns its optimizer."""
    its_plan = plan(model, found, recipe).init_()
    its = (optimizer or its_plan.recipe.optimizer.kind)(its_plan.groups(lr, weight_decay))
    if not isinstance(lr, Mapping):
        its.defaults["lr"] = lr  # some schedules read it
    return its


def over_widths(
    measure: Callable[[float, int], Measured],
    widths: Sequence[float],
    seeds: int,
    tolerance: float = TOLERANCE,
) -> CoordinateCheck:
    """The check of what a function of width and seed measures.

    Raises UserError on fewer than two widths, or where the steps change no output.
    """
    slopes, measured = fit_slopes(measure, widths, range(seeds), tolerance)
    if not any(each.quantity == "output change" for each in slopes):
        raise UserError(
            "coordinate-check: the output changed at no width: lr is 0, or the optimizer is over "
            "other parameters"
        )
    return CoordinateCheck(tuple(slopes), tuple(widths), measured)


def train_and_measure(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence,
    loss: Loss | None,
    steps: int,
    *,
    start: int = 0,
    seed: int = 0,
    every: bool = False,
) -> Measured:
    """Sizes after steps on the batches in turn, changes since the step `start`, effects from there.

    seed: of what the model draws while it is looked at, as dropout does. every: as in `look`.
    Raises UserError on a loss that is not finite, and without a step.
    """
    if start < 0:
        raise UserError(f"coordinate-check: after {start}: give a number of steps from 0")
    if steps < 1:
        raise UserError(f"coordinate-check: steps {steps}: without a step nothing changes; give 1")
    inputs = inputs_of(batches[0])
    parameters = dict(model.named_parameters())
    effects = dict.fromkeys(parameters, 0.0)
    for step in range(start + steps):
        if step == start:
            torch.manual_seed(seed)
            before = look(model, inputs, every)
        optimizer.zero_grad()
        value = loss_of(model, batches[step % len(batches)], loss)
        if not bool(torch.isfinite(value.detach())):
            raise UserError(
                f"coordinate-check: loss {float(value.detach())} at step {step}: lower lr"
            )
        value.backward()
        held = {
            name: (p.detach().clone(), p.grad.clone())  # some optimizers change it in place
            for name, p in parameters.items()
            if step >= start and p.grad is not None
        }
        calling(f"{type(optimizer).__name__}.step", optimizer.step)
        for name, (old, gradient) in held.items():
            effects[name] += float((gradient * (parameters[name].detach() - old)).abs().sum())
    torch.manual_seed(seed)
    after = look(model, inputs, every)
    sizes = {}
    for (layer, what), tensor in after.tensors.items():
        if (layer, what) not in before.tensors:
            continue  # a layer that ran once only, as an expert that was given nothing
        if what == "logits" and start == 0:
            sizes[layer, "logits start"] = root_mean_square(before.tensors[layer, what])
        sizes[layer, f"{what} size"] = root_mean_square(tensor)
        sizes[layer, f"{what} change"] = root_mean_square(tensor - before.tensors[layer, what])
    sizes |= {(name, "effect"): effect for name, effect in effects.items()}
    return Measured(sizes, after.extents)


def _decays(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[tuple[str, str], float]:
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
