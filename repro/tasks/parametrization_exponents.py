"""Init variances and learning rates measured on a built model of one width."""

from collections.abc import Mapping
from pathlib import Path

import torch

from repro import models
from widthwise.parametrization import plan


def run(
    *,
    parametrization: str,
    width: int,
    vocab_size: int,
    model: Mapping,
    lr: float,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Build and initialize the decoder, make Adam's groups, and measure both.

    Returns a record per parameter: its name (`parameter`), `kind`, `init_variance` of the drawn
    weights, and `lr` of its group.
    """
    settings = {**model, "width": width}
    net = models.build(settings, parametrization, vocab_size=vocab_size, sequence_length=1)
    net.to(device)
    models.draw(net, parametrization, seed)
    groups = plan(net, None, parametrization).groups(lr)
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    roles = net.roles()
    return [
        {
            "parameter": name,
            "kind": roles[name].kind,
            "init_variance": float(parameter.detach().double().var()),
            "lr": rates[id(parameter)],
        }
        for name, parameter in net.named_parameters()
    ]
