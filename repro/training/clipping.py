"""Clipping of gradients by a global norm, plain or one that widening does not change."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import torch
from torch import nn

from repro import backend
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
    norms = torch.stack(torch._foreach_norm(gradients))
    weights = _on_device(factors, norms.dtype, norms.device)
    total = backend.square_root((norms.square() * weights).sum())
    torch._foreach_mul_(gradients, torch.clamp(limit / (total + 1e-6), max=1.0))
    return total


@lru_cache(maxsize=8)
def _on_device(
    factors: tuple[float, ...], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """The factors as a tensor, which every step of a run takes: to copy them makes a GPU wait."""
    return torch.tensor(factors, dtype=dtype, device=device)


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
