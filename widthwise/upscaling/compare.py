"""Whether a widened module computes what the narrow one does, and which layer first does not."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.tracing.roles import Roles
from widthwise.tracing.shapes import tensors
from widthwise.upscaling.blocks import Blocks
from widthwise.upscaling.exactly import Exactly, run
from widthwise.upscaling.filling import fill
from widthwise.upscaling.growth import Block, Growth


@dataclass(frozen=True)
class Difference:
    """The first tensor that differs: what it is, by how much (relative), and the layer's place in
    the order of the pass (an output comes after all layers, a gradient last)."""

    what: str
    off: float
    place: float = math.inf
    layer: str | None = None


class Reference:
    """A narrow module's twin on a batch, which wide ones are held against.

    Table 1 promises equal outputs, and for any loss the narrow one's gradients, repeated and
    scaled; the loss here is a random projection of the outputs. Both must hold within `tolerance`,
    relative to the largest entry.
    """

    def __init__(self, model: nn.Module, arguments: Any, tolerance: float):
        self.model, self.arguments, self.tolerance = model, arguments, tolerance
        self.outputs = self._outputs(model)
        check_finite(model, arguments, self.outputs)
        if not any(t.requires_grad for t in self.outputs):
            raise UserError(
                "widen: what the module returns on inputs has no gradient, or holds no tensor of "
                "numbers with fractions; widen the module that is trained"
            )

    def _outputs(self, model: nn.Module) -> list[torch.Tensor]:
        return numbers(run(model, self.arguments))

    def difference(
        self, wide: nn.Module, growth: Mapping[str, Growth], blocks: Blocks
    ) -> Difference | None:
        """The first output or gradient of a wide module that is not the narrow one's."""
        found = self._outputs(wide)
        triples = [
            (*pair, blocks.output(i))
            for i, pair in enumerate(zip(self.outputs, found, strict=False))
        ]
        # Of a cache of keys and values say, which grows beside logits that do not, nothing is told.
        triples = [each for each in triples if each[0].shape == each[1].shape] or triples
        for narrow, output, block in triples:
            off = self.off(*alike(narrow, output, block, blocks.by))
            if off is not None:
                return Difference("its output", off)
        weights = [_draw(narrow) for narrow, *_ in triples]
        expected = _gradients(
            self.model, [(a, w) for (a, *_), w in zip(triples, weights, strict=True)]
        )
        theirs = _gradients(
            wide,
            [
                (b, _weighing(w, b, block, blocks.by))
                for (_, b, block), w in zip(triples, weights, strict=True)
            ],
        )
        repeated = {n: growth[n].repeat(g, growth[n].gradient) for n, g in expected.items()}
        largest = max((float(g.abs().max()) for g in repeated.values()), default=0.0)
        for name, gradient in repeated.items():
            # A bias before a normalization has a gradient of 0 but for rounding.
            off = self.off(
                growth[name].with_new_entries(theirs[name], 0.0), gradient, 1e-3 * largest
            )
            if off is not None:
                return Difference(f"the gradient of {name}", off)
        return None

    def outputs_differ(self, other: nn.Module) -> bool:
        """Whether another module of the same sizes returns something else."""
        pairs = zip(self.outputs, self._outputs(other), strict=True)
        return any(self.off(b, a) is not None for a, b in pairs)

    def farthest(self, other: nn.Module) -> float:
        """The largest relative difference of another module's outputs, those of the same size."""
        pairs = zip(self.outputs, self._outputs(other), strict=True)
        offs = [self.off(b, a) for a, b in pairs if a.shape == b.shape]
        return max((off for off in offs if off is not None), default=0.0)

    def off(self, found: torch.Tensor, expected: torch.Tensor, least: float = 0.0) -> float | None:
        """The relative difference of two tensors where it is above the tolerance."""
        if found.shape != expected.shape:
            return math.inf
        scale = max(float(expected.detach().abs().max()), least) if expected.numel() else 0.0
        off = float((found - expected).detach().abs().max()) / (scale or 1.0) if scale else 0.0
        if not scale and found.numel():
            off = float(found.detach().abs().max())
        return None if off <= self.tolerance else off

    def first_layer(self, wide: nn.Module, blocks: Blocks) -> Difference | None:
        """The first layer, in the order in which they end, that is given the same and returns
        something else."""
        narrow, other = _passed(self.model, self.arguments), _passed(wide, self.arguments)
        for place, (a, b) in enumerate(zip(narrow, other, strict=False)):
            off = self._most(a.returned, b.returned, blocks)
            if a.name != b.name:
                return None
            if off and not self._most(a.given, b.given, blocks):
                return Difference(f"{a.name}: its output", off, place, a.name)
        return None

    def _most(self, narrow: list, wide: list, blocks: Blocks) -> float:
        """The largest difference between activations, 0 where all are the same."""
        offs = [0.0]
        for expected, found in zip(narrow, wide, strict=False):
            # Heads, or a window of pixels, may lie in blocks of another size than units do.
            sizes = {*blocks.sizes, 1, 0}
            ways = [self.off(*alike(expected, found, size, blocks.by)) for size in sizes]
            offs.append(min(0.0 if way is None else way for way in ways))
        return max(offs)

    @property
    def by_chance(self) -> bool:
        """Whether the narrow module differs from itself with another seed."""
        again = numbers(run(self.model, self.arguments, 1))
        pairs = zip(self.outputs, again, strict=False)
        return any(self.off(b, a) is not None for a, b in pairs)


def refused(
    held: Reference,
    wide: nn.Module,
    failed: list[tuple[dict[str, Growth], Blocks, Difference]],
    kept: set[str],
    roles: Roles,
) -> UserError:
    """What to say of a module that no choice of growth holds for: the layer that differs first, by
    the choice that goes furthest."""
    if held.by_chance:
        return UserError(
            "widen: the module draws random numbers that are no dropout, and returns another "
            "output each time: call model.eval() before"
        )
    furthest: Difference | None = None
    for growth, blocks, difference in failed:
        fill(held.model, wide, growth, kept, blocks)
        layer = held.first_layer(wide, blocks) or difference
        if furthest is None or layer.place > furthest.place:
            furthest = layer
    assert furthest is not None
    why = "readouts sum or average over the width, logits scale as 1 / head_dim, sizes alone differ"
    by = failed[0][1].by
    if by == "zeros":
        why = (
            'a norm, softmax or mean over an axis that grows counts its zeros: by="copies", or, as '
            'another function, by="shrink"'
        )
    for each in roles.attention:
        if each.module == (furthest.layer or "") and each.exponent != -1 and by == "copies":
            why = (
                f"its logits scale as head_dim^{each.exponent:.2g}: scale them as 1 / head_dim in "
                "make, or hold head_dim fixed and let heads grow in number"
                + (", or scale_logits=True" if each.held else "")
            )
    tied = [name for name, found in roles.found.items() if found.tied]
    if tied and by == "copies" and furthest.layer in (None, *roles.found[tied[0]].readouts):
        why = f"{tied[0]} is a readout too: divide its logits by the width in make, or untie=True"
    return UserError(
        f"the wide module is not the narrow one widened: {furthest.what} differs by "
        f"{furthest.off:.1g} (relative); see `widen`, make: {why}"
    )


def numbers(tree: object) -> list[torch.Tensor]:
    """The tensors of numbers with fractions in nested containers, complex ones as pairs of real."""
    pairs = (torch.view_as_real(t) if t.is_complex() else t for t in tensors(tree))
    return [t for t in pairs if t.is_floating_point()]


def check_finite(model: nn.Module, arguments: Any, outputs: Sequence[torch.Tensor]) -> None:
    """Raise UserError, saying where, on NaN and infinity: nothing is equal to NaN. Infinity in
    inputs may be a mask."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise UserError(f"widen: {name} holds NaN or infinity: training went wrong before")
    if any(tensor.isnan().any() for tensor in numbers(arguments)):
        raise UserError("widen: inputs hold NaN: give a batch of numbers")
    if not all(tensor.isfinite().all() for tensor in outputs):
        raise UserError("widen: the module returns NaN or infinity on inputs: give another batch")


@dataclass(frozen=True)
class Passed:
    """What a layer was given and returned, tensors of numbers with fractions."""

    name: str
    given: list[torch.Tensor]
    returned: list[torch.Tensor]


def _passed(model: nn.Module, arguments: Any) -> list[Passed]:
    """What went through every layer, in the order in which they end."""
    found: list[Passed] = []

    def note(name: str) -> Callable:
        def hook(module, args, kwargs, output) -> None:
            given, returned = (
                [t.detach() for t in numbers(each)] for each in ((args, kwargs), output)
            )
            found.append(Passed(name, given, returned))

        return hook

    named = [(name, module) for name, module in model.named_modules() if name]
    handles = [m.register_forward_hook(note(name), with_kwargs=True) for name, m in named]
    try:
        with torch.no_grad():
            run(model, arguments)
    finally:
        for handle in handles:
            handle.remove()
    return found


def alike(
    tensor: torch.Tensor, wide: torch.Tensor, block: int | tuple[Block, ...], by: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """(a wide activation without what is new in it, the narrow one repeated to its shape); as they
    are where that is no multiple of its own."""
    if tensor.ndim != wide.ndim or any(
        not n or m % n for n, m in zip(tensor.shape, wide.shape, strict=True)
    ):
        return wide, tensor
    factors = tuple(m // n for n, m in zip(tensor.shape, wide.shape, strict=True))
    growth = Growth(factors, (), block, by=by)
    return growth.with_new_entries(wide, 0.0), growth.repeat(tensor)


def _weighing(
    weights: torch.Tensor, output: torch.Tensor, block: int | tuple[Block, ...], by: str
) -> torch.Tensor:
    """Weights on a wide output that make the same loss of it."""
    wide = alike(weights, output, block, by)[1]
    return wide * (weights.numel() / output.numel()) if by == "copies" else wide


def _draw(output: torch.Tensor) -> torch.Tensor:
    """The weights of a random projection."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return weights.to(output.device)


def _gradients(model: nn.Module, terms: list[tuple[torch.Tensor, torch.Tensor]]) -> dict:
    """Parameter -> gradient of a projection, the sum of outputs times weights."""
    projections = [(output * w).sum() for output, w in terms if output.requires_grad]
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    with Exactly():
        found = torch.autograd.grad(
            projections, list(named.values()), allow_unused=True, retain_graph=True
        )
    return {n: g.to_dense() for n, g in zip(named, found, strict=True) if g is not None}
