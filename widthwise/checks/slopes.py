"""Slopes of sizes against width, each held against the law that muP has for it.

What a network does should not depend on its width. Under muP, as the width n grows (Yang et al.,
arXiv 2203.03466: the rules are Tables 3 and 8, the check Appendix D.1, attention Definition 4.1):

quantity       size of                              exponent   why
stream size    what a block returns                 0          entries are of size 1, always
stream change  its difference after the steps       0          features are learned at any width
logits start   q.k times its scale, before them     0 (a)      q.k/d of independent q and k
logits size    the same, after the steps            0 (b)      correlated too, once trained: a mean
logits change  its difference                       0 (b)      over d of what does not cancel
output size    the model's output                   (c)        n^-1/2 at random, 1 once learned
output change  its difference                       (c)        what is learned; what was random goes
effect         sum of |gradient x update| over a    0 (b, c)   updates are maximal: each tensor
               tensor's entries and the steps                  moves the loss, to first order, by an
                                                               amount of size 1
decay          share of a weight that a step takes  0          decoupled decay, lr * decay held
               away without gradients

(a) -1/2 where head_dim d grows. (b) -1/2 to 0 where it grows, for the effect of that attention's
tensors: at a finite d both parts are there; -1 to 0 for the change, of which nothing but what the
batch's other members do, n^-1/2 d^-1/2, is there where attention has nothing to learn. (c) -1/2 to
0, for the effect of what reads a width and writes none: a readout's gradient has a part of the
first output's, which is random. So is what is projected to a fixed width within the network (V of
key-value heads held fixed, a router), an output by a readout's start, and with it the change of
the block that holds it; by a hidden layer's start its change has to stay. So has what attention
gives where head_dim grows, or its softmax is a mean over an axis that does, as over channels.

The effect in numbers: with activations of size 1 and gradients of size 1/n of what has a width,
a hidden matrix has n x n entries, gradients of 1/n, and Adam's updates of 1/n; an embedding n, 1/n
and 1; a readout n, 1 and 1/n: all of them make 1. It averages over a tensor's entries, where the
change of a single layer's output is a sum over the batch that is flat only at n far beyond the
number of things the batch has to tell apart.

A law is one of large widths. Below them a right model's curve bends towards it, where a wrong
one's goes on as it did: so beyond its law is only what is so over the wider half of the widths too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from widthwise.errors import UserError
from widthwise.statistics import slope, student, student_tail, t_interval

# Half the way to the nearest wrong law: every power of a table is a multiple of 1/2.
TOLERANCE = 0.25
# A tensor that moves the loss by less than this share of all is not judged by its effect.
LEAST_EFFECT = 0.01
PARAMETRIZED = "parametrizations"  # the child of a module that holds torch's
# Powers that are right: of what does not depend on a width, of what is a mean of random terms, and
# of what has a part of both, or of the noise that two such means make.
FLAT, RANDOM, BOTH, NOISE = (0.0, 0.0), (-0.5, -0.5), (-0.5, 0.0), (-1.0, 0.0)

Key = tuple[str, str]  # (layer or weight, quantity)


@dataclass(frozen=True)
class Measured:
    """A model of one width after some steps.

    sizes: (layer or weight, quantity) -> size. extents: as `widthwise.checks.seen.Seen` has them.
    """

    sizes: Mapping[Key, float]
    extents: Mapping[Key, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerSlope:
    """Slope of log size against log width by least squares, with its 95 % interval over seeds.

    quantity: as above. law: the least and greatest exponent that is right. wider: the slope over
    the wider half of the widths, of three the two widest. verdict: "right" where the slope is
    within the tolerance of the law and the interval excludes the nearest wrong laws, twice the
    tolerance away; "grows" or "vanishes" where slope and wider are beyond the tolerance and the
    slope differs from the law at 5 % over all slopes together (Bonferroni); else "unclear".
    """

    layer: str
    quantity: str
    slope: float
    low: float
    high: float
    law: tuple[float, float]
    verdict: str
    wider: float = math.nan


def fit_slopes(
    measure: Callable[[float, int], Measured],
    widths: Sequence[float],
    seeds: Sequence[int],
    tolerance: float = TOLERANCE,
    laws: Mapping[Key, tuple[float, float]] | None = None,
    every: bool = False,
) -> tuple[list[LayerSlope], dict[tuple[float, int], Measured]]:
    """The slopes of all that is judged, and what was measured.

    Left out are what is 0 at every width, streams whose size does not depend on the width (a
    readout's layer), and effects below LEAST_EFFECT of all at every width.
    measure: (width, seed) -> Measured, of the same quantities in every call.
    laws: what is judged, and its law, where it is not the width that differs. every: whether all
    streams are judged.
    Raises UserError unless there are at least two widths above 0: a slope needs two points.
    """
    import numpy as np

    if len(set(widths)) < 2 or min(widths) <= 0:
        raise UserError(f"coordinate-check: widths {list(widths)}: give two or more, above 0")
    if not tolerance > 0:
        raise UserError(f"coordinate-check: tolerance {tolerance}: give one above 0")
    half = sorted(set(widths))[-max(2, (len(set(widths)) + 1) // 2) :]
    found = {(width, seed): measure(width, seed) for width in widths for seed in seeds}
    narrow, wide = found[min(widths), seeds[0]], found[max(widths), seeds[0]]
    growing = {
        key for key, extent in narrow.extents.items() if wide.extents.get(key, extent) > extent
    }
    judged = [
        key
        for key in narrow.sizes
        if any(each.sizes.get(key, 0.0) for each in found.values())
        and (key in laws if laws is not None else _judged(key, growing, found, every))
    ]

    result = []
    for key in judged:
        law = laws[key] if laws is not None else _law(key, growing, narrow, every)
        if not all(0 < each.sizes.get(key, 0.0) < math.inf for each in found.values()):
            result.append(LayerSlope(*key, math.nan, math.nan, math.nan, law, "unclear"))
            continue
        slopes, wider = (
            [
                slope(np.log(part), [np.log(found[width, seed].sizes[key]) for width in part])
                for seed in seeds
            ]
            for part in (widths, half)
        )
        fitted, last = t_interval(slopes), sum(wider) / len(wider)
        verdict = _verdict(*fitted, last, law, tolerance, len(seeds), len(judged))
        result.append(LayerSlope(*key, *fitted, law, verdict, last))
    return result, found


def _judged(
    key: Key, growing: set[Key], found: Mapping[tuple[float, int], Measured], every: bool
) -> bool:
    layer, quantity = key
    if quantity.startswith("stream"):
        projected = any(_projected(layer, each) for each in found.values())
        return every or projected or (layer, "stream") in growing
    if quantity != "effect":
        return True
    shares: dict[float, list[float]] = {}
    for (width, _), each in found.items():
        total = sum(size for (_, what), size in each.sizes.items() if what == "effect")
        shares.setdefault(width, []).append(each.sizes.get(key, 0.0) / total if total else 0.0)
    return max(sum(of_width) / len(of_width) for of_width in shares.values()) >= LEAST_EFFECT


def _projected(layer: str, measured: Measured) -> bool:
    return any((layer, what) in measured.extents for what in ("projection", "small"))


def _law(key: Key, growing: set[Key], narrow: Measured, every: bool) -> tuple[float, float]:
    """The least and the greatest exponent that is right. every: whether the stream is what each
    module gives, those in attention too."""
    layer, quantity = key
    heads = [name for name, what in growing if what == "logits"]  # whose head_dim grows
    small = [name for name, what in narrow.extents if what == "small"]
    by_small = [name.rpartition(".")[0] for name in small] + small  # in whose logits they may be
    stays = quantity.startswith("stream") and (layer, "stream") not in growing
    if quantity == "stream change" and (layer, "projection") in narrow.extents:
        return FLAT
    holds = any(name.startswith(f"{layer}.") for name in small)
    holds &= quantity == "stream change" or (every and quantity == "stream size")
    holds |= layer in small and quantity.startswith("stream")
    if quantity.startswith("output") or stays or holds:
        return BOTH
    if quantity.startswith("logits"):
        own = {"logits start": RANDOM, "logits change": NOISE}.get(quantity, BOTH)
        rest = (NOISE if quantity == "logits change" else BOTH) if layer in by_small else FLAT
        return own if layer in heads else rest
    its_layer = owner(layer), "layer"
    if quantity == "effect" and its_layer in narrow.extents and its_layer not in growing:
        return BOTH
    means = heads + [name for name, what in growing if what == "softmax"]
    means += [name for name in by_small if (name, "logits") in narrow.extents]
    if every:  # and what reads it, beside it
        over = [name.rpartition(".")[0] for name in means]
        means += [name for name in over if name and not name.rpartition(".")[2].isdigit()]
    within = any(f"{layer}.".startswith(f"{name}." if name else "") for name in means)
    return BOTH if within and (every or quantity == "effect") else FLAT


def owner(parameter: str) -> str:
    """The layer that a parameter is of: where torch's parametrizations hold it, the one that they
    are on. What they return is its weight, and no stream."""
    place, within, _ = f".{parameter}".partition(f".{PARAMETRIZED}.")
    return (place if within else place.rpartition(".")[0]).removeprefix(".")


def _verdict(
    fitted: float,
    low: float,
    high: float,
    wider: float,
    law: tuple[float, float],
    tolerance: float,
    seeds: int,
    slopes: int,
) -> str:
    """wider: as LayerSlope has it. slopes: how many there are."""
    least, most = law
    if least - tolerance <= fitted <= most + tolerance:
        told = least - 2 * tolerance < low and high < most + 2 * tolerance
        return "right" if told else "unclear"
    if least - tolerance <= wider <= most + tolerance:
        return "unclear"
    if not low < high:  # one seed; or no difference between them at all
        return "unclear" if seeds < 2 else "grows" if fitted > most else "vanishes"
    beyond = max(fitted - most, least - fitted) / ((high - low) / 2 / student(seeds))
    if 2 * student_tail(beyond, seeds - 1) * slopes > 0.05:
        return "unclear"
    return "grows" if fitted > most else "vanishes"


def table(slopes: Sequence[LayerSlope]) -> list[str]:
    """Lines: a heading, and every layer's slopes."""
    wide = max([24, *(len(s.layer) for s in slopes)])
    heading = f"{'layer':{wide}} {'quantity':14} {'law':>9} {'slope':>7} {'low':>7} {'high':>7}"
    lines = [f"{heading}  verdict"]
    for s in slopes:
        law = " to ".join(f"{each:g}" for each in dict.fromkeys(s.law))
        lines.append(
            f"{s.layer or 'the model':{wide}} {s.quantity:14} {law:>9} "
            f"{s.slope:7.3f} {s.low:7.3f} {s.high:7.3f}  {s.verdict}"
        )
    return lines


def root_mean_square(tensor) -> float:
    """Root mean square of a tensor's entries."""
    return float(tensor.float().square().mean().sqrt())
