"""Perplexity of a text per token, in a sliding window, and per word."""

import math
from collections.abc import Callable

import torch


def windows(predictions: int, length: int, stride: int) -> list[tuple[int, int]]:
    """(begin, first) of windows of `length` inputs that together predict every token once.

    A window reads tokens begin, ..., begin + length - 1 and predicts the token after each of them.
    Only its predictions number `first` and later count; the previous window made the others, with
    more context. Windows begin `stride` apart; the last one ends with the text.
    Every prediction has at least length - stride tokens of context, except at the text's start.
    Raises ValueError unless 0 < stride <= length.
    """
    if not 0 < stride <= length:
        raise ValueError(f"stride {stride} is not between 1 and the window's length {length}")
    found: list[tuple[int, int]] = []
    end = 0
    while end < predictions:
        begin = min(len(found) * stride, max(0, predictions - length))
        found.append((begin, end - begin))
        end = min(begin + length, predictions)
    return found


@torch.no_grad()
def log_probabilities(
    logits: Callable[[torch.Tensor], torch.Tensor],
    tokens_N: torch.Tensor,
    length: int,
    stride: int,
    batch_size: int,
) -> torch.Tensor:
    """Log-probabilities (N - 1,) in nats, float64, of all tokens except the first, by `windows`.

    logits: token ids (B, T) -> logits (B, T, vocab_size). batch_size: windows per forward pass.
    """
    predictions = len(tokens_N) - 1
    length = min(length, predictions)
    found = windows(predictions, length, min(stride, length))
    result = torch.empty(predictions, dtype=torch.float64, device=tokens_N.device)
    for i in range(0, len(found), batch_size):
        part = found[i : i + batch_size]
        blocks = torch.stack([tokens_N[begin : begin + length + 1] for begin, _ in part])
        scores = logits(blocks[:, :-1]).float().log_softmax(-1)
        scored = scores.gather(-1, blocks[:, 1:, None])[..., 0].double()
        for (begin, first), row in zip(part, scored, strict=True):
            result[begin + first : begin + length] = row[first:]
    return result


def word_perplexity(log_probabilities_N: torch.Tensor, words: int) -> float:
    """exp(negative log-likelihood of the text / its number of words), comparable over tokenizers.

    Infinite if it overflows a float or a log-probability is not a number.
    """
    return exponential(-float(log_probabilities_N.sum()) / words)


def exponential(nats: float) -> float:
    """Perplexity of a mean loss in nats; infinite if it overflows a float or the loss is nan."""
    try:
        return math.inf if math.isnan(nats) else math.exp(nats)
    except OverflowError:
        return math.inf
