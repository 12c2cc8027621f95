"""The cross-entropy of many logits: loss and gradient in one pass, by chunks of rows."""

import torch
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

from repro import backend


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """`F.cross_entropy` of logits (N, V) and labels (N,): the mean over all rows, in nats, found in
    float32 or wider.

    From `backend.chunk` entries on, the gradient is found with the loss, a chunk at a time: torch
    writes the logarithms of all probabilities in between, and a gradient of zeros but for one entry
    a row, and reads both again. No-gradient calls take torch's, and so does float16, whose
    gradients would vanish before the loss is scaled.
    """
    enough = logits.numel() >= backend.chunk(logits.device)
    if enough and torch.is_grad_enabled() and logits.dtype != torch.float16:
        return _Chunked.apply(logits, labels)
    return F.cross_entropy(_wide(logits), labels)


def _wide(logits: torch.Tensor) -> torch.Tensor:
    """Logits in float32 at least."""
    return logits.float() if logits.itemsize < 4 else logits


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels):
        gradient = torch.empty_like(logits)
        total = _wide(logits.new_zeros(()))
        rows = max(1, int(backend.chunk(logits.device)) // logits.shape[1])
        parts = (tensor.split(rows) for tensor in (logits, labels[:, None], gradient))
        for narrow, label, into in zip(*parts, strict=True):
            x = _wide(narrow)
            p = into if x is narrow else torch.empty_like(x)
            # The largest probability is 1 / sum(exp(x - largest x)): never too small to divide by.
            torch.softmax(x, 1, out=p)
            total += (x.amax(1) - p.amax(1).log()).sum() - x.gather(1, label).sum()
            p.scatter_add_(1, label, p.new_full((), -1.0).expand(label.shape))
            p /= len(labels)
            if p is not into:
                into.copy_(p)
        ctx.save_for_backward(gradient)
        return total / len(labels)

    @staticmethod
    @once_differentiable
    def backward(ctx, outer):
        (gradient,) = ctx.saved_tensors
        return backend.times(gradient, outer), None
