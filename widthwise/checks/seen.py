"""What a coordinate check looks at while a model runs: the stream, the logits of attention and of
routers, what is projected to a fixed width, the output.

The stream is what a network hands on from block to block. Of a model whose blocks stand in a list
(`nn.ModuleList`, `nn.Sequential`) it is what each of them returns, beside what the layers around
them do; what happens within a block is the block's own affair, but for weights that read a width
and write none, as keys and values of heads that are held fixed: all that they write is looked at.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.checks.slopes import PARAMETRIZED, owner
from widthwise.errors import UserError
from widthwise.parametrization.plans import PLAN, Plan
from widthwise.parametrization.rules import BOTTLENECK
from widthwise.tracing.forward import called, running
from widthwise.tracing.shapes import tensors

PROJECTIONS = {BOTTLENECK: "projection", "output": "small"}  # by their kind
LISTS = nn.ModuleList | nn.ModuleDict | nn.Sequential


@dataclass
class Seen:
    """A forward pass: (module, "stream", "logits" or "output") -> tensor, and its extent.

    extent: the number of entries of a stream, an output or what a layer of parameters returns
    ("layer", without its tensor); of attention's logits, the head_dim that they sum over. Without a
    tensor too: of "softmax", what attention is a mean over; of "projection", what a layer writes
    that reads a width and writes none within the network, and of "small" the same where it starts
    as a readout does.
    """

    tensors: dict[tuple[str, str], torch.Tensor] = field(default_factory=dict)
    extents: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, module: str, what: str, tensor: torch.Tensor, extent: int | None = None) -> None:
        """Keep a tensor of a module; of one that runs more than once, the last. Whole numbers are
        left out."""
        if tensor.is_floating_point():
            self.extents[module, what] = tensor.numel() if extent is None else extent
            if what not in ("layer", *PROJECTIONS.values()):
                # As it is now: what follows may change it in place.
                self.tensors[module, what] = tensor.detach().clone()


def look(model: nn.Module, inputs: Any, every: bool = False) -> Seen:
    """What a model does with inputs as `roles` takes them, without gradients. every: whether each
    module that has parameters is looked at, and not the stream alone."""
    seen, plan = Seen(), vars(model).get(PLAN)
    held = plan.outputs if plan else {}  # what weights hold for another place is none of a stream
    names = blocks(model)
    if every:
        modules = [(n, m) for n, m in model.named_modules() if PARAMETRIZED not in n.split(".")]
        names = [n for n, m in modules if n and next(m.parameters(), None) is not None]
    places = [(name, model.get_submodule(name), "stream") for name in names]
    owners = dict.fromkeys(owner(name) for name, _ in model.named_parameters())
    places += [(name, model.get_submodule(name), "layer") for name in owners if name]
    fixed = projections(plan)
    places += [(name, model.get_submodule(name), what) for name, what in fixed.items()]
    places += [(name, model.get_submodule(name), "stream") for name in fixed.keys() - {*names}]
    handles = [
        module.register_forward_hook(
            lambda _, __, out, name=name, what=what: (
                seen.note(name, what, first(out) / held.get(name, 1.0))
                if tensors(out) or not every
                else None
            )
        )
        for name, module, what in places
    ]
    try:
        with torch.no_grad(), running(model) as stack, _Logits(stack, seen):
            seen.note("", "output", first(called(model, inputs)))
    finally:
        for handle in handles:
            handle.remove()
    return seen


def projections(its_plan: Plan | None) -> dict[str, str]:
    """Layers that read a width and write none within the network -> "small" where they start as a
    readout does, else "projection"."""
    inside = its_plan.roles.inside if its_plan and its_plan.roles else ()
    kinds = {name: its_plan.at[name].kind for name in inside} if its_plan else {}
    return {owner(n): PROJECTIONS[k] for n, k in kinds.items() if k in PROJECTIONS and owner(n)}


def blocks(model: nn.Module) -> list[str]:
    """Names of the modules whose outputs are the stream."""
    found: list[str] = []

    def visit(name: str, module: nn.Module, listed: bool) -> None:
        bare = isinstance(module, nn.ModuleList | nn.ModuleDict)  # has no output
        if name and not bare:
            found.append(name)
        holds = any(
            isinstance(each, LISTS) and PARAMETRIZED not in place.split(".")
            for place, each in module.named_modules()
        )
        if not name or bare or (holds and not listed):
            for child, each in module.named_children():
                if child != PARAMETRIZED:
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
    """Notes attention's logits, q.k times its scale, before masks and biases, of fused attention
    and of a softmax of a product of matrices; and a router's, of a softmax of what a weight gives.
    """

    def __init__(self, stack: list[str], seen: Seen):
        super().__init__()
        self.stack, self.seen = stack, seen
        # What is made of a product -> the product times its factors, and what it sums over.
        self.products = WeakTensorKeyDictionary()
        self.written = WeakTensorKeyDictionary()  # what a weight gives, in any shape

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
            self.seen.note(self.stack[-1], "logits", *self.products[args[0]])
            self.seen.extents[self.stack[-1], "softmax"] = out.shape[args[1]]
        elif name == "_softmax" and args[0] in self.written:
            self.seen.note(self.stack[-1], "logits", args[0], 1)
        elif name in ("mm", "addmm") and isinstance(args[-1]._base, nn.Parameter):
            self.written[out] = True
        elif name == "bmm":
            self.products[out] = out.clone(), args[-1].shape[-2]
        elif name == "baddbmm":  # without the bias, as ALiBi's
            product = torch.bmm(*args[1:3]) * kwargs.get("alpha", 1)
            self.products[out] = product, args[2].shape[-2]
        elif isinstance(out, torch.Tensor):
            self.follow(name, args, kwargs, out)
        return out

    def follow(self, name: str, args: tuple, kwargs: dict, out: torch.Tensor) -> None:
        """A factor acts on the product too, what is added does not; a view is of the same one."""
        for each in tensors((args, kwargs)):
            if each in self.written and name in ("view", "_unsafe_view", "_to_copy"):
                self.written[out] = True
            if each not in self.products or each.numel() != out.numel():
                continue
            product, extent = self.products[each]
            if name in ("mul", "div") and each is args[0]:
                other = args[1]
                if not isinstance(other, torch.Tensor) or other.numel() == 1:
                    product = product * other if name == "mul" else product / other
            self.products[out] = product, extent
