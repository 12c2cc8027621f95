"""A recipe: a parametrization's rows for one optimizer, and how weight decay follows its rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from widthwise.errors import UserError, did_you_mean
from widthwise.optimizers import known as optimizers
from widthwise.optimizers.known import Update
from widthwise.parametrization import named
from widthwise.parametrization.rules import BOTTLENECK, KINDS, ONE, Power, Role, Rule
from widthwise.printed import columns

if TYPE_CHECKING:
    import torch

# Rule of weight decay by name -> its factor.
#   independent  of what a step adds, lr * weight_decay is the same at every width
#   plain        weight_decay is the same at every width
#   coupled      decay is a part of the gradient, as Adam's and SGD's, and is as large a part of it
DECAYS: Mapping[str, Callable[[Rule], Power]] = MappingProxyType(
    {
        "independent": lambda rule: rule.weight_decay,
        "plain": lambda rule: ONE,
        "coupled": lambda rule: rule.coupled_weight_decay,
    }
)


# How residual branches shrink with the depth L, by name -> alpha in L^-alpha (Dey et al.,
# CompleteP, arXiv 2505.01618): with Adam's kin rates of a layer follow as L^(alpha - 1), its eps as
# L^-alpha. "plain": nothing follows the depth.
DEPTHS: Mapping[str, float | None] = MappingProxyType({"1/sqrt(L)": 0.5, "1/L": 1.0, "plain": None})


@dataclass(frozen=True)
class Recipe:
    """What depends on the width, and how, for one optimizer; printed, the table.

    name: a parametrization, or the path of its file. optimizer: what is known of it.
    decay: a key of DECAYS; None: there is no weight decay, for an optimizer that asks which it is.
    rules: kind of role -> Rule. tied: factor on a tied readout's logits, a Power of `n_in`, None
    where there is none. attention: the same on logits head_dim^-1/2 q.k, where head_dim grows.
    depth: a key of DEPTHS; None: the depth is held fixed.
    """

    name: str
    optimizer: Update
    decay: str | None
    rules: Mapping[str, Rule]
    tied: Power | None
    attention: Power
    depth: str | None = None

    @property
    def branch(self) -> Power:
        """The factor on what a layer's residual branches add."""
        alpha = DEPTHS[self.depth] if self.depth else None
        return ONE if alpha is None else Power(depth=-alpha)

    @property
    def label(self) -> str:
        """Name, optimizer and decay in a few words."""
        optimizer = self.optimizer.name
        if isinstance(kind := self.optimizer.path, type):  # none of torch's by its name
            optimizer = f"{optimizer} ({kind.__module__}.{kind.__qualname__})"
        return ", ".join(filter(None, (self.name, optimizer, self.decay, self.depth)))

    def of_decay(self, role: Role) -> Power:
        """The factor on the weight decay of a role."""
        return DECAYS[self.decay](self.rule(role)) if self.decay else ONE

    def rule(self, role: Role) -> Rule:
        """The row of a role, what the model has on it itself taken off where values are drawn; of a
        bottleneck the hidden one, where a file states rules alone."""
        row = self.rules[role.kind] if role.kind in self.rules else self.rules["hidden"]
        if not role.own or row.init is None:
            return row
        return row.with_layer_factor(role.factor, self.optimizer.degree)

    def of_tied(self, width: float) -> float:
        """The factor on the logits of a readout that is the embedding transposed, at a width
        relative to the base's; UserError where none is defined."""
        if self.tied is None:
            raise UserError(
                f"{self.name}: no multiplier is defined for a tied readout (TIED): the embedding "
                "and the readout have rates of their own in it; give the readout weights of its "
                "own, or take muP"
            )
        return self.tied(Role("output", width_in=width))

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("", "init, of its spread", "lr", "weight decay", "eps", "output")
        ]
        for kind in (*KINDS, BOTTLENECK):
            rule = self.rule(Role(kind))
            eps = rule.eps if self.optimizer.eps is not None else None
            decay = self.of_decay(Role(kind)) if self.decay else None
            powers = (rule.init, rule.lr, decay, eps, rule.multiplier)
            rows.append((kind, *("-" if p is None else str(p) for p in powers)))
        tied = "none defined" if self.tied is None else str(self.tied)
        return "\n".join(
            [
                f"{self.label}; factors, of width over base width along what a parameter reads "
                "(in) and writes (out)",
                *columns(rows),
                f"logits of a tied readout: {tied}; of attention, head_dim^-1/2 q.k, of head_dim: "
                f"{self.attention}",
                *([f"what a residual branch adds: {self.branch}"] if self.depth else []),
            ]
        )


def recipe(
    name: "str | Recipe",
    optimizer: "str | type[torch.optim.Optimizer] | Update | None" = None,
    decay: str | None = None,
    depth: str | None = None,
) -> Recipe:
    """The recipe of a parametrization for an optimizer.

    name: a parametrization (`shipped`, `s=0.25`), the path of a file, or a Recipe, which is
        returned as it is where nothing else is given, and changed where something is.
    optimizer: its name (a file of `widthwise/optimizers/`), its class, the path of a file of your
        own, or an `Update`; AdamW if None.
    decay: a key of DECAYS. None: "independent" for an optimizer whose decay is apart from the
        gradient, "coupled" for one that adds it. Adam's and NAdam's are either, by a setting: give
        it where there is a weight decay.
    depth: a key of DEPTHS, for models of other depths than the base's; for Adam's kin.
    Raises UserError on what is unknown, on a decay that the optimizer has not, and where the
    parametrization has no rows for the optimizer.
    """
    if isinstance(name, Recipe):
        if optimizer is None and decay is None and depth is None:
            return name
        return recipe(name.name, optimizer or name.optimizer, decay, depth or name.depth)
    known = optimizers.find("adamw" if optimizer is None else optimizer)
    table = named.find(name)
    rules = table.rules(known.family)
    rules = {**rules, BOTTLENECK: rules["hidden"]}
    if known.matrices is not None:
        rules = {**rules, "hidden": named.matrices(rules, known.matrix_lr)}
    if decay is None and known.decoupled is not None:
        decay = "independent" if known.decoupled else "coupled"
    if decay is not None and decay not in DECAYS:
        raise UserError(f"recipe: decay {decay!r}: {did_you_mean(str(decay), DECAYS)}")
    if (known.decoupled, decay) in ((True, "coupled"), (False, "independent")):
        adds = "adds its decay to the gradient" if not known.decoupled else "decays apart from it"
        raise UserError(
            f"recipe: {known.name} {adds}, so decay={decay!r} is none of its: leave it out"
        )
    if depth is not None:
        if depth not in DEPTHS:
            raise UserError(f"recipe: depth {depth!r}: {did_you_mean(depth, DEPTHS)}")
        alpha = DEPTHS[depth]
        if alpha is not None and (known.degree or known.matrices is not None):
            raise UserError(
                f"recipe: depth={depth!r} is known for Adam's kin, and not for {known.name}"
            )
        if alpha is not None:
            rules = {
                kind: replace(
                    rule,
                    lr=replace(rule.lr, depth=alpha - 1),
                    eps=replace(rule.eps, depth=-alpha),
                )
                for kind, rule in rules.items()
            }
    return Recipe(name, known, decay, dict(rules), table.tied, table.attention, depth)


def with_inits(base: str | Recipe, inits: Mapping[str, str | Recipe]) -> Recipe:
    """A recipe whose initial spreads, of some kinds of role, are those of others."""
    base = recipe(base)
    others = {kind: recipe(each).rules[kind].init for kind, each in inits.items()}
    rows = {kind: replace(base.rules[kind], init=init) for kind, init in others.items()}
    return replace(base, rules={**base.rules, **rows})


def tied_multiplier(name: str, width: float) -> float:
    """Factor on the logits of a readout that is the embedding transposed, at a width relative to
    the base's. Raises UserError where none is defined."""
    return recipe(name).of_tied(width)


def output_multiplier(name: str, width: float) -> float:
    """Factor on the logits of a readout with weights of its own; width: as above."""
    return recipe(name).rules["output"].multiplier(Role("output", width_in=width))


def attention_multiplier(name: str, head_dim: float) -> float:
    """Factor on attention's logits head_dim^-1/2 q.k; head_dim: relative to the base."""
    return recipe(name).attention(Role("hidden", width_in=head_dim))
