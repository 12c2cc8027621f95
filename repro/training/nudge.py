"""What another rounding would do: a run's first weights moved by one unit in the last place."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

VARIABLE = "REPRO_NUDGE"  # set by `arithmetic=nudged` (`repro.suite.arithmetic`)


def nudge_if_asked(model: "torch.nn.Module") -> None:
    """Under `arithmetic=nudged`, move every parameter up to the next number of its type."""
    if VARIABLE not in os.environ:
        return
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.nextafter(parameter, torch.full_like(parameter, torch.inf)))
