"""Widening and upscaling of trained models: Ma et al. (arXiv 2602.10545), Table 1 and Appendix D.

`widen` makes a wider model and optimizer that go on exactly as the narrow ones would; `perturb`
adds the noise that lets the wide model leave the subspace of duplicated units.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from repro import distributed, parametrization
from repro.errors import UserError

# Update's degree of homogeneity in the gradient (Definition 2.3), by the optimizer's exact class.
DEGREE = {torch.optim.SGD: 1, torch.optim.Adam: 0, torch.optim.AdamW: 0}
# Power of the gradient that a state tensor scales with; a step counter has none.
STATE_POWER = {
    "momentum_buffer": 1,
    "exp_avg": 1,
    "exp_avg_sq": 2,
    "max_exp_avg_sq": 2,
    "step": 0,
}
WRAPPERS = {
    "OptimizedModule": "torch.compile: widen the module it was made from, model._orig_mod",
    "DistributedDataParallel": "DistributedDataParallel: widen model.module",
    "DataParallel": "DataParallel: widen model.module",
    "FullyShardedDataParallel": "FSDP: gather the full parameters and widen the bare module",
    "FSDPModule": "fully_shard: gather the full parameters and widen a module that was not sharded",
}
CONVENTIONS = ("paper", "code", "code-raw")


@dataclass(frozen=True)
class Growth:
    """How one tensor grows; its factors by Table 1.

    factors: one whole number per axis, 1 along axes that stay.
    axes: the width axes, (out, in) for a matrix, also where a factor is 1.
    """

    factors: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def k_in(self) -> int:
        """Factor along a matrix' input axis, 1 for vectors and scalars."""
        return self.factors[self.axes[1]] if len(self.axes) == 2 else 1

    @property
    def k_out(self) -> int:
        """Factor along a matrix' output axis or a vector's only one, 1 for scalars."""
        return self.factors[self.axes[0]] if self.axes else 1

    @property
    def weight(self) -> float:
        """Factor on the repeated weight."""
        return 1 / self.k_in

    @property
    def gradient(self) -> float:
        """Factor on the repeated gradient."""
        return 1 / self.k_out

    def lr(self, degree: int) -> float:
        """Factor on the learning rate of an update of this degree."""
        return self.k_out**degree / self.k_in

    def weight_decay(self, degree: int, coupled: bool) -> float:
        """Factor on the weight decay, added to the gradient (coupled) or not."""
        return self.k_in / self.k_out ** (1 if coupled else degree)

    @property
    def eps(self) -> float:
        """Factor on Adam's eps."""
        return 1 / self.k_out

    def repeat(self, tensor: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        """The tensor with every entry repeated along its width axes, times `scale`."""
        for axis, factor in enumerate(self.factors):
            if factor != 1:
                tensor = tensor.repeat_interleave(factor, axis)
        return tensor * scale if scale != 1 else tensor.clone()

    def project(self, tensor: torch.Tensor) -> torch.Tensor:
        """The nearest repeated tensor: every block of copies replaced by its mean."""
        for axis, factor in enumerate(self.factors):
            if factor != 1:
                shape = list(tensor.shape)
                shape[axis : axis + 1] = [shape[axis] // factor, factor]
                tensor = tensor.reshape(shape).mean(axis + 1).repeat_interleave(factor, axis)
        return tensor


def width_axes(model: nn.Module, other: nn.Module) -> dict[str, tuple[int, ...]]:
    """Parameter name -> its width axes: those along which the same module differs at two widths.

    A matrix' axes are (out, in), as torch.nn's layers have them.
    Raises UserError naming a parameter that only one of the modules has, or that grows along
    more than two axes.
    """
    shapes, others = _shapes(model), _shapes(other)
    _same_names(shapes, others)
    result = {}
    for name, shape in shapes.items():
        if len(shape) != len(others[name]):
            raise UserError(
                f"{name}: has {len(shape)} axes at one width and {len(others[name])} at another"
            )
        axes = tuple(i for i, n in enumerate(shape) if n != others[name][i])
        if len(axes) > 2:
            raise UserError(f"{name}: grows along {len(axes)} axes; Table 1 knows two at most")
        result[name] = axes
    return result


def _shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def _same_names(narrow: Mapping, wide: Mapping) -> None:
    if set(narrow) != set(wide):
        raise UserError(
            f"the modules differ in more than width: parameters {sorted(set(narrow) ^ set(wide))} "
            "are in one of them only (tie the same weights in both)"
        )


def growths(model: nn.Module, wide: nn.Module, axes: Mapping) -> dict[str, Growth]:
    """Parameter name -> Growth from one module to the same one at another width.

    Raises UserError naming the first parameter whose size is no whole multiple.
    """
    shapes, targets = _shapes(model), _shapes(wide)
    _same_names(shapes, targets)
    return {name: Growth(_factors(name, shapes[name], targets[name]), axes[name]) for name in axes}


def _factors(name: str, shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    if len(shape) != len(target) or any(
        big % small for small, big in zip(shape, target, strict=True)
    ):
        raise UserError(
            f"{name}: {tuple(shape)} cannot be widened to {tuple(target)}: each size must be a "
            "whole multiple; choose widths that divide"
        )
    return tuple(big // small for small, big in zip(shape, target, strict=True))


def check_wrappers(model: nn.Module) -> None:
    """Raise UserError on a wrapped module, saying what to widen in its place."""
    for kind in type(model).__mro__:
        if kind.__name__ in WRAPPERS:
            raise UserError(f"cannot widen a module wrapped by {WRAPPERS[kind.__name__]}")


def widen(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    factor,
    make: Callable | None = None,
) -> tuple[nn.Module, torch.optim.Optimizer | None]:
    """A model `factor` times as wide, and its optimizer, that train exactly as these would.

    factor: a whole number, or what `make` takes for widths that grow apart (one a stage).
    make: factor -> the same module at `factor` times the width, on any device, values ignored;
        `model.wider` if None. Its readout must average over the width: at `factor` times the width
        its output multiplier is divided by `factor`. Attention logits must scale as 1 / head_dim.
    optimizer: SGD, Adam or AdamW over the model's parameters, or None. State and hyperparameters
        follow Table 1 and Appendix D; one that never stepped has no state to carry.
    Raises UserError on a wrapped module, another optimizer, a state tensor it does not know,
    sizes that do not divide, and tensors that grow along more than two axes.
    """
    check_wrappers(model)
    make = make or getattr(model, "wider", None)
    if make is None:
        raise UserError("widen: give make=factor -> the same module `factor` times as wide")
    reference = next(model.parameters())
    wide = make(factor).to(device=reference.device, dtype=reference.dtype)
    uniform = isinstance(factor, int) and factor > 1
    axes = width_axes(model, wide if uniform else make(2))
    growth = growths(model, wide, axes)
    _widen_tensors(model, wide, growth)
    wide.train(model.training)
    return wide, None if optimizer is None else _widen_optimizer(model, optimizer, wide, growth)


@torch.no_grad()
def _widen_tensors(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Copy parameters by Table 1; buffers are repeated without rescaling (Appendix D)."""
    narrow = dict(model.named_parameters())
    for name, parameter in wide.named_parameters():
        parameter.copy_(growth[name].repeat(narrow[name], growth[name].weight))
        parameter.requires_grad_(narrow[name].requires_grad)
    buffers = dict(model.named_buffers())
    for name, buffer in wide.named_buffers():
        source = buffers[name]
        factors = _factors(name, source.shape, buffer.shape)
        axes = tuple(i for i, k in enumerate(factors) if k != 1)
        if len(axes) > 1:
            raise UserError(f"buffer {name}: grows along {len(axes)} axes; only vectors are known")
        buffer.copy_(Growth(factors, axes).repeat(source))


def _widen_optimizer(model, optimizer, wide, growth: Mapping[str, Growth]):
    """The optimizer of the wide model: groups split where their factors differ, state carried."""
    kind = type(optimizer)
    if kind not in DEGREE:
        known = ", ".join(k.__name__ for k in DEGREE)
        raise UserError(f"optimizer {kind.__name__} cannot be widened; known are {known}")
    names = {id(p): name for name, p in model.named_parameters()}
    parameters = dict(wide.named_parameters())
    groups: dict[tuple, dict] = {}
    for index, group in enumerate(optimizer.param_groups):
        coupled = kind is not torch.optim.AdamW and not group.get("decoupled_weight_decay")
        for parameter in group["params"]:
            if id(parameter) not in names:
                raise UserError("the optimizer holds a parameter that is not the model's")
            grown = growth[names[id(parameter)]]
            scales = {
                "lr": grown.lr(DEGREE[kind]),
                "initial_lr": grown.lr(DEGREE[kind]),
                "weight_decay": grown.weight_decay(DEGREE[kind], coupled),
                "eps": grown.eps,
            }
            key = (index, *scales.values())
            if key not in groups:
                rest = {k: v for k, v in group.items() if k not in ("params", "param_names")}
                scaled = {k: v * scales[k] for k, v in rest.items() if k in scales}
                groups[key] = rest | scaled | {"params": []}
            groups[key]["params"].append(parameters[names[id(parameter)]])
    result = kind(list(groups.values()))
    result.state.update(widen_state(model, optimizer, wide, growth))
    return result


def widen_state(model, optimizer, wide, growth: Mapping[str, Growth]) -> dict:
    """Wide parameter -> its optimizer state; raises UserError on a state tensor it cannot scale."""
    narrow, state = dict(model.named_parameters()), {}
    for name, parameter in wide.named_parameters():
        old = optimizer.state.get(narrow[name], {})
        unknown = [key for key in old if key not in STATE_POWER]
        if unknown:
            raise UserError(f"optimizer state {unknown[0]!r} of {name}: no rule to widen it")
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


def noise_std(role, level: float, *, factor: int, convention: str) -> float:
    """Standard deviation of the Gaussian noise on a tensor of this role in the wide model.

    level: the base constant sigma_delta. Conventions:
    paper: level for vectors, level * fan_in^-1/2 for matrices (Algorithm 2).
    code: the init's std times level, added before matrices are divided by the factor, so 1 / factor
        smaller there; input vectors get level * fan_in^-1/2 (the released MLP code).
    code-raw: level itself, matrices divided by the factor, and by what their init std has below
        fan_in^-1/2 as well (the released GPT-2 code; its package also multiplies the shared
        embedding's noise by the root of width over base width, which is left out here).
    A tensor that is not drawn at initialization (readout at zero, biases, gains) gets none:
    Table 1 and E.3 read together with the released code, against Algorithm 2.
    """
    if convention not in CONVENTIONS:
        raise UserError(f"noise convention {convention!r}: choose from {', '.join(CONVENTIONS)}")
    if role.kind in ("vector", "scalar") or role.std == 0:
        return 0.0
    matrix = role.kind == "hidden"
    before_division = factor if matrix and convention != "paper" else 1
    if convention == "code-raw":
        own = role.std * role.fan_in**0.5 if matrix and role.std is not None else 1.0
        return level * own / before_division
    scaled = matrix or convention == "code"
    return level * (role.fan_in**-0.5 if scaled else 1.0) / before_division


@torch.no_grad()
def perturb(
    wide: nn.Module,
    level: float | Mapping[str, float],
    generator: torch.Generator,
    *,
    factor: int,
    convention: str,
    signal: bool = False,
) -> dict[str, float]:
    """Add Gaussian noise in place; returns each tensor's base constant sigma_delta.

    level: one base constant, or one a tensor (as a former call returned it, Appendix D).
    signal: level is t, the ratio of the spectral norms of noise and widened weight. A convolution
        is taken as its (out, in * height * width) matrix; the authors' code takes one norm per
        kernel position.
    generator: on the parameters' device.
    """
    roles = parametrization.check_roles(wide)
    constants = {}
    for name, parameter in wide.named_parameters():
        std = noise_std(roles[name], 1.0, factor=factor, convention=convention)
        if std == 0:
            continue
        noise = torch.randn(
            parameter.shape,
            generator=generator,
            device=parameter.device,
            dtype=parameter.dtype,
        ).mul_(std)
        if signal:
            ratio = _spectral_norm(parameter) / _spectral_norm(noise)
            constants[name] = level * ratio
        else:
            constants[name] = level[name] if isinstance(level, Mapping) else level
        parameter.add_(noise, alpha=constants[name])
    return constants


def _spectral_norm(tensor: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(tensor.flatten(1).float(), 2))


@torch.no_grad()
def clip_grad_norm(
    parameters: Sequence[nn.Parameter], factors: Sequence[float], limit: float
) -> torch.Tensor:
    """Scale gradients down to a norm of at most `limit`; returns the norm before.

    factors: weight of each tensor's squared norm: ones give the plain global norm,
    `Role.squared_norm_factor` one that widening does not change.
    """
    gradients = [p.grad for p in parameters]
    norms = distributed.whole(torch.stack(torch._foreach_norm(gradients)))
    weights = torch.tensor(factors, dtype=norms.dtype, device=norms.device)
    total = (norms.square() * weights).sum().sqrt()
    torch._foreach_mul_(gradients, torch.clamp(limit / (total + 1e-6), max=1.0))
    return total


def clipper(model: nn.Module, clip: Mapping | None) -> Callable[[], torch.Tensor] | None:
    """A call that clips a model's gradients by `clip_grad_norm`, None for no clipping.

    clip: {"norm": limit, "width_aware": weigh each tensor's norm by its role's factor}.
    """
    if clip is None:
        return None
    roles = model.roles()
    factors = [
        roles[name].squared_norm_factor if clip["width_aware"] else 1.0
        for name, _ in model.named_parameters()
    ]
    return lambda: clip_grad_norm([*model.parameters()], factors, clip["norm"])


@torch.no_grad()
def subspace_distance(model: nn.Module, growth: Mapping[str, Growth]) -> tuple[float, float]:
    """(distance from the widened subspace, norm of the part inside) over all grown tensors."""
    outside = inside = 0.0
    for name, parameter in model.named_parameters():
        parameter = distributed.whole(parameter)
        if math.prod(growth[name].factors) > 1:
            projected = growth[name].project(parameter)
            outside += float((parameter - projected).square().sum())
            inside += float(projected.square().sum())
    return outside**0.5, inside**0.5
