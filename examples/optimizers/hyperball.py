"""Hyperball: steps of a fixed length on the sphere of a matrix's initial norm, by Muon or Adam.

Wen et al., arXiv 2606.16899: W <- R Norm(W - lr R Norm(u)), where R is the Frobenius norm that W
began with, Norm(x) = x / |x|, and u is the update of a base optimizer. Matrices between two widths
are updated so, all else by AdamW. Weight decay does nothing to such a matrix.

Prediction for Muon (MuonH, UPDATE), written before any run: all singular values of u are near 1, so
that of R Norm(u) is about the weight's own spectral norm at every width, where inputs and outputs
grow alike. That is what muP asks of a step (Yang, Simon & Bernstein, arXiv 2310.17813), so the rate
stays with the width, as Wen et al. and Ren et al. (arXiv 2603.28743) say of it.

Prediction for Adam (AdamH, ADAM): where a batch is small beside the width n, u has few directions
whatever n is, so nearly all of R Norm(u) is in them, and its spectral norm is about R, which grows
as n^1/2 beside the weight's. The rate falls as n^-1/2 there; Wen et al. find that it stays, where a
batch has far more tokens than n. ADAM_AS_PUBLISHED is that.

    widthwise check examples/mlp.py:make --optimizer examples/optimizers/hyperball.py --lr 0.02
"""

import warnings
from dataclasses import replace

import torch

from widthwise.optimizers import muon
from widthwise.optimizers._muon_adamw import MuonAdamW


def normalized(x: torch.Tensor) -> torch.Tensor:
    """x over its norm; zero stays zero."""
    return x / x.norm().clamp(min=torch.finfo(x.dtype).tiny)


class Hyperball(MuonAdamW):
    """Hyperball for groups that have `hyperball`: of Muon where they have Muon's settings, else of
    AdamW; all other groups as their base has them.

    Where the formula has no value, a matrix stays: a zero gradient has no direction to go in, and
    the sphere of a zero matrix is a point; no other length of a step is known for it, since `lr`
    is a share of the weight here. Of that a warning says.
    """

    @torch.no_grad()
    def step(self, closure=None):
        """One update of all groups."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        held = [
            (p, group["lr"], p.clone())
            for group in self.param_groups
            for p in group["params"]
            if "hyperball" in group and p.grad is not None
        ]
        for p, _, _ in held:
            p.zero_()  # from here the base's step ends at -lr u, without decay
        super().step()
        for p, lr, weight in held:
            state = self.state[p]
            if "radius" not in state:
                state["radius"] = weight.norm()
                if not state["radius"]:
                    shape = tuple(p.shape)
                    warnings.warn(f"hyperball: a matrix {shape} is zero and stays so", stacklevel=2)
            step = lr * state["radius"] * normalized(p)
            p.copy_(state["radius"] * normalized(weight + step))
        return loss


CLASS = Hyperball
MUON = {**(muon.UPDATE.matrices or {}), "hyperball": True}
UPDATE = replace(muon.UPDATE, name="MuonH", matrices=MUON, path=CLASS)
ADAM = replace(UPDATE, name="AdamH", matrices={"hyperball": True}, matrix_lr=-1 / 2)
ADAM_AS_PUBLISHED = replace(ADAM, name="AdamH, as published", matrix_lr=0.0)
