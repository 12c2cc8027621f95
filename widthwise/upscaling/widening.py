"""Widening of any module with its optimizers, held against the narrow one on a batch."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeVar, cast

import torch
from torch import nn

from widthwise.errors import UserError, did_you_mean
from widthwise.optimizers.known import Update
from widthwise.parametrization.plans import products
from widthwise.printed import progress_printer
from widthwise.tracing.multipliers import factor_on_logits
from widthwise.tracing.passes import Passes, passes
from widthwise.tracing.roles import Roles, roles_of
from widthwise.upscaling.alongside import Growths
from widthwise.upscaling.blocks import Blocks, blocks_of
from widthwise.upscaling.checks import (
    check_known,
    check_module,
    check_orientation,
    check_tolerance,
    check_way,
    of_factor,
)
from widthwise.upscaling.compare import Difference, Reference, refused
from widthwise.upscaling.exactly import Exactly, buffers_kept, disturb, exact, in_float64, twin
from widthwise.upscaling.filling import as_first, buffers_of_width, carry_gradients, fill, made
from widthwise.upscaling.growth import Growth, filled, owning_modules, size_factors, width_axes
from widthwise.upscaling.optimizers import check_covered, widen_optimizer
from widthwise.upscaling.untying import tied_readouts, untie, untied

TOLERANCE = 1e-9  # relative, of outputs and gradients in float64
SHRINK = 0.5  # ours: of Mallik et al. only the abstract was read, which says no number
Choice = tuple[frozenset[str], Blocks]  # the parameters that are averaged over, the blocks
Optimizers = TypeVar(
    "Optimizers", bound=torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None
)


def widen(
    model: nn.Module,
    optimizer: Optimizers,
    factor: Any,
    make: Callable[[Any], nn.Module] | None = None,
    inputs: object = None,
    *,
    unchecked: bool = False,
    averages: Sequence[str] | None = None,
    block: int | None = None,
    untie: bool = False,
    scale_logits: bool = False,
    by: str = "copies",
    shrink: float = SHRINK,
    draw: Callable[[nn.Module], object] | None = None,
    given: Mapping[str, str] = MappingProxyType({}),
    updates: Mapping[type, Update] = MappingProxyType({}),
    tolerance: float = TOLERANCE,
) -> tuple[nn.Module, Optimizers, Growths]:
    """(wide model, its optimizer, growth): a model `factor` times as wide that trains as this one.

    by: how it grows; noise (`perturb`) goes with each.
        "copies": units are repeated, weights and rates scaled (Ma et al., Table 1), optimizer state
        too. "zeros": the old entries, 0 elsewhere, as in Net2Net (Chen et al., arXiv 1511.05641),
        in weights, gradients and optimizer state; averaging readouts are scaled up. New units stay
        at 0 until noise frees them; Adam's first steps on them are then longer than its rate, as
        their second moments start at 0 far from step 0. Norms over an axis that grows see other
        statistics and are refused. "shrink": the old entries times `shrink`, new ones as `draw`
        leaves them (after Mallik et al., arXiv 2605.13405): another function, which nothing is held
        against; no optimizer state, step or gradient is kept, rates stay.
    draw: gives the wide module initial values, as `lambda wide: plan(wide, roles, recipe).init_()`;
        None: as `make` gave them.
    But by "shrink" the wide pair makes the narrow one's steps to rounding (Ma et al., Propositions
    2.1 to 2.4, Theorem 2.5) until noise sets new units free, by "zeros" where activations are 0 at
    0. On `inputs` outputs and gradients of both are compared in float64, without dropout: no module
    is widened wrongly in silence.

    optimizer: one of torch.optim's SGD, Adam, AdamW, NAdam, Adamax, Adagrad, RMSprop, whose state
        and hyperparameters are scaled; a list of optimizers, each parameter that is trained in one
        of them; or None. The same comes back.
    factor: a whole number; or, for widths that grow by different factors, whatever `make` takes: a
        tuple, list or mapping of whole numbers.
    make: factor -> the same module, `factor` times as wide, all else held fixed; its values are
        ignored. It is also called with factors of 1 and 2. None: `model.wider`.
    inputs: a tensor, a tuple of positional arguments, or a mapping of keywords, on the model's
        device, of shapes that do not grow with the width, as `roles` takes them.
    unchecked: go without inputs. Then torch's linear layers and convolutions are taken to sum over
        their inputs, but for those that `averages` names, and nothing is compared.
    averages: names, or patterns with `*`, of readouts whose outputs the module divides by the
        width; "*": all, of which there may be none. None: what holds on inputs.
    block: how many units are copied together (1: each; a head's dimension: heads grow in number; 0:
        all). None: what holds on inputs.
    untie: give a readout that is the embedding too weights of its own, with their values. The wide
        pair then trains as a copy of the narrow one does that was untied.
    scale_logits: where head_dim grows and logits do not scale as 1 / head_dim, give them the factor
        by which they do: the queries' weight holds it, or what else can (`plan`).
    given: as in `roles`. updates: optimizers of your own, class -> `Update`.
    tolerance: relative; to be raised only for kernels of your own that know no float64.
    The wide model has the narrow one's dtypes, device, frozen tensors, modes of its modules, and
    gradients where some are summed up. Buffers that never changed and whose initial value depends
    on the width (a stored 1 / n) are those that `make` gave; all others are copied, repeated where
    they grow.
    Raises UserError where outputs or gradients differ, naming the first layer; on a wrapped module,
    an optimizer, a state or a parameter that cannot be told, and sizes that do not divide.
    """
    check_module(model)
    check_tolerance(tolerance)
    check_way(by, shrink, draw, scale_logits)
    if inputs is None:
        _check_without_inputs(unchecked, untie, scale_logits)
    make = _maker(model, make)
    theirs = own = _optimizers(model, optimizer)
    pair = _pair(model, factor, make, inputs, given, draw)
    readouts: tuple[str, ...] = ()
    if untie:
        pair, own, readouts = _untied(pair, own, tolerance)
    if scale_logits:
        pair = replace(pair, held=_of_logits(pair, -1 if by == "copies" else 0))
    model, wide = pair.model, pair.wide
    kept = buffers_of_width(model, wide, factor, make)
    roles = None
    if pair.both is None:
        growth, choice = _told_by_owners(model, wide, factor, make, averages, block, by)
    else:
        growth, choice, traced = _told_by_inputs(pair, averages, block, kept, tolerance, by)
        roles = traced.at(wide)
    if by == "shrink":
        growth = {name: replace(each, shrink=shrink) for name, each in growth.items()}
    else:
        carry_gradients(model, wide, growth)
    fill(model, wide, growth, kept, choice[1])
    growths = Growths(growth, wide, kept, *choice, roles, readouts)
    results: list[Any] = []
    for narrow, each in zip(theirs, own, strict=True):
        widened, origins = widen_optimizer(model, each, wide, growth, updates)
        growths.note(narrow, widened, origins)
        results.append(widened)
    if isinstance(optimizer, list | tuple):
        return wide, cast(Optimizers, type(optimizer)(results)), growths
    return wide, cast(Optimizers, results[0] if results else None), growths


def _maker(model: nn.Module, make: Callable[[Any], nn.Module] | None) -> Callable[..., nn.Module]:
    """`make`, or else the module's own. Raises UserError where there is neither."""
    make = make or getattr(model, "wider", None)
    if make is None:
        raise UserError("widen: give make=factor -> the same module `factor` times as wide")
    return of_factor(make)


def _optimizers(model: nn.Module, optimizer: Any) -> list[torch.optim.Optimizer]:
    """The optimizers that are given, none of None. Raises UserError unless each parameter that is
    trained is in one of them."""
    if optimizer is None:
        return []
    found = list(optimizer) if isinstance(optimizer, list | tuple) else [optimizer]
    check_covered(model, found)
    return found


def _check_without_inputs(unchecked: bool, untie: bool, scale_logits: bool) -> None:
    """Raise UserError where a widening without inputs was not asked for, or cannot be."""
    if not unchecked:
        raise UserError(
            "widen: give inputs, a batch on which the wide model is held against the narrow one; "
            "or unchecked=True to go without"
        )
    if untie:
        raise UserError("widen: untie needs inputs, which show what is a readout")
    if scale_logits:
        raise UserError("widen: scale_logits needs inputs, which show how logits scale")


@dataclass(frozen=True)
class Pair:
    """A model and the wide one that `make` returned, and copies of both in float64.

    both: what a pass at two widths showed, once; None where there are no inputs, which arguments
    are in float64. held: parameter of the wide model -> what it is multiplied by for its logits.
    """

    model: nn.Module
    wide: nn.Module
    narrow: nn.Module
    other: nn.Module
    arguments: Any = None
    both: Passes | None = None
    held: Mapping[str, float] = field(default_factory=dict)


def _pair(
    model: nn.Module,
    factor: Any,
    make: Callable,
    inputs: object,
    given: Mapping[str, str],
    draw: Callable[[nn.Module], object] | None,
) -> Pair:
    """Make the wide module, and look at both on inputs."""
    wide = made(model, factor, make)
    if draw is not None:
        draw(wide)
    if inputs is None:
        return Pair(model, wide, model, wide)
    arguments, narrow, other = in_float64(inputs), twin(model), twin(wide)
    reference = exact(_twice(narrow, other, factor, make))
    widths = (1, int(factor) if reference is other else 2)
    with buffers_kept(narrow, reference), Exactly():
        both = passes(narrow, reference, arguments, widths, given)
    return Pair(model, wide, narrow, other, arguments, both)


def _twice(model: nn.Module, wide: nn.Module, factor: Any, make: Callable) -> nn.Module:
    """The module at a width at which every axis differs that may grow."""
    if isinstance(factor, Integral) and int(factor) > 1:
        return wide
    return as_first(make(filled(factor, 2)), model)


def _untied(pair: Pair, optimizers: list, tolerance: float) -> tuple[Pair, list, tuple[str, ...]]:
    """The pair with copies of the model and its optimizers whose readouts have weights of their
    own, and the names of these weights; as it was where none is tied."""
    both = pair.both
    assert both is not None
    readouts = tied_readouts(roles_of(both), pair.model)
    if not readouts:
        return pair, optimizers, ()
    copied, others = untied(pair.model, optimizers, readouts)
    narrow, held = twin(copied), Reference(pair.narrow, pair.arguments, tolerance)
    if held.by_chance or held.outputs_differ(narrow):
        raise UserError(
            f"untie: with weights of its own for {next(iter(readouts))} the model returns "
            "something else (it draws random numbers, or asks whether they are tied): untie it in "
            "make"
        )
    wide, other = (untie(each, readouts) for each in (pair.wide, pair.other))
    both = both.untied(readouts)
    return Pair(copied, wide, narrow, other, pair.arguments, both), others, (*readouts,)


def _of_logits(pair: Pair, power: int) -> dict[str, float]:
    """What holds the factors by which the wide module's logits scale with this power of head_dim,
    of all that do not and can be given one."""
    assert pair.both is not None
    roles = roles_of(pair.both)
    at = roles.at(pair.wide)
    return products(
        factor_on_logits(each, at, power - each.exponent).held
        for each in roles.attention
        if each.held and math.isfinite(each.exponent) and abs(each.exponent - power) > 1e-6
    )


def _told_by_owners(
    model: nn.Module, wide: nn.Module, factor, make: Callable, averages, block: int | None, by: str
) -> tuple[dict[str, Growth], Choice]:
    """Growth by the layers that hold the parameters: torch's have their inputs in a known place."""
    axes = width_axes(model, _twice(model, wide, factor, make))
    if by != "shrink":
        check_known(model, axes, by)
    inputs = {name: found[1:] for name, found in axes.items()}
    readouts = []
    for name, owner in owning_modules(model).items():
        transposed = isinstance(owner, nn.modules.conv._ConvTransposeNd) or hasattr(owner, "nf")
        known = isinstance(owner, nn.Linear | nn.modules.conv._ConvNd) or hasattr(owner, "nf")
        if known and axes[name] == (0 if transposed else 1,) and name.endswith("weight"):
            readouts.append(name)
    averaged = _named(averages or (), readouts)
    inputs |= {name: axes[name] for name in readouts if name not in averaged}
    choice = (averaged, Blocks(block if block is not None else 1, by=by))
    growth = _growth(model, wide, inputs, choice)
    check_orientation(model, growth)
    return growth, choice


def _told_by_inputs(
    pair: Pair,
    averages: Sequence[str] | None,
    block: int | None,
    kept: set[str],
    tolerance: float,
    by: str,
) -> tuple[dict[str, Growth], Choice, Roles]:
    """Growth by what a pass shows of the axes; readouts and blocks as the outputs ask for."""
    assert pair.both is not None
    roles, arguments = roles_of(pair.both), pair.arguments
    narrow, other = pair.narrow, pair.other
    summed = {name: found.inputs for name, found in roles.found.items()}
    readouts = [name for name, f in roles.found.items() if f.inputs and not f.outputs]
    if by == "shrink":  # another function: blocks as the operators of a pass relate them
        blocks = blocks_of(narrow, other, arguments) if block is None else Blocks(block)
        choice = frozenset[str](), replace(blocks or Blocks(), by=by)
        return _growth(narrow, other, summed, choice), choice, roles
    disturb(narrow)  # what holds is of the module, and must hold for all values
    held = Reference(narrow, arguments, tolerance)
    failed: list[tuple[dict[str, Growth], Blocks, Difference]] = []
    tell = progress_printer(None)
    for averaged, blocks in _choices(roles, readouts, narrow, other, arguments, averages, block):
        tell(f"widen: {len(failed)} ways to copy units were not the same function; the next")
        blocks = replace(blocks, by=by)
        growth = _growth(narrow, other, _without(summed, averaged), (averaged, blocks), pair.held)
        fill(narrow, other, growth, kept, blocks)
        difference = held.difference(other, growth, blocks)
        if difference is None:
            return growth, (averaged, blocks), roles
        failed.append((growth, blocks, difference))
    raise refused(held, other, failed, kept, roles)


def _choices(
    roles: Roles,
    readouts: list[str],
    model: nn.Module,
    wide: nn.Module,
    arguments: Any,
    averages: Sequence[str] | None,
    block: int | None,
) -> Iterator[Choice]:
    """What may hold, the likely first: readouts that sum, or average over their width (all, or
    those at the network's end or within it alone); units copied one by one, all together, in
    blocks of one size, or of a size for each axis."""
    if averages is not None:
        ways = [_named(averages, readouts)]
    else:
        within = frozenset(name for name in readouts if name in roles.inside)
        ends = frozenset(readouts) - within
        ways = list(dict.fromkeys((frozenset(), ends | within, ends, within)))
    sizes = [1, 0, *_divisors(roles)] if block is None else [block]
    for size in dict.fromkeys(sizes):
        for averaged in ways:
            yield averaged, Blocks(size)
    if block is None and (found := blocks_of(model, wide, arguments)) is not None:
        for averaged in ways:
            yield averaged, found


def _divisors(roles: Roles) -> list[int]:
    """Divisors of the size that most axes have which grow: a head's dimension is one of them."""
    sizes = Counter(found.shape[i] for found in roles.found.values() for i in found.wide)
    ((most, _),) = sizes.most_common(1)
    return [n for n in range(2, most) if most % n == 0]


def _named(patterns: Sequence[str], readouts: Sequence[str]) -> frozenset[str]:
    """The readouts of these names; raises UserError on a name that is none."""
    found: set[str] = set()
    for pattern in patterns:
        matched = {name for name in readouts if fnmatchcase(name, pattern)}
        if not matched and pattern != "*":
            raise UserError(
                f"averages: no readout is {pattern!r}: {did_you_mean(pattern, readouts)}"
            )
        found |= matched
    return frozenset(found)


def _without(summed: Mapping[str, tuple[int, ...]], averaged: frozenset[str]) -> dict:
    return {name: () if name in averaged else axes for name, axes in summed.items()}


def _growth(
    model: nn.Module,
    wide: nn.Module,
    inputs: Mapping,
    choice: Choice,
    held: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Growth]:
    shapes = {name: p.shape for name, p in model.named_parameters()}
    (averaged, blocks), found = choice, {}
    for name, p in wide.named_parameters():
        factors, factor = size_factors(name, shapes[name], p.shape), held.get(name, 1.0)
        if blocks.by == "zeros" and name in averaged:
            factor *= math.prod(factors)  # what divides by the width still does, and adds zeros
        found[name] = Growth(factors, inputs[name], blocks[name], factor, blocks.by)
    return found
