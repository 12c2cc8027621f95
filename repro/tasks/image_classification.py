"""Image classification by a Vision Transformer (Dinan, Yaida & Zhang, arXiv 2304.02034, II.1)."""

import math
from collections.abc import Mapping
from pathlib import Path

import torch

from repro.data.arrays import load_arrays
from repro.data.image_folder import load_index
from repro.data.loading import Data
from repro.data.needs import Arrays
from repro.data.recipe import ArrayImages, cross_entropy, evaluation_batches, training_batches
from repro.tasks.trainable import Trainable
from repro.training import ranks
from repro.training.loop import Training
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
    run: Trainable, *, factors: Mapping[str, float], schedule: Mapping, label_smoothing: float
) -> Training:
    """A Vision Transformer; records have `valid_loss` (no smoothing), `valid_accuracy` (top-1) and
    `lowest_error`, 1 - the largest top-1 so far.

    factors: parameter name -> learning-rate factor that replaces the parametrization's. schedule:
    {"name", "warmup", "final_lr"}; a group whose factor is 1 would end at learning rate final_lr
    (the paper's lr_min, II.1.D).
    """
    net = run.network()
    shape = {"name": schedule["name"], "warmup": schedule["warmup"]}
    return run.training(
        net,
        run.updates(net, factors=factors),
        cross_entropy(label_smoothing),
        held_out=run.loaded.held_out,
        schedule=make_schedule(shape | {"final": schedule["final_lr"] / run.lr}, run.steps),
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
