import math

import pytest
import torch

from repro.training.perplexity import exponential, log_probabilities, windows, word_perplexity


@pytest.mark.parametrize("predictions", [1, 7, 8, 9, 30, 37])
@pytest.mark.parametrize(("length", "stride"), [(8, 8), (8, 3), (8, 1), (1, 1)])
def test_windows_predict_every_token_once_with_enough_context(predictions, length, stride):
    found = windows(predictions, min(length, predictions), min(stride, length, predictions))
    seen = []
    for begin, first in found:
        positions = range(begin + first, begin + min(length, predictions))
        for position in positions:
            context = position - begin
            assert context >= min(length - stride, position)
            seen.append(position)
    assert seen == list(range(predictions))


def test_a_stride_longer_than_the_window_is_refused():
    with pytest.raises(ValueError, match="stride 9 is not between 1 and the window's length 8"):
        windows(20, 8, 9)


def counting_logits(tokens_BT):
    """Scores that depend on every token a prediction sees and on how many there are."""
    T = tokens_BT.shape[1]
    sums = tokens_BT.double().cumsum(1)
    lengths = torch.arange(1, T + 1)
    return torch.sin(sums[..., None] * torch.arange(1, 6) + lengths[:, None])


@pytest.mark.parametrize("batch_size", [1, 3, 50])
@pytest.mark.parametrize(("count", "stride"), [(23, 3), (24, 4), (5, 4), (2, 1)])
def test_log_probabilities_are_those_computed_token_by_token(count, stride, batch_size):
    length = 8
    tokens = torch.randint(5, (count,), generator=torch.Generator().manual_seed(0))
    found = log_probabilities(counting_logits, tokens, length, stride, batch_size)
    for i in range(count - 1):  # token i + 1 is predicted by the first window that reaches it
        begin = 0 if i < length else stride * math.ceil((i - length + 1) / stride)
        begin = min(begin, max(0, count - 1 - length))
        scores = counting_logits(tokens[None, begin : i + 1])[0, -1].float()
        expected = scores[tokens[i + 1]] - scores.logsumexp(0)
        assert found[i].item() == pytest.approx(expected.item(), abs=1e-6)


def test_word_perplexity_is_the_inverse_geometric_mean_of_the_words_probabilities():
    """Three words of 1, 2 and 3 tokens, whatever the tokens."""
    probabilities = [[0.5], [0.25, 0.1], [0.9, 0.2, 0.3]]
    words = [math.prod(parts) for parts in probabilities]
    tokens = torch.tensor([math.log(p) for parts in probabilities for p in parts])
    expected = math.prod(words) ** (-1 / 3)
    assert word_perplexity(tokens, 3) == pytest.approx(expected, rel=1e-6)


def test_a_uniform_model_has_its_vocabulary_s_perplexity_to_the_tokens_a_word():
    tokens = torch.randint(7, (31,), generator=torch.Generator().manual_seed(1))
    found = log_probabilities(lambda t: torch.zeros(*t.shape, 7), tokens, 8, 4, 2)
    assert word_perplexity(found, 10) == pytest.approx(7**3, rel=1e-6)


def test_what_no_float_holds_is_infinite():
    assert exponential(800.0) == exponential(math.nan) == exponential(math.inf) == math.inf
    assert exponential(0.0) == 1.0
