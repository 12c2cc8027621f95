"""A plan: a model, what its parameters are, and a recipe, as one object.

Roles are traced at the base width (`widthwise.roles`), or stated by the model itself, whose method
`roles()` then has the role of each parameter at the model's own width.
At the base width every recipe is the user's own model and optimizer: no factor is other than 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from widthwise.errors import UserError, did_you_mean
from widthwise.identity import WITHIN, named
from widthwise.parametrization import checked, initial
from widthwise.parametrization.recipes import Recipe, recipe
from widthwise.parametrization.rules import (
    BOTTLENECK,
    KINDS,
    Power,
    Role,
    check_groups,
    check_roles,
    init_std,
)

if TYPE_CHECKING:
    import torch


PLAN = "_widthwise_plan"  # a model's attribute


class Traced(Protocol):
    """Roles that were traced at the base width, as `widthwise.roles` returns them."""

    found: dict[str, Any]
    shifts: dict[str, float]
    inside: frozenset[str]

    def __getitem__(self, name: str, /) -> Role:
        """The role of a parameter at the base width."""

    def at(self, model: Any, /) -> dict[str, Role]:
        """The roles of the same module at another width."""

    def like(self, model: Any, /) -> "Traced":
        """The roles of the same module at another depth, at the base width."""

    def factors(
        self, model: Any, recipe: Recipe, branches: Sequence[str] | None, /
    ) -> tuple[Any, ...]:
        """A recipe's factors for a module, each with the parameters that hold it."""

    def fill_(self, model: Any, seed: int, /) -> None:
        """Give what nothing draws the values that it is made with."""

    def follows(self, model: Any, /) -> dict[str, float]:
        """What values that follow the width are, over those at the base."""


def plan(
    model: "torch.nn.Module",
    roles: Traced | None,
    recipe: "str | Recipe",
    *,
    branches: Sequence[str] | None = None,
) -> "Plan":
    """The plan of a model, which stays as it is until `init_`.

    Tied readouts have a factor in every recipe but SP; attention whose head_dim grows has one in
    muP, on its logits; others have theirs in `muP-multiplier`. Parameters hold them: a readout's
    weight its own, the norm before a tied readout that one's, the queries' weight that on logits.
    Of one matrix for queries, keys and values all of it holds the root, which the layer behind
    takes back. At the base width all are 1.

    model: freshly made, not compiled or wrapped (`torch.compile`, DDP, FSDP).
    roles: as `widthwise.roles` gives them; None: the model's own, `model.roles()`, which has its
        factors itself.
    recipe: a Recipe, a name, or the path of a file of one's own; by a name, for AdamW.
    branches: where the depth is another than the base's, the layers whose outputs are added to the
        residual stream, by name or a pattern of names with `*` ("*.o_proj"): they get the recipe's
        factor for residual branches. None: those that were found where roles were traced, in layers
        that return what they are given plus what modules in them return. (): make has the factor
        itself.
    A second plan with the same recipe is the first one.
    Raises UserError where the model has a plan of another recipe, the roles are of another module,
    a tied readout has no factor (LVP), no parameter can hold one, or residual branches cannot be
    told.
    """
    if not hasattr(model, "named_parameters") or not (roles is None or hasattr(roles, "like")):
        given = ", ".join(type(each).__name__ for each in (model, roles, recipe))
        raise UserError(f"plan: takes (model, roles, recipe), as of make(width), not ({given})")
    asked = _recipe(recipe)
    found: Plan | None = vars(model).get(PLAN) if roles is not None else None
    if found is None:
        found = Plan(model, roles, asked, branches)
        if roles is not None:
            vars(model)[PLAN] = found
            model.register_load_state_dict_post_hook(_loaded)
    elif found.recipe != asked:
        raise UserError(
            f"plan: the model has a plan already, {found.recipe.label}, and not {asked.label}: "
            "make it anew"
        )
    return found


_recipe = recipe  # `plan` has an argument of that name


def _loaded(model: "torch.nn.Module", keys: Any) -> None:
    """What a model does when weights were loaded into it: they stay. Where some were lacking, those
    have their initial values from `init_`, before or after."""
    plan: Plan = vars(model)[PLAN]
    begun, of = plan.begun and not plan.kept, [key.split(".") for key in keys.missing_keys]
    bare = {".".join(part for part in parts if part not in WITHIN) for parts in of}
    lacking = plan.at.keys() & (bare | {name.removeprefix("module.") for name in bare})  # DDP's
    plan.keep()
    if not begun:
        plan.lacking, plan.begun = frozenset(lacking), not lacking


def products(several: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Name -> the product of its numbers."""
    found: dict[str, float] = {}
    for each in several:
        for name, value in each.items():
            found[name] = found.get(name, 1.0) * value
    return found


class Plan:
    """What `plan` returns.

    model, recipe: of which it is. at: parameter -> its Role at the model's width. factors: the
    recipe's. held, outputs: parameter -> what it is multiplied by for them, module -> what its
    output is by that. Printed, a table. groups and check go with an optimizer, init_ is before.
    """

    begun = False  # whether the values are the plan's, or are to stay

    def __init__(
        self,
        model: "torch.nn.Module",
        roles: Traced | None,
        recipe: Recipe,
        branches: Sequence[str] | None = None,
    ):
        self.model, self.recipe = model, recipe
        self.roles = None if roles is None else roles.like(model)
        self.at: Mapping[str, Role] = check_roles(model) if roles is None else roles.at(model)
        self.shapes = {name: tuple(p.shape) for name, p in named(model)}
        self.factors = () if roles is None else roles.factors(model, recipe, branches)
        self.held = products(factor.held for factor in self.factors)
        self.outputs = products(factor.outputs for factor in self.factors)
        self.follows = {} if roles is None else roles.follows(model)
        self.given: dict[str, dict[str, float]] = {}  # by `groups`, of each parameter
        # See `checked`. What groups was asked for; spreads that init_ left; whether values are to
        # stay, and those which were lacking where others were loaded.
        self.asked, self.made = dict[str, float | None](), dict[str, float]()
        self.kept, self.lacking = False, frozenset[str]()

    def __str__(self) -> str:
        return checked.table(self)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each parameter, as `pandas.DataFrame` takes them: its name, kind, widths over
        the base's, what its rate and decay are times, and its initial spread, None as made."""
        return checked.rows(self)

    def init_(self, generator: "torch.Generator | None" = None) -> "Plan":
        """Give the model the initial spreads that the recipe says at its width; returns the plan.

        The spread of each parameter at the base width is the user's own, where its roles were
        traced there; wider, that of a matrix falls as fan_in^-1/2, times the table's factor. Roles
        that a model states say what the spreads are, at any width. What holds a factor is
        multiplied by it, gains too.

        A layer of a deeper model has the spread of the one at the base that it is like: what make
        does with the depth itself (GPT-2's 1/sqrt(2 L)) is undone, as CompleteP has it.

        generator: None: the model's own draws are kept and scaled: where no width differs from the
            base's nothing is touched, and neither are values that are all equal, as gains of 1.
            Else every tensor has its values anew, drawn in the model's order, gains, biases and
            buffers as `make` gives them: for a model whose memory is empty, as after `to_empty`; on
            the parameters' device.
        After a load_state_dict that lacked some of the weights only those are given values.
        Raises UserError where all were loaded and there is no generator, on a tensor on the meta
        device or with no values yet, with a generator where it is not known what `make` gives a
        tensor, and by a recipe that leaves all as made.
        """
        initial.init_(self, generator)
        self.begun, self.lacking = True, frozenset()
        return self

    def keep(self) -> "Plan":
        """Say that the model's values are right as they are, as those of one that was trained
        before its plan; returns the plan. What load_state_dict loads after it needs none of it."""
        self.begun, self.kept, self.made, self.lacking = True, True, {}, frozenset()
        return self

    def std(self, name: str) -> float:
        """The initial spread of a parameter that is drawn."""
        role = self.at[name]
        return init_std(role, self.recipe.rule(role)) * self.held.get(name, 1.0)

    def groups(
        self,
        lr: float | Mapping[str, float],
        weight_decay: float = 0.0,
        *,
        eps: float | None = None,
        decayed: Sequence[str] = KINDS,
        factors: Mapping[str, float] = MappingProxyType({}),
    ) -> list[dict[str, Any]]:
        """Groups for the recipe's optimizer, one for each distinct (kind, lr, weight decay, eps).

        lr: the rate tuned at the base width, a number or a tensor of one; or one for each kind of
            role (a bottleneck has the output's where it has none of its own, in `decayed` too).
        weight_decay: as tuned there; the recipe's `decay` says how it follows the rates.
        eps: Adam's, the class's own if None; it is scaled, as gradients are.
        decayed: what decays at all: kinds of role, names of parameters, or patterns of names with
            `*`; after a "!", what does not ("!*.A_log").
        factors: parameter name -> factor on its lr in place of the table's; lr * weight_decay
            stays. With 0 the parameter stays as it begins. What a parameter holds for a factor of
            the recipe's (`held`) is on its rate besides.
        A group has `params`, `lr`, `weight_decay` and what its optimizer has besides; `kind`, of
        its role; `names`, of its parameters; and `lr_scale`, its rate over the one given. A
        schedule of one's own sets `group["lr"] = rate * group["lr_scale"]`.
        Raises UserError on a rate that is not above 0 and finite, a decay or eps that is not at
        least 0 and finite, a kind without a rate, a decay whose rule the optimizer leaves open,
        and a factor of a parameter that is not there; ValueError on a parameter for which a model
        states no role.
        """
        used = self.recipe.optimizer
        self._check_names("groups")
        if unknown := set(factors) - set(self.at):
            raise UserError(f"factors of {sorted(unknown)}, but the model has {sorted(self.at)}")
        _check_constants(lr, weight_decay, eps, factors)
        if weight_decay and self.recipe.decay is None:
            raise UserError(
                f"groups: {used.name} adds its decay to the gradient, or does not, by its setting "
                'decoupled_weight_decay: give the recipe decay="coupled", or "independent"'
            )
        eps = used.eps if eps is None else eps
        self.asked = {"weight_decay": weight_decay, "eps": eps}
        self.asked["lr"] = None if isinstance(lr, Mapping) else float(lr)
        decays = _decaying(self.at, decayed)
        groups: dict[tuple, dict] = {}
        for name, parameter in named(self.model):
            role = self.at[name]
            kind = role.kind
            if kind == BOTTLENECK and isinstance(lr, Mapping) and kind not in lr:
                kind = "output"  # as it was before it had a kind of its own
            if isinstance(lr, Mapping) and kind not in lr:
                raise UserError(f"groups: lr has no rate for {kind}, the kind of {name}")
            rule = self.recipe.rule(role)
            rate = float(lr[kind] if isinstance(lr, Mapping) else lr)
            scale, decay = self.constants(name)
            decay = weight_decay * decay if name in decays else 0.0
            if name in factors:
                # The factor takes the place of the table's; lr * weight_decay stays.
                table, mine = self.factor(rule.lr, name), factors[name]
                if self.recipe.decay != "coupled" and mine:
                    decay *= table / mine
                scale *= mine / table
            group: dict[str, Any] = {"lr": rate * scale, "weight_decay": decay}
            if eps is not None and used.eps is not None:
                group["eps"] = eps * rule.eps(role) / self.over(name)
            if used.matrices is not None and role.kind == "hidden":
                checked.check_whole("groups", self, name, parameter)
                if parameter.dim() != 2:
                    raise UserError(
                        f"optimizer {used.name}: {name} has {parameter.dim()} axes and is no matrix"
                    )
                group = {**group, **used.matrices}
                if self.roles is not None and self.roles.found[name].outputs == (1,):
                    group["transposed"] = True
            group |= {"lr_scale": scale, "kind": role.kind}
            found = groups.setdefault(tuple(group.values()), {"params": [], **group, "names": []})
            found["params"].append(parameter)
            found["names"].append(name)
            self.given[name] = {key: v for key, v in group.items() if isinstance(v, float)}
        check_groups(self.model, groups.values())
        return list(groups.values())

    def check(
        self,
        optimizer: "torch.optim.Optimizer | Sequence[torch.optim.Optimizer]",
        *,
        arguments: Any = None,
    ) -> None:
        """Raise UserError unless an optimizer, or several, make the steps that the plan's rates are
        for and have its groups, with their factors, and the model has initial values by `init_`,
        or loaded ones, or those of `keep`.

        The steps are told by class, through wrappers of accelerate and Lightning. Of one that is
        not known a warning says so: of one's own, `recipe` takes an `Update` with its class.
        A schedule may multiply all rates by one number. One that sets them all to a number
        (OneCycleLR with one max_lr, an eta_min above 0, a loop over the groups) loses the factors;
        so does a checkpoint of an optimizer that was made without `groups`.

        arguments: transformers' TrainingArguments, or Lightning's Trainer: what clips by the plain
            norm, which follows the width, is refused.
        """
        checked.check_arguments(arguments)
        checked.check(self, optimizer)

    def squared_norm(self, parameter: "torch.Tensor | tuple[str, torch.Tensor]") -> float:
        """Factor on a gradient's squared norm that makes it independent of the width, for
        `clip_grad_norm_`: of a parameter of the model, or of (name, parameter).

        Raises UserError on one that is not the model's.
        """
        name, own = parameter if isinstance(parameter, tuple) else ("", parameter)
        if name not in self.at:
            name = next((name for name, p in named(self.model) if p is own), "")
        if name not in self.at:
            raise UserError("clip_grad_norm_: a parameter is not of the plan's model")
        role = self.at[name]
        factor = self.recipe.rule(role).multiplier(role) * role.factor(role)
        factor /= self.over(name)
        return role.width_out / role.width_in / factor**2

    def _check_names(self, what: str) -> None:
        checked.check_names(what, self)

    def constants(self, name: str) -> tuple[float, float]:
        """(factor on a parameter's rate, on its weight decay), over those at the base width.

        What holds a factor c is c times what it was, and its gradient 1/c: an update of degree q
        in it has a rate c^(1 + q) times as large for the same steps; what decays by it is as large
        a part of a step as it was, but where the recipe's rule is that the number stays. The gain
        1 + w of a norm does not decay, which would be to 1 and not to c.
        """
        held, recipe, role = self.over(name), self.recipe, self.at[name]
        lr = held ** (1 + recipe.optimizer.degree)
        decay = {"independent": lr, "coupled": held**2}.get(recipe.decay or "", 1.0)
        table = self.factor(recipe.rule(role).lr, name), self.factor(recipe.of_decay(role), name)
        still = held != 1 and self.roles is not None and name in self.roles.shifts
        return table[0] * lr, 0.0 if still else table[1] / decay

    def over(self, name: str) -> float:
        """What a value is over that at the base, by what it holds and by what `make` gives it."""
        return self.held.get(name, 1.0) * self.follows.get(name, 1.0)

    def factor(self, power: Power, name: str) -> float:
        """What a power says at a width, relative to the base width where roles are known there."""
        base = 1.0 if self.roles is None else power(self.roles[name])
        return power(self.at[name]) / base


def _check_constants(lr: object, weight_decay: float, eps: float | None, factors: Mapping) -> None:
    """Raise UserError on a constant with which no training is meant."""
    rates = lr.items() if isinstance(lr, Mapping) else [("", lr)]
    for kind, rate in rates:
        of = f" of {kind}" if kind else ""
        number = isinstance(rate, Real) or getattr(rate, "numel", lambda: 0)() == 1
        if not number or not 0 < float(rate) < math.inf:  # type: ignore[arg-type]
            said = rate if number else f"is a {type(rate).__name__}, no number"
            raise UserError(f"groups: lr{of} {said}: give a rate above 0")
    for what, value in (("weight_decay", weight_decay), ("eps", eps or 0.0), *factors.items()):
        if not 0 <= value < math.inf:
            raise UserError(f"groups: {what} {value}: give a number that is 0 or above")


def _decaying(at: Mapping[str, Role], decayed: Sequence[str]) -> set[str]:
    """The parameters that decay; UserError on what is neither a kind nor any parameter's name."""
    decayed = [decayed] if isinstance(decayed, str) else decayed
    only_not = bool(decayed) and all(each.startswith("!") for each in decayed)
    found = set(at) if only_not else set()
    for each in sorted(decayed, key=lambda each: each.startswith("!")):
        word = each.removeprefix("!")
        kinds = (word, BOTTLENECK) if word == "output" else (word,)
        named = {n for n, role in at.items() if role.kind in kinds or fnmatchcase(n, word)}
        if not named and word not in (*KINDS, BOTTLENECK):
            raise UserError(
                f"groups: decayed: {word!r} is no kind and no parameter: "
                f"{did_you_mean(word, [*KINDS, *at])}"
            )
        found = found - named if each.startswith("!") else found | named
    return found
