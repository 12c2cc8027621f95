"""Image classification by a Vision Transformer (Dinan, Yaida & Zhang, arXiv 2304.02034, II.1)."""

import math
from collections.abc import Mapping
from pathlib import Path

import torch

from repro import models, parametrization
from repro.data.arrays import load_arrays
from repro.data.image_folder import load_index
from repro.data.needs import Arrays
from repro.data.recipe import ArrayImages, cross_entropy, evaluation_batches, training_batches
from repro.parametrization import KINDS
from repro.training import clipping, loop
from repro.training import device as devices
from repro.training.evaluation import validation
from repro.training.optimizer import make_groups, make_optimizer
from repro.training.schedule import make_schedule


def load_images(dataset: str, manifest: Path) -> dict:
    """Split -> its images, from files or from arrays."""
    return load_index(dataset, manifest) or {
        split: ArrayImages(part["inputs"], part["labels"])
        for split, part in load_arrays(manifest).items()
    }


def run(
    *,
    dataset: str,
    data: Mapping,
    model: Mapping,
    parametrization_name: str,
    factors: Mapping[str, float],
    optimizer: Mapping,
    lr: float,
    schedule: Mapping,
    label_smoothing: float,
    steps: int,
    evaluations: int,
    parts: int,
    precision: str,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: str,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Train one model; records as `repro.training.loop.train`, with `valid_loss` (no smoothing),
    `valid_accuracy` (top-1) and `lowest_error`, 1 - the largest top-1 so far.

    data: as `repro.data.recipe`. factors: parameter name -> factor on its learning rate in place of
    the parametrization's. optimizer: `make_optimizer`'s, "eps", "weight_decay", "decayed"
    (kinds of role) and "clip" (`clipping.clipper`). schedule: {"name", "warmup", "final_lr"}, the
    rate that a group of factor 1 would end at (the paper's lr_min, II.1.D).
    """
    on = devices.select(device, threads)
    images = load_images(dataset, inputs[Arrays(dataset)])
    batches = training_batches(dataset, images["train"], data, model, seed, on)
    held_out = evaluation_batches(images["valid"], data, model["resolution"], on)
    with torch.device(on):
        net = models.build(model, parametrization_name)
    generator = torch.Generator(on).manual_seed(seed)
    parametrization.initialize(net, dict.fromkeys(KINDS, parametrization_name), generator)
    shape = {"name": schedule["name"], "warmup": schedule["warmup"]}
    records = loop.train(
        net,
        cross_entropy(label_smoothing),
        batches,
        make_optimizer(make_groups(net, parametrization_name, optimizer, lr, factors), optimizer),
        steps=steps,
        evaluations=evaluations,
        precision=precision,
        progress=progress,
        checkpoint=checkpoint,
        clip=clipping.clipper(net, optimizer["clip"]),
        evaluate=lambda: validation(net, held_out, precision),
        schedule=make_schedule(shape | {"final": schedule["final_lr"] / lr}, steps),
        parts=parts,
    )
    lowest = math.inf
    for record in records:
        if "valid_accuracy" in record:
            lowest = min(lowest, 1 - record["valid_accuracy"])
            record["lowest_error"] = lowest
    return records
