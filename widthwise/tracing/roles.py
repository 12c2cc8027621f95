"""The role of each parameter of any module, from the module at two widths.

Shapes at two widths say which axes grow; one forward pass at each says what they do
(`widthwise.tracing`). An axis that grows and is summed over is an input, one that grows and has an
output for each of its entries an output; by these a parameter has its kind (`Role`).
"""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from widthwise.errors import UserError
from widthwise.files import atomic_path, open_file
from widthwise.hints import misfit
from widthwise.identity import bare, identity, named
from widthwise.parametrization.recipes import Recipe
from widthwise.parametrization.rules import Role
from widthwise.printed import columns
from widthwise.tracing.attention import AttentionScale, attention_of
from widthwise.tracing.constants import Buffer, Kept, fill_undrawn
from widthwise.tracing.draws import FewDraws
from widthwise.tracing.flow import Held
from widthwise.tracing.kinds import Found, from_plain, plain
from widthwise.tracing.making import check_fits, made, on_meta
from widthwise.tracing.multipliers import Factor, factors_of
from widthwise.tracing.passes import Passes, passes
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
    -> the number that it is used with the sum of, as the gain 1 + w of a norm.
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
        if not deep:
            return self

        def base(name: str) -> str:
            for stack in deep:
                name = stack.like(name)
            return name

        modules: dict[str, list[str]] = {}
        for name, _ in model.named_modules():
            name = identity(model, name)
            modules.setdefault(base(name), []).append(name)

        def here(places: tuple[str, ...], name: str) -> tuple[str, ...]:
            """Of a layer's own parameter its own layer alone, of a shared one every like layer."""
            own = [
                place
                for each in places
                for place in modules.get(each, [each])
                if base(name) == name or _layer_of(place, deep) in (None, _layer_of(name, deep))
            ]
            return tuple(dict.fromkeys(own))

        found = {}
        copies: dict[str, list[str]] = {}
        for name, _ in named(model):
            copies.setdefault(base(name), []).append(name)
            each = self.found.get(base(name))
            if each is not None:
                places = here(each.used_in, name), here(each.readouts, name)
                found[name] = replace(each, used_in=places[0], readouts=places[1])

        def holders(held: Held, place: str) -> Held:
            """Of what lies in a layer those in it; none where one is in a layer elsewhere."""
            result = {}
            for name, power in held.items():
                of = (modules | copies).get(name, [])
                layer = _layer_of(place, deep)
                own = [n for n in of if len(of) == 1 or _layer_of(n, deep) == layer]
                if len(own) != 1:
                    return {}
                result[own[0]] = power
            return result

        attention = []
        for scale in self.attention:
            for place in modules.get(scale.module, [scale.module]):
                sized = next(iter(holders({scale.sized: 1.0}, place)), "")
                own = holders(scale.held, place) if sized else {}
                attention.append(replace(scale, module=place, held=own, sized=sized))
        inside = frozenset(name for name in found if base(name) in self.inside)
        held = {
            place: of_place
            for name, powers in self.held.items()
            for place in (modules | copies).get(name, [])
            if (of_place := holders(powers, place))
        }
        rest = self.warnings, self.widths, inside
        shifts = {name: self.shifts[base(name)] for name in found if base(name) in self.shifts}
        return Roles(found, tuple(attention), *rest, held=held, shifts=shifts)

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
        }
        with atomic_path(path, durable=False) as temporary:
            temporary.write_text(json.dumps(kept, indent=1) + "\n")

    @staticmethod
    def load(path: str | Path) -> "Roles":
        """The roles that `save` wrote; UserError where the file is another."""
        try:
            with open_file(path) as file:
                kept = json.loads(file.read())
            if wrong := misfit(kept, Kept):
                raise ValueError(wrong)
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
        return Roles(found, attention, *rest, buffers, branches, kept["held"], kept["shifts"])

    def fill_(self, model: nn.Module) -> None:
        """Give a module's gains, biases and buffers, whatever nothing draws, the values that `make`
        gives them; UserError on one of which it is not known."""
        fill_undrawn(model, self.found, self.buffers)

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
        return "\n".join([title, *columns(rows), *(f"warning: {line}" for line in self.warnings)])


def _layer_of(name: str, deep: list[Stack]) -> str | None:
    """The layer of a stack that a name lies in."""
    for stack in deep:
        if name.startswith(f"{stack.place}."):
            return f"{stack.place}.{name[len(stack.place) + 1 :].partition('.')[0]}"
    return None


def roles(
    make: Callable[[Any], nn.Module],
    base: Any,
    inputs: object,
    *,
    other: Any = None,
    given: Mapping[str, str] = MappingProxyType({}),
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
    torch's random numbers are left as they were.
    Warns of what no plan makes up for; `warnings` has all that is to be looked at.
    Raises UserError where `make` ignores its width or fails, a parameter is never used or lazy,
    what an axis does cannot be told, or a role is given for no parameter.
    """
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
        if wide is not None:
            try:
                both = passes(model, wide, inputs, widths, given)
                if not both.traces[1].unseen:
                    return _seen(both, model)
            except UserError:
                pass  # a branch on values, say; or a temperature that has none on meta
        with FewDraws():
            wide = made(make, other)
        return _seen(passes(model, wide, inputs, widths, given), model)


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
    warned = (*of_roles(found, attention), *unmet(found, both))
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
