"""Muon for matrices between two widths, AdamW for all else.

Jordan, kellerjordan.github.io/posts/muon. An update has singular values near 1 times its
adjustment, here the root of max(1, outputs / inputs): its spectral norm is as large at every width
as muP asks, where inputs and outputs grow alike (Yang, Simon & Bernstein, arXiv 2310.17813).
torch's own class, torch.optim.Muon, is for its groups of kind "hidden", another for the rest.
"""

from widthwise.optimizers.known import ADAM, Update

UPDATE = Update(
    0,
    ADAM,
    decoupled=True,
    eps=1e-8,
    entrywise=False,
    matrices={"momentum": 0.95, "adjust_lr_fn": "original"},
    path="widthwise.optimizers._muon_adamw.MuonAdamW",
)
