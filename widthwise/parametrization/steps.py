"""Whether an optimizer makes the steps that a recipe's rates are for."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from widthwise.errors import UserError
from widthwise.optimizers.known import Update, shipped
from widthwise.parametrization.rules import BOTTLENECK

if TYPE_CHECKING:
    from widthwise.parametrization.recipes import Recipe
    from widthwise.parametrization.rules import Role


def bare(optimizer: Any) -> Any:
    """An optimizer without accelerate's, or Lightning's, around it."""
    return getattr(optimizer, "optimizer", optimizer)


def check_steps(
    recipe: "Recipe",
    at: "Mapping[str, Role]",
    optimizer: Any,
    held: Sequence[tuple[str, Any, Mapping[str, Any]]],
) -> None:
    """Raise UserError where an optimizer is seen to make other steps than those that the recipe's
    rates are for; warn where that cannot be seen. Of a class that the recipe's `Update` is of, what
    that says holds.

    held: (name, parameter, its group) of all that the optimizer has.
    """
    planned, kind = recipe.optimizer, type(optimizer)
    if isinstance(planned.path, type) and issubclass(kind, planned.path):
        return
    mine = f"the plan's rates are for {planned.name}"
    seen: dict[str, Update | None] = {}
    for name, parameter, group in held:
        role = at[name].kind if parameter.ndim > 1 else "vector"
        found = _seen(optimizer, parameter, group, role, mine, seen)
        if found is None:
            # A file of a user's own may say nothing of its class.
            if planned.path or planned.name in shipped():
                warnings.warn(
                    f"check: {mine}, and whether {kind.__module__}.{kind.__qualname__} makes such "
                    "steps cannot be seen, nor is it judged: say what it does, "
                    f"recipe={recipe.name!r}, optimizer=ww.Update(degree=0, path={kind.__name__}) "
                    "of ww.recipe (docs/library.md)",
                    stacklevel=4,
                )
            return
        wanted = planned
        if planned.matrices is not None and at[name].kind != "hidden":
            wanted = shipped()["adamw"]
        if _steps(wanted) != _steps(found):
            here = "" if wanted is planned else f" (here {wanted.name})"
            raise UserError(
                f"check: {name}: {mine}{here}, and {kind.__name__} makes other steps "
                f"({_words(found)}): take the optimizer that the plan is for, or plan for this "
                f"one: ww.recipe({recipe.name!r}, {kind.__name__})"
            )
        apart, asked = found.decoupled, wanted.decoupled
        if asked is None:
            asked = {"independent": True, "coupled": False}.get(recipe.decay or "")
        if None not in (apart, asked) and apart != asked:
            ways = ("is added to the gradient", "is apart from the gradient")
            way = f"plan for it: ww.recipe({recipe.name!r}, {kind.__name__})"
            if "decoupled_weight_decay" in optimizer.defaults:
                adds = "with" if asked else "without"
                way = f"make it {adds} decoupled_weight_decay=True, as AdamW has it, or give"
                way += (
                    f" ww.recipe the optimizer and decay={'coupled' if asked else 'independent'!r}"
                )
            raise UserError(
                f"check: {name}: the plan's weight decay {ways[bool(asked)]} ({recipe.label}), and "
                f"that of this {kind.__name__} {ways[bool(apart)]}: {way}"
            )


def _seen(
    optimizer: Any, parameter: Any, group: Mapping[str, Any], role: str, mine: str, seen: dict
) -> Update | None:
    """What an optimizer does with a parameter's group; seen: what was looked at already."""
    from widthwise.optimizers._probed import LISTS, SHAPES, update_of

    others = ("lr", "lr_scale", "kind", "eps", "weight_decay", "initial_lr", *LISTS)
    decays = bool(group.get("weight_decay"))
    role = role if role in SHAPES else "output" if role == BOTTLENECK else "embedding"
    key = repr((decays, role, {k: v for k, v in group.items() if k not in others}))
    if key not in seen:
        how: dict[str, Any] = {"role": role, "decays": decays}
        how["device"] = "cpu" if parameter.is_meta else parameter.device
        how["known"] = type(optimizer) in [each.kind for each in shipped().values() if each.path]
        try:
            seen[key] = update_of(type(optimizer), group, optimizer.defaults, **how)
        except UserError as error:
            raise UserError(
                f"check: {mine}, and {type(optimizer).__name__}'s {error}: choose from "
                f"{', '.join(sorted(shipped()))}, and give the recipe its name"
            ) from None
    return seen[key]


def _steps(update: Update) -> tuple:
    """What rates depend on."""
    return update.degree, update.matrices is not None, update.matrix_lr


def _words(update: Update) -> str:
    """What steps are like."""
    if update.matrices is not None:
        return f"those of matrices orthogonal, as large as the width^{0.0 - update.matrix_lr:g}"
    return "as large as the gradient" if update.degree else "of a size that no gradient changes"
