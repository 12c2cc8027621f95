"""The optimizer's step under the dynamic loss scale of float16."""

from collections.abc import Callable

import torch

from repro.training import quick

MIN_LOSS_SCALE = 1e-4  # fairseq's --min-loss-scale


class LossScaler(torch.amp.GradScaler):
    """The optimizer's step: at float16 with torch's dynamic loss scale, otherwise plain.

    skipped: number of steps not taken because a gradient was not finite; each halves the scale.
    exhausted: the scale has fallen below MIN_LOSS_SCALE: the run diverged.
    """

    def __init__(self, device: torch.device, precision: str):
        super().__init__(device.type, enabled=precision == "float16")
        self.skipped = 0
        self.exhausted = False

    def step(self, optimizer: torch.optim.Optimizer, *, clip: Callable[[], object] | None) -> None:
        """Clip the unscaled gradients and take a step, or skip it.

        torch's scaler would let a fused optimizer skip by itself. That is wrong here: SGD would
        start from a momentum that was never written, and FairseqAdamW would count an update that
        was not made.
        """
        self.unscale_(optimizer)
        if clip:
            clip()
        if not self.is_enabled():
            quick.step(optimizer)
            return
        # The same on all ranks, whose gradients are summed by now.
        flags = self._found_inf_per_device(optimizer).values()
        # The one number of a step that a GPU is waited for, and at float16 alone.
        overflow = any(float(flag) for flag in flags)
        self.skipped += overflow
        if not overflow:
            optimizer.step()
        self.update()
        if overflow:  # only then does the scale fall, and reading it would wait for the GPU again
            self.exhausted = self.get_scale() < MIN_LOSS_SCALE

    def state_dict(self) -> dict:
        """The scaler's state and the number of skipped steps."""
        return super().state_dict() | {"skipped": self.skipped}

    def load_state_dict(self, state: dict) -> None:
        """Continue from what `state_dict` returned."""
        self.skipped = state["skipped"]
        super().load_state_dict(state)
