"""Residual branches of layers in a stack, seen in a forward pass.

A layer with residual branches returns what it is given plus what its branches add. That sum is
followed back from what the layer returns: over sums alone it has to lead to what the layer was
given. What else enters the sums are the branches, and each has to be what a module of the layer
returns, which is where a factor for the depth has its place. A norm or an activation behind the sum
(post-norm, a ResNet's ReLU) ends the way, and no branch is told.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.tracing.moves import MOVED, RESHAPED
from widthwise.tracing.shapes import tensors

SUMS = {"add", "sub"}
# What comes out is what went in, in another shape or times a number: a factor may stand before it.
VIEWS = (RESHAPED | MOVED) - {"select", "unbind", "unfold"}
VIEWS |= {"contiguous", "clone", "_to_copy", "alias", "detach"}
LINEAR = VIEWS | {"mul", "div", "native_dropout", "neg"}


class Residuals:
    """What is seen of residual branches in a forward pass.

    Tensors that depend on the inputs have numbers, in the order in which they are made.
    """

    def __init__(self) -> None:
        self.numbers = WeakTensorKeyDictionary()
        self.count = 0
        self.sums: dict[int, list[int]] = {}
        self.views: dict[int, int] = {}  # number -> that of what it is a view of
        self.linear: dict[int, int] = {}  # the same, times a number or a parameter
        self.read: Counter[int] = Counter()  # number -> how many operators took it
        self.returned: dict[int, str] = {}  # number -> the innermost module that returned it
        self.runs: Counter[str] = Counter()  # module -> how often it returned a tensor
        self.calls: list[tuple[str, set[int], int]] = []  # layer, numbers given, number returned

    def new(self, tensor: torch.Tensor) -> None:
        """Number a tensor; one that was changed in place is another one from here on."""
        self.count += 1
        self.numbers[tensor] = self.count

    def follow(self, name: str, given: list[torch.Tensor], out: Any) -> None:
        """Note what an operator of the forward pass makes of numbered tensors."""
        known = [self.numbers[t] for t in given if t in self.numbers]
        self.read.update(known)
        for result in tensors(out):
            self.new(result)
            if len(known) == len(given) == 2 and name in SUMS:
                self.sums[self.count] = known
            elif len(known) == 1 and name in LINEAR and (name != "div" or given[0] in self.numbers):
                (self.views if name in VIEWS else self.linear)[self.count] = known[0]

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Within it, what modules return is noted, and what layers in lists are given."""
        handles: list[Any] = []
        for name, module in model.named_modules():
            if not name:
                continue
            given: list[set[int]] = []  # a stack: a module may run within itself
            if name.rpartition(".")[2].isdigit():
                handles.append(
                    module.register_forward_pre_hook(
                        lambda _, args, kwargs, given=given: given.append(
                            self._numbers(tensors((args, kwargs)))
                        ),
                        with_kwargs=True,
                    )
                )
            handles.append(
                module.register_forward_hook(
                    lambda _, __, out, name=name, given=given: self._return(name, given, out)
                )
            )
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _numbers(self, given: list[torch.Tensor]) -> set[int]:
        return {self.numbers[t] for t in given if t in self.numbers}

    def _return(self, name: str, given: list[set[int]], out: object) -> None:
        found = [self.numbers[t] for t in tensors(out)[:1] if t in self.numbers]
        if isinstance(out, torch.Tensor) and found:
            self.returned.setdefault(found[0], name)
            self.runs[name] += 1
        if given:
            before = given.pop()
            if found:
                self.calls.append((name, before, found[0]))

    def found(self) -> dict[str, tuple[str, ...] | str]:
        """Layer -> the modules in it whose outputs are added to what it was given, by their names
        within it; or why they cannot be told."""
        result: dict[str, tuple[str, ...] | str] = {}
        for layer, given, returned in self.calls:
            before, told = result.get(layer, ()), self._of_call(layer, given, returned)
            if isinstance(before, tuple):
                result[layer] = before + told if isinstance(told, tuple) else told
        for layer, told in result.items():
            if isinstance(told, tuple):
                result[layer] = self._checked(layer, told)
        return result

    def _checked(self, layer: str, places: Sequence[str]) -> tuple[str, ...] | str:
        for place, count in Counter(places).items():
            if self.runs[f"{layer}.{place}"] != count:
                return f"{place} runs outside of its residual branches too"
        return tuple(dict.fromkeys(places))

    def _of_call(self, layer: str, given: set[int], returned: int) -> tuple[str, ...] | str:
        added = self._back(returned, given)
        if added is None:
            return (
                "what it returns is not what it is given plus something (a norm or an activation "
                "behind the sum)"
            )
        if not added:
            return "it adds nothing to what it is given"
        places: list[str] = []
        for each in added:
            within = self._places(each, layer)
            if within is None:
                return "what it adds to what it is given is no module's output, or is used twice"
            places += within
        return tuple(places)

    def _back(self, number: int, given: set[int]) -> list[int] | None:
        """What was added on the way from what a layer was given; None where that is no sum."""
        if number in given:
            return []
        if number in self.views:
            return self._back(self.views[number], given)
        for i, each in enumerate(self.sums.get(number, [])):
            before = self._back(each, given)
            if before is not None:
                return [*before, self.sums[number][1 - i]]
        return None

    def _places(self, number: int, layer: str) -> list[str] | None:
        """The modules within a layer that what is added comes from, by a linear way alone."""
        place = self.returned.get(number, "")
        if self.read[number] > 1:
            return None
        if place.startswith(f"{layer}."):
            return [place[len(layer) + 1 :]]
        if number in self.sums:
            terms = [self._places(each, layer) for each in self.sums[number]]
            found = [term for term in terms if term is not None]
            return [name for term in found for name in term] if len(found) == 2 else None
        before = self.views.get(number, self.linear.get(number))
        return None if before is None else self._places(before, layer)
