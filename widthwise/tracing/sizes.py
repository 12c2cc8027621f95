"""How large a tensor is that depends on the inputs: the numbers, known before any training, that it
was multiplied by on the way. Held at two widths beside each other they are a power of the width."""

import math
from collections.abc import Callable, Mapping, Sequence

import torch

from widthwise.tracing.shapes import number

# What comes out of these has a size of its own, whatever the size of what went in.
OF_UNIT_SIZE = {
    *("native_layer_norm", "native_group_norm", "native_batch_norm", "_fused_rms_norm", "rms_norm"),
    *("_batch_norm_with_update", "_batch_norm_no_update", "cudnn_batch_norm", "_softmax"),
    *("_safe_softmax", "_log_softmax", "sigmoid", "tanh", "embedding"),
}
POWERS: Mapping[str, Callable[[float], float]] = {
    "square": lambda size: size**2,
    "sqrt": lambda size: size**0.5,
    "rsqrt": lambda size: size**-0.5,
    "reciprocal": lambda size: 1 / size,
}
SUMS = {"add", "sub", "cat", "stack", "where", "rsub", "addcmul"}
NORMS = {"linalg_vector_norm", "norm"}


def size(name: str, args: Sequence, out: object, given: list, sizes: Mapping) -> float:
    """The size of an operator's result, of what it is given and `sizes` (tensor -> its size) says.

    A norm over n entries is n^1/2 times as large as they are, a sum of n squares n times. Of other
    operators results keep the size of the only tensor given, and have size 1 where there are more;
    nan where a number cannot be seen.
    """
    given = [t for t in given if t.ndim]
    if name in OF_UNIT_SIZE or not given:
        return 1.0
    own = [sizes.get(t, 1.0) for t in given]
    if not all(map(math.isfinite, own)):
        return math.nan
    if len(given) == 1:
        return _of_one(name, args, out, given[0], own[0])
    if name == "mul":
        return math.prod(own)
    if name == "div":
        return own[0] / own[1] if own[1] else math.nan
    if name in SUMS and len({*own}) == 1:
        return own[0]
    return 1.0


def _of_one(name: str, args: Sequence, out: object, tensor: torch.Tensor, own: float) -> float:
    if name in ("mul", "div"):
        first = isinstance(args[0], torch.Tensor) and args[0].ndim
        if len(args) > 1 and args[0] is args[1]:
            return own * own if name == "mul" else 1.0
        factor = number(args[1] if first else args[0])
        if name == "mul":
            return own * factor
        return own / factor if first and factor else math.nan
    if name in POWERS:
        return POWERS[name](own) if own > 0 else math.nan
    if name == "pow" and isinstance(args[1], int | float):
        return own ** args[1] if own > 0 else math.nan
    if name in (*NORMS, "sum") and isinstance(out, torch.Tensor) and out.numel():
        entries = tensor.numel() / out.numel()
        return own * (entries**0.5 if name in NORMS else entries)
    return own
