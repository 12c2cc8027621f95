"""Losses of a few steps in float64, by which two names of the same training are recognized."""

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F

from repro import models
from repro.data.denoising import PADDING
from repro.data.random_data import random_data
from repro.training.optimizer import make_groups, make_optimizer
from widthwise.parametrization import KINDS


def loss(net: torch.nn.Module, batch: tuple) -> torch.Tensor:
    """Mean cross-entropy in the model's own precision; BART's batch has two inputs."""
    inputs, target = (batch[:2], batch[2]) if len(batch) == 4 else (batch[:1], batch[1])
    return F.cross_entropy(net(*inputs).flatten(0, -2), target.flatten(), ignore_index=PADDING)


def run(
    *,
    workload: str,
    name: str,
    data: Mapping,
    model: Mapping,
    parametrization: str,
    lr: float,
    embedding_ratio: float,
    optimizer: Mapping,
    steps: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress: Callable[[int, float], None],
    checkpoint,
) -> list[dict]:
    """A record a step: `train_loss` on the same random batch.

    workload, name: what the run is called. lr, embedding_ratio: as in task `transfer`. data: sizes,
    as `random_data` takes them.
    """
    loaded = random_data({"data": data, "model": model, "seed": seed}, device)
    net = models.build(model, parametrization, **loaded.data_settings).double()
    models.draw(net, parametrization, seed)
    net = net.to(device=device, dtype=torch.float64)
    rates = dict.fromkeys(KINDS, lr) | {"embedding": embedding_ratio * lr}
    updates = make_optimizer(make_groups(net, parametrization, optimizer, rates), optimizer)
    batch = tuple(
        part.double() if part.is_floating_point() else part
        for part in next(iter(loaded.batches.from_step(0)))
    )
    records = []
    for step in range(steps):
        value = loss(net, batch)
        records.append({"step": step, "train_loss": value.item()})
        updates.zero_grad()
        value.backward()
        updates.step()
        progress(step + 1, value.item())
    return records
