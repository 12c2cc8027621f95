"""The role of each parameter of any module, from the module at two widths.

Shapes at two widths say which axes grow; one forward pass at each says what they do
(`widthwise.tracing`). An axis that grows and is summed over is an input, one that grows and has an
output for each of its entries an output; by these a parameter has its kind (`Role`).
"""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.files import atomic_path, open_file
from widthwise.hints import misfit
from widthwise.identity import bare, named
from widthwise.parametrization.recipes import Recipe
from widthwise.parametrization.rules import Role
from widthwise.printed import columns
from widthwise.tracing.attention import AttentionScale, attention_of
from widthwise.tracing.constants import Buffer, Kept, fill_undrawn
from widthwise.tracing.deeper import deeper
from widthwise.tracing.draws import FewDraws, alike
from widthwise.tracing.flow import Held
from widthwise.tracing.kinds import Found, from_plain, plain
from widthwise.tracing.making import check_fits, made, on_meta
from widthwise.tracing.multipliers import Factor, factors_of
from widthwise.tracing.passes import Passes, matching, passes
from widthwise.tracing.placed import anew, norms_of, placed, ratios, sizes_of, values_of
from widthwise.tracing.stacks import Stack, depth_at, stacks
from widthwise.tracing.warnings import of_roles, some, unmet
from widthwise.tracing.wrapped import wrapper_of


class Roles(Mapping[str, Role]):
    """Parameter name -> its Role at the base width; printed, a table.

    found: parameter -> `Found`. attention: those whose head dimension grows. warnings: what a user
    should look at, a line each. inside: those whose outputs one with a width reads. buffers: what
    `make` gives them. branches: layer of a list -> its residual branches (`tracing.branches`).
    held: of a factor on what a tied parameter reads, or on what a module in a list returns, by
    their names -> parameter -> the power of it that it holds (`tracing.flow`). shifts: parameter
    -> the number that it is used with the sum of, as the gain 1 + w of a norm. make, base: of which
    they are. proof: what numbers say of them, "" where none were asked.
    `at(model)` gives the roles of the module at another width.
    """

    def __init__(
        self,
        found: Mapping[str, Found],
        attention: tuple[AttentionScale, ...],
        warnings: tuple[str, ...],
        widths: tuple[float, float],
        inside: frozenset[str],
        buffers: Mapping[str, Buffer] = MappingProxyType({}),
        branches: Mapping[str, tuple[str, ...] | str] = MappingProxyType({}),
        held: Mapping[str, Held] = MappingProxyType({}),
        shifts: Mapping[str, float] = MappingProxyType({}),
    ):
        self.found, self.attention, self.warnings = dict(found), attention, warnings
        self.widths, self.inside, self.buffers = widths, inside, dict(buffers)
        self.branches, self.held, self.shifts = dict(branches), dict(held), dict(shifts)
        self.make: Callable | None = None
        self.base: Any = widths[0]
        self.proof = ""

    def __deepcopy__(self, memo: object) -> "Roles":
        return self  # nothing changes them

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "make": None}  # it may be none that can be pickled

    def __getitem__(self, name: str) -> Role:
        return self.found[name].role

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def at(self, model: nn.Module) -> dict[str, Role]:
        """Parameter name -> its Role in the same module at another width.

        Raises UserError on a parameter that only one of them has, or that differs along an axis
        that does not grow with the width.
        """
        shapes = {name: tuple(p.shape) for name, p in named(model)}
        if deep := self._stacks(model):
            at = self.like(model).at(model)
            return {name: replace(role, depth=depth_at(name, deep)) for name, role in at.items()}
        odd = sorted(set(shapes) ^ set(self.found))
        if odd or bare(model) is not model:
            if (wrapper := wrapper_of(model, "plan")) is not None:
                raise UserError(f"roles: the model is wrapped by {wrapper}, and wrap it then")
            where = "the model has no role for" if odd[0] in shapes else "the model does not have"
            raise UserError(
                f"roles: {where} {odd[0]} ({len(odd)} parameters differ): trace roles of the same "
                "module, with as many layers"
            )
        return {name: self._at(name, found, shapes[name]) for name, found in self.found.items()}

    def like(self, model: nn.Module) -> "Roles":
        """The roles of the same module at another depth, at the base width: a layer has those of
        the one that it is like. UserError where layers of a stack are not alike."""
        deep = self._stacks(model)
        return deeper(self, model, deep) if deep else self

    def residual(self, model: nn.Module) -> dict[str, float]:
        """The modules whose outputs are added to the residual stream, in layers of a stack that has
        another depth than at the base -> the depth over the base's.

        Raises UserError, with the reason, where they cannot be told.
        """
        result: dict[str, float] = {}
        deep = self._stacks(model)
        for stack in deep:
            layers = [f"{stack.place}.{i}" for i in range(stack.base)]
            told = {self.branches.get(layer, "it is not called as a module") for layer in layers}
            why = next((each for each in told if isinstance(each, str)), None)
            if why is None and len(told) > 1:
                why = "its layers have not the same ones"
            if why is not None:
                raise UserError(
                    f"plan: the residual branches of {layers[0]} cannot be told: {why}; give "
                    "branches=, names (or patterns with *) of the layers whose outputs are added "
                    "to the residual stream; () where make has the factor itself"
                )
            for i in range(stack.count):
                for place in told.copy().pop():
                    name = f"{stack.place}.{i}.{place}"
                    result[name] = depth_at(name, deep)
        return result

    def _stacks(self, model: nn.Module) -> list[Stack]:
        base = {name: (each.role.kind, each.shape) for name, each in self.found.items()}
        return stacks(base, [name for name, _ in named(model)])

    def save(self, path: str | Path) -> None:
        """Write them to a file, as JSON, for `Roles.load`."""
        kept = {
            "widths": self.widths,
            "parameters": {name: plain(found) for name, found in self.found.items()},
            "attention": [asdict(each) for each in self.attention],
            "warnings": self.warnings,
            "inside": sorted(self.inside),
            "buffers": {name: buffer.plain() for name, buffer in self.buffers.items()},
            "branches": self.branches,
            "held": self.held,
            "shifts": self.shifts,
            "base": self.base,
            "proof": self.proof,
        }
        with atomic_path(path, durable=False) as temporary:
            temporary.write_text(json.dumps(kept, indent=1) + "\n")

    @staticmethod
    def load(path: str | Path, make: Callable[[Any], nn.Module] | None = None) -> "Roles":
        """The roles that `save` wrote; UserError where the file is another. make: of which they
        are, for the values that it places."""
        try:
            with open_file(path) as file:
                kept = json.loads(file.read())
            if wrong := misfit(kept, Kept):
                raise ValueError(wrong)
            if len(kept["widths"]) != 2:
                raise ValueError("it is of two widths")
            found = {name: from_plain(each) for name, each in kept["parameters"].items()}
            attention = tuple(AttentionScale(**each) for each in kept["attention"])
            rest = tuple(kept["warnings"]), tuple(kept["widths"]), frozenset(kept["inside"])
            buffers = {name: Buffer.from_plain(each) for name, each in kept["buffers"].items()}
            branches = {
                layer: each if isinstance(each, str) else tuple(each)
                for layer, each in kept["branches"].items()
            }
        except (OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
            why = " ".join(str(error).split())
            raise UserError(f"{path}: is no file that Roles.save wrote ({why})") from error
        roles = Roles(found, attention, *rest, buffers, branches, kept["held"], kept["shifts"])
        roles.make, roles.base, roles.proof = make, kept["base"], kept["proof"]
        return roles

    def fill_(self, model: nn.Module, seed: int = 0) -> None:
        """Give a module's gains, biases and buffers, whatever nothing draws, the values that `make`
        gives them; UserError on one of which it is not known. seed: of what it draws there."""

        @cache
        def fresh() -> dict[str, torch.Tensor]:
            shapes = {name: found.shape for name, found in self.found.items()}
            deep = max((stack.count / stack.base for stack in self._stacks(model)), default=1.0)
            sizes = sizes_of(ratios(model, shapes), self.base, deep)
            return values_of(model, self.make, sizes, seed)

        fill_undrawn(model, self.like(model).found, self.buffers, fresh)

    def follows(self, model: nn.Module) -> dict[str, float]:
        """Parameter -> its value over that at the base, where one that is all its entries' follows
        the width."""
        ratio = ratios(model, {name: found.shape for name, found in self.found.items()})[0]
        found = self.like(model).found
        return {name: ratio**each.follows for name, each in found.items() if each.follows}

    def factors(
        self, model: nn.Module, recipe: Recipe, branches: Sequence[str] | None
    ) -> tuple[Factor, ...]:
        """A recipe's factors for the same module at another width (`parametrization.plan`)."""
        here = self.like(model)
        return factors_of(
            model,
            self.at(model),
            here.found,
            here.attention,
            here.held,
            self.residual,
            recipe,
            branches,
        )

    def _at(self, name: str, found: Found, shape: tuple[int, ...]) -> Role:
        if len(shape) != len(found.shape) or any(
            size != base and i not in found.wide
            for i, (size, base) in enumerate(zip(shape, found.shape, strict=False))
        ):
            raise UserError(
                f"{name}: its shape is {shape}, at the base width {found.shape}, of which axes "
                f"{list(found.wide)} alone grow with the width"
            )

        def ratio(axes: tuple[int, ...]) -> float:
            return math.prod(shape[i] / found.shape[i] for i in axes)

        base = found.role
        width_in, width_out = ratio(found.inputs), ratio(found.outputs)
        # A standard init falls as fan_in^-1/2, and fan_in grows as the width that is summed over.
        std = None if base.std is None else base.std * width_in**-0.5
        return replace(
            base,
            width_in=width_in,
            width_out=width_out,
            std=std,
            fan_in=round(base.fan_in * width_in),
            fan_out=round(base.fan_out * width_out),
        )

    def __str__(self) -> str:
        rows = [("parameter", "kind", "shape", "in", "out", "fan_in", "std", "")]
        for name, found in self.found.items():
            role = found.role
            kind = "embedding, tied" if found.tied and role.kind == "embedding" else role.kind
            rows.append(
                (
                    name,
                    kind,
                    "x".join(map(str, found.shape)) or "1",
                    " ".join(map(str, found.inputs)) or "-",
                    " ".join(map(str, found.outputs)) or "-",
                    str(role.fan_in),
                    "as made" if role.std is None else f"{role.std:.3g}",
                    "given" if found.given else "",
                )
            )
        first, second = self.widths
        title = f"base width {first:g}; axes that grow, found at {second:g}"
        lines = (f"warning: {line}" for line in self.warnings)
        return "\n".join([title, *columns(rows), *lines, *filter(None, [self.proof])])


def roles(
    make: Callable[[Any], nn.Module],
    base: Any,
    inputs: object,
    *,
    other: Any = None,
    given: Mapping[str, str] = MappingProxyType({}),
    as_made: Sequence[str] = (),
) -> Roles:
    """The roles of a module, without a proof: see `widthwise.checks.proof.roles`."""
    if other is None:
        other = {**base, "width": 2 * width_of(base)} if isinstance(base, Mapping) else 2 * base
    if other == base:
        raise UserError(f"roles: other={other} is the base width; give another one")
    widths, wide = (width_of(base), width_of(other)), on_meta(make, other)
    for size, model in ((other, wide), (base, on_meta(make, base))):
        check_fits(model, size)
    with torch.random.fork_rng(enabled=True):
        with FewDraws():  # not while a pass is traced, whose every operator it would see too
            model = made(make, base)
        whole, parts = placed(model, lambda seed: anew(make, base, seed))
        norms = norms_of(model, whole)
        whole.update(matching(as_made, [name for name, _ in named(model)], "as_made"))
        own = whole, parts, norms
        numbers = [alike(p) for _, p in named(model)]
        both = None
        if wide is not None and {*numbers} <= {None, 0.0, 1.0}:
            with suppress(UserError):  # a branch on values, say; or a number that has none on meta
                both = passes(model, wide, inputs, widths, given, own)
        if both is None or both.traces[1].unseen:
            with FewDraws():
                wide = made(make, other)
            both = passes(model, wide, inputs, widths, given, own)
    found = _seen(both, model)
    found.make, found.base = make, base
    return found


def _seen(both: Passes, model: nn.Module) -> Roles:
    """Roles; warns aloud of what no plan makes up for."""
    found = roles_of(both)
    for line in unmet(found.found, both):
        warnings.warn(f"roles: {line}", stacklevel=3)
    if unseen := [name for name, p in named(model) if p.is_meta]:
        line = "made on the meta device: spreads are the standard ones, fan_in^-1/2, not make's own"
        found.warnings += (f"{some(unseen)}: {line}",)
    return found


def width_of(size: Any) -> Any:
    """The width of what `make` takes: a number, or a mapping that has it."""
    if isinstance(size, Mapping) and "width" not in size:
        raise UserError(f'roles: {dict(size)} has no "width"')
    return size["width"] if isinstance(size, Mapping) else size


def roles_of(both: Passes) -> Roles:
    """The roles of a module's parameters, from what it showed at two widths."""
    found = both.found()
    attention = attention_of(*both.traces, grown(found, both))
    warned = (*of_roles(found, attention, both.inside), *unmet(found, both))
    branches, flow = both.traces[0].branches, both.traces[0].flow
    tied = {name: each.readouts for name, each in found.items() if each.readouts}
    held = {name: flow.of_readout(name, readouts) for name, readouts in tied.items()}
    held |= {place: flow.of_output(place) for place in flow.returned if _in_list(place)}
    held = {name: powers for name, powers in held.items() if powers}
    shifts = {name: shift for name in flow.leaves if (shift := flow.shift(name))}
    rest = both.widths, both.inside, both.buffers
    return Roles(found, attention, warned, *rest, branches, held, shifts)


def grown(found: Mapping[str, Found], both: Passes) -> dict[str, float]:
    """Parameter -> its outputs at the second width over those at the first."""
    shapes, others = both.shapes
    return {
        name: math.prod(others[name][i] / shapes[name][i] for i in each.outputs)
        for name, each in found.items()
    }


def _in_list(place: str) -> bool:
    return any(part.isdigit() for part in place.split("."))
