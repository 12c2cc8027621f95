"""A model and its optimizer, widened so that they train exactly as the narrow ones would."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from torch import nn

from repro.errors import UserError
from repro.upscaling.checks import (
    check_factor,
    check_made,
    check_module,
    check_orientation,
    check_state,
    compare,
)
from repro.upscaling.growth import Growth, filled, growth_by, same_names, size_factors

# Degree of an update in the gradient (Definition 2.3), by the optimizer's exact class: an SGD step
# doubles with the gradient, an Adam step stays.
DEGREE = {torch.optim.SGD: 1, torch.optim.Adam: 0, torch.optim.AdamW: 0}
# Power of the gradient that a state tensor scales with; a step counter has none.
STATE_POWER = {
    "momentum_buffer": 1,
    "exp_avg": 1,
    "exp_avg_sq": 2,
    "max_exp_avg_sq": 2,
    "step": 0,
}
# Keys of a parameter group that are learning rates: torch's own and its schedulers'.
RATES = ("lr", "initial_lr", "max_lr", "min_lr", "swa_lr")

Given = TypeVar("Given", torch.optim.Optimizer, None)  # an optimizer, or none, as it was given


def widen(
    model: nn.Module,
    optimizer: Given,
    factor,
    make: Callable | None = None,
    inputs=None,
) -> tuple[nn.Module, Given]:
    """A model `factor` times as wide, and its optimizer, that train exactly as these would.

    optimizer: SGD, Adam or AdamW over the model's parameters, or None. Its state and
        hyperparameters are scaled by Table 1 and Appendix D; if it never stepped there is no state
        to scale. Learning rates that schedulers keep in its groups (RATES) are scaled as well, all
        other entries are copied. A scheduler is to be made anew, with last_epoch one below the old
        one's.
    factor: a whole number; or, for widths that grow by different factors, whatever `make` takes: a
        tuple, list or mapping of whole numbers.
    make: a function of the factor that returns the same module, `factor` times as wide, on any
        device but meta; its values are ignored. `model.wider` if None. It is also called for
        factors of 1 and 2, and may draw from torch's generators each time. Its readout must average
        over the width: `factor` times the width divides the output multiplier by `factor`.
        Attention logits must scale as 1 / head_dim; groups of channels must not grow in number.
    inputs: a batch, or a tuple of arguments, on which the wide model is held against the narrow one
        (`compare`): the way to know that Table 1 holds for a module.
    The wide model has the narrow one's dtypes, device, frozen tensors and modes (train or eval) of
    its modules, and no gradients. Buffers that never changed and whose initial value depends on the
    width (such as a stored 1 / n) are those that `make` gave; all others are copied from the narrow
    model, repeated where they grow.
    Raises UserError on a wrapped module, `nn.MultiheadAttention`, another optimizer, a state tensor
    it does not know, sizes that do not divide or do not grow, tensors that grow along more than two
    axes, a buffer of whole numbers that grows, and where the two models differ on `inputs`.
    """
    check_module(model)
    make = make or getattr(model, "wider", None)
    if make is None:
        raise UserError("widen: give make=factor -> the same module `factor` times as wide")
    check_factor(factor)
    wide: nn.Module = make(factor)
    check_made(model, wide)
    first = next(model.parameters())
    # One dtype and device for all; `_put` gives those of tensors that differ from the first.
    wide.to(device=first.device, dtype=first.dtype)
    growth = growth_by(model, wide, factor, make)
    check_orientation(model, growth)
    _widen_parameters(model, wide, growth)
    if [*model.buffers(), *wide.buffers()]:
        _widen_buffers(model, wide, make(filled(factor, 1)))
    modes = {name: module.training for name, module in model.named_modules()}
    for name, module in wide.named_modules():
        module.training = modes.get(name, model.training)
    if inputs is not None:
        compare(model, wide, growth, inputs)
    return wide, None if optimizer is None else _widen_optimizer(model, optimizer, wide, growth)


@torch.no_grad()
def _widen_parameters(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Table 1, each parameter in its own dtype and place."""
    narrow = dict(model.named_parameters())
    for name, parameter in wide.named_parameters():
        _put(parameter, growth[name].repeat(narrow[name].detach(), growth[name].weight))
        parameter.requires_grad_(narrow[name].requires_grad)


@torch.no_grad()
def _widen_buffers(model: nn.Module, wide: nn.Module, fresh: nn.Module) -> None:
    """Repeat buffers without rescaling (Appendix D), but for those that the width alone decides.

    fresh: a narrow module as `make` returns it, before any training.
    """
    narrow, buffers = dict(model.named_buffers()), dict(wide.named_buffers())
    untrained = dict(fresh.named_buffers())
    same_names(narrow, buffers, "buffers")
    for name, buffer in buffers.items():
        source = narrow[name]
        factors = size_factors(name, source.shape, buffer.shape)
        axes = tuple(i for i, k in enumerate(factors) if k != 1)
        if len(axes) > 1:
            raise UserError(f"buffer {name}: grows along {len(axes)} axes; only vectors are known")
        if axes and not (source.is_floating_point() or source.dtype == torch.bool):
            raise UserError(f"buffer {name}: {source.dtype} grows; only values are known to repeat")
        comparable = not axes and not source.is_meta
        if comparable and _depends_on_width(source, untrained[name], buffer):
            value = buffer
        else:
            value = Growth(factors, axes).repeat(source)
        _put(buffer, value.to(source.device, source.dtype))


def _put(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Give a tensor, wherever it is tied, a value with its dtype and place."""
    if (tensor.dtype, tensor.device) == (value.dtype, value.device):
        tensor.copy_(value)
    else:
        tensor.data = value


def _depends_on_width(source: torch.Tensor, fresh: torch.Tensor, wide: torch.Tensor) -> bool:
    """Whether a buffer never changed (`source` is `fresh`) and is made with another value at the
    other width."""
    source, wide = (tensor.to(fresh.device, fresh.dtype) for tensor in (source, wide))
    return torch.equal(source, fresh) and not torch.equal(fresh, wide)


def _widen_optimizer(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    wide: nn.Module,
    growth: Mapping[str, Growth],
) -> torch.optim.Optimizer:
    """The optimizer of the wide model: groups split where their factors differ, state scaled."""
    kind: Any = type(optimizer)  # any of DEGREE has defaults of its own, the base class none
    if kind not in DEGREE:
        known = ", ".join(k.__name__ for k in DEGREE)
        raise UserError(f"optimizer {kind.__name__} cannot be widened; known are {known}")
    names = {id(p): name for name, p in model.named_parameters()}
    parameters = dict(wide.named_parameters())
    # Parameters that shared a group may need different factors: a wide group is known by the narrow
    # one's index and the factors on its settings.
    groups: dict[tuple, dict] = {}
    for index, group in enumerate(optimizer.param_groups):
        coupled = kind is not torch.optim.AdamW and not group.get("decoupled_weight_decay")
        for parameter in group["params"]:
            if id(parameter) not in names:
                raise UserError("the optimizer holds a parameter that is not the model's")
            name = names[id(parameter)]
            factors = {
                **dict.fromkeys(RATES, growth[name].lr(DEGREE[kind])),
                "weight_decay": growth[name].weight_decay(DEGREE[kind], coupled),
                "eps": growth[name].eps,
            }
            key = (index, *factors.values())
            if key not in groups:
                settings = {k: v for k, v in group.items() if k not in ("params", "param_names")}
                settings = copy.deepcopy(settings)
                scaled = {k: v * factors[k] for k, v in settings.items() if k in factors}
                groups[key] = settings | scaled | {"params": []}
            groups[key]["params"].append(parameters[name])
    result = kind(list(groups.values()))
    result.state.update(_widen_state(model, optimizer, wide, growth))
    return result


def _widen_state(model, optimizer, wide, growth: Mapping[str, Growth]) -> dict:
    """Wide parameter -> its optimizer state; raises UserError on a state tensor it cannot scale."""
    narrow, state = dict(model.named_parameters()), {}
    for name, parameter in wide.named_parameters():
        old = optimizer.state.get(narrow[name], {})
        unknown = [key for key in old if key not in STATE_POWER]
        if unknown:
            raise UserError(f"optimizer state {unknown[0]!r} of {name}: no rule to widen it")
        check_state(name, narrow[name], old)
        if old:
            state[parameter] = {
                key: _widen_entry(value, STATE_POWER[key], growth[name])
                for key, value in old.items()
            }
    return state


def _widen_entry(value, power: int, growth: Growth):
    if value is None or not torch.is_tensor(value):
        return value
    return growth.repeat(value, growth.gradient**power) if value.ndim else value.clone()
