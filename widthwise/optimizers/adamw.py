"""AdamW (Loshchilov & Hutter, arXiv 1711.05101): Adam whose decay is apart from the gradient."""

from widthwise.optimizers.known import ADAM, Update

UPDATE = Update(0, ADAM, decoupled=True, eps=1e-8, path="torch.optim.AdamW")
