"""Initial values of large tensors, drawn for their spread alone.

Most of what it takes to find the roles of a large model is the model's own random numbers, of which
a spread and a law are all that is looked at.
"""

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

# A prime, so that what is repeated begins elsewhere in every row of a matrix and rows stay linearly
# independent. A spread is known from so many values to one in 700.
DRAWN = 262_147
FILLS = (torch.ops.aten.normal_.default, torch.ops.aten.uniform_.default)


class FewDraws(TorchDispatchMode):
    """Within it, a normal or uniform fill of a large tensor draws DRAWN values and repeats them.

    Not for a model that is to be trained.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func not in FILLS or args[0].numel() <= DRAWN or not args[0].is_contiguous():
            return func(*args, **(kwargs or {}))
        values = args[0].view(-1)
        first = func(values[:DRAWN], *args[1:], **(kwargs or {}))
        for part in values[DRAWN:].split(DRAWN):
            part.copy_(first[: len(part)])
        return args[0]


def alike(parameter: torch.Tensor) -> float | None:
    """The value of all entries; None where they differ, or cannot be seen."""
    if parameter.is_meta or not parameter.numel() or parameter.is_complex():
        return None
    low, high = map(float, parameter.detach().aminmax())
    return low if low == high else None


def spread(parameter: nn.Parameter) -> tuple[float | None, str, float | None]:
    """(root mean square of the initial values, their law, the value of all where they are equal);
    the first is None for values that are equal and not zero, or cannot be seen."""
    values = parameter.detach()
    if values.is_meta or values.numel() == 0:
        return None, "normal", None
    if values.is_complex():  # as large in both its parts
        parts = spread(nn.Parameter(torch.view_as_real(values)))
        return (None if parts[0] is None else parts[0] * 2**0.5), "normal", None
    values = values.float() if values.dtype in (torch.float16, torch.bfloat16) else values
    rms = float(values.square().mean().sqrt())
    low, high = map(float, values.aminmax())
    if low == high:
        return (0.0 if rms == 0 else None), "normal", low
    # No entry of a uniform law is beyond 3^1/2 standard deviations; these are known to n^-1/2. Of a
    # few entries of a normal law none may be.
    bound = 3**0.5 * rms * (1 + 2 * values.numel() ** -0.5)
    uniform = max(-low, high) <= bound and values.numel() > 250
    return rms, "uniform" if uniform else "normal", None
