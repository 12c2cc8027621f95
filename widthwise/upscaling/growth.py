"""How each tensor of a model grows when the model is widened, and its factors by Table 1."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.modules.conv import _ConvTransposeNd

from widthwise.errors import UserError

WAYS = ("copies", "zeros", "shrink")  # of growing, see `widen`
# How many units of an axis are copied together; or, of an axis made of parts, (size of a part, how
# many of its units) for each.
Block = int | tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Growth:
    """How one tensor grows; its factors by Table 1.

    factors: one whole number per axis, 1 along axes that stay.
    inputs: the axes along which copies are summed over, a matrix' input axis.
    block: so many units are copied together, along axes of which it is a divisor (else their
        greatest common one): 1 puts the copies of a unit beside each other, a head's dimension
        those of a head, 0 appends a copy of the whole axis. One for all axes, or a `Block` each.
    held: what it is multiplied by besides, for a factor on what is of degree one in it.
    by: a word of `WAYS`. But by "copies" the first copy of a unit is the old one, and the others
        are new units, which are none of its copies. shrink: factor on the old entries alone.
    """

    factors: tuple[int, ...]
    inputs: tuple[int, ...] = ()
    block: int | tuple[Block, ...] = 1
    held: float = 1.0
    by: str = "copies"
    shrink: float = 1.0

    @property
    def k_in(self) -> int:
        """Copies along the input axes, 1 for vectors and scalars, and without copies."""
        return self._copies(self.inputs)

    @property
    def k_out(self) -> int:
        """Copies along a matrix' output axis or a vector's only one, 1 for scalars."""
        return self._copies(set(range(len(self.factors))) - set(self.inputs))

    def _copies(self, axes: Collection[int]) -> int:
        return math.prod(self.factors[i] for i in axes) if self.by == "copies" else 1

    @property
    def weight(self) -> float:
        """Factor on the repeated weight."""
        return self.held * self.shrink / self.k_in

    @property
    def gradient(self) -> float:
        """Factor on the repeated gradient."""
        return 1 / self.k_out / self.held

    @property
    def squared_norm(self) -> float:
        """Factor on a gradient's squared norm that makes it that of the narrow one's."""
        return self.k_out / self.k_in * self.held**2

    def lr(self, degree: int) -> float:
        """Factor on the learning rate. degree: of the update in the gradient (`Update`)."""
        return self.k_out**degree / self.k_in * self.held ** (1 + degree)

    def weight_decay(self, degree: int, coupled: bool) -> float:
        """Factor on the weight decay. coupled: it is added to the gradient, as SGD and Adam do and
        AdamW does not."""
        power = 1 if coupled else degree
        return self.k_in / self.k_out**power / self.held ** (1 + power)

    @property
    def eps(self) -> float:
        """Factor on Adam's eps."""
        return self.gradient

    def repeat(self, tensor: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        """The tensor with every entry repeated along its width axes, times `scale`; but by "copies"
        new entries are 0."""
        for axis, factor in enumerate(self.factors):
            if factor != 1:
                parts = []
                for part, size, block in self._parts(tensor, axis, 1):
                    units = part.unflatten(axis, (-1, math.gcd(size, block)))
                    units = units.repeat_interleave(factor, axis)
                    if self.by != "copies":
                        copies = units.unflatten(axis, (-1, factor))
                        copies.narrow(axis + 1, 1, factor - 1).zero_()
                    parts.append(units.flatten(axis, axis + 1))
                tensor = torch.cat(parts, axis) if len(parts) > 1 else parts[0]
        return tensor * scale if scale != 1 else tensor.clone()

    def with_new_entries(self, old: torch.Tensor, new: torch.Tensor | float) -> torch.Tensor:
        """`old` with the entries of `new` where widening made new ones: none by "copies"."""
        if self.by == "copies" or math.prod(self.factors) == 1:
            return old
        shape = [n // k for n, k in zip(old.shape, self.factors, strict=True)]
        kept = self.repeat(torch.ones(shape, dtype=torch.bool, device=old.device))
        return torch.where(kept, old, new)

    def project(self, tensor: torch.Tensor) -> torch.Tensor:
        """The nearest repeated tensor: every block of copies replaced by its mean, new entries
        by 0."""
        if self.by != "copies":
            return self.with_new_entries(tensor, 0.0)
        for axis, factor in enumerate(self.factors):
            if factor != 1:
                parts = []
                for part, size, block in self._parts(tensor, axis, factor):
                    copies = part.unflatten(axis, (-1, factor, math.gcd(size, block)))
                    mean = copies.mean(axis + 1, keepdim=True).expand_as(copies)
                    parts.append(mean.flatten(axis, axis + 2))
                tensor = torch.cat(parts, axis) if len(parts) > 1 else parts[0]
        return tensor

    def _parts(
        self, tensor: torch.Tensor, axis: int, times: int
    ) -> list[tuple[torch.Tensor, int, int]]:
        """(part of an axis, its narrow size, its block); times: of the tensor over the narrow."""
        block = self.block if isinstance(self.block, int) else self.block[axis]
        if isinstance(block, int):
            return [(tensor, tensor.shape[axis] // times, block)]
        sizes = [size * times for size, _ in block]
        pairs = zip(tensor.split(sizes, axis), block, strict=True)
        return [(part, size, each) for part, (size, each) in pairs]


def width_axes(model: nn.Module, other: nn.Module) -> dict[str, tuple[int, ...]]:
    """Parameter name -> its width axes: those along which the same module differs at two widths.

    A matrix' axes are (out, in), in this order also for a transposed convolution, which stores
    them the other way round.
    Raises UserError naming a parameter that only one of the modules has, or that grows along
    more than two axes.
    """
    owners = owning_modules(model)
    shapes, others = _shapes(model), _shapes(other)
    same_names(shapes, others)
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


def filled(factor, number: int):
    """The factor's structure (a number, or nested sequences and mappings) filled with `number`."""
    if isinstance(factor, Mapping):
        return {key: filled(value, number) for key, value in factor.items()}
    if isinstance(factor, tuple | list):
        return type(factor)(filled(value, number) for value in factor)
    return number


def owning_modules(model: nn.Module) -> dict[str, nn.Module]:
    """Parameter name -> the module that holds it."""
    names = (name for name, _ in model.named_parameters())
    return {name: model.get_submodule(name.rpartition(".")[0]) for name in names}


def _shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def same_names(narrow: Mapping, wide: Mapping, what: str = "parameters") -> None:
    """Raise UserError, listing the differences, where two modules' tensors have other names."""
    if set(narrow) != set(wide):
        raise UserError(
            f"the modules differ in more than width: {what} {sorted(set(narrow) ^ set(wide))} "
            "are in one of them only (tie the same weights in both)"
        )


def size_factors(name: str, shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Target size over size, axis by axis; raises UserError where one is no whole number."""
    if len(shape) != len(target) or any(
        big % small for small, big in zip(shape, target, strict=True)
    ):
        raise UserError(
            f"{name}: {tuple(shape)} cannot be widened to {tuple(target)}: each size must be a "
            "whole multiple: choose widths that divide, and a make that takes the factor, not a "
            "width; what holds parts that grow beside parts "
            "that do not (a state-space model's fused projection, convolution) has no widening"
        )
    return tuple(big // small for small, big in zip(shape, target, strict=True))
