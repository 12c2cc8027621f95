"""What changes with the width of a network, and how: for any model of one's own.

parametrization/  what depends on the width, and how: words, tables, recipes, plans
optimizers/       what is known of optimizers, a file each
tracing/          the role of each parameter of any module, from a forward pass
upscaling/        widening of trained models with their optimizers, noise
checks/           coordinate check; tuned narrow, trained wide
clipping.py       a norm of gradients that does not depend on the width
hugging_face.py   a callback of Trainer that clips so, and checks the plan
identity.py       what a parameter is called, whatever was wrapped around
errors.py         mistakes that a user can mend
printed.py        tables of text, and lines on what takes long
files.py          a user's own Python files; writes of a whole file or nothing
hints.py          JSON values held against type hints
statistics.py     slopes, intervals over seeds
commands.py       what the command `widthwise` does
__main__.py       its arguments

What is public is imported from `widthwise` itself, and loads torch when it is first asked for;
docs/library.md shows how it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widthwise.checks.coordinates import CoordinateCheck as CoordinateCheck
    from widthwise.checks.coordinates import coordinate_check as coordinate_check
    from widthwise.checks.proof import roles as roles
    from widthwise.checks.transfer import Transfer as Transfer
    from widthwise.checks.transfer import transfer as transfer
    from widthwise.clipping import clip_grad_norm_ as clip_grad_norm_
    from widthwise.optimizers.known import Update as Update
    from widthwise.parametrization.plans import Plan as Plan
    from widthwise.parametrization.plans import plan as plan
    from widthwise.parametrization.recipes import Recipe as Recipe
    from widthwise.parametrization.recipes import recipe as recipe
    from widthwise.tracing.roles import Roles as Roles
    from widthwise.upscaling.alongside import Growths as Growths
    from widthwise.upscaling.alongside import perturb as perturb
    from widthwise.upscaling.optimizers import resume as resume
    from widthwise.upscaling.widening import widen as widen

__version__ = "0.4.0"

# Public name -> the module that defines it. None is also the name of a submodule of this package,
# whose first import would take its place.
PUBLIC = {
    "CoordinateCheck": "widthwise.checks.coordinates",
    "Growths": "widthwise.upscaling.alongside",
    "Plan": "widthwise.parametrization.plans",
    "Recipe": "widthwise.parametrization.recipes",
    "Roles": "widthwise.tracing.roles",
    "Transfer": "widthwise.checks.transfer",
    "Update": "widthwise.optimizers.known",
    "clip_grad_norm_": "widthwise.clipping",
    "coordinate_check": "widthwise.checks.coordinates",
    "perturb": "widthwise.upscaling.alongside",
    "plan": "widthwise.parametrization.plans",
    "recipe": "widthwise.parametrization.recipes",
    "resume": "widthwise.upscaling.optimizers",
    "roles": "widthwise.checks.proof",
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
