"""A plan: a model, what its parameters are, and a recipe, as one object.

Roles are traced at the base width (`widthwise.roles`), or stated by the model itself, whose method
`roles()` then has the role of each parameter at the model's own width.
At the base width every recipe is the user's own model and optimizer: no factor is other than 1.
"""

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from widthwise.errors import UserError, did_you_mean
from widthwise.identity import named
from widthwise.parametrization import checked
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

    def __getitem__(self, name: str, /) -> Role:
        """The role of a parameter at the base width."""

    def at(self, model: Any, /) -> dict[str, Role]:
        """The roles of the same module at another width."""

    def like(self, model: Any, /) -> "Traced":
        """The roles of the same module at another depth, at the base width."""

    def attach(
        self,
        model: Any,
        recipe: Recipe,
        readout: str | Sequence[str] | None,
        branches: Sequence[str] | None,
        /,
    ) -> tuple[Any, ...]:
        """Put the recipe's factors on a module; returns them."""

    def fold_(
        self, model: Any, factors: tuple[Any, ...], /
    ) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """Multiply weights by factors; returns (those that are left, why, a line each)."""

    def fill_(self, model: Any, /) -> None:
        """Give what nothing draws the values that it is made with."""

    def lost(self, model: Any, factors: tuple[Any, ...], /) -> str | None:
        """The place of a factor that the module has no longer."""

    def transposed(self, name: str, /) -> bool:
        """Whether a matrix is stored as (inputs, outputs)."""

    def places(self, name: str, /) -> tuple[str, ...]:
        """The modules that use a parameter."""

    def idle(
        self, model: Any, factors: tuple[Any, ...], optimizers: Sequence[Any], /
    ) -> tuple[int, dict[str, tuple[Any, ...]]]:
        """(how many steps optimizers made, place of a factor that never ran in training -> the
        parameters there)."""


def plan(
    model: "torch.nn.Module",
    roles: Traced | None,
    recipe: "str | Recipe",
    *,
    readout: str | Sequence[str] | None = None,
    branches: Sequence[str] | None = None,
) -> "Plan":
    """The plan of a model: puts the recipe's factors on it, in place, and remembers which they are.

    A readout's factor acts on what it reads, an embedding's on what it writes: the layer gets
    a class of its own, of the same name. Tied readouts have one in every recipe but SP; others in
    `muP-multiplier`. Attention whose head_dim grows has one in muP, on calls of torch's
    scaled_dot_product_attention. At the base width all are 1. Parameters stay as they are. **The
    same weights without a plan are another function** where a factor is not 1: such a model's
    state_dict has the entry `widthwise_factors`, which a model without a plan does not know, and
    which a model with one asks for.

    model: freshly made, not compiled or wrapped (`torch.compile`, DDP, FSDP).
    roles: as `widthwise.roles` gives them; None: the model's own, `model.roles()`, which has its
        factors itself.
    recipe: a Recipe, a name, or the path of a file of one's own; by a name, for AdamW.
    readout: where a readout is no layer, `F.linear(x, self.embedding.weight)`, the module whose
        output it reads (a last norm, say), by name; or the module that holds the weight, where that
        does nothing else with what it is given, as a router. Names, or patterns of names with `*`
        ("*.mlp.gate"), where there are several.
    branches: where the depth is another than the base's, the layers whose outputs are added to the
        residual stream, by name or a pattern of names with `*` ("*.o_proj"): they get the recipe's
        factor for residual branches. None: those that were found where roles were traced, in layers
        that return what they are given plus what modules in them return. (): make has the factor
        itself.
    A second plan with the same recipe is the first one.
    Raises UserError where the model has a plan of another recipe, the roles are of another module,
    a readout is no layer and none is given, a tied one has no factor (LVP), attention computes
    its logits itself, or residual branches cannot be told.
    """
    asked = _recipe(recipe)
    found: Plan | None = vars(model).get(PLAN) if roles is not None else None
    if found is None:
        found = Plan(model, roles, asked, readout, branches)
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


def _loaded(model: "torch.nn.Module", _: object) -> None:
    """What a model does when weights were loaded into it: they stay."""
    vars(model)[PLAN].keep()


class Plan:
    """What `plan` returns.

    model, recipe: of which it is. at: parameter -> its Role at the model's width. factors: those
    that were put on it. Printed, a table. groups and check go with an optimizer, init_ is before.
    """

    begun = False  # whether the values are the plan's, or are to stay

    def __init__(
        self,
        model: "torch.nn.Module",
        roles: Traced | None,
        recipe: Recipe,
        readout: str | Sequence[str] | None = None,
        branches: Sequence[str] | None = None,
    ):
        self.model, self.recipe = model, recipe
        self.roles = None if roles is None else roles.like(model)
        self.at: Mapping[str, Role] = check_roles(model) if roles is None else roles.at(model)
        self.shapes = {name: tuple(p.shape) for name, p in named(model)}
        self.factors = () if roles is None else roles.attach(model, recipe, readout, branches)
        # Parameter -> the constants that `groups` gave it, and torch's count of its changes then.
        self.given: dict[str, dict[str, float]] = {}
        self.versions: dict[str, int] = {}

    def __str__(self) -> str:
        return checked.table(self)

    def init_(self, generator: "torch.Generator | None" = None) -> "Plan":
        """Give the model the initial spreads that the recipe says at its width; returns the plan.

        The spread of each parameter at the base width is the user's own, where its roles were
        traced there; wider, that of a matrix falls as fan_in^-1/2, times the table's factor. Roles
        that a model states say what the spreads are, at any width.

        A layer of a deeper model has the spread of the one at the base that it is like: what make
        does with the depth itself (GPT-2's 1/sqrt(2 L)) is undone, as CompleteP has it.

        generator: None: the model's own draws are kept and scaled: where no width differs from the
            base's nothing is touched, and neither are values that are all equal, as gains of 1.
            Else every tensor has its values anew, drawn in the model's order, gains, biases and
            buffers as `make` gives them: for a model whose memory is empty, as after `to_empty`; on
            the parameters' device.
        Raises UserError on a tensor on the meta device or with no values yet, and with a generator
        where it is not known what `make` gives a tensor, and by a recipe that leaves all as made.
        """
        import torch

        self._check_names("init_")
        if generator is not None and self.roles is not None:
            self.roles.fill_(self.model)
        with torch.no_grad():
            for name, parameter in named(self.model):
                role, rule = self.at[name], self.recipe.rule(self.at[name])
                if self.roles is not None and parameter.is_meta:
                    raise UserError(
                        f"init_: {name} is on the meta device: model.to_empty(device=...) first"
                    )
                if not role.drawn or (rule.init is None and generator is None):
                    continue
                if rule.init is None:
                    raise UserError(
                        f"init_: {self.recipe.name} leaves values as make gives them, and draws "
                        "none"
                    )
                if generator is None:
                    self._scale(name, parameter, init_std(role, rule))
                elif role.distribution == "uniform":
                    std = init_std(role, rule)
                    parameter.uniform_(-std * 3**0.5, std * 3**0.5, generator=generator)
                else:
                    parameter.normal_(0.0, init_std(role, rule), generator=generator)
        return self.keep()

    def keep(self) -> "Plan":
        """Say that the model's values are right as they are, as those of a model that was trained
        before its plan was made; returns the plan. `check` then misses no init_(). Weights that are
        loaded after the plan was made, by load_state_dict, need none of it."""
        self.begun = True
        return self

    def _scale(self, name: str, parameter: "torch.Tensor", std: float) -> None:
        """Give a parameter the spread `std`, by a factor on its values."""
        role = self.at[name]
        checked.check_whole("init_", self, name, parameter)
        own = checked.spread(parameter)
        if not math.isfinite(own) or (own == 0 and std > 0 and self.roles is not None):
            raise UserError(
                f"init_: {name} has no values yet (their root mean square is {own}): give a "
                "generator, and all are drawn"
            )
        alike = role.width_in == role.width_out == role.depth == 1
        if own > 0 and (self.roles is None or not alike):
            parameter.mul_(std / own)

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

        lr: the rate tuned at the base width; or one for each kind of role (a bottleneck has the
            output's where it has none of its own, in `decayed` too).
        weight_decay: as tuned there; the recipe's `decay` says how it follows the rates.
        eps: Adam's, the class's own if None; it is scaled, as gradients are.
        decayed: what decays at all: kinds of role, names of parameters, or patterns of names with
            `*`; after a "!", what does not ("!*.A_log").
        factors: parameter name -> factor on its lr in place of the table's; lr * weight_decay
            stays. With 0 the parameter stays as it begins.
        A group has `params`, `lr`, `weight_decay` and what its optimizer has besides; `kind`, of
        its role; `names`, of its parameters; and `lr_scale`, its rate over the one given. A
        schedule of one's own sets `group["lr"] = rate * group["lr_scale"]`.
        Factors are relative to the base width, so that there every group has these constants.
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
            rate = lr[kind] if isinstance(lr, Mapping) else lr
            scale = self.factor(rule.lr, name)
            decay = self.factor(self.recipe.of_decay(role), name)
            decay = weight_decay * decay if name in decays else 0.0
            if name in factors:
                # The factor takes the place of the table's; lr * weight_decay stays.
                if self.recipe.decay != "coupled" and factors[name]:
                    decay *= scale / factors[name]
                scale = factors[name]
            group: dict[str, Any] = {"lr": rate * scale, "weight_decay": decay}
            if eps is not None and used.eps is not None:
                group["eps"] = eps * rule.eps(role)
            if used.matrices is not None and role.kind == "hidden":
                checked.check_whole("groups", self, name, parameter)
                if parameter.dim() != 2:
                    raise UserError(
                        f"optimizer {used.name}: {name} has {parameter.dim()} axes and is no matrix"
                    )
                group = {**group, **used.matrices}
                if self.roles is not None and self.roles.transposed(name):
                    group["transposed"] = True
            group |= {"lr_scale": scale, "kind": role.kind}
            found = groups.setdefault(tuple(group.values()), {"params": [], **group, "names": []})
            found["params"].append(parameter)
            found["names"].append(name)
            self.given[name] = {key: v for key, v in group.items() if isinstance(v, float)}
            self.versions[name] = parameter._version
        check_groups(self.model, groups.values())
        return list(groups.values())

    def check(
        self,
        optimizer: "torch.optim.Optimizer | Sequence[torch.optim.Optimizer]",
        *,
        arguments: Any = None,
    ) -> None:
        """Raise UserError unless an optimizer, or several, make the steps that the plan's rates are
        for and have its groups, with their factors, and the model has its own, which ran in the
        steps that were made, and initial values by `init_`, or loaded ones, or those of `keep`.

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

    def fold_(self) -> tuple[str, ...]:
        """Multiply weights by the factors on what they read or write, where that is the same
        function, so that they need no plan any more: for export and serving, when training is
        over. Returns what is left, a line each: factors on attention's logits, and on a weight
        that has another use, as a tied readout's.
        """
        if self.roles is None:
            return ()
        self.factors, left = self.roles.fold_(self.model, self.factors)
        return left

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
        return role.width_out / role.width_in / factor**2

    def _check_names(self, what: str) -> None:
        checked.check_names(what, self)

    def factor(self, power: Power, name: str) -> float:
        """What a power says at a width, relative to the base width where roles are known there."""
        base = 1.0 if self.roles is None else power(self.roles[name])
        return power(self.at[name]) / base


def _check_constants(lr: object, weight_decay: float, eps: float | None, factors: Mapping) -> None:
    """Raise UserError on a constant with which no training is meant."""
    rates = lr.items() if isinstance(lr, Mapping) else [("", lr)]
    for kind, rate in rates:
        of = f" of {kind}" if kind else ""
        if not isinstance(rate, Real) or not 0 < float(rate) < math.inf:
            raise UserError(f"groups: lr{of} {rate}: give a rate above 0")
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
