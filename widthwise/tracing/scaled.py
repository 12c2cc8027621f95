"""Modules with a factor on what they read, on what they write, or on their attention's logits.

torch.compile asks whether the code that it made for one model fits another by classes and
attributes of modules, not by their hooks. So a scaled module has a class of its own, of the same
name and methods, and its factor in an attribute; both stay through deepcopy, pickle and
fully_shard. Factors note that they ran while gradients were recorded: `Plan.check` asks.
"""

from functools import cache, wraps
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import TorchFunctionMode

# How often each optimizer stepped since the process has a factor.
STEPS: "WeakKeyDictionary[Any, int]" = WeakKeyDictionary()
CLOCK = [0]  # the steps of all of them
# "input", "output": whether torch.compile made code for such a factor. Code is shared by models and
# notes nothing when it runs, so that from then on each factor may have run.
COMPILED: set[str] = set()


class Scale:
    """A factor on what a module reads ("input") or writes ("output")."""

    def __init__(self, on: str, factor: float):
        self.on, self.factor, self.ran, self.at = on, factor, 0, -1

    def __call__(self) -> float:
        if torch.compiler.is_compiling():
            _compiled(self.on)
        elif torch.is_grad_enabled():
            note(self)
        return self.factor


class LogitScale:
    """The factor on an attention's own scale: (head_dim over the base's)^power."""

    def __init__(self, head_dim: int, power: float):
        self.on, self.head_dim, self.power, self.ran, self.at = "logits", head_dim, power, 0, -1

    def __call__(self, head_dim: int) -> float:
        if torch.is_grad_enabled():
            note(self)
        return (head_dim / self.head_dim) ** self.power


def note(scale: Scale | LogitScale) -> None:
    """Count for how many steps a factor ran."""
    if scale.at != CLOCK[0]:
        scale.at = CLOCK[0]
        scale.ran += 1


def _compiled(on: str) -> None:
    COMPILED.add(on)


# torch.compiler.assume_constant_result sets this too, and loads the whole compiler: seconds.
_compiled._dynamo_marked_constant = True  # type: ignore[attr-defined]


def put(module: nn.Module, scale: Scale | LogitScale) -> None:
    """Give a module a factor, in place."""
    _count_steps()
    setattr(module, f"widthwise_{scale.on}", scale)
    kind: Any = type(module)
    module.__class__ = _class(kind, scale.on)
    if "forward" in vars(module) and scale.on != "logits":  # accelerate's, say: the class's is hid
        if scale.on == "input":
            module.register_forward_pre_hook(_scale_input)
        else:
            module.register_forward_hook(_scale_output)


def of(module: nn.Module, on: str) -> Scale | LogitScale | None:
    """A module's factor; None where it has none."""
    return vars(module).get(f"widthwise_{on}")


def take(module: nn.Module, on: str) -> None:
    """Take a factor on what a module reads or writes from it."""
    for hooks in (module._forward_pre_hooks, module._forward_hooks):
        for key in [key for key, hook in hooks.items() if hook in (_scale_input, _scale_output)]:
            del hooks[key]
    of_module: Any = type(module)
    if "_widthwise" in vars(of_module):
        delattr(module, f"widthwise_{on}")
        kind, *others = of_module._widthwise
        others.remove(on)
        module.__class__ = _classes(kind, *others)
    else:  # there is another class around it, as fully_shard's
        setattr(module, f"widthwise_{on}", Scale(on, 1.0))


def _scale_input(module: nn.Module, args: tuple) -> tuple:
    """A forward pre-hook that multiplies a module's first argument."""
    return (args[0] * module.widthwise_input(), *args[1:])  # type: ignore[operator]


def _scale_output(module: nn.Module, args: tuple, output: torch.Tensor) -> torch.Tensor:
    """A forward hook that multiplies a module's output."""
    return output * module.widthwise_output()  # type: ignore[operator]


@cache
def _class(kind: Any, on: str) -> Any:
    """A class of modules that have a factor."""
    whole = (*getattr(kind, "_widthwise", (kind,)), on)

    def reduce(self, protocol):
        return _bare, whole, self.__dict__

    def reads(self, *args, **kwargs):
        if not args:  # by its keyword
            name = next(iter(kwargs))
            return kind.forward(self, **{**kwargs, name: kwargs[name] * self.widthwise_input()})
        return kind.forward(self, args[0] * self.widthwise_input(), *args[1:], **kwargs)

    def writes(self, *args, **kwargs):
        return kind.forward(self, *args, **kwargs) * self.widthwise_output()

    def attends(self, *args, **kwargs):
        with _Scaling(self.widthwise_logits):
            return kind.forward(self, *args, **kwargs)

    # What `disable` loads takes seconds too: only where it has something to keep from the compiler.
    ways = {"input": reads, "output": writes}
    way = ways[on] if on in ways else torch.compiler.disable(attends)
    forward = wraps(kind.forward, updated=())(way)
    more = {"__reduce_ex__": reduce, "__module__": kind.__module__, "_widthwise": whole}
    return type(kind.__name__, (kind,), {**more, "forward": forward})


def _classes(kind: Any, *on: str) -> Any:
    for each in on:
        kind = _class(kind, each)
    return kind


def _bare(kind: Any, *on: str) -> Any:
    """An object of a scaled class whose state is still to come, for copies and pickles."""
    found = _classes(kind, *on)
    return found.__new__(found)


class _Scaling(TorchFunctionMode):
    """Within it, scaled_dot_product_attention has another scale."""

    def __init__(self, factor: LogitScale):
        super().__init__()
        self.factor = factor

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.nn.functional.scaled_dot_product_attention:
            head_dim = (args[0] if args else kwargs["query"]).shape[-1]
            factor = self.factor(head_dim)
            if factor != 1:
                own = kwargs.get("scale")
                kwargs["scale"] = (head_dim**-0.5 if own is None else own) * factor
        return function(*args, **kwargs)


@cache
def _count_steps() -> None:
    """Have the steps of every optimizer counted; once a process."""
    register_optimizer_step_post_hook(_stepped)


def _stepped(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    if not torch.compiler.is_compiling():
        STEPS[optimizer] = STEPS.get(optimizer, 0) + 1
        CLOCK[0] += 1
