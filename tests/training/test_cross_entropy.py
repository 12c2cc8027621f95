"""The loss of a large vocabulary against torch's."""

import pytest
import torch
import torch.nn.functional as F

from repro.backend import CHUNK
from repro.training.cross_entropy import cross_entropy


def found(function, logits, labels, outer):
    """(loss, gradient of `outer` times the loss)."""
    own = logits.clone().requires_grad_()
    value = function(own, labels)
    (outer * value).backward()
    return value.detach(), own.grad


def example(rows, classes, dtype):
    generator = torch.Generator().manual_seed(1)
    logits = 5 * torch.randn(rows, classes, generator=generator, dtype=dtype)
    return logits, torch.randint(classes, (rows,), generator=generator)


@pytest.mark.parametrize("outer", [1.0, 0.25])
@pytest.mark.parametrize("chunk", [1, 7, 35, 80])  # rows: one, one, five, eleven of twelve
def test_loss_and_gradient_are_torch_s(chunk, outer, monkeypatch):
    monkeypatch.setitem(CHUNK, "cpu", chunk)
    logits, labels = example(12, 7, torch.float64)
    logits[3, labels[3]] = -1e4  # a probability of 0, whose logarithm is not
    expected = found(F.cross_entropy, logits, labels, outer)
    for got, want in zip(found(cross_entropy, logits, labels, outer), expected, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-15)
    with torch.no_grad():
        assert cross_entropy(logits, labels) == F.cross_entropy(logits, labels)


def test_a_large_vocabulary_takes_chunks_and_a_small_one_torch_s():
    large, small = (example(rows, 4096, torch.float32) for rows in (CHUNK["cpu"] // 4096 + 9, 8))
    taken = [cross_entropy(x.requires_grad_(), labels).grad_fn for x, labels in (large, small)]
    assert [type(function).__name__ for function in taken] == [
        "_ChunkedBackward",
        "NllLossBackward0",
    ]
    mine, theirs = (
        found(f, large[0].detach(), large[1], 1.0) for f in (cross_entropy, F.cross_entropy)
    )
    torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_widened_chunk_by_chunk(dtype, monkeypatch):
    """As torch does where all logits are widened at once; float16 takes that way itself."""
    monkeypatch.setitem(CHUNK, "cpu", 35)
    logits, labels = example(12, 7, dtype)

    def whole(logits, labels):
        return F.cross_entropy(logits.float(), labels)

    (loss, gradient), (expected, at_once) = (
        found(f, logits, labels, 1.0) for f in (cross_entropy, whole)
    )
    assert (loss.dtype, gradient.dtype) == (torch.float32, dtype)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient, at_once, rtol=2**-7, atol=1e-8)
    name = type(cross_entropy(logits.requires_grad_(), labels).grad_fn).__name__
    assert name == {torch.bfloat16: "_ChunkedBackward"}.get(dtype, "NllLossBackward0")


def test_a_diverged_model_has_no_finite_loss(monkeypatch):
    monkeypatch.setitem(CHUNK, "cpu", 1)
    logits, labels = example(2, 3, torch.float32)
    logits[1, 2] = torch.inf
    assert not cross_entropy(logits.requires_grad_(), labels).isfinite()
