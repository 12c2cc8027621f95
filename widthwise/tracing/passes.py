"""What a pass of one module at each of two widths showed, held beside each other."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import isclose, log
from typing import Any

from torch import nn

from widthwise.errors import UserError, did_you_mean
from widthwise.files import calling
from widthwise.identity import named
from widthwise.parametrization.rules import BOTTLENECK, KINDS
from widthwise.tracing.constants import Buffer, kept_buffers
from widthwise.tracing.draws import alike, spread
from widthwise.tracing.forward import trace
from widthwise.tracing.kinds import Found, find
from widthwise.tracing.making import check_widths, shapes_of
from widthwise.tracing.uses import Trace

Placed = tuple[Collection[str], Collection[str], Mapping[str, tuple[str, int]]]
NONE_PLACED: Placed = ((), (), {})


@dataclass(frozen=True)
class Passes:
    """Of both widths shapes and traces, in this order; of the first spreads of initial values, and
    buffers. kinds: parameter -> the kind that is given for it. placed: the
    parameters that are, those that `make` alone can draw, and norms of others (`tracing.placed`).
    others: parameter -> the value of all its entries at the second width, where they are alike."""

    widths: tuple[Any, Any]
    shapes: tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]
    traces: tuple[Trace, Trace]
    spreads: Mapping[str, tuple[float | None, str, float | None]]
    buffers: Mapping[str, Buffer]
    kinds: Mapping[str, str]
    placed: Placed = NONE_PLACED
    others: Mapping[str, float] = field(default_factory=dict)

    @property
    def inside(self) -> frozenset[str]:
        """The parameters whose outputs one with a width reads."""
        shapes, others = self.shapes
        growing = [name for name, shape in shapes.items() if shape != others[name]]
        behind = self.traces[0].behind
        return frozenset().union(*(behind.get(name, ()) for name in growing))

    def found(self) -> dict[str, Found]:
        """What each parameter is."""
        shapes, others = self.shapes
        found = {
            name: find(
                name,
                shapes[name],
                others[name],
                *self.traces,
                self.spreads[name],
                self.kinds,
            )
            for name in shapes
        }
        found = {name: self._placed(name, each) for name, each in found.items()}
        return {name: self._shared(name, found) for name in found}

    def _shared(self, name: str, found: Mapping[str, Found]) -> Found:
        """A parameter that a weight is a power of, or a product with others: they share the power
        of the width that its initial values have, but for those that are placed."""
        each, degrees = found[name], self.traces[0].degrees.get(name, {})
        drawn = {n: d for n, d in degrees.items() if found[n].inputs and found[n].role.drawn}
        total = sum(drawn.values())
        if not each.inputs or each.given or not degrees.get(name) or not total > 0:
            return each
        own = 1 / (2 * total) - 0.5 if name in drawn else -0.5
        return replace(each, role=replace(each.role, own=each.role.own + own))

    def _placed(self, name: str, found: Found) -> Found:
        """A parameter whose values `make` places as what it is."""
        if name in self.placed[0]:
            role = replace(found.role, std=None, placed=True)
            found = replace(found, role=role, constant=self.spreads[name][2])
        value, other = found.constant, self.others.get(name)
        if value is not None and other is not None and not isclose(value, other, rel_tol=1e-6):
            power = (
                log(other / value) / log(self.widths[1] / self.widths[0])
                if other * value > 0
                else 0.0
            )
            found = replace(found, constant=None, follows=round(power, 4))
        return replace(found, parts=name in self.placed[1], norms=self.placed[2].get(name, ()))

    def untied(self, readouts: Mapping[str, str]) -> "Passes":
        """The same of a module in which these weights, each tied to another, are their own: what
        the module that holds one did is its use. readouts: name -> that of what it is tied to."""

        def parted(of_names: Mapping[str, Any]) -> dict[str, Any]:
            return {**of_names, **{own: of_names[tied] for own, tied in readouts.items()}}

        def traced(seen: Trace) -> Trace:
            uses, behind = parted(seen.uses), dict(seen.behind)
            for own, tied in readouts.items():
                place = own.rpartition(".")[0]
                uses[own] = [use for use in uses[tied] if use.module == place]
                uses[tied] = [use for use in uses[tied] if use.module != place]
                behind[own] = behind.pop(tied, set())
                behind = {n: of | {own} if tied in of else of for n, of in behind.items()}
            return replace(seen, uses=uses, unknown=parted(seen.unknown), behind=behind)

        shapes, traces = [parted(each) for each in self.shapes], [*map(traced, self.traces)]
        return replace(
            self,
            shapes=(shapes[0], shapes[1]),
            traces=(traces[0], traces[1]),
            spreads=parted(self.spreads),
        )


def passes(
    model: nn.Module,
    wide: nn.Module,
    inputs: object,
    widths: tuple[Any, Any],
    given: Mapping[str, str],
    placed: Placed = NONE_PLACED,
) -> Passes:
    """What a pass of a module and of the same one at another width shows; widths: of both, for
    messages. placed: as `Passes` has it. Raises UserError as `roles`."""
    for name, p in named(model):
        if not (p.is_floating_point() or p.is_complex()):
            raise UserError(f"{name}: is {p.dtype}, which no step trains: make it a buffer")
    spreads = {name: spread(p) for name, p in named(model)}
    numbers = {name: value for name, p in named(wide) if (value := alike(p)) is not None}
    shapes, others = shapes_of(model), shapes_of(wide)
    check_widths(shapes, others, *widths)
    kinds = _given_kinds(given, shapes)
    buffers = kept_buffers(model, wide)
    seen = _traced(model, inputs, widths[0])
    traces = seen, _traced(wide, inputs, widths[1], seen)
    return Passes(widths, (shapes, others), traces, spreads, buffers, kinds, placed, numbers)


def matching(patterns: Iterable[str], names: Collection[str], what: str) -> dict[str, str]:
    """Parameter -> the last of some patterns that it matches; UserError on one without any."""
    found: dict[str, str] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matched = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matched:
            raise UserError(
                f"{what}: no parameter is named {pattern!r}: {did_you_mean(pattern, names)}"
            )
        found |= dict.fromkeys(matched, pattern)
    return found


def _given_kinds(given: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Parameter -> the kind that is given for it."""
    for pattern, kind in given.items():
        if kind not in (*KINDS, BOTTLENECK):
            known = did_you_mean(str(kind), (*KINDS, BOTTLENECK))
            raise UserError(f"given: {pattern}: kind {kind!r}: {known}")
    return {name: given[pattern] for name, pattern in matching(given, names, "given").items()}


def _traced(model: nn.Module, inputs: object, width: int, base: Trace | None = None) -> Trace:
    what = f"roles: the module of make({width}) fails on inputs"
    before = [(buffer, buffer._version, buffer.clone()) for buffer in model.buffers()]
    try:
        return calling(what, trace, model, inputs, base)
    finally:
        for buffer, version, values in before:  # running statistics
            if buffer._version != version:
                buffer.copy_(values)
