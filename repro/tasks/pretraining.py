"""Pretraining with a separate embedding learning rate (Hayou & Liu, arXiv 2506.15025, 4.2)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch

from repro import backend
from repro.data import loading, tokenization
from repro.data.loading import Data, EvaluationText
from repro.data.needs import Text, Tokens
from repro.data.text import cut, pieces, read_split, split_or_nearest
from repro.tasks.trainable import Trainable
from repro.training.loop import Training
from repro.training.perplexity import exponential, log_probabilities, word_perplexity
from repro.training.schedule import make_schedule
from widthwise.parametrization import KINDS


def ratio(width: int, embedding_lr: Mapping) -> float:
    """Ratio of the embedding's learning rate to that of all other roles: factor * width^power."""
    return embedding_lr["factor"] * width ** embedding_lr["power"]


def beginning(text: str, limit: int | None) -> str:
    """The first whole lines with at least `limit` words together; the whole text if None."""
    if limit is None:
        return text
    lines, count = [], 0
    for line in text.splitlines(keepends=True):
        if count >= limit:
            break
        lines.append(line)
        count += len(line.split())
    return "".join(lines)


def load_text(settings: Mapping, need: Tokens, inputs: Mapping, device) -> EvaluationText:
    """A text to evaluate, encoded by the tokenizer of the training corpus.

    settings: {"dataset", "split", "limit"}; limit: see `beginning`. If the dataset lacks the split,
    its last one is used.
    Words are separated by whitespace in the text as published, and include `<unk>` and punctuation:
    241,211 in WikiText-2's test split. The published 245,569 also count the 4,358 line ends, which
    a tokenizer that splits at whitespace does not predict.
    The text begins with the corpus' separator, if it has one, so that every token is predicted.
    """
    path = inputs[Text(settings["dataset"])]
    split = split_or_nearest(path, settings["split"])
    text = beginning(read_split(path, split), settings["limit"])
    manifest, tokenizer = tokenization.load_tokenizer(inputs[need])
    tokenizer.encode_special_tokens = True  # names of special tokens in the text are plain text
    separator = manifest.get("separator")
    ids = tokenization.encode(tokenizer, ([piece] for piece in pieces(cut(text), path)))
    first = [] if separator is None else [separator]
    tokens = torch.from_numpy(np.concatenate([first, ids]).astype(np.int64)).to(device)
    return EvaluationText(tokens, sum(len(part.split()) for part in pieces(cut(text), path)), split)


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """Blocks of the corpus, and the text to evaluate if there is one."""
    corpus, data = loading.load_data(spec, inputs, device), spec["data"]
    if not data["text"]:
        return corpus
    need = Tokens(data["dataset"], data["vocab_size"], data["tokenizer"])
    return replace(corpus, text=load_text(data["text"], need, inputs, device))


def make_evaluation(
    net, held_out, text: EvaluationText | None, length: int, stride: int, precision: str
) -> Callable[[Mapping[str, float]], dict]:
    """The function called at evaluations: `valid_perplexity`, and with a text `word_perplexity`,
    computed in windows of `length` tokens that move by `stride`, as many at once as `held_out` has
    sequences in a batch."""
    device = next(net.parameters()).device

    def logits(tokens_BT: torch.Tensor) -> torch.Tensor:
        with backend.autocast(device, precision):
            return net(tokens_BT)

    def evaluate(found: Mapping[str, float]) -> dict[str, float]:
        result = {"valid_perplexity": exponential(found["valid_loss"])}
        if text:
            at_once = len(held_out[0][0])
            scores = log_probabilities(logits, text.tokens_N, length, stride, at_once)
            result["word_perplexity"] = word_perplexity(scores, text.word_count)
        return result

    return evaluate


def build(
    run: Trainable, *, init: Mapping[str, str], embedding_lr: Mapping, schedule: Mapping
) -> Training:
    """A decoder; records have `ratio`, `tokens` read so far, `train_perplexity` (from the mean loss
    since the last record), `valid_perplexity` and, with a text, its `word_perplexity`.

    data: see `loading.load_data` for tokens; and "text", None or see `load_text`, whose "stride" is
    the tokens between two windows. init: see `models.draw`. embedding_lr: see `ratio`. schedule:
    see `make_schedule`.
    """
    net, data, loaded = run.network(init), run.data, run.loaded
    length = data["sequence_length"]
    stride = data["text"]["stride"] if data["text"] else length
    text, of_embedding = loaded.text, ratio(run.model["width"], embedding_lr)

    def finish(records: list[dict]) -> list[dict]:
        perplexities = ["valid_perplexity", *(["word_perplexity"] if text else [])]
        return [
            {
                "step": record["step"],
                "ratio": of_embedding,
                "tokens": record["step"] * data["batch_size"] * length,
                "train_loss": record["train_loss"],
                "train_perplexity": exponential(record["train_loss"]),
                # A run that diverged before its first record was never evaluated.
                **{key: record.get(key, math.inf) for key in perplexities},
                **({"skipped": record["skipped"]} if "skipped" in record else {}),
                **({"words_split": text.split} if text else {}),
            }
            for record in records
        ]

    rates = dict.fromkeys(KINDS, run.lr) | {"embedding": of_embedding * run.lr}
    return run.training(
        net,
        run.updates(net, lr=rates),
        held_out=loaded.held_out,
        evaluate=make_evaluation(net, loaded.held_out, text, length, stride, run.precision),
        schedule=make_schedule(schedule, run.steps),
        finish=finish,
    )
