"""Which parameters can hold a factor, seen in a forward pass.

A factor on attention's logits, on what a tied readout reads or on what a branch adds is one on
parameters before it, where all that lies between is of degree one in them and nothing else reads
it. These are looked up backwards from its place, and held forwards against every operator that they
reach: where one is not known to be of a degree, no parameter holds it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.identity import identity, named
from widthwise.tracing.moves import (
    ADDING,
    ALIKE,
    ATTENTION,
    FIRST,
    MATRICES,
    NORMS,
    PRODUCTS,
    factors,
)
from widthwise.tracing.shapes import tensors

# Parameter, or module -> the power of a factor that it holds, or that what it returns has by them.
Held = dict[str, float]
Given = tuple[int | None, ...]  # the numbers of tensors, by place
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """An operator, what it was given and made; adds: a number that it was given to add."""

    name: str
    module: str
    given: Given
    made: tuple[int, ...]
    adds: float = 0.0

    @property
    def factors(self) -> Given:
        """The two that a product is of."""
        if self.name == "convolution":
            return self.given[:2]
        return tuple(factors(self.name, self.given))

    @property
    def added(self) -> Given:
        """What is added to a product."""
        if self.name == "convolution":
            return self.given[2:3]
        return self.given[:1] if self.name in ADDING else ()


class Flow(TorchDispatchMode):
    """The operators of a forward pass; tensors have numbers, in the order in which they are made.

    stack: the names of the modules that are running. paused: whether operators are left out.
    """

    def __init__(self, model: nn.Module, inputs: object, stack: list[str]):
        super().__init__()
        self.stack, self.paused = stack, False
        self.numbers = WeakTensorKeyDictionary()
        self.count = 0
        self.steps: list[Step] = []
        self.maker: dict[int, Step] = {}
        self.readers: dict[int, list[int]] = {}  # number -> the steps that are given it
        self.before: dict[int, frozenset[str]] = {}  # -> parameters it is of degree one in, or NONE
        self.data: set[int] = set()  # what depends on the inputs
        self.returned: dict[str, list[int]] = {}  # module -> what it returned
        self.firsts: dict[str, int] = {}  # module -> the first tensor of what it returned
        self.calls: list[tuple[str, set[int], int]] = []  # layer of a list, what it was given, made
        self.ends: list[int] = []  # what the model returned, as `end` has it
        self.whole: set[int] = set()  # whole numbers, as of argmin, and masks
        self.live: set[int] = set()  # what the model returned is made of, but by whole numbers
        self.leaves = {name: self.number(p) for name, p in named(model)}
        self.before |= {number: frozenset({name}) for name, number in self.leaves.items()}
        self.data.update(map(self.number, tensors(inputs)))

    def number(self, tensor: torch.Tensor, new: bool = False) -> int:
        """The number of a tensor; a new one where it was changed in place."""
        if new or tensor not in self.numbers:
            self.count += 1
            self.numbers[tensor] = self.count
        return self.numbers[tensor]

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Within it operators are left out."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if not self.paused:
            name = function.overloadpacket.__name__
            changed = function._schema.is_mutable and out is args[0]
            self.note(name.removesuffix("_") if changed else name, args, kwargs or {}, out, changed)
        return out

    def note(
        self, name: str, args: Sequence, kwargs: Mapping, out: object, changed: bool = False
    ) -> int:
        """Keep an operator; returns the number of what it made. changed: its first tensor."""
        base = args[0]._base if changed else None
        if name in ("cat", "stack"):  # without what is 0 or empty: a bias of keys, a pad, a cache
            parts = [t for t in args[0] if self._follows(t) or t.is_meta or t.any()]
            args = (*(t for t in parts if t.numel()), *args[1:])
        if name == "copy" and changed:  # what was there is gone
            args = args[1:]
        given = [self.number(a) if isinstance(a, torch.Tensor) else None for a in args]
        others = map(self.number, tensors((list(args), kwargs)))
        given += [number for number in others if number not in given]
        place = {"add": 1, "sub": 1, "masked_fill": 2, "constant_pad_nd": 2}.get(name, len(args))
        adds = 0.0 if place >= len(args) or given[place] is not None else args[place]
        made = tuple(self.number(t, new=changed) for t in tensors(out))
        self.whole |= {
            self.numbers[t] for t in tensors(out) if not (t.is_floating_point() or t.is_complex())
        }
        self._keep(Step(name, self.stack[-1], tuple(given), made, adds))
        if base is not None:  # a part of it was written
            both = self.number(base), made[0]
            self._keep(Step("written", "", both, (self.number(base, new=True),)))
        return made[0] if made else 0

    def _follows(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor depends on parameters or inputs."""
        number = self.numbers.get(tensor)
        return number in self.before or number in self.data

    def _keep(self, step: Step) -> None:
        new = step.name.endswith("_like") or step.name.startswith("new_")  # of its shape alone
        if new or not any(n in self.before or n in self.data for n in step.given):
            return
        if any(n in self.data for n in step.given):
            self.data.update(step.made)
        if any(n in self.before for n in step.given):
            self.before |= dict.fromkeys(step.made, self._degree_one_in(step))
        for number in {number for number in step.given if number}:
            self.readers.setdefault(number, []).append(len(self.steps))
        self.steps.append(step)
        self.maker |= dict.fromkeys(step.made, step)

    def _degree_one_in(self, step: Step) -> frozenset[str]:
        """The parameters that, all times c, make what an operator makes times c; none where
        there are no such."""
        given = step.given
        if step.name in PRODUCTS or step.name == "convolution":
            # What is no data is a weight; of two data it is one that has some parameters.
            found = NONE
            for each in sorted(step.factors, key=lambda n: n in self.data):
                found = found or self._together((each, *(n for n in step.added if n)))
            return found
        if step.name in FIRST or step.name == "div":
            return self._together(given[:1])
        if step.name in NORMS:
            return self._together([n for n in self._gains(step) if n])
        if step.name in ALIKE:
            return self._together([n for n in given[step.name == "where" :] if n])
        return self._together(given[2:3]) if step.name.startswith(ATTENTION) else NONE

    def _together(self, numbers: Iterable[int | None]) -> frozenset[str]:
        """The same of several tensors that are to be times c at once."""
        found = [self.before.get(number or 0, NONE) for number in numbers]
        return NONE.union(*found) if found and all(found) else NONE

    def _gains(self, step: Step) -> Given:
        return tuple(step.given[i] for i in NORMS[step.name] if i < len(step.given))

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Within it, what modules return is noted, and what layers in lists are given."""
        given: list[set[int]] = []  # of those that are running

        def starts(args: object) -> None:
            given.append({self.numbers[t] for t in tensors(args) if t in self.numbers})

        def returns(name: str, out: object) -> None:
            before = given.pop()
            made = [self.numbers[t] for t in tensors(out)[:1] if t in self.numbers]
            if not made:
                return
            self.firsts[name] = made[0]
            if isinstance(out, torch.Tensor):
                self.returned.setdefault(name, []).append(made[0])
            if name.rpartition(".")[2].isdigit():
                self.calls.append((name, before, made[0]))

        handles: list[Any] = []
        bare: dict[str, nn.Module] = {}  # of what is wrapped, the wrapper
        for name, module in model.named_modules():
            bare.setdefault(identity(model, name), module)
        for name, module in bare.items():
            handles += [
                module.register_forward_pre_hook(
                    lambda _, args, kwargs: starts((args, kwargs)), with_kwargs=True
                ),
                module.register_forward_hook(lambda _, __, out, name=name: returns(name, out)),
            ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def end(self, returned: Any) -> None:
        """Note what the model returned. Of what lies in containers within that, as a cache or all
        hidden states, what it reads itself is its own."""
        parts = returned.values() if isinstance(returned, Mapping) else returned
        top = parts if isinstance(returned, Mapping | tuple | list) else ()
        own, made = (
            [self.numbers[t] for t in each if isinstance(t, torch.Tensor) and t in self.numbers]
            for each in (top, tensors(returned))
        )
        self.ends = [n for n in made if not own or n in own or n not in self.readers]
        while made:
            if (number := made.pop()) not in self.live:
                self.live.add(number)
                step = self.maker.get(number)
                made += [] if step is None or number in self.whole else filter(None, step.given)

    # What can hold a factor

    def of_logits(self, products: Sequence[int]) -> Held:
        """Parameter -> power, of a factor on products of queries and keys; none where there are no
        such: the queries' parameters, or the keys'; else half in both, as in one matrix of queries,
        keys and values, and what reads the values takes their half back."""
        sides = []
        for side in (0, 1):
            numbers = [self._operands(self.maker[each])[side] for each in products]
            sides.append(self._together(numbers))
        queries, keys = sides
        for names, power in ((queries, 1.0), (keys, 1.0), (queries | keys, 0.5)):
            if names and (power == 1 or (queries and keys)):
                found = self._balanced(dict.fromkeys(sorted(names), power), products)
                if found:
                    return found
        return {}

    def of_readout(self, name: str, modules: Sequence[str]) -> Held:
        """Parameter -> power, of a factor on what a tied parameter reads in some modules."""
        products, read = [], []
        for step in self.steps:
            if step.name in MATRICES and step.module in modules:
                for weight, other in (step.factors, step.factors[::-1]):
                    if weight not in self.data and self.before.get(weight or 0) == {name}:
                        products.append(step.made[0])
                        read.append(other)
        names = self._together(read)
        return self._balanced(dict.fromkeys(sorted(names), 1.0), products)

    def of_output(self, module: str) -> Held:
        """Parameter -> power, of a factor on what a module returns."""
        made = self.returned.get(module, [])
        return self._balanced(dict.fromkeys(sorted(self._together(made)), 1.0), made)

    def shift(self, name: str) -> float:
        """The number that a parameter is always used with the sum of, as the gain 1 + w of a norm;
        0 where there is none, nan where it is used with others too."""
        found = {step.adds for step in self._readers_of(name)}
        return found.pop() if len(found) == 1 else math.nan if found else 0.0

    def _readers_of(self, name: str) -> Iterator[Step]:
        """The operators that are given a parameter itself, or a copy of it of another dtype."""
        numbers = [self.leaves[name]]
        for number in numbers:
            for step in (self.steps[index] for index in self.readers.get(number, ())):
                if step.name == "_to_copy":
                    numbers += step.made
                else:
                    yield step

    def _operands(self, step: Step) -> Given:
        """The numbers of queries and keys, of a product that is attention's logits."""
        if step.name.startswith(ATTENTION):
            return step.given[:2]
        if step.name == "sum":  # of what was multiplied entry by entry
            step = self.maker[step.given[0] or 0]
        return step.factors

    def _balanced(self, held: Held, places: Sequence[int]) -> Held:
        """The parameters with their powers, where by them the pass is as it was but for a factor on
        what is made in some places; none where it is another."""
        while held:
            found = self._reached(held, {*places})
            if not isinstance(found, tuple):
                return found or {}
            held |= dict.fromkeys(*found)
        return {}

    def _reached(self, held: Held, places: set[int]) -> Held | tuple[frozenset[str], float] | None:
        """The powers, if the pass is as it was but for the factor in its places. Else (a weight
        that reads what has a factor elsewhere, the power by which it takes that back), or None
        where no weight can."""
        powers = {self.leaves[name]: power for name, power in held.items()}
        shifts = [self.shift(name) for name in held]
        if any(map(math.isnan, shifts)) or (any(shifts) and len({*held.values()}) > 1):
            return None
        shifted = {id(step) for name in held for step in self._readers_of(name)}
        waiting: list[int] = []
        waited: set[int] = set()
        left = set(places)

        def read(number: int) -> None:
            for index in self.readers.get(number, ()):
                if index not in waited:
                    waited.add(index)
                    heappush(waiting, index)

        for leaf in powers:
            read(leaf)
        while waiting:
            step = self.steps[heappop(waiting)]
            given = [powers.get(number or 0, 0.0) for number in step.given]
            if not any(given):
                continue
            here = {*step.made[:1]} & left
            if not here and (step.name in MATRICES or step.name == "convolution"):
                for read_, weight in (step.factors, step.factors[::-1]):
                    own = self.before.get(weight or 0, NONE)
                    power = powers.get(read_ or 0)
                    if (
                        power
                        and not powers.get(weight or 0)
                        and weight not in self.data
                        and len(own) == 1
                    ):
                        return None if own & held.keys() else (own, -power)
            if step.adds and (step.name != "add" or id(step) not in shifted):
                return None
            power = self._power(step, given, 1.0 if here else 0.0)
            if power is None:
                return None
            left -= here
            first = step.name in NORMS or step.name.startswith((ATTENTION, "native_dropout"))
            for number in step.made[:1] if first else step.made:
                if power:
                    powers[number] = power
                    read(number)
        if left or any(powers.get(number) for number in self.ends):
            return None
        of = {name: powers.get(made, 0.0) for name, made in self.firsts.items() if name}
        return held | {name: power for name, power in of.items() if power}

    def _power(self, step: Step, given: Sequence[float], asked: float) -> float | None:
        """The power of a factor in what an operator makes, less what is asked for there; None where
        it is not known, or not the same in all that is added."""
        powers = dict(zip(step.given, given, strict=True))

        def alike(numbers: Iterable[int | None], *more: float) -> float | None:
            found = {powers[number] for number in numbers if number} | {*more}
            return found.pop() if len(found) == 1 else None

        if step.name.startswith(ATTENTION):
            logits = given[0] + given[1] - asked
            return None if logits or any(given[3:]) else given[2]
        if step.name in PRODUCTS or step.name == "convolution":
            power = sum(powers[number] for number in step.factors if number)
            rest = {*step.given} - {*step.factors, *step.added}
            if any(powers[number] for number in rest):
                return None
            # A factor on a product is none on what is added to it, one on what a module returns is.
            whole = alike(step.added, power) is not None
            return power - asked if whole or alike(step.added, power - asked) is not None else None
        if step.name == "div":
            return given[0] - sum(given[1:]) - asked
        found: float | None = None
        if step.name in NORMS:
            gains = self._gains(step)
            rest = {*step.given} - {*gains}
            found = None if any(powers[n] for n in rest) else alike(gains)
        elif step.name in ALIKE:
            found = alike(step.given[step.name == "where" :])
        elif step.name in FIRST and not any(given[1:]):
            found = given[0]
        return None if found is None else found - asked
