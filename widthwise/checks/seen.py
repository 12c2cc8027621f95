"""What a coordinate check looks at while a model runs: the stream, attention's logits, the output.

The stream is what a network hands on from block to block. Of a model whose blocks stand in a list
(`nn.ModuleList`, `nn.Sequential`) it is what each of them returns, beside what the layers around
them do; what happens within a block is the block's own affair.
"""

from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.errors import UserError
from widthwise.tracing.forward import running
from widthwise.tracing.shapes import tensors

LISTS = nn.ModuleList | nn.ModuleDict | nn.Sequential
MASKED = -1e4  # a logit below this is a mask's


@dataclass
class Seen:
    """A forward pass: (module, "stream", "logits" or "output") -> tensor, and its extent.

    extent: the number of entries of a stream or an output; of logits, the head_dim they sum over.
    """

    tensors: dict[tuple[str, str], torch.Tensor] = field(default_factory=dict)
    extents: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, module: str, what: str, tensor: torch.Tensor, extent: int | None = None) -> None:
        """Of a module that runs more than once, the last time; whole numbers are left out."""
        if tensor.is_floating_point():
            self.tensors[module, what] = tensor.detach()
            self.extents[module, what] = tensor.numel() if extent is None else extent


def look(model: nn.Module, arguments: tuple) -> Seen:
    """What a model does with its arguments, without gradients."""
    seen = Seen()
    handles = [
        model.get_submodule(name).register_forward_hook(
            lambda _, __, out, name=name: seen.note(name, "stream", first(out))
        )
        for name in blocks(model)
    ]
    try:
        with torch.no_grad(), running(model) as stack, _Logits(stack, seen):
            seen.note("", "output", first(model(*arguments)))
    finally:
        for handle in handles:
            handle.remove()
    return seen


def blocks(model: nn.Module) -> list[str]:
    """Names of the modules whose outputs are the stream."""
    found: list[str] = []

    def visit(name: str, module: nn.Module, listed: bool) -> None:
        bare = isinstance(module, nn.ModuleList | nn.ModuleDict)  # has no output
        if name and not bare:
            found.append(name)
        holds = any(isinstance(each, LISTS) for each in module.modules())
        if not name or bare or (holds and not listed):
            for child, each in module.named_children():
                visit(f"{name}.{child}".lstrip("."), each, isinstance(module, LISTS))

    visit("", model, False)
    return found


def first(output: object) -> torch.Tensor:
    """The first tensor of a module's output; raises UserError where there is none."""
    found = tensors(output)
    if not found:
        raise UserError(f"coordinate-check: a module returned no tensor, but {type(output)}")
    return found[0]


class _Logits(TorchDispatchMode):
    """Notes attention's logits, q.k times its scale: what a softmax is given that was a product of
    matrices, or of fused attention what it would be before a mask."""

    def __init__(self, stack: list[str], seen: Seen):
        super().__init__()
        self.stack, self.seen = stack, seen
        self.products = WeakTensorKeyDictionary()  # tensor made of a product -> what it sums over

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        name = function.overloadpacket.__name__.removesuffix("_")
        if name.startswith("_scaled_dot_product"):
            query, key = args[:2]
            key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
            scale = kwargs.get("scale") or query.shape[-1] ** -0.5
            logits = query @ key.transpose(-1, -2) * scale
            self.seen.note(self.stack[-1], "logits", logits, query.shape[-1])
        elif name in ("_softmax", "_safe_softmax") and args[0] in self.products:
            logits = args[0].masked_fill(args[0] < MASKED, 0.0)
            self.seen.note(self.stack[-1], "logits", logits, self.products[args[0]])
        elif name in ("bmm", "baddbmm"):
            self.products[out] = args[-1].shape[-2]
        elif isinstance(out, torch.Tensor):
            for each in tensors((args, kwargs)):
                if each in self.products and each.numel() == out.numel():
                    self.products[out] = self.products[each]
        return out
