"""Span denoising by an encoder-decoder (Dinan, Yaida & Zhang, arXiv 2304.02034, II.2)."""

import math
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F

from repro.data import denoising
from repro.data.denoising import Denoising, DenoisingBatches
from repro.data.loading import Data
from repro.data.needs import Tokens
from repro.data.tokenization import load_tokens
from repro.tasks.trainable import Trainable
from repro.training.evaluation import COUNT
from repro.training.loop import Training
from repro.training.schedule import make_schedule

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def summed_loss(net: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Sum of the cross-entropy in nats over all tokens of the original blocks, without padding."""
    source, previous, target, _ = batch
    logits = net(source, previous).flatten(0, 1).float()
    return F.cross_entropy(
        logits, target.flatten(), ignore_index=denoising.PADDING, reduction="sum"
    )


def make_loss(batch_size: int) -> Callable[[torch.nn.Module, Batch], torch.Tensor]:
    """The loss of a microbatch in nats, scaled so that the mean over microbatches is the mean over
    the batch's tokens.

    Microbatches have equally many rows, but because of padding not equally many tokens.
    """

    def loss(net: torch.nn.Module, batch: Batch) -> torch.Tensor:
        microbatches = batch_size / len(batch[0])
        return summed_loss(net, batch) * (microbatches / batch[3][0])

    return loss


def score(net: torch.nn.Module, batch: Batch) -> dict[str, torch.Tensor]:
    """The `Score` of `valid_loss` in nats, over all tokens."""
    return {"valid_loss": summed_loss(net, batch), COUNT: batch[3][0]}


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """Blocks of the corpus, corrupted anew in every epoch.

    spec["data"]: {"dataset", "batch_size", "sequence_length", "vocab_size" (the tokenizer's),
    "tokenizer", "mask_share", "span_mean", "validation_blocks"}. Validation blocks and their noise
    are the same for every seed and at every evaluation.
    """
    data = spec["data"]
    dataset = data["dataset"]
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

    # Validation batches are as large as a microbatch, which fits in memory.
    at_once = max(1, data["batch_size"] // spec["microbatches"])
    valid = batches("valid", at_once, 0)
    count = max(1, min(valid.per_epoch, data["validation_blocks"] // at_once))
    return Data(
        batches("train", data["batch_size"], spec["seed"]),
        list(islice(valid.from_step(0), count)),
        {"vocab_size": names.size, "padding": denoising.PADDING, "sequence_length": length},
    )


def build(run: Trainable, *, schedule: Mapping) -> Training:
    """An encoder-decoder; records have `valid_loss`, both losses in bits as `train_bits` and
    `valid_bits`, and `lowest_valid_loss`, the smallest so far.

    schedule: see `make_schedule`; and "steps", the length of the schedule; a run may stop earlier.
    """
    net = run.network()
    net.clear_padding()
    return run.training(
        net,
        run.updates(net),
        make_loss(run.data["batch_size"]),
        held_out=run.loaded.held_out,
        score=score,
        schedule=make_schedule(schedule, schedule["steps"]),
        finish=with_bits,
    )


def with_bits(records: list[dict]) -> list[dict]:
    """Add `lowest_valid_loss`, the lowest so far, and losses in bits to the records."""
    lowest = math.inf
    for record in records:
        record["valid_loss"] = finite(record.get("valid_loss", math.inf))
        lowest = min(lowest, record["valid_loss"])
        diverged = math.isinf(record["train_loss"])
        record["lowest_valid_loss"] = math.inf if diverged else lowest
        for split in ("train", "valid"):
            record[f"{split}_bits"] = record[f"{split}_loss"] / math.log(2)
    return records


def finite(value: float) -> float:
    """The value, or infinity if it is nan."""
    return math.inf if math.isnan(value) else value
