"""Roles that prove themselves: what every module gives, and what a step changes, over widths.

`roles` believes what a trace says of sizes, and here numbers are held against it: the module at the
base width, twice and four times it, twice each, with the initial values of muP and one step of
AdamW by its groups. What is beyond its law (`checks.slopes`) is measured again on wider models and
more seeds, and warned of where it is no chance.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from widthwise.checks.coordinates import planned, train_and_measure
from widthwise.checks.slopes import TOLERANCE, LayerSlope, Measured, fit_slopes, owner
from widthwise.errors import UserError
from widthwise.files import said
from widthwise.identity import named
from widthwise.parametrization.plans import PLAN
from widthwise.tracing import roles as traced
from widthwise.tracing.forward import called
from widthwise.tracing.making import made, on_meta
from widthwise.tracing.roles import Roles, width_of
from widthwise.tracing.shapes import tensors
from widthwise.tracing.warnings import UNSEEN, some

TIMES, SEEDS = (1, 2, 4), 2
AGAIN, MORE_SEEDS = (2, 4, 8), 4  # of what is beyond its law
CHANGES = 0.4  # how far a slope of what a step changes may be from its law: it bends at few units
LARGEST = 3e7  # parameters of the widest model
RATE = 2.0**-10
LARGE = 1e4  # gradients are times this, so that Adam's eps is nothing beside them


def roles(
    make: Callable[[Any], nn.Module],
    base: Any,
    inputs: object,
    *,
    other: Any = None,
    given: Mapping[str, str] = MappingProxyType({}),
    as_made: Sequence[str] = (),
    prove: bool = True,
) -> Roles:
    """The role of every parameter of the module that `make(base)` returns.

    make: width -> the module, with the initial values a user gives it; everything but the width
        held fixed (vocabulary, depth, classes). Made here to be looked at: of a large tensor few
        values are drawn, and repeated (`widthwise.tracing.draws`).
    base: the base width, at which every recipe is the user's own model; or a mapping, `{"width":
        64, "depth": 2}`, which is then what `make` takes. Spreads of the initial values are
        measured there.
    inputs: a tensor, a tuple of positional arguments, or a mapping of keywords, for one forward
        pass, of shapes that do not grow with the width: (batch, features), token ids (batch,
        length), images (batch, channels, height, width).
    other: a second width, 2 * base if None. That module is made on the meta device where it can
        be, so it costs nothing.
    given: parameter name, or a pattern of names with `*`, -> kind, for what tracing cannot tell;
        its axes are taken as torch's layers have them, (out, in).
    as_made: parameters, or patterns of names with `*`, that `init_` leaves as `make` gives them, as
        it does what is not drawn: what other random numbers do not change, or what is not centred
        or has an order (decays, time steps, tables of sines, gates' biases, frozen parameters).
    prove: whether the roles are held against numbers, at the base width, twice and four times it:
        `proof` says what was found, and a warning names what is not right for the width. The loss
        is a random projection of all that the module returns.
    torch's random numbers are left as they were.
    Warns of what no plan makes up for or is never used; `warnings` has all that is to be looked at.
    Raises UserError where `make` ignores its width or fails, a parameter is never used or lazy,
    what an axis does cannot be told, or a role is given for no parameter.
    """
    found = traced.roles(make, base, inputs, other=other, given=given, as_made=as_made)
    if not prove:
        found.proof = "not proved: prove=False"
        return found
    try:
        found.proof, lines = _proved(make, base, inputs, found, given)
    except Exception as error:  # a user's own class of them, too
        found.proof, lines = f"not proved: {_why(error)}", ()
    if not any(UNSEEN in line for line in found.warnings):  # else it is told already
        for line in lines:
            warnings.warn(f"roles: {line}", stacklevel=2)
        found.warnings += lines
    return found


def projected(model: nn.Module, batch: Any) -> torch.Tensor:
    """Of all that a model returns and that has a gradient, a projection on random numbers along
    the last axis: a loss where none is given."""
    total, drawn = torch.zeros(()), torch.Generator().manual_seed(0)
    for out in tensors(called(model, batch[0])):
        if out.requires_grad:
            out = torch.view_as_real(out) if out.is_complex() else out
            along = torch.randn(out.shape[-1:], generator=drawn).to(out)
            total = total + (out * along).float().mean().cpu()
    return LARGE * total


def _proved(
    make: Callable[[Any], nn.Module],
    base: Any,
    inputs: object,
    found: Roles,
    given: Mapping[str, str],
) -> tuple[str, tuple[str, ...]]:
    """What is proved, and what is not."""

    def size(width: float) -> Any:
        width = round(width) if isinstance(width_of(base), int) else width
        return {**base, "width": width} if isinstance(base, Mapping) else width

    moved: dict[str, str] = {}  # parameter -> what init_ did with it, where that is no factor

    def measure(width: float, seed: int) -> Measured:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = made(make, size(width))
            before = {name: p.detach().clone() for name, p in named(model)}
            optimizer = planned(model, found, "muP", RATE, 0.0, None)
            moved.update(_moved(model, before))
            batch = [(inputs, None)]
            return train_and_measure(model, optimizer, batch, projected, 1, seed=seed, every=True)

    def slopes(times: Sequence[float], seeds: int) -> list[LayerSlope]:
        widths = [width_of(base) * k for k in times]
        every = fit_slopes(measure, widths, range(seeds), TOLERANCE, every=True)[0]
        return [each for each in every if math.isfinite(each.slope)]

    times = _times(make, size, width_of(base))
    first = slopes(times, SEEDS)
    beyond = {(each.layer, each.quantity) for each in first if _beyond(each, found)}
    wrong: list[LayerSlope] = []
    if beyond:
        factor = times[0]
        again = slopes([factor * k for k in AGAIN], MORE_SEEDS)
        wrong = [
            each
            for each in again
            if each.verdict in ("grows", "vanishes")
            and (each.layer, each.quantity) in beyond
            and _beyond(each, found)
        ]
    modules = {each.layer for each in first if not each.quantity.startswith("effect")}
    widths = ", ".join(f"{width_of(base) * k:g}" for k in times)
    odd = {each.layer for each in wrong}
    right = len(modules - odd)
    lines = (*moved.values(), *_lines(wrong, given, found))
    return f"{right} of {len(modules)} modules keep their size and change at widths {widths}", lines


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, UserError) else said(error)


def _times(make: Callable, size: Callable[[float], Any], width: float) -> tuple[float, ...]:
    """Widths over the base's: smaller ones where the model is large."""
    for shrink in (1, 2, 4, 8, 16):
        times = tuple(k / shrink for k in TIMES)
        if isinstance(width, int) and width % shrink:
            break
        widest = on_meta(make, size(width * times[-1]))
        if widest is None or sum(p.numel() for p in widest.parameters()) <= LARGEST:
            return times
    raise UserError("the model is too large at smaller widths too")


def _beyond(each: LayerSlope, found: Roles) -> bool:
    """Whether a slope is beyond its law, which is that of what the module has on its weight."""
    shifts = {0.0}  # what a module returns may be times what makes up for it yet
    if each.quantity.startswith("stream"):
        shifts |= {-role.own for name, role in found.items() if name.startswith(f"{each.layer}.")}
    size = each.quantity.endswith(("size", "start"))
    least, most = each.law[0] + min(shifts), each.law[1] + max(shifts)
    far = TOLERANCE if size else CHANGES
    return not least - far <= each.slope <= most + far


def _moved(model: nn.Module, before: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, str]]:
    """The parameters that init_ did not multiply by a number, or that are placed and no longer what
    they were."""
    plan = vars(model)[PLAN]
    for name, p in named(model):
        shift = plan.roles.shifts.get(name, 0.0)
        old, new = before[name].flatten() + shift, p.detach().flatten() + shift
        size = float(old.abs().square().sum())
        factor = float((old.conj() * new).sum().real) / size if size else 1.0
        stays = (
            not plan.at[name].drawn and name not in plan.held and not plan.roles.found[name].norms
        )
        if not torch.allclose(new, old * factor, rtol=1e-3, atol=1e-6) or (stays and factor != 1):
            yield (
                name,
                f"{name}: init_ changes more than a factor of its values: as_made=[{name!r}]",
            )


def _lines(wrong: Sequence[LayerSlope], given: Mapping[str, str], found: Roles) -> Iterator[str]:
    """A line on what is first beyond its law; the rest follows from it."""
    if not wrong:
        return
    sizes = [each for each in wrong if each.quantity.endswith(("size", "start"))]
    first = (sizes or wrong)[0]
    own = [n for n in found if first.layer in (n, owner(n)) or n.startswith(f"{first.layer}.")]
    if any(found.found[name].given for name in own):
        return
    what = {"size": "what it gives", "start": "its logits", "effect": "what its step does"}
    words = what.get(first.quantity.split()[-1], "what a step changes of it")
    law = " to ".join(f"{each:g}" for each in dict.fromkeys(first.law))
    places = [*dict.fromkeys(each.layer or "the module itself" for each in (sizes or wrong))]
    yield (
        f"{some(places)}: {words} follows the width as width^{first.slope:.2f}, where {law} is "
        "right: mend it in make (a factor of the width, a mean), or give the kinds of its "
        f"parameters: given={{{next(iter(own), first.layer)!r}: ...}}"
    )
