"""What `Plan.check` asks of a plan, its model and its optimizers; a plan as a table."""

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from widthwise.errors import UserError
from widthwise.identity import named
from widthwise.parametrization import steps
from widthwise.printed import columns

if TYPE_CHECKING:
    import torch

    from widthwise.parametrization.recipes import Recipe
    from widthwise.parametrization.rules import Role

NEAR = 1e-5  # relative: rates of a schedule are rounded in float32
FAR = 0.1  # relative: a spread that is so far off is another


class Planned(Protocol):
    """Of a `Plan`, what is asked for here."""

    model: "torch.nn.Module"
    recipe: "Recipe"
    roles: Any
    at: "Mapping[str, Role]"
    factors: tuple[Any, ...]
    held: dict[str, float]
    given: dict[str, dict[str, float]]
    shapes: dict[str, tuple[int, ...]]
    begun: bool
    asked: dict[str, float | None]
    made: dict[str, float]
    kept: bool
    lacking: frozenset[str]

    def std(self, name: str, /) -> float:
        """The initial spread of a parameter that is drawn."""

    def constants(self, name: str, /) -> tuple[float, float]:
        """What a parameter's rate and its weight decay are times."""


def check(
    plan: Planned, optimizer: "torch.optim.Optimizer | Sequence[torch.optim.Optimizer]"
) -> None:
    """See `Plan.check`."""
    check_names("check", plan)
    names = {id(p): name for name, p in named(plan.model)}
    if not plan.given:
        raise UserError(
            "check: the plan has made no groups yet, so that no optimizer has its rates: "
            "optimizer = ...(plan.groups(lr))"
        )
    optimizers = [
        steps.bare(each) for each in (optimizer if isinstance(optimizer, Sequence) else [optimizer])
    ]
    of: list[tuple[str, Mapping[str, Any], str]] = []  # parameter, its group, its optimizer's class
    for each in optimizers:
        held = [
            (names.get(id(p), ""), p, group) for group in each.param_groups for p in group["params"]
        ]
        for name, _, _ in held:
            if not name:
                raise UserError(
                    "check: the optimizer holds a parameter that is not the model's: make it of "
                    "plan.groups after the model is wrapped (FSDP replaces parameters)"
                )
            if name not in plan.given:
                raise UserError(f"check: {name}: is in the optimizer, and in no group of the plan")
        steps.check_steps(plan.recipe, plan.at, each, held)
        _check_defaults(plan, each)
        of += [(name, group, type(each).__name__) for name, _, group in held]
    _check_rates(plan, of)
    for name, group, kind in of:
        given = plan.given[name]
        for key in sorted(given.keys() & group.keys() - {"lr", "lr_scale"}):
            if not math.isclose(group[key], given[key], rel_tol=NEAR):
                raise UserError(
                    f"check: {name}: its {key} is {group[key]:.4g}, and the plan gave "
                    f"{given[key]:.4g}{'' if 'lr_scale' in group else _made_of_groups(kind)}"
                )
    in_any = {name for name, _, _ in of}
    for name, parameter in named(plan.model):
        if parameter.requires_grad and name not in in_any:
            raise UserError(f"check: {name}: is trained and is not in the optimizer")
    _check_begun(plan)
    if not any(each.state for each in optimizers):
        _check_untouched(plan)


def _check_defaults(plan: Planned, optimizer: "torch.optim.Optimizer") -> None:
    """Raise UserError on what an optimizer was given beside its groups, which have their own."""
    own = inspect.signature(type(optimizer)).parameters
    for key, asked in plan.asked.items():
        said = optimizer.defaults.get(key)
        if said is None or asked is None or key not in own:
            continue
        if key == "lr":
            scheduled = any("initial_lr" in group for group in optimizer.param_groups)
            if scheduled and not math.isclose(said, asked, rel_tol=NEAR):
                raise UserError(
                    f"check: the optimizer's own lr is {said:.4g}, which some schedules read (a "
                    f"min_lr of transformers'), and the plan's is {asked:.4g}: make it by "
                    f"{type(optimizer).__name__}(plan.groups(lr, ...), lr=lr)"
                )
        elif said not in (asked, own[key].default):
            raise UserError(
                f"check: {type(optimizer).__name__}({key}={said:.4g}) is of no group, for each has "
                f"its own: plan.groups({key}={said:.4g})"
            )


def _check_rates(plan: Planned, of: Sequence[tuple[str, Mapping[str, Any], str]]) -> None:
    """Raise UserError unless all rates are one multiple of those that the plan gave."""
    first: tuple[str, float] | None = None
    for name, group, kind in of:
        rate, given = float(group["lr"]), plan.given[name]["lr"]
        share = rate / given if given else rate
        if first is None and given:
            first = name, share
        expected = first[1] if first and given else 0.0
        if not math.isclose(share, expected, rel_tol=NEAR):
            why = (
                ": a schedule or a checkpoint has set it; let a schedule multiply rates, or "
                'set group["lr"] = rate * group["lr_scale"]'
            )
            raise UserError(
                f"check: {name}: its rate is {rate:.4g} and the plan gave {given:.4g}, where "
                f"others have {expected:.3g} of what it gave"
                + (why if "lr_scale" in group else _made_of_groups(kind))
            )


def _made_of_groups(kind: str) -> str:
    """What to do where an optimizer's groups are not the plan's."""
    return (
        f": the optimizer's groups are not the plan's: {kind}(plan.groups(lr, weight_decay)) has "
        "its rates, decay and eps; a checkpoint that was saved without them is none to load"
    )


def _check_begun(plan: Planned) -> None:
    """Raise UserError where init_() would set other values, and nothing says that these are right.
    A width of 1.25 times the base's changes a spread by more than what is let pass."""
    if plan.begun:
        return
    if plan.lacking:
        raise UserError(
            f"check: {min(plan.lacking)}: was not among the weights that were loaded: plan.init_() "
            "gives it its initial values; or plan.keep(), where it is to stay"
        )
    off: dict[str, tuple[float, float]] = {}
    for name, parameter in named(plan.model):
        if (role := plan.at.get(name)) is None or parameter.is_meta:
            continue
        rule = plan.recipe.rule(role)
        held, expected = plan.held.get(name, 1.0), None
        alike = plan.roles is not None and role.width_in == role.width_out == role.depth == 1
        if role.drawn and rule.init is not None and (not alike or held != 1):
            expected = plan.std(name)
        elif (
            plan.roles is not None
            and not role.drawn
            and held != 1
            and (constant := plan.roles.found[name].constant) is not None
        ):
            shift = plan.roles.shifts.get(name, 0.0)
            expected = abs((constant + shift) * held - shift)
        if expected is not None and not math.isclose(spread(parameter), expected, rel_tol=FAR):
            off[name] = spread(parameter), expected
    if off:
        name = max(off, key=lambda each: abs(math.log(min(off[each]) / max(off[each]) or 1e-300)))
        raise UserError(
            f"check: {name}: its values have a spread of {off[name][0]:.3g}, and the plan's is "
            f"{off[name][1]:.3g}: plan.init_() was not called: call it before training; or "
            "plan.keep(), where these are trained weights that were there before the plan"
        )


def _check_untouched(plan: Planned) -> None:
    """Raise UserError where, before any step, a spread is not what init_() left; 0 is right at any
    width."""
    for name, parameter in named(plan.model):
        if (left := plan.made.get(name)) is None or parameter.is_meta:
            continue
        now = spread(parameter)
        if now and not math.isclose(now, left, rel_tol=FAR):
            raise UserError(
                f"check: {name}: its spread is {now:.3g} before this optimizer's first step, and "
                f"plan.init_() left {left:.3g}: what sets values (apply, reset_parameters) comes "
                "before it; or plan.keep(), where they are to stay"
            )


def spread(parameter: "torch.Tensor") -> float:
    """The root of the mean square of a parameter's entries."""
    return float(parameter.detach().abs().float().square().mean().sqrt())


# What clips by the plain norm -> what to do in its place.
CLIPS = {
    "max_grad_norm": "give max_grad_norm=0.0 and the callback widthwise.hugging_face.PlanCallback",
    "gradient_clip_val": "leave it out and clip in configure_gradient_clipping, docs/library.md",
}


def check_arguments(arguments: Any) -> None:
    """Raise UserError where a trainer's arguments clip by a norm that follows the width."""
    for name, instead in CLIPS.items():
        if limit := getattr(arguments, name, None):
            raise UserError(
                f"check: {name}={limit} clips by the plain norm, which grows with the width: "
                f"{instead}"
            )


def check_whole(what: str, plan: Planned, name: str, parameter: "torch.Tensor") -> None:
    """Raise UserError on a parameter that has no longer the shape that the plan was made for."""
    if (shape := tuple(parameter.shape)) != plan.shapes[name]:
        raise UserError(
            f"{what}: {name}: was {'flattened' if parameter.numel() else 'emptied'} after the plan "
            f"was made, from the shape {plan.shapes[name]} to {shape}, as FSDP's use_orig_params "
            "and ZeRO-3 do, and is needed whole here: call it before, or shard by fully_shard"
        )


def check_names(what: str, plan: Planned) -> None:
    """Raise UserError on a parameter of the model that it did not have when the plan was made."""
    for name, parameter in named(plan.model):
        if name in plan.at or (what == "check" and not parameter.requires_grad):
            continue
        place, _, own = name.rpartition(".")
        for other in plan.at:
            first = other.rpartition(".")
            used_in = () if plan.roles is None else plan.roles.found[other].used_in
            if place in used_in and place != first[0] and own == first[2]:
                raise UserError(
                    f"{what}: {name} was tied to {other} and is not now, as after to_empty: tie "
                    "the weights again (model.tie_weights())"
                )
        raise UserError(
            f"{what}: {name} is not among the parameters that the model had when the plan was made "
            "(pruning, weight normalization, adapters, a new layer): make the plan of the finished "
            "model, with roles of one that is made so"
        )


def rows(plan: Planned) -> list[dict[str, Any]]:
    """See `Plan.rows`."""
    found = []
    for name, role in plan.at.items():
        lr, decay = plan.constants(name)
        drawn = role.drawn and plan.recipe.rule(role).init is not None
        row = {"parameter": name, "kind": role.kind, "in": role.width_in, "out": role.width_out}
        std = plan.std(name) if drawn else None
        found.append({**row, "lr": lr, "weight decay": decay, "std": std})
    return found


def table(plan: Planned) -> str:
    """`rows`, without spreads; and the factors, with what holds them."""
    lines = [list(row.items())[:-1] for row in rows(plan)]
    cells = [tuple(key for key, _ in lines[0])]
    cells += [tuple(v if isinstance(v, str) else f"{v:.4g}" for _, v in line) for line in lines]
    title = f"{plan.recipe.label}; widths, rates and decay are over those at the base width"
    return "\n".join([title, *columns(cells), *map(str, plan.factors)])
