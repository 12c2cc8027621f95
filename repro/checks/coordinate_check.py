"""Coordinate check with a numeric verdict: do activations keep their size as width grows?

Yang et al. (arXiv 2203.03466), Appendix D.1, judge pictures; here each layer's slope of log
activation size against log width, after a few steps, with an interval over seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from repro import models, parametrization
from repro.models.decoder import Decoder
from repro.statistics import bootstrap, slope
from repro.training.evaluation import loss
from repro.training.optimizer import FAMILY, make_optimizer

TOLERANCE = 0.15


@dataclass(frozen=True)
class LayerSlope:
    """Slope of log size against log width with its 95 % interval over seeds.

    quantity: "activation" (root mean square after the steps) or "change" (of the difference from
    initialization). verdict: "stable", "grows" or "vanishes" when the whole interval lies
    within, above or below TOLERANCE of 0, else "unclear".
    """

    layer: str
    quantity: str
    slope: float
    low: float
    high: float
    verdict: str


def coordinate_check(
    sizes: Callable[[int, int], dict[tuple[str, str], float]],
    widths: Sequence[int],
    seeds: Sequence[int],
) -> list[LayerSlope]:
    """Fit the slopes of activation sizes.

    sizes: (width, seed) -> (layer, quantity) -> root mean square; the same keys every time.
    """
    import numpy as np

    measured = {(width, seed): sizes(width, seed) for width in widths for seed in seeds}
    result = []
    for key in measured[widths[0], seeds[0]]:

        def fitted(sample: Sequence[int], key=key) -> float:
            logs = [np.mean([np.log(measured[w, s][key]) for s in sample]) for w in widths]
            return slope(np.log(widths), logs)

        low, high = bootstrap(seeds, fitted)
        result.append(LayerSlope(*key, fitted(seeds), low, high, _verdict(low, high)))
    return result


def _verdict(low: float, high: float) -> str:
    if low >= -TOLERANCE and high <= TOLERANCE:
        return "stable"
    if low > TOLERANCE:
        return "grows"
    if high < -TOLERANCE:
        return "vanishes"
    return "unclear"


def activations(model: nn.Module, inputs: torch.Tensor) -> dict[str, torch.Tensor]:
    """Outputs of every submodule without children, by name; `output` is the model's own."""
    found: dict[str, torch.Tensor] = {}
    leaves = [(n, m) for n, m in model.named_modules() if not list(m.children()) and n]
    handles = [
        module.register_forward_hook(
            lambda _, __, out, name=name: found.update({name: out.detach()})
        )
        for name, module in leaves
    ]
    with torch.no_grad():
        result = model(inputs)
    for handle in handles:
        handle.remove()
    found.setdefault("output", result)
    return found


def decoder_sizes(name: str, *, steps: int, lr: float, vocab_size: int = 64, base_width: int = 1):
    """`sizes` for the suite's decoder under a parametrization, trained with Adam on one batch."""

    def sizes(width: int, seed: int) -> dict[tuple[str, str], float]:
        generator = torch.Generator().manual_seed(seed)
        model = Decoder(
            vocab_size=vocab_size,
            width=width,
            depth=2,
            head_dim=16,
            expansion=4,
            sequence_length=16,
            norm="pre",
            positional_rms=1.0,
            output_multiplier=1.0,
            base_width=base_width,
        )
        init = dict.fromkeys(("embedding", "hidden", "output"), name)
        parametrization.initialize(model, init, generator)
        tokens = torch.randint(vocab_size, (8, 17), generator=generator)
        batch = tokens[:, :-1], tokens[:, 1:]
        groups = parametrization.param_groups(
            model,
            scaling=name,
            family="adam",
            lr=dict.fromkeys(init, lr),
            weight_decay=0.0,
            eps=1e-12,
        )
        optimizer = make_optimizer(groups, {"name": "adam", "betas": (0.9, 0.999)})
        return train_and_measure(model, optimizer, batch, steps)

    return sizes


def model_sizes(
    settings: Mapping,
    name: str,
    optimizer: Mapping,
    batch: Callable[[torch.Generator], tuple[torch.Tensor, torch.Tensor]],
    *,
    steps: int,
    lr: float,
):
    """`sizes` for a model of `repro.models.build` under a parametrization, trained on one batch.

    settings: every argument of the model but its width. optimizer: as `make_optimizer`,
    and "eps" for Adam's kind. batch: (inputs, labels) drawn anew for every width.
    """

    def sizes(width: float, seed: int) -> dict[tuple[str, str], float]:
        generator = torch.Generator().manual_seed(seed)
        drawn = batch(generator)
        model = models.build({**settings, "width": width}, name)
        kinds = parametrization.KINDS
        parametrization.initialize(model, dict.fromkeys(kinds, name), generator)
        groups = parametrization.param_groups(
            model,
            scaling=name,
            family=FAMILY[optimizer["name"]],
            lr=dict.fromkeys(kinds, lr),
            weight_decay=0.0,
            eps=optimizer.get("eps"),
        )
        return train_and_measure(model, make_optimizer(groups, optimizer), drawn, steps)

    return sizes


def train_and_measure(model, optimizer, batch, steps: int) -> dict[tuple[str, str], float]:
    """(layer, "activation" | "change") -> root mean square, after steps on one batch."""
    before = activations(model, batch[0])
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
    after = activations(model, batch[0])
    result = {}
    for layer in before:
        result[layer, "activation"] = float(after[layer].square().mean().sqrt())
        result[layer, "change"] = float((after[layer] - before[layer]).square().mean().sqrt())
    return result


def report(name: str, widths: Sequence[int], steps: int, seeds: int, lr: float = 0.5) -> list[str]:
    """Lines of a table: every layer's slopes, and the verdict over all changes."""
    found = coordinate_check(decoder_sizes(name, steps=steps, lr=lr), widths, range(seeds))
    lines = [f"{'layer':24} {'quantity':10} {'slope':>7} {'low':>7} {'high':>7}  verdict"]
    lines += [
        f"{s.layer:24} {s.quantity:10} {s.slope:7.3f} {s.low:7.3f} {s.high:7.3f}  {s.verdict}"
        for s in found
    ]
    changes = {s.verdict for s in found if s.quantity == "change"}
    verdict = "width-independent" if changes == {"stable"} else ", ".join(sorted(changes))
    lines.append(f"{name}: changes over widths {list(widths)} are {verdict}")
    return lines
