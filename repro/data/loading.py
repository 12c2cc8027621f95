"""Batches of a prepared dataset: rows of a table, images or tokens."""

from collections.abc import Mapping

from repro.data.arrays import load_arrays
from repro.data.augmentation import CropFlip, Normalize, image_statistics, pool
from repro.data.batches import ArrayBatches, OrderedBatches, TokenBatches
from repro.data.needs import Arrays, Tokens
from repro.data.tokenization import load_tokens
from repro.errors import UserError

PAD = 4 / 32  # of an image's side: 4 of 32 pixels, Appendix F.2


EVALUATION_BATCH = 1_000


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
