"""Residual branches of layers in a stack, seen in a forward pass.

A layer with residual branches returns what it is given plus what its branches add. That sum is
followed back from what the layer returns: over sums alone it has to lead to what the layer was
given. What else enters the sums are the branches, and each has to be what a module of the layer
returns, which is where a factor for the depth has its place. A norm or an activation behind the sum
(post-norm, a ResNet's ReLU) ends the way, and no branch is told.
"""

from collections import Counter
from collections.abc import Sequence

from widthwise.tracing.flow import Flow
from widthwise.tracing.moves import VIEWS

# What comes out is what went in, in another shape or times a number: a factor may stand before it.
LINEAR = VIEWS | {"mul", "div", "native_dropout", "neg"}


class Residuals:
    """What is seen of residual branches in a forward pass, by the numbers of its tensors."""

    def __init__(self, flow: Flow) -> None:
        self.runs = {name: len(made) for name, made in flow.returned.items()}
        self.calls = flow.calls
        self.returned: dict[int, str] = {}  # number -> the innermost module that returned it
        for name, numbers in flow.returned.items():  # in the order of their first return
            for number in numbers:
                self.returned.setdefault(number, name)
        self.sums: dict[int, list[int]] = {}
        self.views: dict[int, int] = {}  # number -> that of what it is a view of
        self.linear: dict[int, int] = {}  # the same, times a number or a parameter
        self.read: Counter[int] = Counter()  # number -> how many operators took it
        for step in flow.steps:
            given = [number for number in step.given if number]
            known = [number for number in given if number in flow.data]
            self.read.update(known)
            for made in step.made:
                if len(known) == len(given) == 2 and step.name in ("add", "sub"):
                    self.sums[made] = known
                elif (
                    len(known) == 1
                    and step.name in LINEAR
                    and (step.name != "div" or given[0] in known)
                ):
                    (self.views if step.name in VIEWS else self.linear)[made] = known[0]

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
