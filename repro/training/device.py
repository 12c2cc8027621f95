"""Devices and number formats: deterministic on CPU; TF32, and bf16 or fp16 autocast, on CUDA."""

import re
from collections.abc import Callable

import torch

from repro.errors import UserError
from repro.training import distributed

PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
MIN_LOSS_SCALE = 1e-4  # fairseq's --min-loss-scale


def select(name: str, threads: int) -> torch.device:
    """The device `name` ("cpu" or "cuda"), with `threads` CPU threads.

    A run on a CPU is deterministic: its thread count is fixed by its spec.
    Raises UserError when CUDA is asked for and not there.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device cuda: no CUDA device is visible; run with --device cpu")
    torch.set_num_threads(threads)
    # Adam's averages for rare tokens decay into denormal numbers, which CPUs handle slowly.
    torch.set_flush_denormal(True)
    return torch.device(name)


def describe(device: torch.device) -> str:
    """`cpu`, or the GPU's name in lower case with dashes, as in the paths under records/."""
    if device.type == "cpu":
        return "cpu"
    name = torch.cuda.get_device_name(device).lower()
    return re.sub(r"[^a-z0-9()+._-]", "-", name)  # `repro.suite.foreign` takes no other


def autocast(device: torch.device, precision: str):
    """Context in which a forward pass runs at `precision`; sets TF32 on CUDA.

    Raises UserError on an unknown precision.
    """
    if precision not in PRECISIONS:
        raise UserError(f"precision {precision!r} is unknown: choose from {', '.join(PRECISIONS)}")
    if device.type == "cuda":
        allow = precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = allow
        torch.backends.cudnn.allow_tf32 = allow
    half = precision in ("bfloat16", "float16")
    return torch.autocast(device.type, getattr(torch, precision) if half else None, enabled=half)


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
        flags = self._found_inf_per_device(optimizer).values() if self.is_enabled() else ()
        for flag in flags:
            # If one rank overflows, all skip the step: otherwise their weights would differ.
            distributed.all_reduce_max(flag)
        overflow = any(float(flag) for flag in flags)
        self.skipped += overflow
        if not overflow:
            optimizer.step()
        self.update()
        self.exhausted = self.get_scale() < MIN_LOSS_SCALE

    def state_dict(self) -> dict:
        """The scaler's state and the number of skipped steps."""
        return super().state_dict() | {"skipped": self.skipped}

    def load_state_dict(self, state: dict) -> None:
        """Continue from what `state_dict` returned."""
        self.skipped = state["skipped"]
        super().load_state_dict(state)
