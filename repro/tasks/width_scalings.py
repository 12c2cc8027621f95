"""How init and hyperparameters scale with two widths, and what widening does, on built layers.

For Ma et al. (arXiv 2602.10545), Tables 1 to 3. The layers stand between two widths that need not
be equal, so that powers of a matrix' inputs and outputs can be told apart.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import nn

from repro.training.optimizer import make_groups, make_optimizer
from widthwise.parametrization import Role, output_multiplier, plan
from widthwise.upscaling import widen

INPUTS, CLASSES = 4, 3
OPTIMIZERS = {
    "SGD": {"name": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 1.0},
    "Adam": {"name": "adam", "betas": [0.9, 0.99], "eps": 1.0, "weight_decay": 1.0},
    "AdamW": {"name": "adamw", "betas": [0.9, 0.99], "eps": 1.0, "weight_decay": 1.0},
}


class Layers(nn.Module):
    """An input layer of width `width_in`, a hidden one to `width_out`, a readout of that."""

    def __init__(self, width_in: int, width_out: int):
        super().__init__()
        self.widths = width_in, width_out
        self.input = nn.Linear(INPUTS, width_in, bias=False)
        self.hidden = nn.Linear(width_in, width_out)
        self.output = nn.Linear(width_out, CLASSES)

    def wider(self, factor: Sequence[int]) -> "Layers":
        """The same layers, each width times its factor."""
        first, second = (n * k for n, k in zip(self.widths, factor, strict=True))
        return Layers(first, second)

    def roles(self) -> dict[str, Role]:
        """Parameter name -> Role, for a base width of 1."""
        first, second = self.widths
        return {
            "input.weight": Role("embedding", INPUTS, width_out=first, std=INPUTS**-0.5),
            "hidden.weight": Role("hidden", first, width_in=first, width_out=second),
            "hidden.bias": Role("vector", width_out=second, std=1.0),
            "output.weight": Role("output", second, width_in=second),
            "output.bias": Role("scalar", std=1.0),
        }


def run(
    *,
    parametrization: str,
    width_in: int,
    width_out: int,
    factor: Sequence[int],
    draws: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Build the layers, draw them, make each optimizer's groups with constants of 1, and widen.

    factor: of the two widths. draws: how many times the layers are drawn for their init's variance.
    Returns a record per optimizer and parameter: `init_variance`; `lr`, `weight_decay` (SGD's and
    Adam's added to the gradient, AdamW's decoupled) and `eps` (not SGD's) of its group; the
    `multiplier` of the readout's output, relative to width 1; and `widened_weight`, `widened_lr`,
    ...: what they are multiplied by in widening.
    """
    net = Layers(width_in, width_out).to(device)
    generator = torch.Generator(device).manual_seed(seed)
    variances = dict.fromkeys(net.roles(), 0.0)
    for _ in range(draws):
        plan(net, None, parametrization).init_(generator)
        for name, parameter in net.named_parameters():
            variances[name] += float(parameter.detach().double().square().mean()) / draws
    records = []
    for optimizer, settings in OPTIMIZERS.items():
        made = make_optimizer(make_groups(net, parametrization, settings, 1.0), settings)
        wide, wide_made, _ = widen(net, made, tuple(factor), unchecked=True, averages=["*"])
        before, after = (_groups(*each) for each in ((net, made), (wide, wide_made)))
        grown = dict(wide.named_parameters())
        for name, parameter in net.named_parameters():
            first = float(grown[name].detach().flatten()[0] / parameter.detach().flatten()[0])
            records.append(
                {
                    "optimizer": optimizer,
                    "parameter": name,
                    "init_variance": variances[name],
                    "multiplier": output_multiplier(parametrization, width_out),
                    **before[name],
                    "widened_weight": first,
                    **{
                        f"widened_{key}": after[name][key] / value
                        for key, value in before[name].items()
                    },
                }
            )
    return records


def _groups(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict[str, float]]:
    """Parameter name -> lr, weight_decay and, where there is one, eps of its group."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        names[id(parameter)]: {
            key: float(group[key]) for key in ("lr", "weight_decay", "eps") if key in group
        }
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
