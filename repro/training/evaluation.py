"""The loss of a classifier or language model, and its evaluation on held-out data."""

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from repro.training import device as devices
from repro.training.cross_entropy import cross_entropy


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy in nats over labels (B,) or tokens (B, T)."""
    logits = model(batch[0]).flatten(0, -2)
    return cross_entropy(logits.float(), batch[1].flatten())


@torch.no_grad()
def validation(model: torch.nn.Module, batches: Iterable, precision: str) -> dict[str, float]:
    """`valid_loss` in nats and `valid_accuracy`, means over every row or token."""
    total = correct = count = 0.0
    for inputs, labels in batches:
        with devices.autocast(inputs.device, precision):
            logits = model(inputs).flatten(0, -2).float()
        labels = labels.flatten()
        total += float(F.cross_entropy(logits, labels, reduction="sum"))
        correct += float((logits.argmax(1) == labels).sum())
        count += len(labels)
    return {"valid_loss": total / count, "valid_accuracy": correct / count}
