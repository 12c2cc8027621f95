"""Hugging Face's Trainer: a callback that clips by the plan, and checks it.

`Trainer(..., args=TrainingArguments(max_grad_norm=0.0, ...), callbacks=[PlanCallback(plan, 1.0)])`.
Imports transformers, which the library does not ask for.
"""

from contextlib import suppress
from typing import Any

import torch
from transformers import TrainerCallback

from widthwise.clipping import clip_grad_norm_
from widthwise.parametrization.plans import Plan


class PlanCallback(TrainerCallback):
    """Clips gradients by the narrow model's norm before each step, and has the plan checked.

    plan: of the model that Trainer is given. max_norm: as tuned at the base width; None: nothing is
    clipped. norm: before the last step, a tensor of one entry.
    Training ends in the UserError of `Plan.check` where it begins or is resumed, with Trainer's own
    arguments.
    """

    def __init__(self, plan: Plan, max_norm: float | None = 1.0):
        self.plan, self.max_norm = plan, max_norm
        self.norm: torch.Tensor | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **held: Any) -> None:
        """Check the plan, with what was loaded where a run is resumed."""
        self.plan.check(held["optimizer"], arguments=args)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **held: Any) -> None:
        """Clip."""
        if self.max_norm is None:
            return
        optimizer = held["optimizer"]
        if (scaler := getattr(optimizer, "scaler", None)) is not None:
            with suppress(RuntimeError):  # Trainer did already
                scaler.unscale_(getattr(optimizer, "optimizer", optimizer))
        parameters = self.plan.model.named_parameters()
        self.norm = clip_grad_norm_(parameters, self.max_norm, self.plan)
