"""A module of another depth: which of its layers is like which at the base depth. No torch."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from widthwise.errors import UserError


@dataclass(frozen=True)
class Stack:
    """Layers `place.0`, `place.1`, ..., `base` of them at the base depth and `count` here."""

    place: str
    base: int
    count: int

    def like(self, name: str) -> str:
        """The name, in the base module, of what lies in a layer; other names as they are."""
        if not name.startswith(f"{self.place}."):
            return name
        index, dot, rest = name[len(self.place) + 1 :].partition(".")
        return f"{self.place}.{int(index) % self.base}{dot}{rest}" if index.isdigit() else name

    def at(self, names: Iterable[str]) -> "Stack":
        """The same layers in a module with these parameters."""
        return replace(self, count=len(_indices(names)[self.place]))

    def pooled(self, name: str) -> str:
        """A name with `*` for the layer that it lies in; other names as they are."""
        if not name.startswith(f"{self.place}."):
            return name
        index, dot, rest = name[len(self.place) + 1 :].partition(".")
        return f"{self.place}.*{dot}{rest}" if index.isdigit() else name

    def in_last(self, name: str) -> bool:
        """Whether what a name stands for is in no layer but the last."""
        index = name.removeprefix(f"{self.place}.").partition(".")[0]
        return self.pooled(name) == name or int(index) == self.count - 1

    def holds(self, name: str) -> bool:
        """Whether something lies in a layer."""
        return self.like(name) != name or any(
            name.startswith(f"{self.place}.{i}.") for i in range(self.base)
        )


def depth_at(name: str, deep: Iterable[Stack]) -> float:
    """The depth over the base's, where a parameter or module lies."""
    return math.prod(stack.count / stack.base for stack in deep if stack.holds(name))


def stacks(base: Mapping[str, object], names: Iterable[str]) -> list[Stack]:
    """The stacks that differ in their number of layers; base: parameter -> what must be the same of
    like ones, its kind and which axes grow.

    Raises UserError where layers of one are not alike, so that it cannot be told how more of them
    would be.
    """
    here, there = _indices(base), _indices(names)
    found = []
    for place in sorted(here.keys() & there.keys()):
        if here[place] == there[place]:
            continue
        stack = Stack(place, len(here[place]), len(there[place]))
        whole = here[place] == set(range(stack.base)) and there[place] == set(range(stack.count))
        of_first = _layer(base, f"{place}.0.")
        if not whole or any(
            _layer(base, f"{place}.{i}.") != of_first for i in range(1, stack.base)
        ):
            raise UserError(
                f"roles: {place or 'the module'} has {stack.base} layers at the base and "
                f"{stack.count} here, and they are not alike: hold the depth fixed, or put like "
                "blocks into a list of their own"
            )
        found.append(stack)
    return found


def _indices(names: Iterable[str]) -> dict[str, set[int]]:
    """Place -> the numbers that follow it in names."""
    found: dict[str, set[int]] = {}
    for name in names:
        parts = name.split(".")
        for i, part in enumerate(parts):
            if part.isdigit() and i > 0:
                found.setdefault(".".join(parts[:i]), set()).add(int(part))
    return found


def _layer(base: Mapping[str, object], prefix: str) -> dict[str, object]:
    return {name[len(prefix) :]: what for name, what in base.items() if name.startswith(prefix)}
