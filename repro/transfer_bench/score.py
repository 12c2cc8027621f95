"""What is lost by tuning narrow and training wide, against a reference that was fixed before. No
torch.

An entry has a sweep of rates on the narrow model at every ratio tried, and one on the wide model. A
parabola through the rates around the best gives the narrow model's optimum, which is transferred,
and the wide model's own. Three losses follow, by judging seed: at the transferred rate, at the wide
model's own best rate, and the reference's. Their differences are regret and penalty, and both
together, of what the width gains, the share that is lost.

An interval is of the whole chain: Student's t over the judging seeds, and the jackknife over the
tuning seeds, by which optimum and ratio would have been others; their variances add (Welch).
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from widthwise.checks.sweep import Sweep
from widthwise.statistics import Estimate as Estimate
from widthwise.statistics import estimate as estimate
from widthwise.statistics import of_jackknife
from widthwise.statistics import of_mean as of_mean

GAIN = 5.0  # standard errors that the width's gain must have for a share of it to be a number
SURE = 0.95  # share of draws of the tuning seeds beyond which a ratio is in no doubt
DRAWS = 4_000  # of tuning seeds
MEDIANS = 40_000  # of a median over workloads


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Chain:
    """What an entry's chain of tuning and training gives on a workload.

    seeds: those that judge. end: losses by seed at the transferred rate. tuned: at the wide model's
    own. tuned_on: the seeds of the narrow model. end_without: mean of `end` without each of these.
    narrow: the narrow model's tuned losses, by its seeds. place: log2 of the transferred rate;
    own_place: of the wide model's own best. ratio: the one chosen; sure: in which share of draws of
    the tuning seeds it would be. problem: why the transferred loss tells nothing. own: why the wide
    model's own optimum does not.
    """

    seeds: tuple[int, ...]
    end: np.ndarray
    tuned: np.ndarray
    tuned_on: tuple[int, ...]
    end_without: np.ndarray
    narrow: np.ndarray
    place: float
    own_place: float
    ratio: float
    sure: float
    problem: str = ""
    own: str = ""


def chosen_ratio(narrow: Mapping[float, Sweep], without: int | None = None) -> float:
    """The ratio at which the narrow model's lowest mean loss is."""
    if without is not None:
        narrow = {ratio: sweep.without(without) for ratio, sweep in narrow.items()}
    return min(narrow, key=lambda ratio: narrow[ratio].mean().min())


def ratio_at_edge(ratio: float, ratios: Collection[float]) -> str:
    """Why the best of these ratios may lie beyond them; "" where it does not."""
    ends = min(ratios), max(ratios)
    inside = ends[0] == ends[1] or ratio not in ends
    return "" if inside else f"the best ratio, {ratio:g}, is at its grid's edge"


def surety(narrow: Mapping[float, Sweep], ratio: float) -> float:
    """In which share of samples of the tuning seeds, with replacement, this ratio is chosen."""
    if len(narrow) == 1:
        return 1.0
    seeds = len(next(iter(narrow.values())).seeds)
    drawn = np.random.default_rng(0).integers(seeds, size=(DRAWS, seeds))
    lowest = [sweep.losses[drawn].mean(1).min(1) for sweep in narrow.values()]
    return float((np.argmin(lowest, axis=0) == [*narrow].index(ratio)).mean())


def chain(
    narrow: Mapping[float, Sweep], wide: Mapping[float, Sweep], learned: Callable[[float], str]
) -> Chain:
    """An entry's chain. narrow, wide: ratio -> sweep; the wide model has those ratios that it was
    trained at. learned: the narrow model's best loss -> why nothing can be told of it, or "".

    Without one of the tuning seeds another ratio may be the best. Where the wide model was trained
    at it, that is in the interval; where not, `sure` says how far the interval is of one ratio.
    """
    ratio = chosen_ratio(narrow)
    tuning = narrow[ratio]
    sure = surety(narrow, ratio)
    problem = learned(float(tuning.mean().min()))
    place = tuning.optimum()
    if not problem and place != place:
        problem = "the narrow model's best rate is at its grid's edge"
    problem = problem or ratio_at_edge(ratio, narrow)
    if ratio not in wide:
        problem = problem or f"the wide model was not trained at the best ratio, {ratio:g}"
    judged = wide[ratio if ratio in wide else next(iter(wide))]
    end, own_tuned = judged.at(place), judged.tuned()
    if not problem and np.isnan(end).any():
        problem = "the wide model was not trained at the narrow one's best rate"
    if not problem and np.isinf(end).any():
        problem = "a wide model diverges at the narrow one's best rate"
    without = []
    for k in range(len(tuning.seeds)):
        other = chosen_ratio(narrow, without=k)
        other = other if other in wide else ratio
        at = narrow[other].without(k).optimum()
        without.append(float(wide.get(other, judged).at(at).mean()))
    own = "" if np.isfinite(own_tuned).all() else "its own best rate is at its grid's edge"
    return Chain(
        seeds=judged.seeds,
        end=end,
        tuned=own_tuned,
        tuned_on=tuning.seeds,
        end_without=np.array(without),
        narrow=tuning.tuned(),
        place=place,
        own_place=judged.optimum(),
        ratio=ratio,
        sure=sure,
        problem=problem,
        own=own,
    )


@dataclass(frozen=True)
class Reference:
    """What a workload's entries are held against, fixed under a version.

    losses: seed -> the reference's loss at the largest width. narrow: its narrow model's. error: of
    the gain, a standard error. of: what it is.
    """

    losses: Mapping[int, float]
    narrow: float
    error: float
    of: str = ""

    @property
    def loss(self) -> float:
        """The mean over its seeds."""
        return float(np.mean([*self.losses.values()]))

    @property
    def gain(self) -> float:
        """What the width gains, nats."""
        return self.narrow - self.loss

    @property
    def problem(self) -> str:
        """Why a share of the gain is no number; "" if it is one."""
        if self.gain >= GAIN * self.error:
            return ""
        return (
            f"the width's gain, {self.gain:.3f} nats, is below {GAIN:g} standard errors of it, "
            f"{self.error:.3f}"
        )

    def beside(self, seeds: Sequence[int]) -> np.ndarray | None:
        """Its losses of these seeds, to pair with; None where it has not all of them."""
        if not {*seeds} <= {*self.losses}:
            return None
        return np.array([self.losses[seed] for seed in seeds])


@dataclass(frozen=True)
class Score:
    """An entry on a workload. regret, penalty: nats. lost: % of the gain. problem: why `lost` is
    undefined; own: why regret and penalty are. note: what the interval leaves out. gain: what a
    share is of, nats. reference: what it is held against."""

    regret: Estimate
    penalty: Estimate
    lost: Estimate
    problem: str = ""
    own: str = ""
    note: str = ""
    gain: float = math.nan
    reference: str = ""


NOTHING = Estimate(math.nan)


def score(found: Chain, reference: Reference | None, lacking: str = "no reference") -> Score:
    """An entry's chain against a workload's reference. lacking: why there is none."""
    regret = NOTHING
    if not (found.problem or found.own):
        parts = of_mean(found.end - found.tuned), of_jackknife(found.end_without)
        regret = estimate(float((found.end - found.tuned).mean()), *parts)
    note = unsure(found)
    if reference is None:
        return Score(regret, NOTHING, NOTHING, found.problem or lacking, found.own, note)
    penalty = NOTHING if found.own else above(found, found.tuned, reference)
    problem = found.problem or reference.problem
    lost = NOTHING
    if not problem:
        lost = above(found, found.end, reference, found.end_without).times(100 / reference.gain)
    held = reference.gain, reference.of
    return Score(regret, penalty, lost, problem, found.own, note, *held)


def unsure(found: Chain) -> str:
    """What an interval leaves out: "" where the tuning seeds leave little doubt of the ratio."""
    if found.sure > SURE:
        return ""
    share = f"{found.sure:.0%} of draws of the tuning seeds"
    return f"of ratio {found.ratio:g} alone, which is best in {share}"


def above(
    found: Chain, values: np.ndarray, reference: Reference, without: np.ndarray | None = None
) -> Estimate:
    """Losses by judging seed above the reference's: paired where it has these seeds. without: their
    mean without each tuning seed, of what depends on these."""
    beside = reference.beside(found.seeds)
    tuning = [] if without is None else [of_jackknife(without)]
    if beside is not None:
        return estimate(float((values - beside).mean()), of_mean(values - beside), *tuning)
    of_reference = of_mean(np.array([*reference.losses.values()]))
    value = float(values.mean()) - reference.loss
    return estimate(value, of_mean(values), of_reference, *tuning)


def difference(one: Chain, other: Chain) -> Estimate:
    """The transferred loss of one entry minus another's on a workload, nats: paired where their
    judging seeds are the same, and where their narrow models' are. The reference falls out."""
    value = float(one.end.mean() - other.end.mean())
    if one.seeds == other.seeds:
        parts = [of_mean(one.end - other.end)]
    else:
        parts = [of_mean(one.end), of_mean(other.end)]
    if one.tuned_on == other.tuned_on:
        parts.append(of_jackknife(one.end_without - other.end_without))
    else:
        parts += [of_jackknife(one.end_without), of_jackknife(other.end_without)]
    return estimate(value, *parts)


def median(each: Sequence[Estimate]) -> Interval:
    """The median over workloads, and the middle 95 % of medians of what each may be: its Student t
    around it, independently of the others. NaN ends where one has no error."""
    value = float(np.median([one.value for one in each])) if each else math.nan
    if not each or not all(math.isfinite(one.error) for one in each):
        return Interval(value, math.nan, math.nan)
    rng = np.random.default_rng(0)
    drawn = [
        one.value + one.error * rng.standard_t(max(1.0, one.freedom), size=MEDIANS) for one in each
    ]
    low, high = np.percentile(np.median(drawn, axis=0), [2.5, 97.5])
    return Interval(value, float(low), float(high))


def holds_zero(interval: Estimate | Interval) -> bool:
    """Whether 0 is in an interval, or there is no interval: nothing parts the two."""
    return not (interval.low > 0 or interval.high < 0)
