"""What a user gives a check: batches, and a loss."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from widthwise.errors import UserError
from widthwise.files import calling
from widthwise.tracing.forward import called
from widthwise.tracing.shapes import tensors

Batches = Sequence[Any] | Callable[[int], Sequence[Any]]
Loss = Callable[[nn.Module, Any], torch.Tensor]


def batches_of(batches: Batches, seed: int) -> list:
    """The batches of a seed; UserError unless each is (inputs, targets), or a mapping of keywords
    for a model that returns its own loss."""
    found = calling("batches(seed)", batches, seed) if callable(batches) else batches
    if not isinstance(found, Sequence):
        raise UserError(f"batches: is a {type(found).__name__}: give a list, as list(...) makes it")
    odd = [type(each).__name__ for each in found if not _is_batch(each)]
    if odd or not found:
        raise UserError(
            "batches is to hold (inputs, targets), or mappings of keywords, and holds "
            + (f"a {odd[0]}" if odd else "nothing")
        )
    return list(found)


def _is_batch(batch: object) -> bool:
    return isinstance(batch, Mapping) or (isinstance(batch, tuple | list) and len(batch) > 1)


def inputs_of(batch: Any) -> Any:
    """What a model is called with to be looked at: of a mapping all but the labels."""
    if isinstance(batch, Mapping):
        return {key: value for key, value in batch.items() if key != "labels"}
    return batch[0]


def default_loss(model: nn.Module, batch: Any) -> torch.Tensor:
    """Of a mapping the loss that the model returns; else cross-entropy over the last axis of whole
    numbers, or mean squared error."""
    output = called(model, batch if isinstance(batch, Mapping) else inputs_of(batch))
    if isinstance(batch, Mapping):
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if loss is None:
            raise UserError(
                "loss: the model returns none on a batch of keywords: give labels, or loss="
            )
        return loss
    output, targets = tensors(output)[0], batch[1]
    if targets.is_floating_point():
        if output.shape != targets.shape:
            raise UserError(
                f"loss: outputs have the shape {tuple(output.shape)}, targets "
                f"{tuple(targets.shape)}: give loss="
            )
        return F.mse_loss(output, targets)
    return F.cross_entropy(output.flatten(0, -2), targets.flatten())


def loss_of(model: nn.Module, batch: Any, loss: Loss | None) -> torch.Tensor:
    """The loss of a batch, one number that has a gradient; UserError where it is none."""
    try:
        value = calling("loss", loss or default_loss, model, batch)
    except UserError as error:
        if not isinstance(error.__cause__, TypeError | AttributeError) or loss is None:
            raise
        raise UserError(
            f"{error}: loss takes (model, batch): lambda model, batch: "
            "mine(model(batch[0]), batch[1])"
        ) from None
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        what = tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
        raise UserError(f"loss: returned {what}: give a tensor of one number")
    if not value.requires_grad:
        raise UserError("loss: has no gradient: it was detached, or all weights are frozen")
    return value
