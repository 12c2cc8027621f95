"""Does a widened model train exactly as its base would? Ma et al., Appendix C.4, in float64."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F

from repro import models
from repro.training import clipping
from repro.training.optimizer import make_groups, make_optimizer
from widthwise import upscaling
from widthwise.parametrization import plan

BATCHES = 4  # random batches, used in turn


def random_batches(model: Mapping, data: Mapping, generator: torch.Generator) -> list[tuple]:
    """Inputs and labels for a model of the suite: Gaussian features or images, random tokens."""
    result = []
    for _ in range(BATCHES):
        if model["name"] == "gpt2":
            shape = (data["batch_size"], data["sequence_length"] + 1)
            tokens = torch.randint(data["vocab_size"], shape, generator=generator)
            result.append((tokens[:, :-1], tokens[:, 1:]))
            continue
        side = data.get("resolution")
        features = (3, side, side) if model["name"] == "resnet" else (model["inputs"],)
        shape = (data["batch_size"], *features)
        inputs = torch.randn(shape, generator=generator, dtype=torch.float64)
        labels = torch.randint(model["classes"], shape[:1], generator=generator)
        result.append((inputs, labels))
    return result


def train_step(model, optimizer, batch, clip) -> torch.Tensor:
    """One training step; returns the outputs computed before the update."""
    outputs = model(batch[0])
    optimizer.zero_grad()
    F.cross_entropy(outputs.flatten(0, -2), batch[1].flatten()).backward()
    if clip:
        clip()
    optimizer.step()
    return outputs.detach()


def run(
    *,
    model: Mapping,
    data: Mapping,
    parametrization: str,
    optimizer: Mapping,
    lr: float,
    factor: int,
    steps_before: int,
    steps: int,
    clip: Mapping | None,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint,
) -> list[dict]:
    """One record per step after widening: `difference`, max |f_wide - f_base| / max |f_base|.

    The base trains `steps_before` steps and is widened by `factor` with its optimizer; then base
    and wide model train on the same batches. clip: {"norm", "width_aware"} or None.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = {}
    if model["name"] == "gpt2":
        shape = {key: data[key] for key in ("vocab_size", "sequence_length")}
    base = models.build(model, parametrization, **shape)
    plan(base, None, parametrization).init_(generator)
    base = base.to(device=device, dtype=torch.float64)
    batches = [
        tuple(t.to(device) for t in batch) for batch in random_batches(model, data, generator)
    ]
    groups = make_groups(base, parametrization, optimizer, lr)
    base_optimizer = make_optimizer(groups, optimizer)
    base_clip = clipping.clipper(base, clip)
    for step in range(steps_before):
        train_step(base, base_optimizer, batches[step % BATCHES], base_clip)
    wide, wide_optimizer, _ = upscaling.widen(
        base, base_optimizer, factor, unchecked=True, averages=["*"]
    )
    wide_clip = clipping.clipper(wide, clip)
    records, worst = [], 0.0
    for step in range(steps):
        batch = batches[(steps_before + step) % BATCHES]
        expected = train_step(base, base_optimizer, batch, base_clip)
        found = train_step(wide, wide_optimizer, batch, wide_clip)
        worst = float((found - expected).abs().max() / expected.abs().max())
        records.append({"step": step, "difference": worst})
        progress(step + 1, worst)
    return records
