"""The optimizers that groups are made for: what an update is homogeneous in, where decay acts.

No torch until a class is asked for.
"""

from typing import TYPE_CHECKING, Any

from widthwise.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import torch

# Class -> (family, whether its weight decay is added to the gradient). Adam's relatives divide the
# gradient by its size, so a step does not depend on it.
OPTIMIZERS = {
    "SGD": ("sgd", True),
    "Adam": ("adam", True),
    "AdamW": ("adam", False),
    "NAdam": ("adam", True),
    "Adamax": ("adam", True),
    "MuonAdamW": ("muon", False),
}
NAMES = {name.lower(): name for name in OPTIMIZERS if name != "MuonAdamW"} | {"muon": "MuonAdamW"}


def class_name(optimizer: "str | type[torch.optim.Optimizer]") -> str:
    """The key of OPTIMIZERS of a class, or of its name in lower case; UserError on another one."""
    name = optimizer if isinstance(optimizer, str) else optimizer.__name__
    name = NAMES.get(name, name)
    if name not in OPTIMIZERS:
        raise UserError(f"optimizer {name}: {did_you_mean(name.lower(), NAMES)}")
    return name


def family(optimizer: "str | type[torch.optim.Optimizer]") -> str:
    """The family of an optimizer, by which a table has its rows."""
    return OPTIMIZERS[class_name(optimizer)][0]


def optimizer_class(optimizer: "str | type[torch.optim.Optimizer]") -> Any:
    """The class of a name, or the class that was given; UserError as `class_name`."""
    import torch

    from widthwise.optimizers.muon import MuonAdamW

    name = class_name(optimizer)
    if not isinstance(optimizer, str):
        return optimizer
    return MuonAdamW if name == "MuonAdamW" else getattr(torch.optim, name)
