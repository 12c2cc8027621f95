"""RMSprop: Adam without momentum, or with momentum of what is divided already."""

from widthwise.optimizers.known import Update

UPDATE = Update(
    0,
    {"step": 0, "square_avg": 2, "grad_avg": 1, "momentum_buffer": 0},
    eps=1e-8,
    path="torch.optim.RMSprop",
)
