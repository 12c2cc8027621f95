"""Lion (Chen et al., arXiv 2302.06675): the sign of a mean of gradients. torch has no class
of it."""

from widthwise.optimizers.known import Update

UPDATE = Update(0, {"exp_avg": 1}, decoupled=True)
