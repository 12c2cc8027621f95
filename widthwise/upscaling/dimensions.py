"""How each operator relates the dimensions of what it returns to those of what it is given."""

import math
from collections.abc import Sequence
from fractions import Fraction

from widthwise.tracing.moves import (
    ADDING,
    ATTENTION,
    EXPERTS,
    LOOKUPS,
    MATRICES,
    MOVED,
    PARTS,
    REDUCED,
    RESHAPED,
    TAKEN,
    factors,
    looked_up,
    moved,
    picked,
    put_in,
    reduced,
    split_along,
)
from widthwise.upscaling.calls import Call, Calls, Ref
from widthwise.upscaling.relations import Node, Relations


class Dimensions(Relations):
    """The relations that two passes of one module, narrow and wide, show; up to the operator at
    which they part."""

    def __init__(self, narrow: Calls, wide: Calls):
        super().__init__()
        for one, other in zip(narrow.calls, wide.calls, strict=False):
            if one.name != other.name or len(one.given) != len(other.given):
                break
            pairs = (*one.given, *one.returned), (*other.given, *other.returned)
            for a, b in zip(*pairs, strict=False):
                self.shapes[a.id] = a.shape, b.shape
            self.relate(one, other)
        for parts in self.parts:
            self.join(parts)

    def relate(self, call: Call, other: Call) -> None:
        """What one operator says."""
        name, given, returned = call.name, call.given, call.returned
        if not given or not returned:
            return
        x, out = given[0], returned[0]
        rank = len(x.shape)
        if name in MATRICES or name == EXPERTS:
            self.product(factors(name, given), out)
            if name in ADDING:
                self.aligned(x, out)
        elif name == "convolution":
            self.convolution(call, other)
        elif name in LOOKUPS:
            self.lookup(call)
        elif name in TAKEN:
            gone = looked_up(name, call.args)
            self.along(x, out, [None if d in gone else d for d in range(rank)])
        elif name.startswith(ATTENTION):
            self.attention(call)
        elif name == "native_group_norm":
            groups, wide_groups = call.args[6], other.args[6]
            for each in returned[:1]:
                self.along(x, each, range(rank))
            for each in given[1:]:
                self.link(x, 1, each, 0)
            if groups != wide_groups and self.grows(x, 1):
                self.tie(self.node(), (x.id, 1), x.shape[1] // groups)
        elif "batch_norm" in name:
            self.along(x, out, range(rank))
            for each in given[1:]:
                self.link(x, 1, each, 0)
        elif name in RESHAPED:
            self.reshape(x, out)
        elif name in PARTS:
            self.split(call, other)
        elif name == "cat":
            self.together(call)
        elif name == "stack":
            for each in given:
                self.along(each, out, put_in(range(rank), picked(call.args, rank + 1)))
        elif name in MOVED:
            for each in returned:
                self.along(x, each, moved(name, call.args, x.shape))
        elif name in REDUCED and any(len(each.shape) < rank for each in returned):
            gone = reduced(name, call.args, call.kwargs, rank) if rank else []
            for each in returned:
                self.along(x, each, [d for d in range(rank) if d not in gone])
        elif name in ("view_as_complex", "view_as_real"):
            for d in range(min(rank, len(out.shape))):
                self.link(x, d, out, d)
        else:
            for each in returned:
                for source in given:
                    self.aligned(source, each)

    def node(self) -> Node:
        """A dimension that no tensor has, as groups of channels."""
        self.free -= 1
        return self.free, 0

    def product(self, pair: Sequence[Ref], out: Ref) -> None:
        a, b = pair
        inner = -1 if len(b.shape) == 1 else -2
        self.link(a, -1, b, inner)
        if len(a.shape) > 1 and out.shape:
            self.link(a, -2, out, -2 if len(b.shape) > 1 else -1)
        if len(b.shape) > 1:
            self.link(b, -1, out, -1)
        if len(a.shape) == len(b.shape) == 3:
            self.link(a, 0, b, 0)
            self.link(a, 0, out, 0)

    def convolution(self, call: Call, other: Call) -> None:
        x, weight = call.given[:2]
        out, transposed, groups = call.returned[0], call.args[6], call.args[8]
        outputs, inputs = (1, 0) if transposed else (0, 1)
        self.link(x, 0, out, 0)
        for each in call.given[2:]:
            self.link(out, 1, each, 0)
        if groups == 1 and other.args[8] == 1:
            self.link(x, 1, weight, inputs)
            self.link(weight, outputs, out, 1)
            return
        each_in, each_out = x.shape[1] // groups, out.shape[1] // groups
        if groups != other.args[8]:  # groups are copied whole
            self.link(x, 1, out, 1, Fraction(each_out, each_in))
            self.link(weight, 0, x if transposed else out, 1)
        else:
            self.link(x, 1, weight, inputs)
            self.link(weight, outputs, out, 1)

    def lookup(self, call: Call) -> None:
        x, out = call.given[0], call.returned[0]
        if call.name.startswith("embedding"):
            self.link(x, 1, out, -1)
            for d in range(len(call.given[1].shape)):
                self.link(call.given[1], d, out, d)
            return
        places = looked_up(call.name, call.args)
        indices = len(out.shape) - (len(x.shape) - len(places))
        if places != list(range(places[0], places[-1] + 1)):
            return
        kept: list[int | None] = [*range(places[0]), *[None] * indices]
        self.along(x, out, [*kept, *range(places[-1] + 1, len(x.shape))])

    def attention(self, call: Call) -> None:
        query, key, value = call.given[:3]
        out = call.returned[0]
        for d in range(len(query.shape) - 2):
            for each in (key, value):  # each of its heads may be of several queries
                self.link(each, d, query, d, Fraction(query.shape[d], each.shape[d]))
            self.link(query, d, out, d)
        self.link(query, -1, key, -1)
        self.link(value, -1, out, -1)
        for mask in call.given[3:]:
            for back in range(3, min(len(mask.shape), len(query.shape)) + 1):
                self.link(mask, -back, query, -back)

    def split(self, call: Call, other: Call) -> None:
        """Parts along one dimension; all other dimensions stay."""
        x = call.given[0]
        rank = len(x.shape)
        place = split_along(call.name, call.args, call.kwargs, rank)
        step = call.args[4] if call.name == "slice" and len(call.args) > 4 else 1
        begin, parts = 0, []
        if call.name in ("slice", "narrow"):
            begin = call.args[2] if len(call.args) > 2 and call.args[2] else 0
            begin += x.shape[place] if begin < 0 else 0
        for out in call.returned:
            for d in range(rank):
                if d != place:
                    self.link(x, d, out, d)
            if step != 1:
                self.link(out, place, x, place, step)
            elif out.shape[place] == x.shape[place]:
                self.link(x, place, out, place)
            elif self.grows(x, place) and self.grows(out, place):
                parts.append(((x.id, place), begin, out.shape[place], (out.id, place)))
            begin += out.shape[place]
        if not parts:
            return
        if call.name in ("slice", "narrow"):  # those of one tensor come one by one
            for each in self.parts:
                if each[0][0] == parts[0][0] and parts[0][1] not in [part[1] for part in each]:
                    each.extend(parts)
                    return
        self.parts.append(parts)

    def together(self, call: Call) -> None:
        out = call.returned[0]
        rank = len(out.shape)
        place = picked(call.args, rank)
        begin, parts = 0, []
        for each in call.given:
            if len(each.shape) != rank:
                continue
            for d in range(rank):
                if d != place:
                    self.link(each, d, out, d)
            if self.grows(each, place) and self.grows(out, place):
                parts.append(((out.id, place), begin, each.shape[place], (each.id, place)))
            begin += each.shape[place]
        if parts:
            self.parts.append(parts)

    def reshape(self, x: Ref, out: Ref) -> None:
        """In runs of equal products at both widths: of each the one dimension that grows."""
        (source, wide_source), (target, wide_target) = self.shapes[x.id], self.shapes[out.id]
        i = j = 0
        while i < len(source) and j < len(target):
            i0, j0 = i, j
            i, j = i + 1, j + 1
            while True:
                a, b = math.prod(source[i0:i]), math.prod(target[j0:j])
                c, d = math.prod(wide_source[i0:i]), math.prod(wide_target[j0:j])
                if (a, c) == (b, d):
                    break
                if (a, c) < (b, d) and i < len(source):
                    i += 1
                elif j < len(target):
                    j += 1
                elif i < len(source):
                    i += 1
                else:
                    return
            grown_in = [p for p in range(i0, i) if source[p] != wide_source[p]]
            grown_out = [p for p in range(j0, j) if target[p] != wide_target[p]]
            if len(grown_in) == len(grown_out) == 1:
                p, q = grown_in[0], grown_out[0]
                ratio = Fraction(math.prod(source[p + 1 : i]), math.prod(target[q + 1 : j]))
                self.link(x, p, out, q, ratio)
