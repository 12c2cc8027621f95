"""What a module does with each axis of its parameters, seen in one forward pass.

A layer's class does not say which of a weight's axes is summed over: `x @ W` and `F.linear(x, W)`
differ, and a raw parameter has no class at all. So every operator of a forward pass is looked at,
below autograd. A tensor that is made of parameters alone (a view, a mask times a weight, a weight
normalized) carries along which of its dimensions run along which axes; where such a tensor meets
data, the operator says what becomes of each axis.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from widthwise.identity import identity
from widthwise.tracing.branches import Residuals
from widthwise.tracing.flow import Flow
from widthwise.tracing.operators import FusedAttention, Operators
from widthwise.tracing.shapes import tensors
from widthwise.tracing.uses import Trace

__all__ = ["Trace", "called", "running", "taken_apart", "trace"]


def trace(model: nn.Module, inputs: Any, base: Trace | None = None) -> Trace:
    """The uses of a module's parameters in one forward pass, in the mode (train or eval) it is in.

    inputs: a tensor, a tuple of positional arguments, or a mapping of keywords. Values change
    nothing but buffers (running statistics); a model on the meta device runs without any. base:
    what the same module showed at the base width, against which sizes grow.
    """
    device = next(model.parameters()).device
    inputs = dict(inputs) if isinstance(inputs, Mapping) else inputs  # a BatchEncoding is no dict
    if device.type == "meta":
        inputs = tree_map_only(torch.Tensor, lambda t: t.to("meta"), inputs)
    with torch.no_grad(), taken_apart(), running(model) as stack:
        flow = Flow(model, inputs, stack)
        operators = Operators(model, inputs, stack, flow, base)
        with flow, operators as seen, FusedAttention(seen), flow.watching(model):
            returned = called(model, inputs)
    flow.end(returned)
    seen.sizes.end(tensors(returned))
    seen.trace.branches = Residuals(flow).found()
    seen.trace.flow = flow
    return seen.trace


def called(model: nn.Module, inputs: Any) -> Any:
    """What a module returns on a tensor, a tuple of positional arguments, or a mapping of
    keywords."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


@contextmanager
def taken_apart() -> Iterator[None]:
    """Without the operators that do a whole layer at once: attention's, and oneDNN's LSTM."""
    attention, onednn = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)  # `mkldnn.flags` warns of GPUs there are none of
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(attention)
        torch._C._set_mkldnn_enabled(onednn)


@contextmanager
def running(model: nn.Module) -> Iterator[list[str]]:
    """The names of the modules that are running, outermost first."""
    stack = [""]
    handles = []
    for name, module in model.named_modules():
        name = identity(model, name)
        handles += [
            module.register_forward_pre_hook(lambda *_, name=name: stack.append(name)),
            module.register_forward_hook(lambda *_: stack.__delitem__(-1), always_call=True),
        ]
    try:
        yield stack
    finally:
        for handle in handles:
            handle.remove()
