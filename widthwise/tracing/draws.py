"""Initial values of large tensors, drawn for their spread alone.

Most of what it takes to find the roles of a large model is the model's own random numbers, of which
a spread and a law are all that is looked at.
"""

import torch
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
