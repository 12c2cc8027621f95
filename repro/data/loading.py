"""What a run reads: training and validation batches, and model settings that the data determine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from repro.data.arrays import load_arrays
from repro.data.augmentation import CropFlip, Normalize, image_statistics, pool
from repro.data.batches import ArrayBatches, Batches, OrderedBatches, TokenBatches
from repro.data.needs import Arrays, Tokens
from repro.data.tokenization import load_tokens
from repro.errors import UserError

PAD = 4 / 32  # share of an image's side: 4 of 32 pixels, Ma et al., Appendix F.2
EVALUATION_BATCH = 1_000


class EvaluationText(NamedTuple):
    """A further text to evaluate, encoded with the training corpus' tokenizer.

    tokens_N: ids, (N,). word_count: number of words in the text. split: its name in the dataset.
    """

    tokens_N: torch.Tensor
    word_count: int
    split: str


@dataclass(frozen=True)
class Data:
    """The data of one run, on its device.

    batches: to train on.
    held_out: validation batches, gone through at every evaluation.
    data_settings: model settings that follow from the data (vocab_size, sequence_length).
    text: a further text to evaluate, if the task has one.
    """

    batches: Batches
    held_out: Iterable[tuple] = ()
    data_settings: Mapping[str, int] = field(default_factory=dict)
    text: EvaluationText | None = None


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """Rows of a table, images or tokens; the keys of `spec["data"]` say which.

    spec: "seed" (of the order), "microbatches", "model" and "data": {"dataset", "batch_size"} with,
    for images, "augment" and "resolution", for tokens "sequence_length", "vocab_size", "tokenizer"
    and "validation_blocks" (number of blocks to evaluate, 0 for none).
    inputs: need -> path of its manifest.
    Raises UserError when features or labels do not fit the model.
    """
    data = spec["data"]
    if "vocab_size" in data:
        return _token_blocks(spec, inputs, device)
    arrays = load_arrays(inputs[Arrays(data["dataset"])])
    labels, classes = arrays["train"]["labels"], spec["model"]["classes"]
    if labels.max() >= classes:
        raise UserError(f"{data['dataset']}: label {labels.max()} for a model of {classes} classes")
    return (_images if "resolution" in data else _rows)(spec, arrays, device)


def _token_blocks(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    data = spec["data"]
    dataset = data["dataset"]
    manifest, tokens = load_tokens(inputs[Tokens(dataset, data["vocab_size"], data["tokenizer"])])
    length = data["sequence_length"]
    batches = TokenBatches(
        dataset, tokens["train"], data["batch_size"], length, spec["seed"], device
    )
    settings = {"vocab_size": manifest["vocab_reached"], "sequence_length": length}
    if not data["validation_blocks"]:
        return Data(batches, data_settings=settings)
    # Validation batches are as large as a microbatch, which fits in memory; their order does not
    # matter, but must be the same for every seed.
    at_once = max(1, data["batch_size"] // spec["microbatches"])
    valid = TokenBatches(dataset, tokens["valid"], at_once, length, 0, device)
    count = max(1, min(valid.per_epoch, data["validation_blocks"] // at_once))
    held_out = [batch for batch, _ in zip(valid.from_step(0), range(count), strict=False)]
    return Data(batches, held_out, settings)


def _rows(spec: Mapping, arrays: Mapping, device: torch.device) -> Data:
    dataset, size = spec["data"]["dataset"], spec["data"]["batch_size"]
    features, expected = arrays["train"]["inputs"].shape[1], spec["model"]["inputs"]
    if features != expected:
        raise UserError(f"{dataset}: {features} features for a model of {expected}")
    return Data(
        ArrayBatches(dataset, **arrays["train"], batch_size=size, seed=spec["seed"], device=device),
        OrderedBatches(**arrays["valid"], batch_size=EVALUATION_BATCH, device=device),
    )


def _images(spec: Mapping, arrays: Mapping, device: torch.device) -> Data:
    data, seed = spec["data"], spec["seed"]
    train, valid = arrays["train"], arrays["valid"]
    normalize = Normalize(*image_statistics(train["inputs"]), device)
    images, held_out = (pool(part["inputs"], data["resolution"]) for part in (train, valid))
    augment = CropFlip(round(PAD * data["resolution"]), normalize, seed)
    batches = ArrayBatches(
        data["dataset"],
        images,
        train["labels"],
        data["batch_size"],
        seed,
        device,
        augment if data["augment"] else lambda x, step: normalize(x),
    )
    valid_batches = OrderedBatches(held_out, valid["labels"], EVALUATION_BATCH, device, normalize)
    return Data(batches, valid_batches)
