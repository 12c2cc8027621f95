"""NAdam: Adam with Nesterov's momentum; its decay is Adam's or AdamW's, by a setting."""

from widthwise.optimizers.known import ADAM, Update

UPDATE = Update(0, {**ADAM, "mu_product": 0}, decoupled=None, eps=1e-8, path="torch.optim.NAdam")
