"""Clipping of gradients by a global norm, plain or one that widening does not change."""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

from repro.training import distributed
from widthwise.parametrization import check_roles


@torch.no_grad()
def clip_grad_norm(
    parameters: Sequence[nn.Parameter], factors: Sequence[float], limit: float
) -> torch.Tensor:
    """Scale gradients down to a norm of at most `limit`; returns the norm before.

    factors: weight of each tensor's squared norm. All 1 give the plain global norm;
        `Role.squared_norm_factor` gives a norm that widening does not change. Tensors without a
        gradient are left out.
    """
    pairs = zip(parameters, factors, strict=True)
    gradients, factors = zip(*((p.grad, f) for p, f in pairs if p.grad is not None), strict=True)
    norms = distributed.full_tensor(torch.stack(torch._foreach_norm(gradients)))
    weights = torch.tensor(factors, dtype=norms.dtype, device=norms.device)
    total = _root((norms.square() * weights).sum())
    torch._foreach_mul_(gradients, torch.clamp(limit / (total + 1e-6), max=1.0))
    return total


def _root(square: torch.Tensor) -> torch.Tensor:
    """The square root of a single number, rounded as IEEE 754 asks: torch takes MKL's on a CPU,
    which in float64 differs in the last digit between makers of CPUs."""
    if square.device.type != "cpu":
        return square.sqrt()  # no reading of a GPU's number, which would wait for it
    return torch.tensor(math.sqrt(square), dtype=square.dtype)


def clipper(model: nn.Module, clip: Mapping | None) -> Callable[[], torch.Tensor] | None:
    """A function that clips a model's gradients by `clip_grad_norm`; None if `clip` is None.

    clip: {"norm": limit, "width_aware": whether each tensor's norm is weighted by its role's
    factor}.
    """
    if clip is None:
        return None
    roles = check_roles(model)
    factors = [
        roles[name].squared_norm_factor if clip["width_aware"] else 1.0
        for name, _ in model.named_parameters()
    ]
    return lambda: clip_grad_norm([*model.parameters()], factors, clip["norm"])
