"""The noise that lets a widened model leave the subspace of duplicated units, and how far it is."""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from widthwise import parametrization
from widthwise.errors import UserError
from widthwise.parametrization.rules import Role
from widthwise.upscaling.growth import Growth

CONVENTIONS = ("paper", "code", "code-raw")


def noise_std(role, level: float, *, factor: int, convention: str) -> float:
    """Standard deviation of the Gaussian noise on a tensor of this role in the wide model.

    level: the base constant sigma_delta. factor: wide over narrow width. Conventions:
    paper: `level` for vectors, level * fan_in^-1/2 for matrices (Algorithm 2).
    code: as the released MLP code. The noise, level * fan_in^-1/2 for matrices and for the input
        layer, is added before the matrices are divided by the factor, which divides their noise
        as well.
    code-raw: as the released GPT-2 code. The noise has the standard deviation `level`; for
        matrices it is multiplied by (the matrix' own init std) / fan_in^-1/2 and divided by the
        factor. (Its package also multiplies the noise of the shared embedding by the root of width
        over base width, which is left out here.)
    Biases and gains get none, nor does a readout of zeros: Table 1 and E.3 read together with the
    released code, against Algorithm 2.
    """
    if convention not in CONVENTIONS:
        raise UserError(f"noise convention {convention!r}: choose from {', '.join(CONVENTIONS)}")
    if role.kind in ("vector", "scalar") or role.std == 0:
        return 0.0
    matrix = role.kind == "hidden"
    divided_by = factor if matrix and convention != "paper" else 1
    if convention == "code-raw":
        relative_std = role.std * role.fan_in**0.5 if matrix and role.std is not None else 1.0
        return level * relative_std / divided_by
    scaled = matrix or convention == "code"
    return level * (role.fan_in**-0.5 if scaled else 1.0) / divided_by


@torch.no_grad()
def perturb(
    wide: nn.Module,
    level: float | Mapping[str, float],
    generator: torch.Generator,
    *,
    factor: int | Mapping[str, int],
    convention: str,
    signal: bool = False,
    roles: Mapping[str, Role] | None = None,
) -> dict[str, float]:
    """Add Gaussian noise in place; returns each tensor's base constant sigma_delta.

    level: one base constant, or one for each tensor (as an earlier call returned it, Appendix D).
    generator: on the parameters' device. factor, convention: as in `noise_std`; a factor for all,
        or one for each tensor. roles: of the wide model's parameters, None: as it states them.
    signal: `level` is t, the ratio of the spectral norms of noise and widened weight (Appendix D),
        and the constants follow from it. A convolution is taken as its (out, in * height * width)
        matrix; the authors' code takes one norm per kernel position.
    """
    roles = parametrization.check_roles(wide) if roles is None else roles
    constants = {}
    for name, parameter in wide.named_parameters():
        of = factor[name] if isinstance(factor, Mapping) else factor
        std = noise_std(roles[name], 1.0, factor=of, convention=convention)
        if std == 0:
            continue
        noise = torch.randn(
            parameter.shape,
            generator=generator,
            device=parameter.device,
            dtype=parameter.dtype,
        ).mul_(std)
        constants[name] = _constant(level, name)
        if signal:
            constants[name] *= _spectral_norm(parameter) / _spectral_norm(noise)
        parameter.add_(noise, alpha=constants[name])
    return constants


def _constant(level: float | Mapping[str, float], name: str) -> float:
    if isinstance(level, Mapping) and name not in level:
        raise UserError(f"noise: no constant for {name}; there are {', '.join(level) or 'none'}")
    return level[name] if isinstance(level, Mapping) else level


def _spectral_norm(tensor: torch.Tensor) -> float:
    """Found in float64 and rounded to float32, so that it is the same on every kind of CPU: MKL
    takes singular values by kernels of its own on each, whatever the arithmetic asked for."""
    return float(torch.linalg.matrix_norm(tensor.flatten(1).double(), 2).float())


@torch.no_grad()
def subspace_distance(
    named_parameters: Iterable[tuple[str, torch.Tensor]], growth: Mapping[str, Growth]
) -> tuple[float, float]:
    """(Euclidean distance from the subspace of duplicated units, norm of the part inside it).

    Over all tensors that grew. named_parameters: (name, whole tensor) of the wide model, as its
    method of that name gives them; tensors that are sharded are to be gathered on the way.
    """
    outside = inside = 0.0
    for name, parameter in named_parameters:
        if math.prod(growth[name].factors) > 1:
            projected = growth[name].project(parameter)
            outside += float((parameter - projected).square().sum())
            inside += float(projected.square().sum())
    return outside**0.5, inside**0.5
