"""Models of a width, as `make` makes them."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.files import calling
from widthwise.identity import named


def made(make: Callable, width: Any) -> nn.Module:
    """The module of a width; raises UserError where there is none."""
    model = calling(f"make({width}) failed", make, width)
    if not isinstance(model, nn.Module):
        raise UserError(f"make({width}) returned {type(model).__name__}, not a torch.nn.Module")
    for name, parameter in model.named_parameters():
        if nn.parameter.is_lazy(parameter):
            raise UserError(
                f"{name}: is built lazily and has no shape yet; run a batch through it in make"
            )
    if not list(model.parameters()):
        raise UserError(f"make({width}) returned a module without parameters")
    return model


def check_anew(make: Callable, width: Any) -> None:
    """Raise UserError where two calls give the same weights, so that a second run would go on."""
    with torch.random.fork_rng():
        once, again = made(make, width), made(make, width)
    if {*map(id, once.parameters())} & {*map(id, again.parameters())}:
        raise UserError(f"make({width}) returns the same module twice: make it anew at each call")


def on_meta(make: Callable, width: Any) -> nn.Module | None:
    """The module without values, which takes no time; None where `make` needs them."""
    try:
        with torch.device("meta"):
            model = made(make, width)
    except UserError:
        return None
    return model if all(p.is_meta for p in model.parameters()) else None


def check_fits(model: nn.Module | None, width: Any) -> None:
    """Raise UserError on a model on the meta device that no memory here holds; None passes."""
    parameters = () if model is None else model.parameters()
    needs = sum(p.numel() * p.element_size() for p in parameters)
    has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needs > has:
        raise UserError(
            f"make({width}) has parameters of {needs / 2**30:,.0f} GiB, and this machine has "
            f"{has / 2**30:,.0f}: give a smaller one"
        )


def shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """Name of each parameter -> its shape."""
    return {name: tuple(p.shape) for name, p in named(model)}


def check_widths(shapes: Mapping, others: Mapping, width: int, other: int) -> None:
    """Raise UserError on two modules that differ in more, or less, than their width."""
    if odd := sorted(set(shapes) ^ set(others)):
        raise UserError(
            f"{odd[0]}: only one of make({width}) and make({other}) has it ({len(odd)} such "
            "parameters); hold everything but the width fixed, and tie the same weights"
        )
    for name, shape in shapes.items():
        if len(shape) != len(others[name]):
            raise UserError(
                f"{name}: has {len(shape)} axes at width {width} and {len(others[name])} at {other}"
            )
    if shapes == others:
        raise UserError(f"make ignores its width: every shape is the same at {width} and {other}")
