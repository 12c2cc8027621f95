"""Adam (Kingma & Ba, arXiv 1412.6980): a step does not depend on the gradient's size.

Its decay is added to the gradient, or is AdamW's with decoupled_weight_decay=True.
"""

from widthwise.optimizers.known import ADAM, Update

UPDATE = Update(0, ADAM, decoupled=None, eps=1e-8, path="torch.optim.Adam")
