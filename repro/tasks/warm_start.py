"""Training from scratch or from an upscaled base (Ma et al., arXiv 2602.10545): MLP, ResNet, GPT-2.

The same protocol for three architectures: cross-entropy and muP. A warm start widens a checkpoint
and its optimizer state, adds noise, and continues training with a new learning rate.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch

from repro import backend
from repro.data.loading import load_data as load_data  # called by `repro.tasks.Task`
from repro.errors import UserError
from repro.tasks.trainable import Trainable
from repro.training import checkpoints
from repro.training.loop import Training
from widthwise import upscaling


def upscale(run: Trainable, start: Mapping):
    """(upscaled model, its optimizer, growth, noise constants) by Meta-algorithm 1.

    start: "checkpoint", the base run; "width", its width; "noise", "gaussian" or "signal";
    "convention" of the noise level; "level": sigma_delta, t, or one constant per tensor; "by", what
    stands beside old units ("copies" where it is not said), and "shrink", as `widen` takes them.
    Raises UserError if the base differs in more than width, or the width is no multiple of its.
    """
    checkpoint, settings = start["checkpoint"], start["checkpoint"]["spec"]
    narrow, target = settings["model"]["width"], run.model["width"]
    if narrow != start["width"]:
        raise UserError(f"the base has width {narrow}, not {start['width']} as start.width says")
    if target % narrow:
        raise UserError(f"width {narrow} cannot be widened to {target}: no whole multiple")
    check_base(settings, run.model, run.optimizer)
    # The checkpoint holds tensors only: the base is built anew, with its optimizer, to hold them.
    of_base = replace(run, **{key: settings[key] for key in ("model", "optimizer", "lr")})
    base = of_base.network()
    base_optimizer = of_base.updates(base)
    checkpoints.load(checkpoint, base, base_optimizer)
    factor = round(target / narrow)
    by = start.get("by", "copies")
    wide, widened, growth = upscaling.widen(
        base,
        base_optimizer,
        factor,
        # What is new beside what was shrunk is the target's own draw.
        (lambda _: run.network()) if by == "shrink" else None,
        next(iter(run.loaded.held_out))[0] if by == "zeros" else None,
        unchecked=True,
        averages=["*"],
        by=by,
        **({"shrink": start["shrink"]} if by == "shrink" else {}),
    )
    constants = upscaling.perturb(
        wide,
        start["level"],
        backend.generator(run.device, run.seed),
        factor=factor,
        convention=start["convention"],
        signal=start["noise"] == "signal",
    )
    # Widened optimizer state, but groups of the wide model at its own learning rate.
    result = run.updates(wide)
    result.state.update(widened.state)
    return wide, result, growth, constants


def check_base(settings: Mapping, model: Mapping, optimizer: Mapping) -> None:
    """Raise UserError if the base has another model, apart from its width, or another optimizer."""
    theirs = {**settings["model"], "width": None, "optimizer": settings["optimizer"]["name"]}
    ours = {**model, "width": None, "optimizer": optimizer["name"]}
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            raise UserError(
                f"the base has {key} {theirs.get(key)!r}, the run {ours.get(key)!r}: "
                "upscaling changes the width alone"
            )


def build(run: Trainable, *, start: Mapping | None) -> Training:
    """A model from scratch or upscaled; records have `valid_loss` and `valid_accuracy`.

    start: None, or the base to upscale (see `upscale`). Upscaled runs also record `outside` and
    `inside` (see `displacement`) and, in the last record, `noise`, each tensor's base constant.
    """
    if start is None:
        net = run.network()
        updates, growth, constants = run.updates(net), None, {}
    else:
        net, updates, growth, constants = upscale(run, start)
    # Where training starts: `inside` is the distance moved from here.
    origin = {name: p.detach().clone() for name, p in net.named_parameters()} if growth else {}

    def evaluate(found: dict[str, float]) -> dict[str, float]:
        return found | (displacement(net, origin, growth) if growth else {})

    def finish(records: list[dict]) -> list[dict]:
        if constants:
            records[-1]["noise"] = constants
        return records

    return run.training(
        net, updates, held_out=run.loaded.held_out, evaluate=evaluate, finish=finish
    )


def displacement(net, origin: Mapping, growth: Mapping) -> dict[str, float]:
    """`outside`: distance of the weights from the subspace of widened models; `inside`: distance
    that their projection on it has moved since the start."""
    moved = 0.0
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            change = parameter - origin[name]
            moved += float(growth[name].project(change).square().sum())
    outside = upscaling.subspace_distance(net.named_parameters(), growth)[0]
    return {"outside": outside, "inside": moved**0.5}
