"""The operators of a pass, one after another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.tracing.forward import taken_apart
from widthwise.tracing.shapes import tensors
from widthwise.upscaling.exactly import buffers_kept, run

# What a pass decides by its values: the wide one, whose values are any, is given the narrow one's.
DECISIONS = {"topk", "sort", "argsort", "argmax", "argmin", "max", "min", "multinomial"}


@dataclass(frozen=True)
class Ref:
    """A tensor of a pass: its number and shape."""

    id: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One operator: its name, what it was given and returned, tensors as `Ref`; decided: results
    that are no numbers with fractions."""

    name: str
    args: tuple
    kwargs: Mapping[str, Any]
    given: list[Ref]
    returned: list[Ref]
    decided: list[torch.Tensor]


class Calls(TorchDispatchMode):
    """Notes every operator. as_before: calls of another pass, whose decisions are taken over."""

    def __init__(self, as_before: "Calls | None"):
        super().__init__()
        self.calls: list[Call] = []
        self.ids = WeakTensorKeyDictionary()
        self.before, self.count = as_before, 0
        self.outputs: list[torch.Tensor] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        name = function.overloadpacket.__name__.removesuffix("_")
        decided = [t for t in tensors(out) if name in DECISIONS and not t.is_floating_point()]
        place = len(self.calls)
        if decided and self.before is not None and place < len(self.before.calls):
            for tensor, value in zip(decided, self.before.calls[place].decided, strict=False):
                if tensor.shape == value.shape:
                    tensor.copy_(value)
        self.calls.append(
            Call(
                name,
                tree_map_only(torch.Tensor, self.ref, args),
                tree_map_only(torch.Tensor, self.ref, kwargs),
                [self.ref(t) for t in tensors((args, kwargs))],
                [self.ref(t) for t in tensors(out)],
                [t.clone() for t in decided] if self.before is None else [],
            )
        )
        return out

    def ref(self, tensor: torch.Tensor) -> Ref:
        """The tensor's, a new one where it was not met before."""
        if tensor not in self.ids:
            self.ids[tensor] = self.count
            self.count += 1
        return Ref(self.ids[tensor], tuple(tensor.shape))


def calls_of(model: nn.Module, arguments: Any, as_before: "Calls | None") -> Calls:
    """The operators of a pass; the tensors that it returns are kept."""
    calls = Calls(as_before)
    with torch.no_grad(), buffers_kept(model), taken_apart():
        found = tensors(run(model, arguments, within=calls))
        calls.outputs = [t for t in found if t.is_floating_point() or t.is_complex()]
    return calls
