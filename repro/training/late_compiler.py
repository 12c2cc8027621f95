"""torch's compiler, loaded where something asks for it and not by every optimizer.

A step of torch's optimizers marks where a graph of torch.compile would end, and imports the
compiler, `torch._dynamo`, to do so: more than a second of a core in each of hundreds of jobs that
compile nothing, a third of what a short one takes. Outside of a compiled function the marks do
nothing.
"""

import importlib
import sys
import types
from collections.abc import Callable

NAME = "torch._dynamo"


class _Marks(types.ModuleType):
    """Stands where the compiler would: the marks of optimizers, and whatever else is asked for from
    the compiler itself, which then takes this one's place."""

    def graph_break(self, msg: str = "") -> None:
        """Where a graph ends: nothing, where there is none."""

    def disable(self, fn: Callable, *_: object, **__: object) -> Callable:
        """What is not to be compiled: itself, where nothing is."""
        return fn

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        return getattr(importlib.import_module(NAME), name)


def load_late() -> None:
    """Have the compiler loaded where it is used; nothing where it is by now. Imports torch.

    Not for a process that will compile an optimizer's step, which needs the marks.
    """
    import torch

    if NAME not in sys.modules:
        sys.modules[NAME] = torch._dynamo = _Marks(NAME)
