"""Adamax: Adam that divides by the largest gradient, not by the root of the mean square."""

from widthwise.optimizers.known import Update

UPDATE = Update(0, {"step": 0, "exp_avg": 1, "exp_inf": 1}, eps=1e-8, path="torch.optim.Adamax")
