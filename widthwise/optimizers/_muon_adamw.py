"""The optimizer of muon.py and its like: Muon for some groups, AdamW for all others."""

import math
from collections.abc import Callable, Mapping

import torch
from torch import nn

from widthwise.errors import UserError

# Jordan (kellerjordan.github.io/posts/muon): coefficients of the quintic whose iterates bring
# singular values near 1, how many iterates, and the least norm that is divided by.
COEFFICIENTS, ITERATIONS, EPS = (3.4445, -4.7750, 2.0315), 5, 1e-7
# Factor on the learning rate of a matrix of (outputs, inputs), the first two by torch's names: one
# keeps the spectral norm of an update at most, the next makes its size AdamW's (Liu et al., arXiv
# 2502.16982), the last keeps its spectral norm at the root of outputs over inputs.
ADJUSTMENTS: Mapping[str, Callable[[int, int], float]] = {
    "original": lambda outputs, inputs: math.sqrt(max(1, outputs / inputs)),
    "match_rms_adamw": lambda outputs, inputs: 0.2 * math.sqrt(max(outputs, inputs)),
    "unit_rms": lambda outputs, inputs: math.sqrt(outputs / inputs),
}


def orthogonalized(matrix: torch.Tensor) -> torch.Tensor:
    """A matrix (n, m) of the same singular vectors, whose singular values are about 0.7 to 1.2.

    In float32; `torch.optim.Muon` takes bfloat16, whose products are slow on a CPU and not the same
    on every one.
    """
    a, b, c = COEFFICIENTS
    tall = len(matrix) > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=EPS)
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class MuonAdamW(torch.optim.AdamW):
    """AdamW, but Muon with Nesterov momentum for groups that have `adjust_lr_fn`.

    Such a group has matrices alone, `momentum`, and in `adjust_lr_fn` a key of ADJUSTMENTS. They
    are (outputs, inputs), or (inputs, outputs) where it has a `transposed` that is true.
    Raises UserError where it is another.
    """

    def __init__(self, params, *args, **settings):
        super().__init__(params, *args, **settings)
        for group in self.param_groups:
            if group.get("adjust_lr_fn", "original") not in ADJUSTMENTS:
                raise UserError(
                    f"optimizer muon: adjust_lr_fn {group['adjust_lr_fn']!r} is unknown: choose "
                    f"from {', '.join(ADJUSTMENTS)}"
                )

    @torch.no_grad()
    def step(self, closure=None):
        """One update of all groups."""
        groups = self.param_groups
        self.param_groups = [group for group in groups if "adjust_lr_fn" not in group]
        try:
            loss = super().step(closure)
        finally:
            self.param_groups = groups
        for group in groups:
            if "adjust_lr_fn" in group:
                for parameter in group["params"]:
                    self._muon(parameter, group)
        return loss

    def _muon(self, parameter: nn.Parameter, group: Mapping) -> None:
        if parameter.grad is None:
            return
        state, momentum = self.state[parameter], group["momentum"]
        if not state:
            # torch looks for `step` in every state that it loads.
            state["step"] = torch.zeros(())
            state["momentum_buffer"] = torch.zeros_like(parameter)
        state["step"] += 1
        average = state["momentum_buffer"].lerp_(parameter.grad, 1 - momentum)
        update = orthogonalized(parameter.grad.lerp(average, momentum))
        first, second = parameter.shape
        sizes = (second, first) if group.get("transposed") else (first, second)
        factor = ADJUSTMENTS[group["adjust_lr_fn"]](*sizes)
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(update, alpha=-group["lr"] * factor)
