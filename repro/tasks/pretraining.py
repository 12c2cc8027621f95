"""Pretraining at an embedding learning rate of its own (Hayou & Liu, arXiv 2506.15025, 4.2)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch

from repro import models, parametrization
from repro.data import tokenization
from repro.data.loading import load_data
from repro.data.needs import Text, Tokens
from repro.data.text import read_split, split_or_nearest
from repro.files import read_json
from repro.parametrization import KINDS
from repro.training import clipping, loop
from repro.training import device as devices
from repro.training import optimizer as optimizers
from repro.training.evaluation import loss, validation
from repro.training.optimizer import make_optimizer
from repro.training.perplexity import exponential, log_probabilities, word_perplexity
from repro.training.schedule import make_schedule


def ratio(width: int, embedding_lr: Mapping) -> float:
    """The embedding's learning rate over all others': factor * width^power."""
    return embedding_lr["factor"] * width ** embedding_lr["power"]


def make_groups(net, scaling: str, optimizer: Mapping, lr: float, embedding_lr: Mapping):
    """Optimizer groups: one rate for every role but the embedding, whose is `ratio` times that.

    scaling: parametrization whose factors multiply both.
    """
    rates = dict.fromkeys(KINDS, lr) | {"embedding": ratio(net.width, embedding_lr) * lr}
    return optimizers.make_groups(net, scaling, optimizer, rates)


def beginning(text: str, words: int | None) -> str:
    """Whole lines until they have at least `words` words; all of them if None."""
    if words is None:
        return text
    lines, count = [], 0
    for line in text.splitlines(keepends=True):
        if count >= words:
            break
        lines.append(line)
        count += len(line.split())
    return "".join(lines)


class Words(NamedTuple):
    """A text to evaluate: tokens_N, its ids; words, how many they spell; split, which it is."""

    tokens_N: torch.Tensor
    words: int
    split: str


def load_words(words: Mapping, need: Tokens, inputs: Mapping, device) -> Words:
    """A text encoded by the tokenizer of the training corpus.

    words: {"dataset", "split", "limit"}, the last as `beginning` has it. Where a text lacks the
    split, the last it has is taken.
    Words are what whitespace separates in the text as published, `<unk>` and punctuation
    included: 241,211 in WikiText-2's test split. The published 245,569 count the 4,358 ends of
    lines too, which a tokenizer that splits at whitespace does not predict.
    The separator of the corpus, where it has one, comes first, so that every token is predicted.
    """
    from tokenizers import Tokenizer

    path = inputs[Text(words["dataset"])]
    split = split_or_nearest(path, words["split"])
    text = beginning(read_split(path, split), words["limit"])
    manifest = Path(inputs[need])
    tokenizer = Tokenizer.from_file(str(manifest.parent / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # their names in a text are plain text
    separator = read_json(manifest).get("separator")
    ids = tokenization.encode(tokenizer, [text]).tolist()
    ids = ids if separator is None else [separator, *ids]
    return Words(torch.tensor(ids, device=device), len(text.split()), split)


def make_evaluation(
    net, held_out, text: Words | None, length: int, stride: int, precision: str
) -> Callable[[], dict]:
    """What is evaluated: `valid_perplexity`, and with a text also `word_perplexity`, in windows of
    `length` tokens moved by `stride`."""
    device = next(net.parameters()).device

    def logits(tokens_BT: torch.Tensor) -> torch.Tensor:
        with devices.autocast(device, precision):
            return net(tokens_BT)

    def evaluate() -> dict[str, float]:
        found = validation(net, held_out, precision)
        result = {"valid_perplexity": exponential(found["valid_loss"])}
        if text:
            at_once = len(held_out[0][0])
            scores = log_probabilities(logits, text.tokens_N, length, stride, at_once)
            result["word_perplexity"] = word_perplexity(scores, text.words)
        return result

    return evaluate


def run(
    *,
    dataset: str,
    data: Mapping,
    words: Mapping | None,
    model: Mapping,
    init: str,
    scaling: str,
    embedding_lr: Mapping,
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
    """Train one model; records as `repro.training.loop.train`, with `ratio`, `tokens` read,
    `train_perplexity`, that of the mean loss since the last record, `valid_perplexity` and, with
    `words`, `word_perplexity` of another text.

    data: as `warm_start.load_data` has it for tokens. words: as `load_words`, and "stride" of the
    windows, tokens. init: parametrization whose init every role takes. scaling, embedding_lr: as
    `make_groups`. optimizer: also "weight_decay", "decayed", "clip". schedule: `make_schedule`'s.
    """
    on = devices.select(device, threads)
    batches, held_out, fixed = load_data(dataset, data, model, parts, inputs, seed, on)
    with torch.device(on):
        net = models.build(model, scaling, **fixed)
    generator = torch.Generator(on).manual_seed(seed)
    parametrization.initialize(net, dict.fromkeys(KINDS, init), generator)
    need = Tokens(dataset, data["vocab_size"], data["tokenizer"])
    length = data["sequence_length"]
    text = load_words(words, need, inputs, on) if words else None
    stride = words["stride"] if words else length
    records = loop.train(
        net,
        loss,
        batches,
        make_optimizer(make_groups(net, scaling, optimizer, lr, embedding_lr), optimizer),
        steps=steps,
        evaluations=evaluations,
        precision=precision,
        progress=progress,
        checkpoint=checkpoint,
        clip=clipping.clipper(net, optimizer["clip"]),
        evaluate=make_evaluation(net, held_out, text, length, stride, precision),
        schedule=make_schedule(schedule, steps),
        parts=parts,
    )
    kept = ["valid_perplexity", *(["word_perplexity"] if words else [])]
    return [
        {
            "step": record["step"],
            "ratio": ratio(net.width, embedding_lr),
            "tokens": record["step"] * data["batch_size"] * length,
            "train_loss": record["train_loss"],
            "train_perplexity": exponential(record["train_loss"]),
            **{key: record.get(key, float("inf")) for key in kept},
            **({"skipped": record["skipped"]} if "skipped" in record else {}),
            **({"words_split": text.split} if text else {}),
        }
        for record in records
    ]
