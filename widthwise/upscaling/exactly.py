"""A module's function in float64 and without chance, to hold two modules against each other."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from widthwise.errors import UserError
from widthwise.tracing.forward import called

LOWER = (torch.float32, torch.float16, torch.bfloat16)
HIGHER = dict.fromkeys(LOWER, torch.float64) | {torch.complex64: torch.complex128}


class Exactly(TorchDispatchMode):
    """Within it what asks for a lower precision gets float64, as norms and rotary embeddings that
    compute in float32 do, and a Bernoulli draw, as of dropout and DropPath, is its mean."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in HIGHER:
            kwargs["dtype"] = HIGHER[kwargs["dtype"]]
        name = function.overloadpacket.__name__
        if name == "bernoulli_":
            p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
            return args[0].copy_(p) if isinstance(p, torch.Tensor) else args[0].fill_(p)
        if name == "bernoulli":
            p = args[1] if len(args) > 1 else kwargs.get("p")
            return args[0].clone() if p is None else torch.full_like(args[0], p)
        if name == "native_dropout":
            return args[0].clone(), torch.ones_like(args[0], dtype=torch.bool)
        if name == "_grouped_mm" and args[0].dtype not in LOWER:
            return _grouped(*args, **kwargs)
        return function(*args, **kwargs)


def _grouped(
    a: torch.Tensor,
    b: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """A product for each expert, whose kernel knows no float64: of rows up to `offs` with matrices
    of theirs, or, for gradients, summed over these rows."""
    if offs is None:
        return a @ b
    ends = offs.tolist()
    spans = list(zip([0, *ends], ends, strict=False))
    if a.ndim == b.ndim == 2:
        return torch.stack([a[:, i:j] @ b[i:j] for i, j in spans])
    if a.ndim == 2:
        return torch.cat([a[i:j] @ each for (i, j), each in zip(spans, b, strict=True)])
    return torch.cat([each @ b[:, i:j] for (i, j), each in zip(spans, a, strict=True)], 1)


def twin(model: nn.Module) -> nn.Module:
    """A copy in float64, whose parameters keep the attributes that they have (as the mup package
    gives them); raises UserError where the module cannot be copied."""
    try:
        result = copy.deepcopy(model)
    except RuntimeError as error:
        raise UserError(f"widen: inputs needs a module that can be copied ({error})") from None
    for ours, theirs in zip(result.parameters(), model.parameters(), strict=True):
        ours.__dict__.update(theirs.__dict__)
        ours.grad = None
    return exact(result)


def exact(module: nn.Module) -> nn.Module:
    """The module in float64, complex numbers in complex128; in place."""
    return module._apply(_exact)


def _exact(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(HIGHER.get(tensor.dtype, tensor.dtype))


@torch.no_grad()
def disturb(model: nn.Module) -> None:
    """Give every parameter values in general position, of the signs that it has: behind a readout
    and a residual branch that both start at zero, say, no difference would show."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        dtype = parameter.dtype.to_real()
        noise = torch.randn(parameter.shape, generator=generator, dtype=dtype)
        noise = noise.clamp(-3, 3).to(parameter.device) / 10
        values = torch.where(parameter == 0, noise.to(parameter.dtype), parameter * (1 + noise))
        parameter.copy_(values)


def in_float64(inputs: Any) -> Any:
    """Inputs, a tensor, a tuple of arguments or a mapping of keywords, with numbers that have
    fractions in float64."""
    arguments = dict(inputs) if isinstance(inputs, Mapping) else inputs
    return tree_map_only(torch.Tensor, _exact, arguments)


@contextmanager
def buffers_kept(*models: nn.Module) -> Iterator[None]:
    """Buffers, as running statistics, are after it what they were before."""
    before = [(t, t.clone()) for model in models for t in model.buffers()]
    yield
    for tensor, value in before:
        tensor.data.copy_(value)  # which a graph that saved it may not notice


def run(
    model: nn.Module,
    arguments: Any,
    seed: int = 0,
    within: AbstractContextManager | None = None,
):
    """What a twin returns, with torch's random numbers from this seed; within: a mode that sees
    what the module asks for."""
    with torch.random.fork_rng(), buffers_kept(model), Exactly(), within or nullcontext():
        torch.manual_seed(seed)
        return called(model, arguments)
