"""What a parameter or a module is called, whatever was wrapped around modules of its model since.

torch.compile, activation checkpointing, FSDP and DDP put a module into another one, which names it
anew; what a plan knows is known by the names of the bare model. No torch.
"""

from collections.abc import Iterator
from typing import Any

WITHIN = {"_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"}
# Classes whose `module` is what they wrap; a user's own module may have one that is not.
HOLDERS = {"DistributedDataParallel", "DataParallel", "AveragedModel"}


def _wraps(module: Any, child: str) -> bool:
    return child in WITHIN or (child == "module" and type(module).__name__ in HOLDERS)


def identity(model: Any, name: str) -> str:
    """The name, in the bare model, of a parameter, a buffer or a module."""
    if WITHIN.isdisjoint(parts := name.split(".")) and "module" not in parts:
        return name
    kept = []
    for part in parts:
        if not _wraps(model, part):
            kept.append(part)
        model = getattr(model, part)
    return ".".join(kept)


def named(model: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a model, by identity."""
    for name, parameter in model.named_parameters():
        yield identity(model, name), parameter


def bare(module: Any) -> Any:
    """A module without what is wrapped around it."""
    while wrapped := [each for name, each in module._modules.items() if _wraps(module, name)]:
        module = wrapped[0]
    return module
