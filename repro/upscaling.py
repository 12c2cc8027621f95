"""Widening and upscaling of trained models: Ma et al. (arXiv 2602.10545), Table 1 and Appendix D.

`widen` makes a wider model and optimizer that go on exactly as the narrow ones would; `perturb`
adds the noise that lets the wide model leave the subspace of duplicated units.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import nn
from torch.nn.modules.conv import _ConvTransposeNd
from torch.nn.modules.dropout import _DropoutNd

from repro import parametrization
from repro.errors import UserError
from repro.training import distributed

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
# Keys of a parameter group that are learning rates: torch's own and its schedulers'.
RATES = ("lr", "initial_lr", "max_lr", "min_lr", "swa_lr")
WRAPPERS = {
    "OptimizedModule": "torch.compile: widen the module it was made from, model._orig_mod",
    "DistributedDataParallel": "DistributedDataParallel: widen model.module",
    "DataParallel": "DataParallel: widen model.module",
    "FullyShardedDataParallel": "FSDP: gather the full parameters and widen the bare module",
    "FSDPModule": "fully_shard: gather the full parameters and widen a module that was not sharded",
    "AveragedModel": "AveragedModel: widen model.module",
}
# Layers of torch.nn that store a matrix as (out, in), so that factors may differ along its axes.
OUT_IN = (nn.Linear, nn.modules.conv._ConvNd)
CONVENTIONS = ("paper", "code", "code-raw")
TOLERANCE = 1e-9  # relative, of outputs and gradients in float64


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

    A matrix' axes are (out, in), in this order also for a transposed convolution, which has them
    the other way round.
    Raises UserError naming a parameter that only one of the modules has, or that grows along
    more than two axes.
    """
    owners = _owners(model)
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
        result[name] = axes[::-1] if isinstance(owners[name], _ConvTransposeNd) else axes
    return result


def _owners(model: nn.Module) -> dict[str, nn.Module]:
    """Parameter name -> the module that holds it."""
    names = (name for name, _ in model.named_parameters())
    return {name: model.get_submodule(name.rpartition(".")[0]) for name in names}


def _shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def _same_names(narrow: Mapping, wide: Mapping, what: str = "parameters") -> None:
    if set(narrow) != set(wide):
        raise UserError(
            f"the modules differ in more than width: {what} {sorted(set(narrow) ^ set(wide))} "
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


def check_module(model: nn.Module) -> None:
    """Raise UserError on a module that cannot be widened, saying what to do: a wrapped one, on the
    outside or within, one of `nn.MultiheadAttention`, and one without initialized parameters."""
    for name, module in model.named_modules():
        for kind in type(module).__mro__:
            if kind.__name__ in WRAPPERS:
                where = f" ({name})" if name else ""
                raise UserError(
                    f"cannot widen a module wrapped by {WRAPPERS[kind.__name__]}{where}"
                )
        if isinstance(module, nn.MultiheadAttention):
            raise UserError(
                f"{name or 'the module'}: nn.MultiheadAttention scales its logits as "
                "head_dim^-1/2, which widening changes; write one that scales them as 1 / head_dim"
            )
    parameters = list(model.parameters())
    if not parameters or any(nn.parameter.is_lazy(p) for p in parameters):
        raise UserError("widen: the module has no parameters, or lazy ones that were never used")


def widen(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    factor,
    make: Callable | None = None,
    inputs=None,
) -> tuple[nn.Module, torch.optim.Optimizer | None]:
    """A model `factor` times as wide, and its optimizer, that train exactly as these would.

    factor: a whole number, or what `make` takes for widths that grow apart: a tuple, list or
        mapping of whole numbers.
    make: factor -> the same module at `factor` times the width, on any device but meta,
        values ignored; `model.wider` if None. Called for factors of 1 and 2 as well, where it may
        draw from torch's generators. Its readout must average over the width: at `factor` times
        the width its output multiplier is divided by `factor`. Attention logits must scale as
        1 / head_dim; groups of channels must not grow in number.
    inputs: a batch, or a tuple of arguments, on which to hold the wide model against the narrow
        one (`compare`): the way to know that a module is one that Table 1 holds for.
    optimizer: SGD, Adam or AdamW over the model's parameters, or None. State and hyperparameters
        follow Table 1 and Appendix D; one that never stepped has no state to carry. Learning rates
        that schedulers keep in its groups (RATES) are scaled as well; other entries are copied, and
        a scheduler is to be made anew, with last_epoch one below the old one's.
    The wide model has the narrow one's dtypes, device, tensors without gradient, and modes of its
    modules, and no gradients. A buffer still as made whose value depends on the width (1 / n) is
    the wide module's own.
    Raises UserError on a wrapped module, `nn.MultiheadAttention`, another optimizer, a state tensor
    it does not know, sizes that do not divide or do not grow, tensors that grow along more than two
    axes, a buffer of numbers that grows, and where the two models differ on `inputs`.
    """
    check_module(model)
    make = make or getattr(model, "wider", None)
    if make is None:
        raise UserError("widen: give make=factor -> the same module `factor` times as wide")
    _check_factor(factor)
    wide = make(factor)
    shared = {id(p) for p in model.parameters()} & {id(p) for p in wide.parameters()}
    if shared:
        raise UserError("widen: make returned a module that shares parameters with the model")
    first = next(model.parameters())
    if any(p.is_meta for p in wide.parameters()) and not first.is_meta:
        raise UserError("widen: make returned a module on the meta device, which holds no values")
    wide.to(device=first.device, dtype=first.dtype)  # `_put` sees to those that differ from it
    growth = growth_by(model, wide, factor, make)
    _check_orientation(model, growth)
    _widen_parameters(model, wide, growth)
    if [*model.buffers(), *wide.buffers()]:
        _widen_buffers(model, wide, make(_filled(factor, 1)))
    modes = {name: module.training for name, module in model.named_modules()}
    for name, module in wide.named_modules():
        module.training = modes.get(name, model.training)
    if inputs is not None:
        compare(model, wide, growth, inputs)
    return wide, None if optimizer is None else _widen_optimizer(model, optimizer, wide, growth)


def growth_by(model: nn.Module, wide: nn.Module, factor, make: Callable) -> dict[str, Growth]:
    """Parameter name -> Growth from a model to the one that `make` made of `factor`.

    Where no width need have grown, or not all, the axes are those of twice the width.
    Raises UserError as `width_axes` and `growths`, and where a factor above 1 widened nothing.
    """
    uniform = isinstance(factor, Integral) and factor > 1
    axes = width_axes(model, wide if uniform else make(_filled(factor, 2)))
    if uniform and not any(axes.values()):
        raise UserError(f"widen: make returned the same widths for factor {factor}")
    return growths(model, wide, axes)


def _filled(factor, number: int):
    """The factor's structure with `number` in every place."""
    if isinstance(factor, Mapping):
        return {key: _filled(value, number) for key, value in factor.items()}
    if isinstance(factor, tuple | list):
        return type(factor)(_filled(value, number) for value in factor)
    return number


def _check_factor(factor) -> None:
    values = factor.values() if isinstance(factor, Mapping) else factor
    if isinstance(factor, Mapping | tuple | list):
        for value in values:
            _check_factor(value)
    elif not isinstance(factor, Integral) or factor < 1:
        raise UserError(f"widen: factor {factor!r} is no whole number of at least 1")


def _check_orientation(model: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Raise UserError where a matrix grows apart along its axes and nobody knows which is out.

    Known are torch.nn's layers and the suite's own modules, which name roles.
    """
    if hasattr(model, "roles"):
        return
    for name, owner in _owners(model).items():
        known = isinstance(owner, OUT_IN)
        if growth[name].k_in != growth[name].k_out and len(growth[name].axes) == 2 and not known:
            raise UserError(
                f"{name}: grows {growth[name].k_out} and {growth[name].k_in} times along its axes, "
                "and which of them is its input is known of nn.Linear and convolutions only; "
                "hold it in one of these, or widen by one factor"
            )


@torch.no_grad()
def _widen_parameters(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Table 1, each parameter in its own dtype and place."""
    narrow = dict(model.named_parameters())
    for name, parameter in wide.named_parameters():
        _put(parameter, growth[name].repeat(narrow[name].detach(), growth[name].weight))
        parameter.requires_grad_(narrow[name].requires_grad)


@torch.no_grad()
def _widen_buffers(model: nn.Module, wide: nn.Module, new: nn.Module) -> None:
    """Repeat buffers without rescaling (Appendix D). new: a narrow module as it is made."""
    narrow, buffers = dict(model.named_buffers()), dict(wide.named_buffers())
    made = dict(new.named_buffers())
    _same_names(narrow, buffers, "buffers")
    for name, buffer in buffers.items():
        source = narrow[name]
        factors = _factors(name, source.shape, buffer.shape)
        axes = tuple(i for i, k in enumerate(factors) if k != 1)
        if len(axes) > 1:
            raise UserError(f"buffer {name}: grows along {len(axes)} axes; only vectors are known")
        if axes and not (source.is_floating_point() or source.dtype == torch.bool):
            raise UserError(f"buffer {name}: {source.dtype} grows; only values are known to repeat")
        own = not axes and not source.is_meta and _depends_on_width(source, made[name], buffer)
        value = buffer if own else Growth(factors, axes).repeat(source)
        _put(buffer, value.to(source.device, source.dtype))


def _put(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Give a tensor, wherever it is tied, a value with its dtype and place."""
    if (tensor.dtype, tensor.device) == (value.dtype, value.device):
        tensor.copy_(value)
    else:
        tensor.data = value


def _depends_on_width(source: torch.Tensor, narrow: torch.Tensor, wide: torch.Tensor) -> bool:
    """Whether a buffer is still as made, and made otherwise at another width."""
    source, wide = (tensor.to(narrow.device, narrow.dtype) for tensor in (source, wide))
    return torch.equal(source, narrow) and not torch.equal(narrow, wide)


def compare(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth], inputs) -> None:
    """Hold a wide model against the narrow one, in float64 and their modes, without dropout.

    inputs: a tensor, or a tuple of arguments. Outputs must be equal and every gradient of a random
    projection of them the narrow one's, repeated: what Table 1 says, within TOLERANCE.
    Raises UserError naming the first tensor for which it does not hold.
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    arguments = [
        a.double() if torch.is_tensor(a) and a.is_floating_point() else a for a in arguments
    ]
    gradients, outputs = [], []
    for each in (model, wide):
        twin = _twin(each)
        found = twin(*arguments)
        if not torch.is_tensor(found):
            raise UserError(f"widen: inputs= needs a tensor from the module, not {type(found)}")
        generator = torch.Generator(found.device).manual_seed(0)
        weights = torch.randn(
            found.shape, generator=generator, dtype=found.dtype, device=found.device
        )
        (found * weights).sum().abs().backward()
        outputs.append(found.detach())
        gradients.append({n: p.grad for n, p in twin.named_parameters() if p.grad is not None})
    _hold("its output", outputs[1], outputs[0], float(outputs[0].abs().max()))
    narrow = {
        n: growth[n].repeat(g.to_dense(), growth[n].gradient) for n, g in gradients[0].items()
    }
    largest = max((float(g.abs().max()) for g in narrow.values()), default=0.0)
    for name, gradient in narrow.items():
        # A bias before a normalization has a gradient of 0 but for rounding.
        scale = max(float(gradient.abs().max()), 1e-3 * largest)
        _hold(f"the gradient of {name}", gradients[1][name].to_dense(), gradient, scale)


def _twin(model: nn.Module) -> nn.Module:
    """A copy in float64 without dropout."""
    try:
        twin = copy.deepcopy(model).double()
    except RuntimeError as error:
        raise UserError(f"widen: inputs= needs a module that can be copied ({error})") from None
    for module in twin.modules():
        if isinstance(module, _DropoutNd):
            module.p = 0.0
    return twin


def _hold(what: str, wide: torch.Tensor, expected: torch.Tensor, scale: float) -> None:
    off = float((wide - expected).abs().max()) / (scale or 1.0)
    if not off <= TOLERANCE:
        raise UserError(
            f"the wide module is not the narrow one widened: {what} differs by {off:.1g} (relative)"
            "; see `widen`, make: the readout must average over the width, logits scale as "
            "1 / head_dim, groups keep their number"
        )


def _widen_optimizer(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    wide: nn.Module,
    growth: Mapping[str, Growth],
) -> torch.optim.Optimizer:
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
                **dict.fromkeys(RATES, grown.lr(DEGREE[kind])),
                "weight_decay": grown.weight_decay(DEGREE[kind], coupled),
                "eps": grown.eps,
            }
            key = (index, *scales.values())
            if key not in groups:
                own = {k: v for k, v in group.items() if k not in ("params", "param_names")}
                rest = copy.deepcopy(own)
                scaled = {k: v * scales[k] for k, v in rest.items() if k in scales}
                groups[key] = rest | scaled | {"params": []}
            groups[key]["params"].append(parameters[names[id(parameter)]])
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


def check_state(name: str, parameter: torch.Tensor, state: Mapping) -> None:
    """Raise UserError on a state tensor of another shape than its parameter's: torch's fused
    optimizers do not look, and write past its end."""
    for key, value in state.items():
        if torch.is_tensor(value) and value.ndim and value.shape != parameter.shape:
            raise UserError(
                f"optimizer state {key!r} of {name}: has the shape {tuple(value.shape)}, "
                f"the parameter {tuple(parameter.shape)}"
            )


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
            constants[name] = _constant(level, name)
        parameter.add_(noise, alpha=constants[name])
    return constants


def _constant(level: float | Mapping[str, float], name: str) -> float:
    if isinstance(level, Mapping) and name not in level:
        raise UserError(f"noise: no constant for {name}; there are {', '.join(level) or 'none'}")
    return level[name] if isinstance(level, Mapping) else level


def _spectral_norm(tensor: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(tensor.flatten(1).float(), 2))


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
