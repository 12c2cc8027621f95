"""One law of sizes: by which power of the width tensors grow that depend on the inputs.

A weight with a plan's initial values gives what is as large at every width as what it reads. What
else follows the width are numbers on data or weights, sums and norms over axes that grow, and
products of data with data. `Sizes` keeps what these come to, as the logarithm of the size at the
wider of two widths over that at the base, up to where a size has to stay: an activation, a norm, a
sum with what does not grow alike, an output. There the weights that a tensor is proportional to
are asked for what is missing (`Trace.asked`); where there are none, make is (`Trace.grows`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.tracing.draws import alike
from widthwise.tracing.flow import Flow
from widthwise.tracing.moves import ATTENTION, EXPERTS, MATRICES, factors
from widthwise.tracing.shapes import number, tensors
from widthwise.tracing.uses import KEEP, SUM, Attention, Trace

NORMS = {
    *("native_layer_norm", "native_group_norm", "native_batch_norm", "_fused_rms_norm", "rms_norm"),
    *("_batch_norm_with_update", "_batch_norm_no_update", "cudnn_batch_norm", "var_mean"),
}
# None of these of c x is a power of c times that of x.
ACTIVATIONS = {
    *("sigmoid", "tanh", "gelu", "silu", "elu", "mish", "softplus", "hardtanh", "hardswish"),
    *("hardsigmoid", "log_sigmoid_forward", "exp", "expm1", "log", "log1p", "erf", "sin", "cos"),
    *("logsumexp", "_log_softmax", "atan", "celu", "softshrink"),
}
SOFTMAX = {"_softmax", "_safe_softmax"}
RELUS = {"relu", "leaky_relu", "threshold", "abs"}  # of c x it is c times that of x
POWERS = {"square": 2.0, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1.0, "var": 2.0}
SUMS = {"add", "sub", "cat", "stack", "where", "rsub", "addcmul", "lerp", "maximum", "minimum"}
PUT = {"copy", "index_put", "index_add", "scatter", "scatter_add", "index_copy", "slice_scatter"}
OVER = {"sum": 1.0, "linalg_vector_norm": 0.5, "norm": 0.5, "_cdist_forward": 0.5, "cumsum": 1.0}


@dataclass(eq=False)
class Size:
    """How a tensor grows. growth: the logarithm; nan where a number cannot be seen. makers:
    (parameter, SUM where it is summed over or KEEP) of those that it is proportional to. place: the
    module, and the operator, by which it grows. dots: of a product of data with data. summed: over
    an axis that grows, or a power: no weight makes up for it. fresh: what weights gave and nothing
    but numbers changed, which are theirs. read, asked: by, or of, weights."""

    growth: float = 0.0
    makers: frozenset[tuple[str, str]] = frozenset()
    place: tuple[str, str] = ("", "")
    dots: Attention | None = None
    summed: bool = False
    fresh: bool = False
    read: bool = False
    asked: bool = False

    @property
    def grows(self) -> bool:
        """Whether it follows the width, or may."""
        return not abs(self.growth) < 1e-3


STAYS = Size()


class Sizes:
    """What a pass at the base shows, or, with the `numbers` of that one, at the other width."""

    def __init__(
        self, stack: list[str], tags: Mapping, trace: Trace, base: Trace | None, flow: Flow
    ):
        self.stack, self.tags, self.trace, self.base = stack, tags, trace, base
        self.flow = flow  # it is paused within an attention, which is noted whole
        self.data = WeakTensorKeyDictionary()  # tensor that depends on the inputs -> its Size
        self.made = WeakTensorKeyDictionary()  # made of parameters -> growth, by numbers on it
        self.here: list[int] = []  # the numbers of what is being made
        self.places: dict[tuple[str, str], set[int]] = {}  # of `Trace.grows`, what was made there
        self.attended: list[Attention] = []
        self.settled: list[Size] = []  # products of data with data, until it is told what they are

    def of(self, tensor: Tensor) -> Size:
        """The size of what depends on the inputs, is made of parameters, or is neither."""
        if tensor in self.data or tensor not in self.tags:
            return self.data.get(tensor, STAYS)
        makers = frozenset((name, KEEP) for name, _ in self.tags[tensor])
        return Size(self.made.get(tensor, 0.0), makers, (self.stack[-1], "mul"), fresh=True)

    def grown(self, operator: str, value: float) -> float:
        """The logarithm of a number over what it is at the base width."""
        if self.flow.paused:
            return 0.0
        key = self.stack[-1], operator
        own = self.trace.numbers.setdefault(key, [])
        own.append(value)
        before = self.base.numbers.get(key, []) if self.base else []
        if len(before) < len(own) or before[len(own) - 1] == value:
            return 0.0
        ratio = value / before[len(own) - 1] if before[len(own) - 1] else math.nan
        return math.log(ratio) if ratio > 0 else math.nan

    def form(self, name: str, args: Sequence, made: list, out: object) -> None:
        """Note how much the numbers grow that a weight, made of parameters alone, is times."""
        growth = [self.made.get(t, 0.0) for t in made]
        sign = 1 if name == "mul" else -1 if name == "div" else 0
        found = growth[0] + (sign * growth[1] if len(growth) == 2 else 0.0)
        found += sign * self._number(name, args, made[0]) if len(growth) == 1 else 0.0
        if found:
            for result in tensors(out):
                self.made[result] = found

    def clipped(self, weight: Tensor) -> None:
        """Note an embedding with `max_norm`: as vectors get longer, their entries shrink."""
        if grown := self.grown("max_norm", weight.shape[-1]):
            self.trace.grows[self.stack[-1], "max_norm"] = -grown / 2

    def follow(
        self,
        name: str,
        args: Sequence,
        kwargs: Mapping,
        given: list,
        weight: Tensor | None,
        of: str | None,
        out: object,
    ) -> None:
        """Give an operator's results their sizes. weight: that it is a product with. of: where it
        sums a product entry by entry, the parameter in that, or "" where there is none."""
        numbers = [
            t
            for t in given
            if (t.is_floating_point() or t.is_complex()) and (t.ndim or t in self.data)
        ]
        if name in PUT:
            numbers = [t for t in numbers if t in self.data or t in self.tags]
        size = STAYS
        self.here = [self.flow.numbers[t] for t in tensors(out) if t in self.flow.numbers]
        if weight is not None:
            size = self._product(name, args, kwargs, weight)
        elif numbers:
            size = self._of(name, args, kwargs, numbers, of, out)
        for result in tensors(out):
            self.data[result] = size

    def _of(
        self,
        name: str,
        args: Sequence,
        kwargs: Mapping,
        given: list,
        of: str | None,
        out: object,
    ) -> Size:
        own = [self.of(t) for t in given]
        first, place = own[0], (self.stack[-1], name)
        if name in NORMS:
            self.settle(first)
            return STAYS
        if name in ACTIVATIONS or (name in RELUS and first.grows):
            return self.settle(first)
        if name in RELUS:
            return replace(first, fresh=False)
        if name in SOFTMAX:
            if first.dots is not None:
                self.attended.append(first.dots)
                self.attend(replace(first.dots, growth=first.growth))
            if not first.summed or first.dots is None:
                self.settle(first)
            return Size(-self.grown(name, args[0].shape[args[1]]), place=place, summed=True)
        if name in MATRICES or name == EXPERTS:
            return self._dots(name, args, kwargs, out)
        if name.startswith(ATTENTION):
            return replace(own[min(2, len(own) - 1)], fresh=False)
        if name in SUMS or name in PUT:
            if name == "addcmul":
                own = [own[0], _times(*own[1:3])] if len(own) > 2 else own
            return self.sum(own[:2] if name == "lerp" else own)
        if name in OVER and isinstance(out, Tensor) and out.numel():
            return self._over(name, args, given[0], own, of, out)
        if name in ("mul", "div") and len(own) == 2:
            if name == "mul":
                data = given[0] not in self.tags
                size = _times(*own) if data else _times(own[1], own[0])
                learned = given[1] if data else given[0]
                if learned in self.tags and (learned.ndim < 2 or learned.shape[-1] == 1):
                    return _by(size, self._begun(learned), place)  # a gain, a temperature a head
                return size
            makers = frozenset() if first.makers & own[1].makers else first.makers
            growth = first.growth - own[1].growth
            return Size(growth, makers, place, first.dots, first.summed)
        if name in ("mul", "div"):
            factor = self._number(name, args, given[0])
            if name == "div" and args[0] is not given[0]:
                return Size(factor - first.growth, first.makers, place, None, True)
            return _by(first, factor if name == "mul" else -factor, place)
        power = args[1] if name == "pow" and args[0] is given[0] else POWERS.get(name)
        if isinstance(power, int | float):
            return Size(power * first.growth, first.makers, place, None, True)
        if len(own) > 1 or name == "pow":
            for each in own:
                self.settle(each)
            return STAYS
        return first

    def _number(self, name: str, args: Sequence, tensor: Tensor) -> float:
        """How much a number grows that a tensor is multiplied with."""
        if name not in ("mul", "div") or len(args) < 2:
            return 0.0
        other = args[1] if args[0] is tensor else args[0]
        learned = isinstance(other, Tensor) and other in self.tags
        if isinstance(other, Tensor) and other.ndim:
            return 0.0
        if isinstance(other, Tensor) and (other in self.data or (learned and tensor in self.tags)):
            return 0.0
        return self.grown(name, number(other))

    def _begun(self, learned: Tensor) -> float:
        """How much the one value grows that what is learned begins with."""
        if learned.is_meta:
            return math.nan if learned.ndim > 1 else 0.0
        with self.flow.pausing():
            value = alike(learned)
        return 0.0 if value is None else self.grown("learned", value)

    def _over(
        self, name: str, args: Sequence, tensor: Tensor, own: list, of: str | None, out: Any
    ) -> Size:
        """The size of a sum, or a norm, over entries of a tensor."""
        entries = tensor.numel() / out.numel()
        if name in ("cumsum", "_cdist_forward"):
            entries = tensor.shape[args[1] if name == "cumsum" else -1]
        size, grown = self.sum(own), OVER[name] * self.grown(name, entries)
        if of:  # a product with a weight
            return Size(size.growth, frozenset({(of, SUM)}), size.place)
        dots = None if of is None else self._noted(round(entries), out)
        if not grown:
            return size if dots is None else replace(size, dots=dots)
        return Size(size.growth + grown, size.makers, (self.stack[-1], name), dots, True)

    def sum(self, own: Sequence[Size]) -> Size:
        """The size of a sum of tensors: terms that grow alike do so, others have to stay."""
        one = self._terms(own)
        sums = [each for each in own if each.summed and each.grows]
        if any(each.dots is not None for each in sums):  # logits and their mask, or distances
            most = max(sums, key=lambda each: each.growth)
            if any(each.dots is None for each in sums):
                return replace(most, dots=None)
            apart = not most.growth - min(each.growth for each in sums) < 1e-3
            return replace(most, dots=self._terms(sums), growth=math.nan if apart else most.growth)
        growth = [each.growth for each in own]
        if not max(growth) - min(growth) < 1e-3:
            for each in own:
                self.settle(each)
            return Size(dots=one)
        makers = [each.makers for each in own]
        together = frozenset().union(*makers) if all(makers) else frozenset()
        summed = any(each.summed for each in own)
        fresh = all(each.fresh for each in own)
        return Size(growth[0], together, own[0].place, one, summed, fresh)

    def _terms(self, own: Sequence[Size]) -> Attention | None:
        """The products of data with data that are terms of a sum, as one; None without any."""
        found = [each.dots for each in own if each.dots is not None]
        made = tuple(dict.fromkeys(number for each in found for number in each.made))
        return replace(found[0], made=made) if found else None

    def _product(self, name: str, args: Sequence, kwargs: Mapping, weight: Tensor) -> Size:
        """A product with a weight, which is as large as what it reads; or a lookup."""
        lookup = name == "embedding"
        act = KEEP if lookup else SUM
        makers = frozenset((parameter, act) for parameter, _ in self.tags[weight])
        place = self.stack[-1], name
        made = Size(self.made.get(weight, 0.0), makers, place, fresh=True)
        if lookup:
            return made
        pair = args[:2] if name == "convolution" else factors(name, args)
        read = next((self._of_weight_input(self.of(t)) for t in pair if t is not weight), STAYS)
        if read.grows:
            made.place = read.place
        made.growth += read.growth
        made.dots, made.summed = read.dots, read.summed and read.grows
        bias = args[2] if name == "convolution" else None
        if len(pair) and pair[0] is not args[0]:  # what is added comes first
            bias = args[0]
        return made if bias is None else self.sum([made, self.of(bias)])

    def _of_weight_input(self, size: Size) -> Size:
        """The size of what a weight reads, which makes up for its growth unless it is of a sum."""
        size = self._settle_if_fresh(size)
        if not size.grows or (size.summed and size.growth > 0):
            return self.settle(size)
        size.read = True
        if size.asked:
            self._ask(size, math.nan)
        return size

    def _settle_if_fresh(self, size: Size) -> Size:
        """The size of a factor of a product of data: where a weight made it and numbers alone
        changed it since, that weight is asked to make up for them (`settle`)."""
        return self.settle(size) if size.fresh and size.grows else size

    def _dots(self, name: str, args: Sequence, kwargs: Mapping, out: object) -> Size:
        """A product of data with data."""
        a, b = factors(name, args)
        over, both = self.grown(name, a.shape[-1]), [self.of(a), self.of(b)]
        size = _times(*(both if over else map(self._settle_if_fresh, both)))
        size.growth += over + self.grown("alpha", kwargs.get("alpha", 1.0))
        size.summed |= bool(over)
        size.place = self.stack[-1], name
        size.dots = self._noted(a.shape[-1], out)
        return size if a is args[0] else self.sum([size, self.of(args[0])])

    def _noted(self, entries: int, out: object) -> Attention:
        """An `Attention` for a product of data with data that sums over so many entries."""
        return Attention(self.stack[-1], entries, 0.0, (self.flow.number(tensors(out)[0]),))

    def meet(self, tensor: Tensor) -> None:
        """Settle the values of an attention, which are factors of a product of data."""
        if tensor in self.data:
            self.data[tensor] = self._settle_if_fresh(self.data[tensor])

    def fused_attention(self, parts: Sequence[Tensor], asked: float | None, made: int) -> None:
        """Note an attention that is one operator. parts: queries, keys, values, and what is added
        to its logits. asked: its scale, None as usual. made: the number of what it made."""
        q, k, v, *added = parts
        self.meet(v)
        n = q.shape[-1]
        over, both = self.grown("attention", n), [self.of(q), self.of(k)]
        growth = over + self.grown("attention scale", n**-0.5 if asked is None else asked)
        growth += sum(each.growth for each in (both if over else map(self._settle_if_fresh, both)))
        terms = [self.of(each) for each in added if self.of(each).dots is not None]
        if any(not abs(each.growth - growth) < 1e-3 for each in terms):
            growth = math.nan
        more = self._terms(terms)
        self.attend(Attention(self.stack[-1], n, growth, (made, *(more.made if more else ()))))
        if not over:
            self.settle(Size(growth, place=(self.stack[-1], "attention")))

    def attend(self, found: Attention) -> None:
        """Note an attention, but for those within torch's own functions."""
        if not self.flow.paused:
            self.trace.unseen |= math.isnan(found.growth)
            self.trace.attention.append(found)

    def settle(self, size: Size) -> Size:
        """The size from where it has to stay; its weights, else `make`, are asked to see to it."""
        if self.flow.paused:
            return Size()
        self.trace.unseen |= math.isnan(size.growth)
        if size.summed and size.grows and size.dots is not None:
            self.settled.append(size)  # a softmax may come, which says that these are logits
            return size
        if not size.grows:
            self._ask(size, 0.0)
        elif size.makers and not size.summed:
            size.asked = True
            self._ask(size, math.nan if size.read else size.growth)
        else:
            self.trace.grows[size.place] = size.growth
            self.places.setdefault(size.place, set()).update(self.here)
        return Size(dots=size.dots)

    def _ask(self, size: Size, growth: float) -> None:
        growth = growth if math.isnan(growth) else round(growth, 6)
        for maker in size.makers:
            self.trace.asked.setdefault(maker, set()).add(growth)

    def end(self, outputs: Sequence[Tensor]) -> None:
        """At the end of a pass, with what the module returned; of features, as many as the width,
        the size is for what takes them. What no output is made of may grow, as distances may of
        which the least is taken."""
        for place, made in self.places.items():
            if made and not made & self.flow.live:
                del self.trace.grows[place]
        for tensor in outputs:
            if tensor in self.data and not self.grown("output", tensor.numel()):
                self.settle(self.data[tensor])
        attended = {number for each in self.attended for number in each.made}
        for size in self.settled:
            dots = size.dots
            if dots is not None and attended.isdisjoint(dots.made):
                self.trace.grows[dots.module, "product of data with data"] = size.growth


def _times(a: Size, b: Size) -> Size:
    """The size of a product of two tensors, entry by entry."""
    makers = frozenset() if a.makers & b.makers else a.makers or b.makers
    place = a.place if a.grows else b.place
    dots = b.dots if a.dots is None else a.dots if b.dots is None else None
    summed = (a.summed and a.grows) or (b.summed and b.grows)
    return Size(a.growth + b.growth, makers, place, dots, summed)


def _by(size: Size, growth: float, place: tuple[str, str]) -> Size:
    """The size of a tensor times a number whose logarithm grows so much."""
    if not growth:
        return size
    return replace(size, growth=size.growth + growth, place=place, read=False, asked=False)
