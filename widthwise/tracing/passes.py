"""What a pass of one module at each of two widths showed, held beside each other."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from torch import nn

from widthwise.errors import UserError, did_you_mean
from widthwise.files import calling
from widthwise.identity import named
from widthwise.parametrization.rules import BOTTLENECK, KINDS
from widthwise.tracing.constants import Buffer, kept_buffers
from widthwise.tracing.draws import spread
from widthwise.tracing.forward import trace
from widthwise.tracing.kinds import Found, find
from widthwise.tracing.making import check_widths, shapes_of
from widthwise.tracing.uses import Trace


@dataclass(frozen=True)
class Passes:
    """Of both widths shapes and traces, in this order; of the first spreads of initial values, and
    buffers. kinds: parameter -> the kind that is given for it."""

    widths: tuple[Any, Any]
    shapes: tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]
    traces: tuple[Trace, Trace]
    spreads: Mapping[str, tuple[float | None, str, float | None]]
    buffers: Mapping[str, Buffer]
    kinds: Mapping[str, str]

    @property
    def inside(self) -> frozenset[str]:
        """The parameters whose outputs one with a width reads."""
        shapes, others = self.shapes
        growing = [name for name, shape in shapes.items() if shape != others[name]]
        behind = self.traces[0].behind
        return frozenset().union(*(behind.get(name, ()) for name in growing))

    def found(self) -> dict[str, Found]:
        """What each parameter is."""
        (shapes, others), inside = self.shapes, self.inside
        return {
            name: find(
                name,
                shapes[name],
                others[name],
                *self.traces,
                self.spreads[name],
                self.kinds,
                inside,
            )
            for name in shapes
        }

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
) -> Passes:
    """What a pass of a module and of the same one at another width shows; widths: of both, for
    messages. Raises UserError as `roles`."""
    for name, p in named(model):
        if not (p.is_floating_point() or p.is_complex()):
            raise UserError(f"{name}: is {p.dtype}, which no step trains: make it a buffer")
    spreads = {name: spread(p) for name, p in named(model)}
    shapes, others = shapes_of(model), shapes_of(wide)
    check_widths(shapes, others, *widths)
    kinds = _given_kinds(given, shapes)
    buffers = kept_buffers(model, wide)  # before a pass changes running statistics
    seen = _traced(model, inputs, widths[0])
    traces = seen, _traced(wide, inputs, widths[1], seen)
    return Passes(widths, (shapes, others), traces, spreads, buffers, kinds)


def _given_kinds(given: Mapping[str, str], names: Mapping) -> dict[str, str]:
    """Parameter -> the kind that is given for it."""
    kinds: dict[str, str] = {}
    for pattern, kind in given.items():
        matched = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matched:
            raise UserError(
                f"given: no parameter is named {pattern!r}: {did_you_mean(pattern, names)}"
            )
        if kind not in (*KINDS, BOTTLENECK):
            known = did_you_mean(str(kind), (*KINDS, BOTTLENECK))
            raise UserError(f"given: {pattern}: kind {kind!r}: {known}")
        kinds |= dict.fromkeys(matched, kind)
    return kinds


def _traced(model: nn.Module, inputs: object, width: int, base: Trace | None = None) -> Trace:
    what = f"roles: the module of make({width}) fails on inputs"
    return calling(what, trace, model, inputs, base)
