"""Hyperball: steps of a fixed length on the sphere of a matrix's initial norm, by Muon or Adam.

Wen et al., arXiv 2606.16899: W <- R Norm(W - lr R Norm(u)), where R is the Frobenius norm that W
began with, Norm(x) = x / |x|, and u is the update of a base optimizer. Matrices between two widths
are updated so, all else by AdamW. Weight decay does nothing to such a matrix.

What should its rate follow? muP wants steps whose spectral norm is as large beside the weight's at
every width n (Yang, Simon & Bernstein, arXiv 2310.17813). Where all singular values of u are alike,
as Muon makes them, that of R Norm(u) is the weight's own at every n, where inputs and outputs grow
alike, so the rate stays: as Wen et al. and Ren et al. (arXiv 2603.28743) find it. That was
predicted of MuonH before any run, and the coordinate check said no: where a batch is small beside
n, u has as few directions at every n, Muon's too, and R, which grows as n^1/2 beside the weight's
spectral norm, is all in them. There its steps want n^-1/2, as MUON and ADAM have it; those
AS_PUBLISHED stay, which may be right for batches of many more tokens than n. Trained, the best rate
of AdamH fell so or more, and that of MuonH as n^-1/3 (docs/transfer.md). UPDATE is as published:
in examples/,

    widthwise check mlp.py:make --recipe muP --lr 0.005 --optimizer optimizers/hyperball.py

says that it is wrong for a batch of 64.
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
SETTINGS = {**(muon.UPDATE.matrices or {}), "hyperball": True}
MUON_AS_PUBLISHED = replace(muon.UPDATE, name="MuonH", matrices=SETTINGS, path=CLASS)
ADAM_AS_PUBLISHED = replace(MUON_AS_PUBLISHED, name="AdamH", matrices={"hyperball": True})
MUON = replace(MUON_AS_PUBLISHED, name="MuonH, n^-1/2", matrix_lr=-1 / 2)
ADAM = replace(ADAM_AS_PUBLISHED, name="AdamH, n^-1/2", matrix_lr=-1 / 2)
UPDATE = MUON_AS_PUBLISHED
