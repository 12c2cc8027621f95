"""A wide module, made and given the narrow one's values."""

from collections.abc import Callable, Collection, Mapping

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.tracing.making import check_fits, on_meta
from widthwise.upscaling.blocks import Blocks
from widthwise.upscaling.checks import check_factor, check_made
from widthwise.upscaling.growth import Growth, filled, same_names, size_factors


def made(model: nn.Module, factor, make: Callable) -> nn.Module:
    """What `make(factor)` returns, with the model's dtype and device; UserError on what is no
    factor, or cannot hold the wide model's values."""
    check_factor(factor)
    check_fits(on_meta(make, factor), factor)
    wide: nn.Module = make(factor)
    check_made(model, wide, factor)
    # One dtype and device for all; `_put` gives those of tensors that differ from the first.
    return as_first(wide, model)


def as_first(module: nn.Module, model: nn.Module) -> nn.Module:
    """The module on the device of a model's first parameter, its real numbers of that dtype."""
    first = next(model.parameters())

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        real = tensor.is_floating_point() and first.is_floating_point()
        return tensor.to(first.device, first.dtype if real else None)

    return module._apply(moved)


@torch.no_grad()
def carry_gradients(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Give a wide module the gradients that the narrow one has summed up so far."""
    narrow = dict(model.named_parameters())
    for name, parameter in wide.named_parameters():
        gradient = narrow[name].grad
        if gradient is not None:
            found = growth[name].repeat(gradient.to_dense(), growth[name].gradient)
            parameter.grad = found.to_sparse(gradient.sparse_dim()) if gradient.is_sparse else found


def fill(
    model: nn.Module,
    wide: nn.Module,
    growth: Mapping[str, Growth],
    kept: Collection[str],
    blocks: Blocks,
) -> None:
    """Give a wide module the narrow one's values, repeated and scaled, and its modes.

    kept: buffers that stay as they are (`buffers_of_width`). blocks: of buffers.
    """
    _widen_parameters(model, wide, growth)
    _widen_buffers(model, wide, kept, blocks)
    modes = {name: module.training for name, module in model.named_modules()}
    for name, module in wide.named_modules():
        module.training = modes.get(name, model.training)


@torch.no_grad()
def _widen_parameters(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Table 1, each parameter in its own dtype and place; by "shrink" new entries stay."""
    narrow = dict(model.named_parameters())
    for name, parameter in wide.named_parameters():
        value = growth[name].repeat(narrow[name].detach(), growth[name].weight)
        if growth[name].by == "shrink":
            value = growth[name].with_new_entries(value, parameter.to(value.device, value.dtype))
        _put(parameter, value)
        parameter.requires_grad_(narrow[name].requires_grad)


@torch.no_grad()
def _widen_buffers(
    model: nn.Module, wide: nn.Module, kept: Collection[str], blocks: Blocks
) -> None:
    """Repeat buffers without rescaling (Appendix D), but for those that are kept; what is new,
    where nothing is copied, stays as made."""
    narrow = dict(model.named_buffers())
    for name, buffer in wide.named_buffers():
        source = narrow[name]
        factors = size_factors(name, source.shape, buffer.shape)
        axes = tuple(i for i, k in enumerate(factors) if k != 1)
        if len(axes) > 1:
            raise UserError(f"buffer {name}: grows along {len(axes)} axes; only vectors are known")
        values = source.is_floating_point() or source.is_complex() or source.dtype == torch.bool
        if axes and not values:
            raise UserError(f"buffer {name}: {source.dtype} grows; only values are known to repeat")
        value = made = buffer.to(source.device, source.dtype)
        if name not in kept:
            grown = Growth(factors, (), blocks[name], by=blocks.by)
            value = grown.with_new_entries(grown.repeat(source), made)
        _put(buffer, value)


@torch.no_grad()
def buffers_of_width(model: nn.Module, wide: nn.Module, factor, make: Callable) -> set[str]:
    """Names of the buffers that the width alone decides, such as a stored 1 / n: those that never
    changed, and are made with another value at the other width."""
    if not [*model.buffers(), *wide.buffers()]:
        return set()
    narrow, buffers = dict(model.named_buffers()), dict(wide.named_buffers())
    untrained = dict(make(filled(factor, 1)).named_buffers())
    same_names(narrow, buffers, "buffers")
    return {
        name
        for name, buffer in buffers.items()
        if narrow[name].shape == buffer.shape
        and not narrow[name].is_meta
        and _depends_on_width(narrow[name], untrained[name], buffer)
    }


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
