"""Clipping of gradients by a norm that does not depend on the width."""

from collections.abc import Iterable
from typing import Protocol

import torch

from widthwise.errors import UserError

Parameter = torch.Tensor | tuple[str, torch.Tensor]


class Widths(Protocol):
    """What knows how gradients depend on the width: a `Plan`, or the growth of `widen`."""

    def squared_norm(self, parameter: Parameter, /) -> float:
        """Factor on a gradient's squared norm that makes it the narrow model's; UserError where the
        parameter is of another model."""


@torch.no_grad()
def clip_grad_norm_(
    parameters: Iterable[Parameter], max_norm: float, widths: Widths
) -> torch.Tensor:
    """Scale gradients down to a norm of at most `max_norm`; returns the norm before, a tensor of
    shape ().

    The norm is the narrow model's: each tensor's squared norm counts k_out / k_in of what it is
    (Ma et al., arXiv 2602.10545, Appendix D), k its width over the narrow one's, so that the same
    limit clips the same steps. `torch.nn.utils.clip_grad_norm_` takes the plain norm, which depends
    on the width.

    parameters: of the model, or its named_parameters(). widths: the model's plan, or the growth
        that `widen` returned with it.
    Raises UserError on a parameter that is not the model's.
    """
    if not hasattr(widths, "squared_norm"):
        raise UserError(
            f"clip_grad_norm_: {type(widths).__name__} does not say how gradients follow the "
            "width: give the plan, or the growth that widen returned"
        )
    pairs = [(p[1] if isinstance(p, tuple) else p, widths.squared_norm(p)) for p in parameters]
    pairs = [(p, factor) for p, factor in pairs if p.grad is not None]
    norms = [torch.linalg.vector_norm(p.grad) * factor**0.5 for p, factor in pairs]
    total = torch.nn.utils.get_total_norm(norms)
    torch.nn.utils.clip_grads_with_norm_([p for p, _ in pairs], max_norm, total)
    return total
