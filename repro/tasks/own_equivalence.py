"""Do modules of torch.nn alone, widened by `widthwise.widen`, train exactly as their bases would?

As `dynamic_equivalence` (Ma et al., Appendix C.4), for what its models do not show: readouts that
sum over the width, heads that grow in number, and widths that grow apart. In float64.
"""

from collections.abc import Callable, Mapping

import torch
from torch import nn

from repro import models
from repro.tasks.dynamic_equivalence import train_step
from repro.training.optimizer import make_optimizer
from widthwise.parametrization import plan
from widthwise.upscaling.widening import widen

BATCHES = 4  # random batches, used in turn
FEATURES, CLASSES, ROWS, HEAD_DIM, TOKENS = 5, 3, 16, 4, 4


def summing(factor: int) -> nn.Module:
    """A multi-layer perceptron whose readout sums over the width, as torch's layers do."""
    n = 16 * factor
    return nn.Sequential(
        nn.Linear(FEATURES, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(), nn.Linear(n, CLASSES)
    )


class Heads(nn.Module):
    """A block of a Transformer, whose heads are as many as the width allows; its readout sums."""

    def __init__(self, factor: int):
        super().__init__()
        n = 4 * HEAD_DIM * factor
        self.input = nn.Linear(FEATURES, n)
        self.block = nn.TransformerEncoderLayer(
            n, n // HEAD_DIM, 2 * n, dropout=0.0, activation="gelu", batch_first=True
        )
        self.output = nn.Linear(n, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, TOKENS, FEATURES) -> (B, TOKENS, CLASSES)."""
        return self.output(self.block(self.input(x)))


def _stages(seed: int) -> tuple[nn.Module, Callable]:
    """A ResNet of the suite whose stages grow by k, k + 1, k and k + 1; its readout averages."""
    settings = {"name": "resnet", "classes": CLASSES, "width": 1 / 16, "base_width": 1.0}
    base = models.build(settings, "muP-multiplier")
    generator = torch.Generator().manual_seed(seed)
    plan(base, None, "muP-multiplier").init_(generator)
    return base, lambda k: base.wider(k if isinstance(k, tuple) else (k,) * 4)


def _made(kind: str, seed: int) -> tuple[nn.Module, Callable, tuple[int, ...]]:
    """(the base, factor -> the same module wider, the shape of a batch's inputs)."""
    if kind == "stages":
        return *_stages(seed), (8, 3, 16, 16)
    make, shape = {
        "summing": (summing, (ROWS, FEATURES)),
        "heads": (Heads, (ROWS, TOKENS, FEATURES)),
    }[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(1), make, shape


def run(
    *,
    kind: str,
    optimizer: Mapping,
    lr: float,
    factor: int,
    steps_before: int,
    steps: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint,
) -> list[dict]:
    """One record per step after widening: `difference`, max |f_wide - f_base| / max |f_base|.

    kind: "summing", "heads" or "stages". Else as in `dynamic_equivalence`, without clipping.
    """
    base, make, shape = _made(kind, seed)
    base = base.to(device=device, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(BATCHES):
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        labels = torch.randint(CLASSES, shape[:1] if kind == "stages" else shape[:-1],
                               generator=generator)  # fmt: skip
        batches.append((x.to(device), labels.to(device)))
    settings = {key: optimizer[key] for key in ("eps", "weight_decay") if key in optimizer}
    groups = [{"params": [*base.parameters()], "lr": lr, **settings}]
    base_optimizer = make_optimizer(groups, optimizer)
    for before in range(steps_before):
        train_step(base, base_optimizer, batches[before % BATCHES], None)
    grown = (factor, factor + 1, factor, factor + 1) if kind == "stages" else factor
    wide, wide_optimizer, _ = widen(base, base_optimizer, grown, make, batches[0][0])
    records = []
    for after in range(steps):
        batch = batches[(steps_before + after) % BATCHES]
        expected = train_step(base, base_optimizer, batch, None)
        found = train_step(wide, wide_optimizer, batch, None)
        worst = float((found - expected).abs().max() / expected.abs().max())
        records.append({"step": after, "difference": worst})
        progress(after + 1, worst)
    return records
