"""Training from scratch or from an upscaled base (Ma et al., arXiv 2602.10545): MLP, ResNet, GPT-2.

One protocol for three architectures: cross-entropy, muP, a warm start that widens a checkpoint
with its optimizer, perturbs it, and goes on at a learning rate of its own.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import torch
import torch.nn.functional as F

from repro import checkpoints, clipping, distributed, models, parametrization, train, upscaling
from repro import device as devices
from repro.data.arrays import load_arrays
from repro.data.augmentation import CropFlip, Normalize, image_statistics, pool
from repro.data.batches import ArrayBatches, OrderedBatches, TokenBatches
from repro.data.tokenization import load_tokens
from repro.errors import UserError
from repro.parametrization import KINDS
from repro.tasks import Arrays, Tokens

PAD = 4 / 32  # of an image's side: 4 of 32 pixels, Appendix F.2
EVALUATION_BATCH = 1_000


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy in nats, of labels (B,) or of tokens (B, T)."""
    logits = model(batch[0]).flatten(0, -2)
    return F.cross_entropy(logits.float(), batch[1].flatten())


@torch.no_grad()
def validation(model: torch.nn.Module, batches: Sequence, precision: str) -> dict[str, float]:
    """`valid_loss` in nats and `valid_accuracy`, means over every row or token."""
    total = correct = count = 0.0
    for inputs, labels in batches:
        with devices.autocast(inputs.device, precision):
            logits = model(inputs).flatten(0, -2).float()
        labels = labels.flatten()
        total += float(F.cross_entropy(logits, labels, reduction="sum"))
        correct += float((logits.argmax(1) == labels).sum())
        count += len(labels)
    return {"valid_loss": total / count, "valid_accuracy": correct / count}


def load_data(
    dataset: str, data: Mapping, model: Mapping, parts: int, inputs: Mapping, seed: int, on
):
    """(training batches, validation batches, what the data fix of the model).

    data: {"batch_size", ...}; images also "augment" and "resolution", tokens "sequence_length",
    "vocab_size", "tokenizer" and "validation_blocks", how many blocks are evaluated.
    Raises UserError when features or labels are not those the model is for.
    """
    if "vocab_size" in data:
        need = Tokens(dataset, data["vocab_size"], data["tokenizer"])
        manifest, tokens = load_tokens(inputs[need])
        length = data["sequence_length"]
        batches = TokenBatches(dataset, tokens["train"], data["batch_size"], length, seed, on)
        at_once = max(1, data["batch_size"] // parts)
        valid = TokenBatches(dataset, tokens["valid"], at_once, length, 0, on)
        count = max(1, min(valid.per_epoch, data["validation_blocks"] // at_once))
        held_out = [batch for batch, _ in zip(valid.from_step(0), range(count), strict=False)]
        fixed = {"vocab_size": manifest["vocab_reached"], "sequence_length": length}
        return batches, held_out, fixed
    arrays = load_arrays(inputs[Arrays(dataset)])
    rows, valid = arrays["train"], arrays["valid"]
    if rows["labels"].max() >= model["classes"]:
        raise UserError(
            f"{dataset}: label {rows['labels'].max()} for a model of {model['classes']} classes"
        )
    if "resolution" not in data:
        if rows["inputs"].shape[1] != model["inputs"]:
            raise UserError(
                f"{dataset}: {rows['inputs'].shape[1]} features for a model of {model['inputs']}"
            )
        batches = ArrayBatches(dataset, **rows, batch_size=data["batch_size"], seed=seed, device=on)
        return batches, OrderedBatches(**valid, batch_size=EVALUATION_BATCH, device=on), {}
    normalize = Normalize(*image_statistics(rows["inputs"]), on)
    images, held_out = (pool(part["inputs"], data["resolution"]) for part in (rows, valid))
    batches = ArrayBatches(
        dataset,
        images,
        rows["labels"],
        data["batch_size"],
        seed,
        on,
        CropFlip(round(PAD * data["resolution"]), normalize, seed)
        if data["augment"]
        else lambda x, step: normalize(x),
    )
    return (
        batches,
        OrderedBatches(held_out, valid["labels"], EVALUATION_BATCH, on, normalize),
        {},
    )


def make_groups(
    model,
    parametrization_name: str,
    optimizer: Mapping,
    lr: float | Mapping[str, float],
    factors: Mapping[str, float] = MappingProxyType({}),
) -> list[dict]:
    """Optimizer groups under a parametrization, of any task.

    optimizer: `train.make_optimizer`'s, "weight_decay", "decayed" (kinds of role that decay, all if
    left out) and, for Adam, "eps". lr: constant of every role, or kind of role -> its own.
    factors: as `parametrization.param_groups`.
    """
    return parametrization.param_groups(
        model,
        scaling=parametrization_name,
        family=train.FAMILY[optimizer["name"]],
        lr=lr if isinstance(lr, Mapping) else dict.fromkeys(KINDS, lr),
        weight_decay=optimizer["weight_decay"],
        eps=optimizer.get("eps"),
        coupled=optimizer["name"] != "adamw",
        decayed=optimizer.get("decayed", KINDS),
        factors=factors,
    )


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
    base_optimizer = train.make_optimizer(groups, settings["optimizer"])
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
    result = train.make_optimizer(make_groups(wide, parametrization_name, optimizer, lr), optimizer)
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
    """Train one model; records as `repro.train.train`, with `valid_loss`, `valid_accuracy`.

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
        stepper = train.make_optimizer(
            make_groups(net, parametrization_name, optimizer, lr), optimizer
        )
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

    records = train.train(
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
    return {"outside": upscaling.subspace_distance(net, growth)[0], "inside": moved**0.5}
