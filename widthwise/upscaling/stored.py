"""Weights in safetensors files, each tensor in the dtype that it has there."""

import math
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model
from torch import nn

from widthwise.errors import UserError
from widthwise.files import atomic_path, open_file
from widthwise.upscaling.compare import Reference
from widthwise.upscaling.exactly import HIGHER, in_float64, twin


def load(model: nn.Module, path: str) -> dict[str, str]:
    """Give a model the weights of a file, and their dtypes; returns the file's metadata. UserError
    where the file does not hold them."""
    try:
        with open_file(path), safe_open(path, "pt") as file:  # a pipe would be waited for
            metadata = file.metadata() or {}
            dtypes = {key: file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118
        _take_dtypes(model, dtypes, path)
        load_model(model, path)
    except (OSError, RuntimeError, SafetensorError) as error:
        line = " ".join(str(error).split())
        raise UserError(f"{path}: does not hold the weights of make(1): {line}") from None
    return metadata


def save(
    wide: nn.Module,
    path: str,
    metadata: dict[str, str],
    narrow: nn.Module,
    other: nn.Module,
    inputs: Any,
) -> float:
    """Write the weights of a widened model, the whole file or nothing; returns by how much another
    model of its sizes that is given the file's differs from the narrow one, relative, on inputs.

    UserError where that is more than rounding to the dtypes of the file explains.
    """
    with atomic_path(path) as half:
        save_model(wide, str(half), metadata=metadata)
        load(other, str(half))
        held = Reference(twin(narrow), in_float64(inputs), 0.0)
        off = held.farthest(twin(other))
        coarsest = max(torch.finfo(p.dtype).eps for p in other.parameters())
        if not off <= math.sqrt(coarsest):
            raise UserError(
                f"{path}: was not written: rounded to the dtypes of the narrow weights the wide "
                f"ones are another function, by {off:.1g} (relative): widen them in float32"
            )
    return off


def _take_dtypes(model: nn.Module, dtypes: dict[str, torch.dtype], path: str) -> None:
    """Give a model's tensors the dtypes of a file's; UserError on what is no number to train where
    the model has one, as of weights that were quantized."""
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        dtype = dtypes.get(name)
        if dtype is None or dtype == tensor.dtype:
            continue
        trained = dtype in HIGHER or dtype in HIGHER.values()
        if trained != (tensor.is_floating_point() or tensor.is_complex()) or (
            dtype.is_complex != tensor.is_complex()
        ):
            raise UserError(
                f"{path}: {name} is {dtype}, and {tensor.dtype} in make(1): widen the weights "
                "before they are quantized"
            )
        tensor.data = tensor.data.to(dtype)
