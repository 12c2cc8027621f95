"""Init variances and learning rates measured on a built model of one width."""

from collections.abc import Mapping
from pathlib import Path

import torch

from repro import models, parametrization
from repro.tasks.language_model import build_model


def run(
    *,
    parametrization_name: str,
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
    init = dict.fromkeys(("embedding", "hidden", "output"), parametrization_name)
    net = build_model(
        {**model, "width": width},
        vocab_size=vocab_size,
        sequence_length=1,
        init=init,
        scaling=parametrization_name,
    ).to(device)
    models.draw(net, init, seed)
    groups = parametrization.param_groups(
        net,
        scaling=parametrization_name,
        family="adam",
        lr=dict.fromkeys(init, lr),
        weight_decay=0.0,
        eps=1e-8,
    )
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
