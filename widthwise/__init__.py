"""What changes with the width of a network, and how: for any model of one's own.

parametrization/  what depends on the width, and how: words, tables, initial values, groups
optimizers/       what groups are made for, and what torch has not
tracing/          the role of each parameter of any module, from a forward pass
upscaling/        widening of trained models with their optimizers, noise
checks/           coordinate check; tuned narrow, trained wide
errors.py         mistakes that a user can mend
files.py          a user's own Python files
statistics.py     slopes, intervals over seeds
__main__.py       the command `widthwise`

What is public is imported from `widthwise` itself, and loads torch when it is first asked for;
docs/library.md shows how it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widthwise.checks.coordinates import CoordinateCheck as CoordinateCheck
    from widthwise.checks.coordinates import coordinate_check as coordinate_check
    from widthwise.checks.transfer import Transfer as Transfer
    from widthwise.checks.transfer import transfer as transfer
    from widthwise.parametrization.plan import initialize as initialize
    from widthwise.parametrization.plan import param_groups as param_groups
    from widthwise.tracing.multipliers import apply as apply
    from widthwise.tracing.roles import Roles as Roles
    from widthwise.tracing.roles import roles as roles
    from widthwise.upscaling.alongside import Growths as Growths
    from widthwise.upscaling.alongside import clip_grad_norm_ as clip_grad_norm_
    from widthwise.upscaling.alongside import perturb as perturb
    from widthwise.upscaling.optimizers import Update as Update
    from widthwise.upscaling.optimizers import resume as resume
    from widthwise.upscaling.widening import widen as widen

__version__ = "0.2.0"

# Public name -> the module that defines it. None is also the name of a submodule of this package,
# whose first import would take its place.
PUBLIC = {
    "CoordinateCheck": "widthwise.checks.coordinates",
    "coordinate_check": "widthwise.checks.coordinates",
    "Growths": "widthwise.upscaling.alongside",
    "Roles": "widthwise.tracing.roles",
    "Update": "widthwise.upscaling.optimizers",
    "apply": "widthwise.tracing.multipliers",
    "clip_grad_norm_": "widthwise.upscaling.alongside",
    "initialize": "widthwise.parametrization.plan",
    "perturb": "widthwise.upscaling.alongside",
    "resume": "widthwise.upscaling.optimizers",
    "param_groups": "widthwise.parametrization.plan",
    "roles": "widthwise.tracing.roles",
    "Transfer": "widthwise.checks.transfer",
    "transfer": "widthwise.checks.transfer",
    "widen": "widthwise.upscaling.widening",
}


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'widthwise' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(PUBLIC[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
