"""The degree of what is made of parameters in each of them, by numbers: with twice the parameter.

|W| and W / 2 are of degree 1 in W, W / |W| and its sign of 0, W * M of 1 in both, softplus(W) of
none (nan).
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.tracing.moves import VIEWS
from widthwise.tracing.shapes import tensors


class Degrees:
    """tags: tensor made of parameters -> (parameter, axes) each."""

    def __init__(self, tags: Mapping):
        self.tags = tags
        self.found = WeakTensorKeyDictionary()  # tensor -> parameter -> degree, where none is 1

    def of(self, tensor: Tensor) -> dict[str, float]:
        """Parameter -> degree."""
        return self.found.get(tensor) or {name: 1.0 for name, _ in self.tags.get(tensor, ())}

    def follow(self, function: Any, name: str, args: Any, kwargs: Any, out: object) -> None:
        """Note an operator on parameters alone."""
        given = [t for t in tensors((args, kwargs)) if t in self.tags]
        made = tensors(out)
        if not made or any(t.is_meta for t in made) or function._schema.is_mutable:
            return
        if name in VIEWS:
            found = self.of(given[0])
        else:
            names = {parameter for t in given for parameter, _ in self.tags[t]}
            found = {each: self._degree(each, function, args, kwargs, made[0]) for each in names}
        if any(degree != 1 for degree in found.values()):
            for result in made:
                self.found[result] = found

    def _degree(self, name: str, function: Callable, args: Any, kwargs: Any, out: Tensor) -> float:
        def twice(tensor: Tensor) -> Tensor:
            degree = self.of(tensor).get(name, 0.0)
            return tensor * 2.0**degree if degree else tensor

        args, kwargs = tree_map_only(Tensor, twice, (tuple(args), kwargs))
        other = tensors(function(*args, **kwargs))[0]
        if not out.is_floating_point() or not bool(out.any()):
            return 0.0 if torch.equal(out, other) else math.nan
        ratio = float(other.norm() / out.norm())
        alike = ratio > 0 and torch.allclose(other, out * ratio, rtol=1e-3, atol=1e-6)
        return round(math.log2(ratio), 3) if alike else math.nan
