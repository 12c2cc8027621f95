"""Values that nothing draws: gains, biases that begin at 0, buffers; to be given anew to a module
whose memory is empty."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.hints import misfit
from widthwise.identity import identity, named
from widthwise.tracing.attention import AttentionScale
from widthwise.tracing.kinds import Found
from widthwise.tracing.placed import give

KEPT = 65_536  # entries of a buffer that a file of roles holds


class KeptBuffer(TypedDict):
    """What a file of roles holds of a buffer. values: `dtype` and `list`."""

    shape: list[int]
    constant: float | bool | None
    values: dict | None


class Kept(TypedDict):
    """What a file of roles holds."""

    widths: list[float]
    parameters: dict[str, Found]
    attention: list[AttentionScale]
    warnings: list[str]
    inside: list[str]
    buffers: dict[str, KeptBuffer]
    branches: dict[str, str | list[str]]
    held: dict[str, dict[str, float]]
    shifts: dict[str, float]
    base: Any
    proof: str


@dataclass(frozen=True)
class Buffer:
    """What `make` gives a buffer at the base width.

    shape: there. constant: of all its entries, where they are alike. values: all of them, where it
    does not grow; else, and of a large one that was read from a file, None.
    """

    shape: tuple[int, ...]
    constant: float | None
    values: torch.Tensor | None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        kept = self.values
        if kept is not None and (kept.numel() > KEPT or kept.is_complex()):
            kept = None
        values = None if kept is None else {"dtype": str(kept.dtype), "list": kept.tolist()}
        return {"shape": self.shape, "constant": self.constant, "values": values}

    @staticmethod
    def from_plain(kept: Mapping[str, Any]) -> "Buffer":
        """The inverse of `plain`."""
        values, shape = kept["values"], tuple(kept["shape"])
        if values is not None:
            if wrong := misfit(values, {"dtype": str, "list": Any}):
                raise ValueError(wrong)
            dtype = getattr(torch, values["dtype"].removeprefix("torch."))
            values = torch.tensor(values["list"], dtype=dtype)
            if values.shape != shape:
                raise ValueError(f"a buffer of shape {shape} has values of {tuple(values.shape)}")
        return Buffer(shape, kept["constant"], values)


def kept_buffers(model: nn.Module, wide: nn.Module) -> dict[str, Buffer]:
    """Of a module that was just made, and the same at another width."""
    others = {identity(wide, name): tuple(b.shape) for name, b in wide.named_buffers()}
    found = {}
    for name, buffer in model.named_buffers():
        name = identity(model, name)
        values, shape = buffer.detach(), tuple(buffer.shape)
        alike = (
            bool(values.numel())
            and not values.is_meta
            and bool((values == values.flatten()[0]).all())
        )
        constant = float(values.flatten()[0]) if alike and not values.is_complex() else None
        stays = others.get(name) == shape and not values.is_meta
        found[name] = Buffer(shape, constant, values.clone() if stays else None)
    return found


def fill_undrawn(
    model: nn.Module,
    found: Mapping[str, Found],
    buffers: Mapping[str, Buffer],
    fresh: Callable[[], Mapping[str, torch.Tensor]],
) -> None:
    """See `Roles.fill_`. fresh: all values as `make` gives them for the model, where that is known;
    asked for where no less will do, as of a buffer that is one number at the base and is another
    here: it may be the width's, as a stored 1 / n, or what an empty memory holds."""

    def filled(tensor: torch.Tensor, name: str, what: str = "") -> None:
        if (values := fresh().get(name)) is None or values.is_meta:
            raise UserError(
                f"{what}{name}: what make gives it at this width is not known: Roles.load(path, "
                "make) of roles from a file; or fill it after to_empty, and call init_() without a "
                "generator for the rest"
            )
        give(tensor, values)

    for name, parameter in named(model):
        each = found[name]
        if each.parts if each.role.drawn else each.constant is None:
            filled(parameter, name)
        elif not each.role.drawn:
            with torch.no_grad():
                parameter.fill_(each.constant)
    for name, buffer in model.named_buffers():
        kept = buffers.get(name := identity(model, name))
        if kept is None:
            continue  # a plan's own
        number = math.prod(kept.shape) == 1 and buffer.is_floating_point()
        if number and set(buffer.flatten().tolist()) != {kept.constant}:
            filled(buffer, name, "buffer ")
        elif kept.constant is not None:
            buffer.fill_(kept.constant)
        elif kept.values is not None and kept.shape == tuple(buffer.shape):
            buffer.copy_(kept.values)
        else:
            filled(buffer, name, "buffer ")
