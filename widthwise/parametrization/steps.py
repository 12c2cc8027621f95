"""Whether an optimizer makes the steps that a recipe's rates are for."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from widthwise.errors import UserError
from widthwise.optimizers.known import Update, of_class, shipped, without_table

if TYPE_CHECKING:
    from widthwise.parametrization.recipes import Recipe
    from widthwise.parametrization.rules import Role


def bare(optimizer: Any) -> Any:
    """An optimizer without accelerate's, or Lightning's, around it."""
    return getattr(optimizer, "optimizer", optimizer)


def check_steps(
    recipe: "Recipe",
    at: "Mapping[str, Role]",
    kind: Any,
    held: Sequence[tuple[str, Mapping[str, Any]]],
) -> None:
    """Raise UserError where the class of an optimizer makes other steps than those that the
    recipe's rates are for; warn where nothing is known of it.

    held: (parameter, its group) of all that the optimizer has.
    """
    planned = recipe.optimizer
    mine = f"the plan's rates are for {planned.name}"
    found = of_class(kind, planned)
    if found is None:
        if follows := without_table(kind):
            raise UserError(
                f"check: {mine}, and {kind.__name__}'s steps follow {follows}, for which no table "
                f"has rates: choose from {', '.join(sorted(shipped()))}, and give the recipe its "
                "name"
            )
        if not (_is_own(planned) and planned.path == ""):  # which says nothing of its class
            warnings.warn(
                f"check: {mine}, and whether {kind.__module__}.{kind.__qualname__} makes such "
                "steps is not known, nor judged: say what it does, "
                f"recipe={recipe.name!r}, optimizer=ww.Update(degree=0, path={kind.__name__}) "
                "of ww.recipe (docs/library.md)",
                stacklevel=4,
            )
        return
    for name, group in held:
        used, wanted = _of_group(found, group), planned
        if planned.matrices is not None and at[name].kind != "hidden":
            wanted = shipped()["adamw"]
        if not _alike(wanted, used):
            raise UserError(
                f"check: {name}: {mine}{_rest(planned, wanted)}, and {kind.__name__} makes other "
                f"steps: take the optimizer that the plan is for, or plan for this one: "
                f"ww.recipe({recipe.name!r}, {kind.__name__})"
            )
        apart = used.decoupled
        if apart is None:
            apart = bool(group.get("decoupled_weight_decay"))
        asked = wanted.decoupled
        if asked is None:
            asked = {"independent": True, "coupled": False}.get(recipe.decay or "")
        if group.get("weight_decay") and asked is not None and apart != asked:
            ways = ("is added to the gradient", "is apart from the gradient")
            way = (
                "with decoupled_weight_decay=True, as AdamW has it"
                if asked
                else "without decoupled_weight_decay"
            )
            raise UserError(
                f"check: {name}: the plan's weight decay {ways[asked]} ({recipe.label}), and "
                f"that of this {kind.__name__} {ways[apart]}: make it {way}, or give ww.recipe "
                f"the optimizer and decay={'coupled' if asked else 'independent'!r}"
            )


def _of_group(found: Update, group: Mapping[str, Any]) -> Update:
    """What an optimizer does to a group: Muon's steps are for groups that have its settings."""
    if found.matrices is not None and not found.matrices.keys() <= group.keys():
        return shipped()["adamw"]
    return found


def _rest(planned: Update, wanted: Update) -> str:
    return "" if wanted is planned else f" (here {wanted.name})"


def _is_own(update: Update) -> bool:
    """Whether a user said what an optimizer does, rather than a file of this library."""
    return all(vars(update) != vars(each) for each in shipped().values())


def _alike(wanted: Update, used: Update) -> bool:
    """Whether two updates are one, but for where decay acts."""
    if _is_own(wanted) and wanted.path == "":
        return wanted.degree == used.degree and used.matrices is None
    if (wanted.matrices is None) != (used.matrices is None):
        return False
    if wanted.matrices is not None or wanted.name == used.name:
        return True
    return (wanted.degree, wanted.state, wanted.eps) == (used.degree, used.state, used.eps)
