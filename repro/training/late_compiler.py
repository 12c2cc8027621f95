"""torch's compiler, loaded where something asks for it and not by every optimizer.

A step of torch's optimizers marks where a graph of torch.compile would end, and imports the
compiler, `torch._dynamo`, to do so: more than a second of a core in each of hundreds of jobs that
compile nothing, a third of what a short one takes. Outside of a compiled function the marks do
nothing.
"""

import importlib.abc
import sys
import types
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ModuleSpec

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
        # What is asked of every module, such as inspect's __file__, is no wish for a compiler, and
        # may come while another import is half done.
        if name.startswith("__") and name != "__path__":
            raise AttributeError(f"module {NAME!r} has no attribute {name!r} before it is loaded")
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        compiler = importlib.import_module(NAME)
        if name == "__path__":  # a part of it is being imported
            sys.meta_path.insert(0, _Part())
        return getattr(compiler, name)


class _Part(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds, once, a part that came with the compiler: Python asked for it of the stand-in, and
    would load it a second time."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        sys.meta_path.remove(self)
        loaded = name.startswith(f"{NAME}.") and name in sys.modules
        return ModuleSpec(name, self) if loaded else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = sys.modules[spec.name]
        self.spec = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        with suppress(AttributeError):  # Python has put the other one there, but not in a config
            module.__spec__ = self.spec


def load_late() -> None:
    """Have the compiler loaded where it is used; nothing where it is by now. Imports torch.

    Not for a process that will compile an optimizer's step, which needs the marks.
    """
    import torch

    if NAME not in sys.modules:
        sys.modules[NAME] = torch._dynamo = _Marks(NAME)
