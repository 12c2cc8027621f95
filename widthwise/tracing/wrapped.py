"""Modules that are wrapped, by the names of their classes, so that none has to be imported."""

from torch import nn

# What to do with it, {} being the verb: "widen", say.
WRAPPERS = {
    "OptimizedModule": "torch.compile: {} the module it was made from, model._orig_mod",
    "DistributedDataParallel": "DistributedDataParallel: {} model.module",
    "DataParallel": "DataParallel: {} model.module",
    "FullyShardedDataParallel": "FSDP: gather the full parameters and {} the bare module",
    "FSDPModule": "fully_shard: gather the full parameters and {} a module that was not sharded",
    "AveragedModel": "AveragedModel: {} its model, and it by growth.shadow",
}


def wrapper_of(model: nn.Module, verb: str) -> str | None:
    """What wraps a module, on the outside or within, and what to do; None for a bare one."""
    for name, module in model.named_modules():
        for kind in type(module).__mro__:
            if kind.__name__ in WRAPPERS:
                where = f" ({name})" if name else ""
                return WRAPPERS[kind.__name__].format(verb) + where
    return None
