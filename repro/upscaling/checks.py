"""What cannot be widened, and whether a widened model computes what the narrow one does."""

import copy
from collections.abc import Mapping
from numbers import Integral

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from repro.errors import UserError
from repro.upscaling.growth import Growth, owning_modules

# By name, so that none of them has to be imported.
WRAPPERS = {
    "OptimizedModule": "torch.compile: widen the module it was made from, model._orig_mod",
    "DistributedDataParallel": "DistributedDataParallel: widen model.module",
    "DataParallel": "DataParallel: widen model.module",
    "FullyShardedDataParallel": "FSDP: gather the full parameters and widen the bare module",
    "FSDPModule": "fully_shard: gather the full parameters and widen a module that was not sharded",
    "AveragedModel": "AveragedModel: widen model.module",
}
# Layers of torch.nn that are known to store a matrix as (out, in): only theirs may grow by
# different factors along the two axes.
OUT_IN = (nn.Linear, nn.modules.conv._ConvNd)
TOLERANCE = 1e-9  # relative, of outputs and gradients in float64


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


def check_factor(factor) -> None:
    """Raise UserError unless a factor, or every number in its structure, is a whole one from 1."""
    values = factor.values() if isinstance(factor, Mapping) else factor
    if isinstance(factor, Mapping | tuple | list):
        for value in values:
            check_factor(value)
    elif not isinstance(factor, Integral) or factor < 1:
        raise UserError(f"widen: factor {factor!r} is no whole number of at least 1")


def check_made(model: nn.Module, wide: nn.Module) -> None:
    """Raise UserError on a wide module that shares parameters with the model or holds no values."""
    if {id(p) for p in model.parameters()} & {id(p) for p in wide.parameters()}:
        raise UserError("widen: make returned a module that shares parameters with the model")
    if any(p.is_meta for p in wide.parameters()) and not next(model.parameters()).is_meta:
        raise UserError("widen: make returned a module on the meta device, which holds no values")


def check_orientation(model: nn.Module, growth: Mapping[str, Growth]) -> None:
    """Raise UserError where a matrix grows by different factors along its axes and it is not known
    which axis is its output.

    It is known of torch.nn's layers, and of the suite's own models (those with `roles`).
    """
    if hasattr(model, "roles"):
        return
    for name, owner in owning_modules(model).items():
        known = isinstance(owner, OUT_IN)
        if growth[name].k_in != growth[name].k_out and len(growth[name].axes) == 2 and not known:
            raise UserError(
                f"{name}: grows {growth[name].k_out} and {growth[name].k_in} times along its axes, "
                "and which of them is its input is known of nn.Linear and convolutions only; "
                "hold it in one of these, or widen by one factor"
            )


def check_state(name: str, parameter: torch.Tensor, state: Mapping) -> None:
    """Raise UserError on a state tensor of another shape than its parameter's: torch's fused
    optimizers do not look, and write past its end."""
    for key, value in state.items():
        if torch.is_tensor(value) and value.ndim and value.shape != parameter.shape:
            raise UserError(
                f"optimizer state {key!r} of {name}: has the shape {tuple(value.shape)}, "
                f"the parameter {tuple(parameter.shape)}"
            )


def compare(model: nn.Module, wide: nn.Module, growth: Mapping[str, Growth], inputs) -> None:
    """Hold a wide model against the narrow one on a batch, in float64 and without dropout, each
    module in the mode (train or eval) it is in.

    inputs: a tensor, or a tuple of arguments. Table 1 promises equal outputs, and for any loss the
    narrow model's gradients, repeated and scaled; the loss here is a random projection of the
    outputs. Both must hold within TOLERANCE.
    Raises UserError naming the first tensor for which it does not.
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    exact = [a.double() if torch.is_tensor(a) and a.is_floating_point() else a for a in arguments]
    gradients, outputs = [], []
    for module in (model, wide):
        twin = _twin(module)
        output = twin(*exact)
        if not torch.is_tensor(output):
            raise UserError(f"widen: inputs= needs a tensor from the module, not {type(output)}")
        generator = torch.Generator(output.device).manual_seed(0)
        weights = torch.randn(
            output.shape, generator=generator, dtype=output.dtype, device=output.device
        )
        (output * weights).sum().abs().backward()
        outputs.append(output.detach())
        gradients.append({n: p.grad for n, p in twin.named_parameters() if p.grad is not None})
    _require_equal("its output", outputs[1], outputs[0], float(outputs[0].abs().max()))
    expected = {
        n: growth[n].repeat(g.to_dense(), growth[n].gradient) for n, g in gradients[0].items()
    }
    largest = max((float(g.abs().max()) for g in expected.values()), default=0.0)
    for name, gradient in expected.items():
        # A bias before a normalization has a gradient of 0 but for rounding.
        scale = max(float(gradient.abs().max()), 1e-3 * largest)
        _require_equal(f"the gradient of {name}", gradients[1][name].to_dense(), gradient, scale)


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


def _require_equal(what: str, wide: torch.Tensor, expected: torch.Tensor, scale: float) -> None:
    """Raise UserError where two tensors differ by more than TOLERANCE times `scale`."""
    off = float((wide - expected).abs().max()) / (scale or 1.0)
    if not off <= TOLERANCE:
        raise UserError(
            f"the wide module is not the narrow one widened: {what} differs by {off:.1g} (relative)"
            "; see `widen`, make: the readout must average over the width, logits scale as "
            "1 / head_dim, groups keep their number"
        )
