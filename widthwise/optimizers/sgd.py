"""SGD, with or without momentum: a step is as large as its gradient."""

from widthwise.optimizers.known import Update

UPDATE = Update(1, {"momentum_buffer": 1}, path="torch.optim.SGD")
