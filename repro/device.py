"""Devices and number formats: CPU deterministic, CUDA with TF32 or bf16 autocast."""

import torch

from repro.errors import UserError

PRECISIONS = ("float32", "tf32", "bfloat16")


def select(name: str, threads: int) -> torch.device:
    """The device `name` ("cpu" or "cuda"), with `threads` CPU threads.

    A run on a CPU is deterministic: its thread count is fixed by its spec.
    Raises UserError when CUDA is asked for and not there.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device cuda: no CUDA device is visible; run with --device cpu")
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # Adam's averages of rare tokens decay into denormals
    return torch.device(name)


def describe(device: torch.device) -> str:
    """`cpu`, or the GPU's name in lower case with dashes: the device part of records/."""
    if device.type == "cpu":
        return "cpu"
    return torch.cuda.get_device_name(device).lower().replace(" ", "-")


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
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")
