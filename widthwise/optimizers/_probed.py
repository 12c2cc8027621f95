"""What an optimizer does, seen in steps of a fresh one on small tensors: by no class's name.

Degree in the gradient, size of the weight, and decay are each the difference of two runs that
differ in one of them alone. Of a class that is not known here the same is held against late steps,
when its averages are warm, and against tensors of every kind of role, at two widths.
"""

import copy
import inspect
import math
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.optimizers.known import Update

LISTS = ("params", "param_names", "names")  # of a parameter group: an entry for each parameter
# Of the runs: so many steps that RAdam, whose first six do not divide, is seen to change; rates
# beside which weights and what decays of them are constants.
STEPS, LATE, RATE, EPS = 8, 101, 1e-4, 1e-16
# Role -> a shape at the narrower width, and which of its axes grow.
SHAPES = {
    "hidden": ((12, 8), (1, 1)),
    "vector": ((12,), (1,)),
    "embedding": ((12, 6), (1, 0)),
    "output": ((5, 8), (0, 1)),
}
NEAR = 0.05  # relative: two runs that differ by less are one
FAR = 0.25  # of a power of the width, as in the coordinate check
# Muon's updates have singular values of 0.7 to 1.2; of the gradients here, and of their signs, the
# largest is 10 times the least or more.
ORTHOGONAL = 4.0


def required(kind: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a class has no defaults for, as far as an optimizer's `defaults` have them."""
    parameters = list(inspect.signature(kind).parameters.values())[1:]
    bare = {p.name for p in parameters if p.default is p.empty}
    return {name: value for name, value in defaults.items() if name in bare}


def of_class(kind: Any) -> Update | None:
    """What a class does with its own settings; see `update_of`."""
    try:
        made = kind([nn.Parameter(torch.zeros(12, 8))], **required(kind, {"lr": RATE}))
    except Exception:  # it asks for more
        return None
    given = kind, made.param_groups[0], made.defaults
    found = update_of(*given)
    for role in SHAPES if found else ():
        other = update_of(*given, role=role, decays=False)
        if other is None and role == "vector":  # it takes matrices alone, as torch's Muon
            return found
        if role != "hidden" and (other is None or other.matrices is not None):
            raise _without("the singular values of a tensor that grows along one axis")
        if other is None or found is None or other.degree != found.degree:
            raise _without("the gradient's size in some tensors, and not in others")
    return found


def update_of(
    kind: Any,
    group: Mapping[str, Any],
    defaults: Mapping[str, Any],
    *,
    role: str = "hidden",
    decays: bool = True,
    device: Any = "cpu",
    known: bool = False,
) -> Update | None:
    """What a class does with a group of these settings; None where it cannot be run so.

    defaults: of the optimizer. role: of the group's tensors, a key of SHAPES. decays: whether its
    weight decay is looked at. known: whether a few steps are enough.
    Raises UserError on steps that no table has rates for; it says what they follow.
    """
    names = inspect.signature(kind).parameters
    settings = {
        key: value
        for key, value in group.items()
        if key not in LISTS and (key in names or key not in defaults)
    }
    settings |= {"lr": RATE} | ({"weight_decay": 0.0} if "weight_decay" in defaults else {})
    eps = defaults.get("eps")  # of Adafactor a pair, where a plan's is one number
    settings.pop("eps", None)
    settings |= {"eps": EPS} if isinstance(eps, float) else {}
    # A step that is compiled, as torchao's, would be so for each shape.
    eager = "torch._dynamo" in sys.modules
    for dtype in (torch.float64, torch.float32):  # kernels of 8 bits know no float64
        whole = torch.compiler.set_stance("force_eager") if eager else nullcontext()
        try:
            with torch.random.fork_rng(), torch.no_grad(), whole:
                runs = _Runs(kind, settings, required(kind, defaults), role, dtype, device)
                found = _judged(runs, decays and "weight_decay" in settings)
                if not known:
                    _lasts(runs, found)
        except UserError:
            raise
        except Exception:  # a class may do anything, as ask for a closure
            continue
        return replace(found, eps=eps if isinstance(eps, float) else None)
    return None


class _Runs:
    """Runs of fresh optimizers of one class on one tensor."""

    def __init__(self, kind, settings, needed, role, dtype, device):
        self.kind, self.settings, self.needed = kind, settings, needed
        self.shape, self.grows = SHAPES[role]
        self.like = {"dtype": dtype, "device": device}

    def __call__(
        self,
        gradient: float = 1.0,
        weight: float = 1.0,
        size: int = 1,
        later: float = 1.0,
        steps: int = STEPS,
        beside: bool = False,
        **settings: Any,
    ) -> torch.Tensor:
        """Updates (steps, *shape) with gradients and weights times a number, on a tensor `size`
        times as wide, with the rate times `later` from the fourth step on. The last gradient is
        0. beside: whether there is another tensor, of larger gradients."""
        torch.manual_seed(0)
        shape = [n * size**grows for n, grows in zip(self.shape, self.grows, strict=True)]
        # All of one sign: near to rank one, so that what makes singular values alike is seen.
        gradients = 0.005 * gradient * (0.5 + torch.rand(steps, *shape))
        gradients[-1] = 0
        p = nn.Parameter((0.1 * weight * torch.randn(shape)).to(**self.like))
        group = {**copy.deepcopy(self.settings), **settings, "params": [p]}
        if beside:
            group["params"].append(nn.Parameter(torch.ones(shape).to(**self.like)))
        optimizer = self.kind([group], **{**self.needed, "lr": group["lr"]})
        if callable(getattr(optimizer, "train", None)):  # ScheduleFree's
            optimizer.train()
        step = inspect.unwrap(type(optimizer).step)  # without the hooks of all optimizers
        places = [p.clone()]
        for i, each in enumerate(gradients.to(**self.like)):
            if i == STEPS // 2:
                of = optimizer.param_groups[0]
                of["lr"] = of["lr"] * later
            p.grad = each.clone()
            for other in group["params"][1:]:
                other.grad = 100 * each.flip(0)
            step(optimizer)
            places.append(p.clone())
        return torch.stack(places).cpu().double().diff(dim=0)


def _judged(run: _Runs, decays: bool) -> Update:
    """What runs show; UserError as `update_of`."""
    plain = run()
    moved = [i for i, each in enumerate(plain) if each.norm() > 1e-3 * plain.norm()]
    steeper, first = run(gradient=10.0), moved[0]  # ADOPT's first step moves nothing
    powers = [math.log10(float(steeper[i].norm() / plain[i].norm())) for i in moved]
    if not _alike(run(weight=10.0), plain):
        raise _without("the size of each weight")
    if max(powers) - min(powers) > NEAR:
        raise _without("the gradient's size at some steps, and not at others")
    degree = round(powers[0])
    if degree not in (0, 1) or abs(powers[0] - degree) > NEAR:
        raise _without(f"the gradient's size to the power {powers[0]:.2g}")
    if "eps" in run.settings and not _alike(run(eps=EPS / 100), plain):
        raise _without("its eps, as those of Adadelta do")
    if _alike(run(later=0.5)[STEPS // 2 : -1], plain[STEPS // 2 : -1]):
        raise _without("no rate that is set after the first")
    values = [_values(plain[i]) for i in moved[:3]]
    orthogonal = len(run.shape) == 2 and all(s[0] < ORTHOGONAL * s[-1] for s in values)
    grown = run(size=4)[first] if orthogonal else plain[first]
    ratio = float(_values(grown)[0] / values[0][0])
    return Update(
        degree,
        decoupled=_decoupled(run, plain, degree) if decays else None,
        entrywise=False,
        matrices={} if orthogonal else None,
        matrix_lr=0.0 - round(2 * math.log(ratio, 4)) / 2,
        name=run.kind.__name__.lower(),
        path=run.kind,
    )


def _lasts(run: _Runs, found: Update) -> None:
    """UserError where steps 3 and 100 follow the gradient by another power than was found, or the
    size of their entries the width; of matrices that are orthogonal, otherwise late than early."""
    base, steeper, wide = (run(steps=LATE, **k) for k in ({}, {"gradient": 10.0}, {"size": 4}))
    if not _alike(run(steps=LATE, beside=True), base):
        raise _without("the gradients of other tensors")
    if not _alike(RATE * run(steps=LATE, lr=1.0), base):
        raise _without("a rate that it finds itself")
    own = None if found.matrices is None else _power(wide[2], base[2])
    for step, at in ((2, 3), (-2, LATE - 1)):
        if not all(bool(each[step].any()) for each in (base, steeper, wide)):
            raise _without(f"no gradient at step {at}")
        degree = math.log10(float(steeper[step].norm() / base[step].norm()))
        if abs(degree - found.degree) > NEAR:
            raise _without(f"the gradient's size to the power {degree:.2g} at step {at}")
        power = _power(wide[step], base[step])
        if abs(power - (own or 0.0)) > FAR:
            raise _without(f"the size of the whole tensor, as width^{power:.2g} at step {at}")


def _power(wide: torch.Tensor, base: torch.Tensor) -> float:
    """Of the width, by which entries grow on a tensor four times as wide."""
    return math.log(float(wide.square().mean() / base.square().mean()), 16)


def _decoupled(run: _Runs, plain: torch.Tensor, degree: int) -> bool | None:
    """Whether weight decay is apart from the gradient: what it takes away is then the same beside
    any gradient. None where it does nothing, or both are one, as in SGD without momentum."""

    def taken(**given: Any) -> torch.Tensor:
        """What decay takes away by each step."""
        return (run(weight_decay=0.1, **given) - run(**given)).cumsum(0)

    lost = taken()
    if lost.norm() < 1e-4 * RATE:
        return None
    same = _alike(taken(gradient=10.0), lost)
    if degree == 0 and not same:
        return False
    if not same or not _alike(taken(weight=10.0), 10 * lost):
        raise _without("with a weight decay, the size of each weight")
    if not _alike(taken(lr=RATE / 2), lost / 2):
        raise _without("with a weight decay, a decay that is not times the rate")
    if degree == 0:
        return True
    # All is linear: what decay added to a gradient is remembered, where momentum is.
    apart = _alike(lost[1], 2 * lost[0])
    return None if apart and plain[-1].norm() < 1e-3 * plain.norm() else apart


def _alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool((a - b).norm() <= NEAR * b.norm())


def _values(update: torch.Tensor) -> torch.Tensor:
    """Singular values, the largest first."""
    return torch.linalg.svdvals(torch.atleast_2d(update))


def _without(follows: str) -> UserError:
    return UserError(f"steps follow {follows}, for which no table has rates")
