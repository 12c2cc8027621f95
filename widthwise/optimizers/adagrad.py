"""Adagrad (Duchi et al., 2011): divides by the root of the sum of all squares so far."""

from widthwise.optimizers.known import Update

UPDATE = Update(0, {"step": 0, "sum": 2}, eps=1e-10, path="torch.optim.Adagrad")
