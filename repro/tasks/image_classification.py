"""Image classification by a Vision Transformer (Dinan, Yaida & Zhang, arXiv 2304.02034, II.1)."""

import math
from collections.abc import Mapping
from pathlib import Path

import torch

from repro import models
from repro.data.arrays import load_arrays
from repro.data.image_folder import load_index
from repro.data.loading import Data
from repro.data.needs import Arrays
from repro.data.recipe import ArrayImages, cross_entropy, evaluation_batches, training_batches
from repro.training import clipping, ranks
from repro.training.loop import Training
from repro.training.optimizer import make_groups, make_optimizer
from repro.training.schedule import make_schedule


def load_images(dataset: str, manifest: Path) -> dict:
    """Split -> its images, read from image files or from an array."""
    return load_index(dataset, manifest) or {
        split: ArrayImages(part["inputs"], part["labels"])
        for split, part in load_arrays(manifest).items()
    }


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """Images with the augmentation of `repro.data.recipe`."""
    data, model = spec["data"], spec["model"]
    dataset = data["dataset"]
    images = load_images(dataset, inputs[Arrays(dataset)])
    on_device = ranks.current_layout().augment
    seed, side = spec["seed"], model["resolution"]
    return Data(
        training_batches(dataset, images["train"], data, model, seed, device, on_device),
        evaluation_batches(images["valid"], data, side, device, on_device),
    )


def build(
    *,
    data: Mapping,
    model: Mapping,
    parametrization: str,
    factors: Mapping[str, float],
    optimizer: Mapping,
    lr: float,
    schedule: Mapping,
    label_smoothing: float,
    steps: int,
    evaluations: int,
    microbatches: int,
    precision: str,
    threads: int,
    seed: int,
    loaded: Data,
    device: torch.device,
) -> Training:
    """A Vision Transformer; records have `valid_loss` (no smoothing), `valid_accuracy` (top-1) and
    `lowest_error`, 1 - the largest top-1 so far.

    data: see `recipe.training_batches`. factors: parameter name -> learning-rate factor that
    replaces the parametrization's. optimizer: see `make_groups`; and "clip", see
    `clipping.clipper`. schedule: {"name", "warmup", "final_lr"}; a group whose factor is 1 would
    end at learning rate final_lr (the paper's lr_min, II.1.D).
    """
    with torch.device(device):
        net = models.build(model, parametrization, **loaded.data_settings)
    models.draw(net, parametrization, seed)
    groups = make_groups(net, parametrization, optimizer, lr, factors)
    shape = {"name": schedule["name"], "warmup": schedule["warmup"]}
    return Training(
        net,
        make_optimizer(groups, optimizer),
        cross_entropy(label_smoothing),
        loaded.batches,
        steps=steps,
        evaluations=evaluations,
        precision=precision,
        seed=seed,
        microbatches=microbatches,
        clip=clipping.clipper(net, optimizer["clip"]),
        held_out=loaded.held_out,
        schedule=make_schedule(shape | {"final": schedule["final_lr"] / lr}, steps),
        finish=with_lowest_error,
    )


def with_lowest_error(records: list[dict]) -> list[dict]:
    """Add `lowest_error` to records with an accuracy; after a divergence records have none."""
    lowest = math.inf
    for record in records:
        if "valid_accuracy" in record:
            lowest = min(lowest, 1 - record["valid_accuracy"])
            record["lowest_error"] = lowest
    return records
