"""Values that nothing draws: gains, biases that begin at 0, buffers; to be given anew to a module
whose memory is empty."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.hints import misfit
from widthwise.identity import identity, named
from widthwise.tracing.attention import AttentionScale
from widthwise.tracing.kinds import Found

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


@torch.no_grad()
def fill_undrawn(
    model: nn.Module, found: Mapping[str, Found], buffers: Mapping[str, Buffer]
) -> None:
    """See `Roles.fill_`. A buffer of one number that is not whole may be the width's, as a stored
    1 / n: it stays as it is, unless it cannot be one."""
    for name, parameter in named(model):
        if found[name].role.drawn:
            continue
        constant = found[name].constant
        if constant is None:
            raise UserError(f"{name}: what make gives it is not known: fill it, and call init_()")
        parameter.fill_(constant)
    for name, buffer in model.named_buffers():
        kept = buffers.get(identity(model, name))
        if kept is None:
            continue  # a plan's own
        if buffer.numel() == 1 and buffer.is_floating_point():
            value = float(buffer)
            if not math.isfinite(value) or (value == 0) != (kept.constant == 0):
                raise UserError(
                    f"buffer {name}: is {value}, where make gives {kept.constant} at the base "
                    "width: fill it after to_empty"
                )
        elif kept.constant is not None:
            buffer.fill_(kept.constant)
        elif kept.values is not None and kept.shape == tuple(buffer.shape):
            buffer.copy_(kept.values)
        else:
            raise UserError(
                f"buffer {name}: what make gives it at this width is not known: fill it after "
                "to_empty, and call init_() without a generator for the rest"
            )
