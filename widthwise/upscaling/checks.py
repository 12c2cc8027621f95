"""What cannot be widened."""

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from torch import nn

from widthwise.errors import UserError
from widthwise.files import calling
from widthwise.tracing.wrapped import wrapper_of
from widthwise.upscaling.growth import WAYS, Growth, owning_modules

# Layers of torch.nn that are known to store a matrix as (out, in): only theirs may grow by
# different factors along the two axes.
OUT_IN = (nn.Linear, nn.modules.conv._ConvNd)


def check_module(model: nn.Module) -> None:
    """Raise UserError on a module that cannot be widened, saying what to do: a wrapped one, on the
    outside or within, and one without initialized parameters."""
    if (wrapper := wrapper_of(model, "widen")) is not None:
        raise UserError(f"cannot widen a module wrapped by {wrapper}")
    parameters = list(model.parameters())
    if not parameters or any(nn.parameter.is_lazy(p) for p in parameters):
        raise UserError("widen: the module has no parameters, or lazy ones that were never used")


def check_way(by: str, shrink: float, draw: object, scale_logits: bool) -> None:
    """Raise UserError on another way of growing, and on what does not go with it."""
    if by not in WAYS:
        raise UserError(f"widen: by {by!r}: choose from {', '.join(WAYS)}")
    if not 0 < shrink <= 1:
        raise UserError(f"widen: shrink {shrink!r}: give a number above 0, up to 1")
    if draw is not None and by != "shrink":
        raise UserError(f'widen: draw is of by="shrink"; by={by!r} nothing is drawn')
    if scale_logits and by == "shrink":
        raise UserError('widen: scale_logits keeps the function, which by="shrink" does not')


def check_known(model: nn.Module, axes: Mapping[str, tuple[int, ...]], by: str) -> None:
    """Raise UserError on `nn.MultiheadAttention`, which is wrong where its head_dim grows, and by
    "zeros" on norms over an axis that grows. axes: of each parameter, those that grow."""
    norms = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm)
    for name, module in model.named_modules():
        if by == "zeros" and isinstance(module, norms) and axes.get(f"{name}.weight"):
            raise UserError(
                f"{name}: a norm over an axis that grows counts the zeros in its statistics: "
                'by="copies", or, as another function, by="shrink"'
            )
        if isinstance(module, nn.MultiheadAttention):
            raise UserError(
                f"{name or 'the module'}: nn.MultiheadAttention scales its logits as "
                "head_dim^-1/2, which widening changes; write one that scales them as 1 / head_dim"
            )


def check_factor(factor) -> None:
    """Raise UserError unless a factor, or every number in its structure, is a whole one from 1."""
    values = factor.values() if isinstance(factor, Mapping) else factor
    if isinstance(factor, Mapping | tuple | list):
        for value in values:
            check_factor(value)
    elif not isinstance(factor, Integral) or factor < 1:
        raise UserError(f"widen: factor {factor!r} is no whole number of at least 1")


def check_tolerance(tolerance: float) -> None:
    """Raise UserError unless a tolerance is a number that differences can be held against."""
    if not 0 <= tolerance < 1:
        raise UserError(f"widen: tolerance {tolerance!r}: give a number from 0 to below 1")


NO_WIDTH = (
    "make is given the factor and returns the same module that many times as wide; where yours "
    "takes a width, give lambda k: make(width * k), width being the model's"
)


def of_factor(make: Callable[[Any], nn.Module]) -> Callable[[Any], nn.Module]:
    """`make`, whose failure says what it was given."""

    def called(factor: Any) -> nn.Module:
        try:
            return calling(f"widen: make({factor}) failed", make, factor)
        except UserError as error:
            if error.__cause__ is None:  # a line of its own
                raise
            raise UserError(f"{error}: {NO_WIDTH}") from error.__cause__

    return called


def check_made(model: nn.Module, wide: nn.Module, factor) -> None:
    """Raise UserError on a wide module that is wrapped, shares parameters with the model, holds no
    values or, by a whole factor, is not so many times as wide."""
    if (wrapper := wrapper_of(wide, "return")) is not None:
        raise UserError(f"widen: make returned a module wrapped by {wrapper}")
    if {id(p) for p in model.parameters()} & {id(p) for p in wide.parameters()}:
        raise UserError("widen: make returned a module that shares parameters with the model")
    if any(p.is_meta for p in wide.parameters()) and not next(model.parameters()).is_meta:
        raise UserError("widen: make returned a module on the meta device, which holds no values")
    narrow, wider = ([p.shape for p in module.parameters()] for module in (model, wide))
    if isinstance(factor, Integral) and factor != 1 and narrow == wider:
        raise UserError(f"widen: make returned the same widths for factor {factor}: {NO_WIDTH}")
    if isinstance(factor, Integral):
        _check_grown(model, wide, int(factor))


def _check_grown(model: nn.Module, wide: nn.Module, factor: int) -> None:
    """Raise UserError where sizes change and none of them by the factor: `make` took it for a
    width. What grows by no whole number has a line of its own (`size_factors`)."""
    sizes = dict(model.named_parameters())
    changed = [
        (name, tuple(sizes[name].shape), tuple(p.shape))
        for name, p in wide.named_parameters()
        if name in sizes and p.shape != sizes[name].shape
    ]
    pairs = [pair for _, narrow, wider in changed for pair in zip(narrow, wider, strict=False)]
    told = all(big < small or big % small == 0 for small, big in pairs)
    if changed and told and not any(big == factor * small for small, big in pairs):
        name, narrow, wider = changed[0]
        raise UserError(
            f"widen: {name} is {narrow} in the model and {wider} in make({factor}), where no size "
            f"is {factor} times the model's: {NO_WIDTH}"
        )


def check_orientation(model: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Raise UserError where a matrix grows by different factors along its axes and it is not known
    which axis is its output: it is known of torch.nn's layers."""
    for name, owner in owning_modules(model).items():
        each = growth[name]
        if each.inputs and each.k_in != each.k_out and not isinstance(owner, OUT_IN):
            raise UserError(
                f"{name}: grows {each.k_out} and {each.k_in} times along its axes, and which of "
                "them is its input is known of nn.Linear and convolutions only; give inputs, by "
                "which it is seen, or widen by one factor"
            )
