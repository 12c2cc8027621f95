"""Library of the suite: parametrizations, models, training, theory, claims and verdicts.

What is here for a model of one's own is imported from `repro` itself, and loads torch when it is
first asked for; docs/library.md shows how it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repro.library.check import CoordinateCheck as CoordinateCheck
    from repro.library.check import coordinate_check as coordinate_check
    from repro.library.growths import Growths as Growths
    from repro.library.growths import clip_grad_norm_ as clip_grad_norm_
    from repro.library.multipliers import apply as apply
    from repro.library.roles import Roles as Roles
    from repro.library.roles import roles as roles
    from repro.library.scaling import initialize as initialize
    from repro.library.scaling import param_groups as param_groups
    from repro.library.transfer import Transfer as Transfer
    from repro.library.transfer import transfer as transfer
    from repro.library.widening import widen as widen
    from repro.upscaling.optimizers import Update as Update

__version__ = "0.1.0"

# Public name -> the module that defines it. None is also the name of a submodule of this package,
# whose first import would take its place.
PUBLIC = {
    "CoordinateCheck": "repro.library.check",
    "coordinate_check": "repro.library.check",
    "Growths": "repro.library.growths",
    "Roles": "repro.library.roles",
    "Update": "repro.upscaling.optimizers",
    "apply": "repro.library.multipliers",
    "clip_grad_norm_": "repro.library.growths",
    "initialize": "repro.library.scaling",
    "param_groups": "repro.library.scaling",
    "roles": "repro.library.roles",
    "Transfer": "repro.library.transfer",
    "transfer": "repro.library.transfer",
    "widen": "repro.library.widening",
}


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'repro' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(PUBLIC[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
