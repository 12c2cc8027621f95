"""A model's parameters as built: their number, initial spread, learning rate and weight decay."""

from collections.abc import Mapping
from pathlib import Path

import torch

from repro import models
from widthwise.parametrization import plan, recipe


def run(
    *,
    model: Mapping,
    data_settings: Mapping,
    parametrization: str,
    family: str,
    draw: bool,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """A record per parameter: `parameter`, `kind`, `count`; `lr` and `weight_decay` of its group
    when both constants are 1; with `draw` also `init_std`, measured on drawn weights.

    data_settings: the model's settings that would otherwise follow from the data. Without `draw` no
    memory is allocated, so that models of any size can be counted.
    """
    with torch.device(device if draw else "meta"):
        net = models.build(model, parametrization, **data_settings)
    if draw:
        models.draw(net, parametrization, seed)
    optimizer = {"sgd": "sgd", "adam": "adamw"}[family]
    groups = plan(net, None, recipe(parametrization, optimizer)).groups(1.0, weight_decay=1.0)
    group_of = {id(p): group for group in groups for p in group["params"]}
    roles = net.roles()
    return [
        {
            "parameter": name,
            "kind": roles[name].kind,
            "count": parameter.numel(),
            "lr": group_of[id(parameter)]["lr"],
            "weight_decay": group_of[id(parameter)]["weight_decay"],
            **({"init_std": float(parameter.detach().square().mean().sqrt())} if draw else {}),
        }
        for name, parameter in net.named_parameters()
    ]
