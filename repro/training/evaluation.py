"""The loss of a classifier or language model, and its evaluation on held-out data."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from repro import backend
from repro.training.cross_entropy import cross_entropy

COUNT = "count"
# (model, batch) -> sums over a batch, by the names of their means in a record, and COUNT, how many
# were summed; tensors without axes.
Score = Callable[[torch.nn.Module, Any], Mapping[str, torch.Tensor]]


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy in nats over labels (B,) or tokens (B, T)."""
    logits = model(batch[0]).flatten(0, -2)
    return cross_entropy(logits, batch[1].flatten())


def score(
    model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The `Score` of `valid_loss` in nats and `valid_accuracy`, over every row or token."""
    logits, labels = model(batch[0]).flatten(0, -2).float(), batch[1].flatten()
    return {
        "valid_loss": F.cross_entropy(logits, labels, reduction="sum"),
        "valid_accuracy": (logits.argmax(1) == labels).sum(),
        COUNT: torch.full((), len(labels), device=labels.device),
    }


@torch.no_grad()
def means(
    model: torch.nn.Module, score: Score, batches: Iterable[tuple], precision: str
) -> dict[str, float]:
    """The means of a `Score` of a model over all batches.

    Summed in float64 where the batches lie, so that no batch waits for the one before.
    """
    totals: dict[str, torch.Tensor] = {}
    for batch in batches:
        with backend.autocast(batch[0].device, precision):
            sums = score(model, batch)
        for name, value in sums.items():
            totals[name] = totals.get(name, 0.0) + value.double()
    count = totals.pop(COUNT)
    return {name: float(total / count) for name, total in totals.items()}
