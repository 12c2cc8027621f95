"""Training from scratch or from an upscaled base (Ma et al., arXiv 2602.10545): MLP, ResNet, GPT-2.

One protocol for three architectures: cross-entropy, muP, a warm start that widens a checkpoint
with its optimizer, perturbs it, and goes on at a learning rate of its own.
"""

from collections.abc import Mapping
from pathlib import Path

import torch

from repro import models, parametrization, upscaling
from repro.data.loading import load_data
from repro.errors import UserError
from repro.parametrization import KINDS
from repro.training import checkpoints, clipping, distributed, loop
from repro.training import device as devices
from repro.training.evaluation import loss, validation
from repro.training.optimizer import make_groups, make_optimizer


def upscale(
    start: Mapping,
    model: Mapping,
    fixed: Mapping,
    parametrization_name: str,
    optimizer: Mapping,
    lr: float,
    seed: int,
    device: torch.device,
):
    """(upscaled model, its optimizer, growth, noise constants) by Meta-algorithm 1.

    start: "checkpoint", the base run; "width", its width; "noise", "gaussian" or "signal";
    "convention"; "level", sigma_delta, t, or one constant a tensor.
    model: the target's settings; fixed: what its data say beside them (`models.build`).
    Raises UserError on a base that differs in more than width, and on widths that do not divide.
    """
    checkpoint, settings = start["checkpoint"], start["checkpoint"]["spec"]
    narrow, target = settings["model"]["width"], model["width"]
    if narrow != start["width"]:
        raise UserError(f"the base has width {narrow}, not {start['width']} as start.width says")
    if target % narrow:
        raise UserError(f"width {narrow} cannot be widened to {target}: no whole multiple")
    check_base(settings, model, optimizer)
    with torch.device(device):
        base = models.build(settings["model"], parametrization_name, **fixed)
    groups = make_groups(base, parametrization_name, settings["optimizer"], settings["lr"])
    base_optimizer = make_optimizer(groups, settings["optimizer"])
    checkpoints.load(checkpoint, base, base_optimizer)
    factor = round(target / narrow)
    wide, widened = upscaling.widen(base, base_optimizer, factor)
    growth = upscaling.growth_by(base, wide, factor, base.wider)
    constants = upscaling.perturb(
        wide,
        start["level"],
        torch.Generator(device).manual_seed(seed),
        factor=factor,
        convention=start["convention"],
        signal=start["noise"] == "signal",
    )
    result = make_optimizer(make_groups(wide, parametrization_name, optimizer, lr), optimizer)
    result.state.update(widened.state)
    return wide, result, growth, constants


def check_base(settings: Mapping, model: Mapping, optimizer: Mapping) -> None:
    """Raise UserError where a base's spec has another model, width aside, or another optimizer."""
    theirs = settings["model"] | {"width": None, "optimizer": settings["optimizer"]["name"]}
    ours = model | {"width": None, "optimizer": optimizer["name"]}
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            raise UserError(
                f"the base has {key} {theirs.get(key)!r}, the run {ours.get(key)!r}: "
                "upscaling changes the width alone"
            )


def run(
    *,
    dataset: str,
    data: Mapping,
    model: Mapping,
    parametrization_name: str,
    start: Mapping | None,
    optimizer: Mapping,
    lr: float,
    steps: int,
    parts: int,
    evaluations: int,
    precision: str,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: str,
    progress,
    checkpoint: Path,
    final: Path | None = None,
) -> list[dict]:
    """Train one model; records as `repro.training.loop.train`, with `valid_loss`, `valid_accuracy`.

    start: None, or the base to upscale (`upscale`); then also `outside` and `inside`, distances
    from the widened subspace and along it, and in the last record `noise`, each tensor's base
    constant. optimizer: as `make_groups`, and "clip", None or {"norm", "width_aware"}.
    final: where to leave the final checkpoint.
    """
    on = devices.select(device, threads)
    batches, held_out, fixed = load_data(dataset, data, model, parts, inputs, seed, on)
    growth, constants = None, {}
    if start is None:
        with torch.device(on):
            net = models.build(model, parametrization_name, **fixed)
        generator = torch.Generator(on).manual_seed(seed)
        parametrization.initialize(net, dict.fromkeys(KINDS, parametrization_name), generator)
        stepper = make_optimizer(make_groups(net, parametrization_name, optimizer, lr), optimizer)
    else:
        net, stepper, growth, constants = upscale(
            start, model, fixed, parametrization_name, optimizer, lr, seed, on
        )
    origin = {name: p.detach().clone() for name, p in net.named_parameters()} if growth else {}

    def evaluate() -> dict[str, float]:
        result = validation(net, held_out, precision)
        if growth:
            result |= displacement(net, origin, growth)
        return result

    records = loop.train(
        net,
        loss,
        batches,
        stepper,
        steps=steps,
        parts=parts,
        evaluations=evaluations,
        precision=precision,
        progress=progress,
        checkpoint=checkpoint,
        clip=clipping.clipper(net, optimizer["clip"]),
        evaluate=evaluate,
    )
    if constants:
        records[-1]["noise"] = constants
    if final:
        checkpoints.save(final, net, stepper)
    return records


def displacement(net, origin: Mapping, growth: Mapping) -> dict[str, float]:
    """`outside`: distance of the weights from the widened subspace; `inside`: how far their
    projection on it moved since the start."""
    moved = 0.0
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            change = distributed.whole(parameter) - origin[name]
            moved += float(growth[name].project(change).square().sum())
    gathered = ((name, distributed.whole(p)) for name, p in net.named_parameters())
    return {"outside": upscaling.subspace_distance(gathered, growth)[0], "inside": moved**0.5}
