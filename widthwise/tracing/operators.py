"""The mode that sees every operator of a forward pass."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.identity import named
from widthwise.tracing.degrees import Degrees
from widthwise.tracing.flow import Flow
from widthwise.tracing.moves import (
    ADDING,
    ATTENTION,
    EXPERTS,
    LOOKUPS,
    MATRICES,
    MOVED,
    PARTS,
    RESHAPED,
    TAKEN,
    factors,
    looked_up,
    moved,
    picked,
    put_in,
    reduced,
)
from widthwise.tracing.shapes import aligned, pointwise, reshaped, tensors
from widthwise.tracing.sizes import STAYS, Sizes
from widthwise.tracing.uses import (
    BATCH,
    CHAIN,
    ENTRY,
    INDEX,
    JOINED,
    KEEP,
    KERNEL,
    SUM,
    Trace,
    Use,
)

Axes = tuple[tuple[int, ...], ...]  # for each dimension of a tensor: the parameter's axes along it
Tag = tuple[tuple[str, Axes], ...]  # the parameters a tensor is made of

PRODUCTS = MATRICES | {"convolution", EXPERTS, "_trilinear"}
VECTORS = {"mv", "dot", "vdot"}
TABLES = {"embedding", "_embedding_bag", "_embedding_bag_forward_only"}


class Operators(TorchDispatchMode):
    """Sees every operator; see `widthwise.tracing`."""

    def __init__(
        self, model: nn.Module, inputs: object, stack: list[str], flow: Flow, base: Trace | None
    ):
        super().__init__()
        self.stack, self.flow, self.trace = stack, flow, Trace({}, {})
        self.tags = WeakTensorKeyDictionary()  # tensor made of parameters -> Tag
        self.sizes = Sizes(stack, self.tags, self.trace, base, flow)
        self.degrees = Degrees(self.tags)
        self.data = self.sizes.data  # tensor that depends on the inputs -> its size
        self.origin = WeakTensorKeyDictionary()  # data -> the weights whose products it comes from
        self.parts = WeakTensorKeyDictionary()  # data, along its last dimension -> sizes of parts
        # A product entry by entry -> the parameter in it, its Use, its axes; or None.
        self.pairs = WeakTensorKeyDictionary()
        self.weight: torch.Tensor | None = None  # that an operator is a product with
        for name, parameter in named(model):
            axes = tuple((i,) for i in range(parameter.ndim))
            self.tags[parameter] = ((name, axes),)
            self.trace.uses[name], self.trace.unknown[name] = [], set()
        for tensor in tensors(inputs):
            self.data[tensor] = STAYS

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        name = function.overloadpacket.__name__.removesuffix("_")
        given = tensors((args, kwargs))
        made = [t for t in given if t in self.tags]
        self.weight = None
        fed = any(self.flow.numbers.get(t) in self.flow.data for t in given)
        # A gradient within the pass reads weights back, and a power iteration looks at them.
        if torch._C._current_autograd_node() is not None or (name in VECTORS and not fed):
            self.data.update(dict.fromkeys(tensors(out), STAYS))
            return out
        if made and not self.use(name, args, given, made, out):
            self.sizes.form(name, args, made, out)
            with self.flow.pausing():
                self.degrees.follow(function, name, args, kwargs, out)
            return out
        if made or any(t in self.data for t in given):
            self.follow_data(name, args, kwargs, given, out)
        return out

    # What is made of parameters

    def use(self, name: str, args: Sequence, given: list, made: list, out: Any) -> bool:
        """Note what an operator does with what is made of parameters; whether its result is data
        from here on, not a parameter in another form."""
        meets_data = any(t in self.data and not self.constant(t) for t in given)
        if name in MATRICES:
            return self.product(name, args, out)
        if name == EXPERTS:
            return self.product("bmm", args, out)
        if name == "convolution":
            self.convolution(args)
            return True
        if name == "_trilinear":  # nn.Bilinear: (outputs, one input, the other)
            self.note(args[1], {0: KEEP, 1: SUM, 2: SUM})
            return True
        if name in TABLES and args[0] in self.tags:
            if meets_data:
                self.note(args[0], {0: INDEX, 1: KEEP})
                self.weight = args[0]
                return True
            self.note(args[0], {0: INDEX})
            self.tag(out, args[0], [()] * args[1].ndim + [1])
            return False
        if name == "embedding_renorm":
            self.sizes.clipped(args[0])
            return False
        if name.endswith("_norm") and "weight" not in name and args[0] not in self.tags:
            self.entries(made)
            return True
        if name in ("native_layer_norm", "_fused_rms_norm", "rms_norm", "native_group_norm"):
            self.entries(made)  # of a learned query, say: the gains are entries, and so is it
            return True
        if name in ("cat", "stack") and meets_data:
            for tensor in made:
                self.note(tensor, {d: JOINED for d in range(tensor.ndim) if tensor.shape[d] > 1})
            return True
        if name.startswith(ATTENTION) and not any(t in self.tags for t in args[:3]):
            self.entries(made)  # a relative bias, given as the mask: it is added to the logits
            return True
        if meets_data:
            if name in LOOKUPS | TAKEN:
                entries = {d: ENTRY for d in range(made[0].ndim)}
                self.note(made[0], entries | dict.fromkeys(looked_up(name, args)[:1], INDEX))
            elif pointwise(out, given):
                self.entries(made)
            else:
                for tensor in made:
                    self.refuse(tensor, name)
            return True
        self.reform(name, args, made, out)
        return False

    def constant(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is one number that no input changes, as the norm of a weight."""
        own = tensor.numel() == 1 and self.flow.numbers.get(tensor) not in self.flow.data
        return own and tensor in self.data

    def product(self, name: str, args: Sequence, out: torch.Tensor) -> bool:
        """A product of matrices, of which one or both are made of parameters."""
        if name in ADDING and args[0] in self.tags:
            self.entries([args[0]])
        a, b = factors(name, args)
        left, right = max(a.ndim - 1, 0), max(b.ndim - 2, 0)  # the dimensions summed over
        in_tags = a in self.tags, b in self.tags
        if all(in_tags) and self.owned(a, b) is None:
            # A weight that is itself a product, as of two low-rank factors.
            self.note(a, {left: CHAIN})
            self.note(b, {right: CHAIN})
            axes_a = [axes for d, axes in enumerate(range(a.ndim)) if d != left]
            axes_b = [axes for d, axes in enumerate(range(b.ndim)) if d != right]
            batch = 1 if a.ndim == 3 else 0
            self.tag(out, a, [*axes_a, *[()] * (out.ndim - len(axes_a))])
            self.tag(out, b, [*[()] * (out.ndim - len(axes_b) + batch), *axes_b[batch:]])
            return False
        data = None
        if all(in_tags):  # a learned query: it is data to the layer that owns the other
            data = a if self.owned(a, b) is b else b
            self.note(data, {d: KEEP for d in range(data.ndim) if data.shape[d] > 1})
        for tensor, summed in ((a, left), (b, right)):
            if tensor in self.tags and tensor is not data:
                uses = {d: KEEP for d in range(tensor.ndim)} | {summed: SUM}
                if tensor.ndim == 3:
                    uses[0] = BATCH
                self.note(tensor, uses, made=self.flow.numbers.get(out, 0))
                self.weigh(tensor)
        return True

    def weigh(self, weight: torch.Tensor) -> None:
        """Note that an operator is a product of data with this weight, and the weight's degrees in
        its parameters."""
        self.weight, degrees = weight, self.degrees.of(weight)
        if {*degrees.values()} != {1.0} or len(degrees) > 1:
            self.trace.degrees |= dict.fromkeys(degrees, degrees)

    def owned(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
        """Which of two the running module owns, where it owns one alone."""
        own = [
            tensor
            for tensor in (a, b)
            if any(name.rpartition(".")[0] == self.stack[-1] for name, _ in self.tags[tensor])
        ]
        return own[0] if len(own) == 1 else None

    def convolution(self, args: Sequence) -> None:
        _, weight, bias, *_, transposed, _, groups = args[:9]
        if weight in self.tags:
            inputs = 0 if transposed else 1
            uses = {d: KERNEL for d in range(2, weight.ndim)} | {inputs: SUM, 1 - inputs: KEEP}
            self.note(weight, uses, groups)
            self.weigh(weight)
        if args[0] in self.tags:
            self.note(args[0], {d: KEEP for d in range(args[0].ndim) if args[0].shape[d] > 1})
        if bias is not None and bias in self.tags:
            self.entries([bias])

    def reform(self, name: str, args: Sequence, made: list, out: Any) -> None:
        """Carry axes over to a result that is made of parameters alone."""
        first = made[0]
        n = first.ndim
        by = args[1] if name == "div" and args[0] is first else None
        own = {parameter for parameter, _ in self.tags[first]}
        if name.startswith("_weight_norm") or (
            isinstance(by, torch.Tensor)
            and (self.constant(by) or own & {parameter for parameter, _ in self.tags.get(by, ())})
        ):
            self.trace.normed |= own
        if name in ("cat", "stack"):
            for tensor in made:
                place = picked(args, n + 1)
                self.tag(out, tensor, put_in(range(n), place) if name == "stack" else range(n))
            return
        if name in LOOKUPS | TAKEN:
            (place, *_) = looked_up(name, args)
            self.note(first, {place: INDEX})
            if isinstance(out, torch.Tensor):
                kept = [d for d in range(n) if d != place]
                self.tag(out, first, [*[None] * (out.ndim - len(kept)), *kept])
            return
        dims: Sequence | None = None
        if name in MOVED:
            dims = moved(name, args, first.shape)
            if name in ("select", "unbind"):
                self.note(first, {picked(args, n): INDEX})
        elif name in RESHAPED:
            dims = reshaped(first.shape, out.shape)
        elif name in PARTS:
            dims = range(n)
        elif name == "repeat":
            dims = [*[()] * (out.ndim - n), *range(n)]
        for result in tensors(out):
            for tensor in made if dims is None else [first]:
                self.tag(
                    result, tensor, aligned(tensor.shape, result.shape) if dims is None else dims
                )

    def tag(self, result: torch.Tensor, source: torch.Tensor, dims: Sequence) -> None:
        """result: another form of `source`, with these of its dimensions (several merged, () or
        None for none) along its own."""
        found = []
        for name, axes in self.tags[source]:
            along = []
            for dim in dims:
                of = (dim,) if isinstance(dim, int) else dim or ()
                along.append(tuple(axis for d in of for axis in axes[d]))
            found.append((name, tuple(along)))
        self.tags[result] = (
            (*self.tags.get(result, ()), *found) if result is not source else (self.tags[source])
        )

    def note(
        self, tensor: torch.Tensor, uses: dict[int, str], groups: int = 1, made: int = 0
    ) -> None:
        """uses: dimension of the tensor -> what is done with it."""
        for name, axes in self.tags[tensor]:
            of_axes = {axis: use for d, use in uses.items() for axis in axes[d]}
            self.trace.uses[name].append(Use(self.stack[-1], of_axes, groups, made))

    def entries(self, made: list) -> None:
        for tensor in made:
            self.note(tensor, {d: ENTRY for d in range(tensor.ndim) if tensor.shape[d] > 1})

    def refuse(self, tensor: torch.Tensor, operator: str) -> None:
        for name, _ in self.tags[tensor]:
            self.trace.unknown[name].add(operator)

    # What depends on the inputs

    def follow_data(self, name: str, args: Sequence, kwargs: dict, given: list, out) -> None:
        """Mark results as data, of their sizes; find products of data with data."""
        pair = self.pairs.get(args[0]) if name == "sum" else None
        of = self.summed(args, *pair) if pair else None
        if name.startswith(ATTENTION):  # within a function of torch's, whole
            made = self.flow.number(tensors(out)[0])
            self.sizes.fused_attention(args[:3], kwargs.get("scale"), made)
        self.sizes.follow(name, args, kwargs, given, self.weight, of, out)
        origin = frozenset().union(*(self.origin[t] for t in given if t in self.origin))
        weights = [t for t in given if t in self.tags]
        if weights and name in PRODUCTS:
            own = {parameter for t in weights for parameter, _ in self.tags[t]}
            for parameter in own:
                self.trace.behind.setdefault(parameter, set()).update(origin)
            origin |= own
        self.join(name, args, given, out)
        for result in tensors(out):
            self.origin[result] = origin
        if name == "mul" and isinstance(out, torch.Tensor) and len(given) == 2:
            self.paired(given[0], given[1], out)

    def join(self, name: str, args: Sequence, given: list, out: Any) -> None:
        """Note what data are put side by side of, and which parameters sum over that."""
        parts = next((self.parts[t] for t in given if t in self.parts), None)
        if name in PRODUCTS:
            if parts and self.weight is not None:
                self.trace.joined |= {parameter: parts for parameter, _ in self.tags[self.weight]}
        elif name == "cat" and picked(args, out.ndim) == out.ndim - 1:
            self.parts[out] = tuple(t.shape[-1] for t in given)
        elif parts and isinstance(out, torch.Tensor) and out.shape[-1:] == (sum(parts),):
            self.parts[out] = parts

    def paired(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
        """Keep a product entry by entry: summed over, it is one of vectors."""
        made = [t for t in (a, b) if t in self.tags]
        if len(made) == 1 and len(self.tags[made[0]]) == 1:
            ((name, axes),) = self.tags[made[0]]
            dims = {
                d: axes[of] for d, of in enumerate(aligned(made[0].shape, out.shape)) if of != ()
            }
            self.pairs[out] = (name, self.trace.uses[name][-1], dims)
        elif not made and a is not b:
            self.pairs[out] = ("", None, {})

    def summed(self, args: Sequence, name: str, use: Use | None, dims: dict) -> str | None:
        """A sum of what was multiplied entry by entry: of a parameter with data, it reads them; of
        data with data, it is a product of vectors. The parameter, ""; None: it is neither."""
        if use is None:
            return name
        over = reduced("sum", args, {}, args[0].ndim)
        reads = {axis: SUM for d in over for axis in dims.get(d, ())}
        use.axes.update(reads)
        return name if reads else None


def _parts(query: Any, key: Any, value: Any, attn_mask: Any = None, *_: Any, **__: Any) -> tuple:
    return (query, key, value) if attn_mask is None else (query, key, value, attn_mask)


class FusedAttention(TorchFunctionMode):
    """Sees calls of scaled_dot_product_attention, which become other operators on every device."""

    def __init__(self, seen: Operators):
        super().__init__()
        self.seen = seen

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.nn.functional.multi_head_attention_forward:
            # Within it this mode sees nothing: taken apart, on every device alike.
            with sdpa_kernel(SDPBackend.MATH):
                return function(*args, **kwargs)
        if function is not torch.nn.functional.scaled_dot_product_attention:
            return function(*args, **kwargs)
        parts = _parts(*args, **kwargs)
        self.seen.sizes.meet(parts[2])
        self.seen.flow.paused = True
        try:
            out = function(*args, **kwargs)
        finally:
            self.seen.flow.paused = False
        made = self.seen.flow.note(ATTENTION, parts, {}, out)
        self.seen.sizes.fused_attention(parts, kwargs.get("scale"), made)
        return out
