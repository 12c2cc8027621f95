"""Tests of what papers state, readings beside them, what is expected and what was measured of both.
No torch."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from repro.core.study import OVERNIGHT, SCALES, WORKSTATION
from repro.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

# What a test rests on. The first three are of a paper; the others are ours.
TRAINING = "training"  # runs
THEORY = "theory"  # a closed form, held against simulation
ARITHMETIC = "arithmetic"  # of the paper's own numbers
SELF_CHECK = "self-check"  # the suite is built as the paper prints
CONTROL = "control"  # what else might have given a result
OF_A_PAPER = (TRAINING, THEORY, ARITHMETIC)
KINDS = (*OF_A_PAPER, SELF_CHECK, CONTROL)

# Where a bound comes from.
STATED = "stated"  # the paper says it, in numbers or in words such as "lower"
TOLERANCE = "tolerance"  # the paper prints a value, an equality or "the same"; how near is ours
OURS = "ours"  # the paper prints nothing of it
BASES = (STATED, TOLERANCE, OURS)

FEWEST = {"reduced": 3, OVERNIGHT: 5}  # seeds from which a test about training is told


@dataclass(frozen=True)
class Expectation:
    """An interval in which a quantity should lie, and its wording.

    strict: its ends do not count as inside. basis: where the bound comes from, one of BASES. why:
    what a tolerance, or a bound of ours, was chosen by; one sentence.
    """

    low: float
    high: float
    text: str
    strict: bool = False
    basis: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if self.basis and self.basis not in BASES:
            raise UserError(f"bound {self.text!r}: unknown basis {self.basis!r}: {BASES}")
        if self.basis in (TOLERANCE, OURS) and not self.why:
            raise UserError(f"bound {self.text!r}: say in one sentence why it is there")

    def holds(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        if self.strict:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def edge(self, value: float) -> float:
        """The end of the interval that lies nearest to a value."""
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        return min(ends, key=lambda end: abs(end - value))

    def __str__(self) -> str:
        return self.text


def number(value: float, form: str = "g") -> str:
    """A number as text: whole numbers from 1,000 up with all digits, others in format `form`."""
    if 1_000 <= abs(value) < 2**53 and value == round(value):
        return f"{value:,.0f}"
    return f"{value:{form}}"


def within(value: float, tolerance: float, basis: str = "", why: str = "") -> Expectation:
    """At most `tolerance` (absolute) away from the value."""
    text = f"{number(value)} within {number(tolerance)}"
    return Expectation(value - tolerance, value + tolerance, text, False, basis, why)


def between(low: float, high: float, basis: str = "", why: str = "") -> Expectation:
    """From low to high, ends included."""
    return Expectation(low, high, f"{number(low)} to {number(high)}", False, basis, why)


def inside(low: float, high: float, basis: str = "", why: str = "") -> Expectation:
    """From low to high, ends excluded."""
    return Expectation(low, high, f"inside {number(low)} to {number(high)}", True, basis, why)


def below(value: float, basis: str = "", why: str = "") -> Expectation:
    """Strictly below the value. Of a bare sign, below 0, the paper states it unless one says so."""
    basis = basis or STATED * (value == 0)
    return Expectation(-math.inf, value, f"below {number(value)}", True, basis, why)


def at_most(value: float, basis: str = "", why: str = "") -> Expectation:
    """At most the value."""
    return Expectation(-math.inf, value, f"at most {number(value)}", False, basis, why)


def above(value: float, basis: str = "", why: str = "") -> Expectation:
    """Strictly above the value. Of a bare sign, above 0, the paper states it unless one says so."""
    basis = basis or STATED * (value == 0)
    return Expectation(value, math.inf, f"above {number(value)}", True, basis, why)


@dataclass(frozen=True)
class Measurement:
    """A measured quantity.

    value; low, high: 95 % interval; the value twice where nothing is random, NaN where it is of one
    run only. n: seeds behind the interval. problem: why nothing can be told from the value (an
    optimum at the edge of its grid, a search limit), empty otherwise. detail: what a reader wants
    beside it. freedom: degrees of freedom of the interval; NaN: n - 1. possible: the least and the
    most that the quantity can be.
    """

    value: float
    low: float
    high: float
    n: int
    problem: str = ""
    detail: str = ""
    freedom: float = math.nan
    possible: tuple[float, float] = (-math.inf, math.inf)

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the interval, rounded down."""
        return self.n - 1 if math.isnan(self.freedom) else max(1, math.floor(self.freedom))


def over_seeds(
    statistic: Callable[[Sequence[int]], float],
    seeds: Iterable[int],
    problem: str = "",
    detail: str = "",
) -> Measurement:
    """Mean over seeds of a statistic of one seed's runs, with its Student t interval.

    statistic: takes a list of one seed. Arms of a comparison share the seed, so it is paired.
    """
    from repro.statistics import t_interval

    seeds = sorted(int(seed) for seed in seeds)
    values = [float(statistic([seed])) for seed in seeds]
    return Measurement(*t_interval(values), len(seeds), problem, detail)


def over_means(
    statistic: Callable[[Sequence[int]], float],
    seeds: Iterable[int],
    problem: str = "",
    detail: str = "",
) -> Measurement:
    """A statistic that needs the mean over seeds, as an optimum or a fit may, with its jackknife
    interval.

    statistic: takes a list of seeds.
    """
    from repro.statistics import jackknife

    seeds = sorted(int(seed) for seed in seeds)
    return Measurement(*jackknife(statistic, seeds), len(seeds), problem, detail)


def over_arms(
    statistic: Callable[[Mapping[Any, Sequence[int]]], float],
    arms: Mapping[Any, Iterable[int]],
    problem: str = "",
    detail: str = "",
) -> Measurement:
    """A statistic of arms that have seeds of their own, as many as each needs, with Welch's
    interval: every arm's variance by a jackknife, and degrees of freedom by Satterthwaite.

    statistic: takes arm -> its seeds. n is that of the arm with the fewest seeds.
    """
    import numpy as np

    from repro.statistics import estimate, of_jackknife

    seeds = {arm: sorted(map(int, its)) for arm, its in arms.items()}
    whole, fewest = float(statistic(seeds)), min(map(len, seeds.values()))
    parts = [
        of_jackknife(
            np.array(
                [float(statistic({**seeds, arm: [s for s in its if s != left]})) for left in its]
            )
            if len(its) > 1
            else np.array([math.nan])
        )
        for arm, its in seeds.items()
    ]
    found = estimate(whole, *parts)
    return Measurement(whole, found.low, found.high, fewest, problem, detail, found.freedom)


def over_both(
    statistic: Callable[[int, Sequence[int]], float],
    seeds: Iterable[int],
    choosing: Iterable[int],
    problem: str = "",
    detail: str = "",
) -> Measurement:
    """Mean over seeds of what other seeds chose, with an interval of the whole chain: the variance
    over the seeds that judge, and the jackknife's over those that choose, which all judges share.

    statistic: takes a judging seed and the choosing seeds. Of one seed of either the ends are NaN.
    """
    import numpy as np

    from repro.statistics import student

    seeds, choosing = sorted(map(int, seeds)), sorted(map(int, choosing))
    values = [float(statistic(seed, choosing)) for seed in seeds]
    value = float(np.mean(values))
    if not math.isfinite(value) or min(len(seeds), len(choosing)) < 2:
        return Measurement(value, math.nan, math.nan, len(seeds), problem, detail)
    without = [
        float(np.mean([statistic(seed, [c for c in choosing if c != left]) for seed in seeds]))
        for left in choosing
    ]
    n, k = len(seeds), len(choosing)
    variance = np.var(values, ddof=1) / n + (k - 1) * np.var(without)
    reach = student(min(n, k)) * math.sqrt(variance)
    return Measurement(value, value - reach, value + reach, n, problem, detail)


def over_batches(
    values: "np.ndarray", statistic: "Callable[[np.ndarray], float]", detail: str = ""
) -> Measurement:
    """`over_means` of an array.

    values: shape (seeds, ...). statistic: takes their mean over seeds, of shape (...).
    """
    return over_means(
        lambda sample: statistic(values[list(sample)].mean(0)), range(len(values)), detail=detail
    )


def exact(value: float, n: int = 1, problem: str = "", detail: str = "") -> Measurement:
    """A value in which nothing is random. n: how many things it is of."""
    return Measurement(float(value), float(value), float(value), n, problem, detail)


def of_one_run(value: float, problem: str = "", detail: str = "") -> Measurement:
    """A value of one seed: it has no interval, and nothing can be told from it."""
    return Measurement(float(value), math.nan, math.nan, 1, problem, detail)


@dataclass(frozen=True)
class Prediction:
    """What a paper's formula gives for a quantity at the sizes of a design.

    low, high: ends of what it allows there; of one value the value twice. limit: what it comes to
    as the sizes grow without end, in the units of the quantity. formula: its name.
    """

    low: float
    high: float
    limit: float
    formula: str


@dataclass(frozen=True)
class Condition:
    """What a paper requires of a design for its statement to hold.

    asked: in words with its place: `about 100 units (Sections 4 and 5)`. broken: of a figure's
    table and scale, how its design breaks it, with the number: `n0 = 16`; "" where it does not.
    """

    asked: str
    broken: Callable[[Any, str], str]


@dataclass(frozen=True)
class Answer:
    """What a figure measures: a Test or a Reading. id: `<figure>.<name>`, unique within a paper."""

    id: str


@dataclass(frozen=True)
class Test(Answer):
    """A statement of a paper on one network or setting, with a quantity and bounds that bind.

    kind: what it rests on, one of KINDS. statement: whose test it is, of the paper's statements
    (`repro.verdicts.statements`). column: the network or setting, in words; its column in the
    paper's table. quantity: what is measured, in words. expected: scale -> Expectation at which it
    binds. Overnight the reduced scale's binds and on a workstation the paper scale's, unless they
    have one of their own; None: not there. At other scales what is measured is a reading.
    real_data: binds only on data the suite did not generate. published: a number of the published
    settings: on a workstation it does not bind. conditions: what the paper requires of a design; a
    test whose design breaks one is told, sorted and counted as outside them, however it came out.
    """

    __test__: ClassVar[bool] = False  # for pytest: it is no test of the suite

    kind: str
    statement: str
    column: str
    quantity: str
    expected: Mapping[str, Expectation | None]
    real_data: bool = False
    published: bool = False
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            hint = did_you_mean(self.kind, KINDS)
            raise UserError(f"test {self.id!r}: unknown kind {self.kind!r}: {hint}")
        if not self.bounds:
            raise UserError(
                f"test {self.id!r}: expected is empty; name a scale and a bound, or make it a "
                "Reading"
            )

    @property
    def bounds(self) -> dict[str, Expectation]:
        """Scale -> bound, of the scales at which it has one of its own."""
        return {scale: bound for scale, bound in self.expected.items() if bound is not None}

    def at(self, scale: str) -> Expectation | None:
        """What is expected at a scale; None where it does not bind there."""
        if scale in self.expected or (scale == WORKSTATION and self.published):
            return self.expected.get(scale)
        return self.expected.get({OVERNIGHT: "reduced", WORKSTATION: "paper"}.get(scale, scale))

    def binds(self, scale: str, embedded: bool) -> bool:
        """Whether there is a bound that is meant to hold at this scale and on this data."""
        return self.at(scale) is not None and not (self.real_data and embedded)

    @property
    def smallest(self) -> Expectation:
        """What is expected at the smallest scale that has a bound."""
        return self.bounds[min(self.bounds, key=SCALES.index)]

    @property
    def place(self) -> str:
        """Where it binds, in words: the smallest scale that has a bound, or real data."""
        return f"scale {min(self.bounds, key=SCALES.index)}" + ", real data" * self.real_data


@dataclass(frozen=True)
class Reading(Answer):
    """A number that is measured and held against nothing: it has no status.

    words: what is measured. beside: what a reader holds it against, in words; may
    be "". statement, column: of one that stands beside the tests of a statement, as that column.
    """

    words: str
    beside: str = ""
    statement: str = ""
    column: str = ""


def all_scales(expectation: Expectation) -> dict[str, Expectation]:
    """The same expectation at every scale: for quantities that do not depend on long training."""
    return dict.fromkeys(SCALES, expectation)


def trained_scales(
    expectation: Expectation, smallest: str = "reduced"
) -> dict[str, Expectation | None]:
    """The same expectation at every scale whose runs train long enough, and are enough, to be
    judged; on a workstation as at paper scale. smallest: where the planned power is enough."""
    return {smallest: expectation, "paper": expectation}
