"""Final checkpoints: weights, buffers and optimizer state as tensors by name, in safetensors."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from repro.errors import UserError
from repro.files import atomic_path, sha256_file
from repro.training import ranks


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write `model.<name>` and `optimizer.<state>.<parameter>`, the whole file or nothing.

    Tied weights are written once, under their first name. Only rank 0 writes.
    """
    from safetensors.torch import save_file

    if not ranks.is_main():
        return
    tensors: dict[str, torch.Tensor] = {f"model.{name}": p for name, p in model.named_parameters()}
    tensors |= {f"model.{name}": b for name, b in model.named_buffers()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if value is not None:
                tensors[f"optimizer.{key}.{name}"] = torch.as_tensor(value)
    with atomic_path(path) as temporary:
        save_file({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, temporary)


def load(start: Mapping, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Load the checkpoint of a run into a model of the same shape and its optimizer.

    start: {"file", "sha256"}. A checkpoint without optimizer state leaves the optimizer fresh.
    Raises UserError naming the file when it is missing, changed, no safetensors file (a pickle is
    never read), or of another model.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(start["file"])
    again = f"delete the folder {path.parent} and run the same command again"
    if not path.exists():
        raise UserError(f"{path}: the base's checkpoint is missing; {again}")
    if sha256_file(path) != start["sha256"]:
        raise UserError(f"{path}: was changed after it was written; {again}")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise UserError(f"{path}: is no safetensors file ({error}); {again}") from None
    targets: dict[str, torch.Tensor] = {f"model.{name}": p for name, p in model.named_parameters()}
    targets |= {f"model.{name}": b for name, b in model.named_buffers()}
    found = {name: tuple(t.shape) for name, t in tensors.items() if name.startswith("model.")}
    expected = {name: tuple(t.shape) for name, t in targets.items()}
    if found != expected:
        differing = {k for k in found | expected if found.get(k) != expected.get(k)}
        name = min(differing)
        raise UserError(
            f"{path}: is of another model: {name} is {found.get(name)} there, "
            f"{expected.get(name)} here; {again}"
        )
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(tensors[name])
    parameters = dict(model.named_parameters())
    for full, value in tensors.items():
        kind, _, rest = full.partition(".")
        key, _, owner = rest.partition(".")
        if kind != "optimizer":
            continue
        parameter = parameters.get(owner)
        if parameter is None or (value.ndim and value.shape != parameter.shape):
            raise UserError(
                f"{path}: is of another model: {full} is {tuple(value.shape)} there, "
                f"{owner} {None if parameter is None else tuple(parameter.shape)} here; {again}"
            )
        # Also `step`, as a fused optimizer wants it.
        optimizer.state[parameter][key] = value.to(parameter.device)
