"""Span denoising by an encoder-decoder (Dinan, Yaida & Zhang, arXiv 2304.02034, II.2)."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F

from repro import models, parametrization
from repro.data import denoising
from repro.data.denoising import Denoising, DenoisingBatches
from repro.data.needs import Tokens
from repro.data.tokenization import load_tokens
from repro.models.bart import BART
from repro.parametrization import KINDS
from repro.training import clipping, loop
from repro.training import device as devices
from repro.training.optimizer import make_groups, make_optimizer
from repro.training.schedule import make_schedule

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def summed_loss(net: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Cross-entropy in nats of every token of the original blocks, padding left out; their sum."""
    source, previous, target, _ = batch
    logits = net(source, previous).flatten(0, 1).float()
    return F.cross_entropy(
        logits, target.flatten(), ignore_index=denoising.PADDING, reduction="sum"
    )


def make_loss(batch_size: int) -> Callable[[torch.nn.Module, Batch], torch.Tensor]:
    """The loss of equal parts of a batch, whose mean is the mean over the whole batch's tokens."""

    def loss(net: torch.nn.Module, batch: Batch) -> torch.Tensor:
        parts = batch_size / len(batch[0])
        return summed_loss(net, batch) * (parts / batch[3][0])

    return loss


@torch.no_grad()
def validation(net: torch.nn.Module, batches: Sequence[Batch], precision: str) -> dict[str, float]:
    """`valid_loss`: mean over every token, nats."""
    total = 0.0
    for batch in batches:
        with devices.autocast(batch[0].device, precision):
            total += float(summed_loss(net, batch))
    return {"valid_loss": total / sum(int(batch[3][0]) for batch in batches)}


def load_data(dataset: str, data: Mapping, parts: int, inputs: Mapping, seed: int, device):
    """(training batches, validation batches, what the data fix of the model).

    data: {"batch_size", "sequence_length", "vocab_size" (the tokenizer's), "tokenizer",
    "mask_share", "span_mean", "validation_blocks"}. The validation blocks and their noise are the
    same for every seed, in every evaluation.
    """
    path = inputs[Tokens(dataset, data["vocab_size"], data["tokenizer"])]
    manifest, tokens = load_tokens(path)
    names = denoising.read_vocabulary(Path(path))
    length = data["sequence_length"]
    noise = Denoising(names, data["mask_share"], data["span_mean"], length)

    def batches(split: str, size: int, order: int) -> DenoisingBatches:
        separator = manifest.get("separator")
        return DenoisingBatches(
            dataset, tokens[split], separator, noise, size, length, order, device
        )

    at_once = max(1, data["batch_size"] // parts)
    valid = batches("valid", at_once, 0)
    count = max(1, min(valid.per_epoch, data["validation_blocks"] // at_once))
    return (
        batches("train", data["batch_size"], seed),
        list(islice(valid.from_step(0), count)),
        {"vocab_size": names.size, "padding": denoising.PADDING, "sequence_length": length},
    )


def start(net: BART, parametrization_name: str, seed: int) -> None:
    """Draw the initial parameters; the word embedding of [pad] is zero."""
    generator = torch.Generator(net.embedding.weight.device).manual_seed(seed)
    parametrization.initialize(net, dict.fromkeys(KINDS, parametrization_name), generator)
    net.clear_padding()


def run(
    *,
    dataset: str,
    data: Mapping,
    model: Mapping,
    parametrization_name: str,
    optimizer: Mapping,
    lr: float,
    schedule: Mapping,
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
    """Train one model; records as `training.loop.train`, with `valid_loss`, both losses in bits as
    `train_bits` and `valid_bits`, and `lowest_valid_loss`, the smallest so far.

    optimizer: {"name": "adamw", "betas", "eps", "eps_convention", "weight_decay", "clip"}, the last
    as `clipping.clipper` has it. schedule: as `make_schedule`, and "steps", the length it is made
    for, which a run may stop short of. seed: of the parameters, the order, the noise and dropout.
    """
    on = devices.select(device, threads)
    batches, held_out, fixed = load_data(dataset, data, parts, inputs, seed, on)
    with torch.device(on):
        net = models.build(model, parametrization_name, **fixed)
    start(net, parametrization_name, seed)
    torch.manual_seed(seed)
    records = loop.train(
        net,
        make_loss(data["batch_size"]),
        batches,
        make_optimizer(make_groups(net, parametrization_name, optimizer, lr), optimizer),
        steps=steps,
        evaluations=evaluations,
        precision=precision,
        progress=progress,
        checkpoint=checkpoint,
        clip=clipping.clipper(net, optimizer["clip"]),
        evaluate=lambda: validation(net, held_out, precision),
        schedule=make_schedule(schedule, schedule["steps"]),
        parts=parts,
    )
    lowest = math.inf
    for record in records:
        record["valid_loss"] = finite(record.get("valid_loss", math.inf))
        lowest = min(lowest, record["valid_loss"])
        diverged = math.isinf(record["train_loss"])
        record["lowest_valid_loss"] = math.inf if diverged else lowest
        for part in ("train", "valid"):
            record[f"{part}_bits"] = record[f"{part}_loss"] / math.log(2)
    return records


def finite(value: float) -> float:
    """The value, infinite where it is not a number."""
    return math.inf if math.isnan(value) else value
