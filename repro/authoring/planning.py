"""Designs of a figure's tests beside their price, drawn from a table that is there.

A design says how many seeds each arm has. Tables like the recorded one are drawn from every law,
cut to the design and judged by the whole rule, with the scatter at the upper end of what its seeds
allow (`RULE` of the register). From the dearest arm to the cheapest, each then gets the fewest
seeds with which every test is still told.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from repro.authoring import trials
from repro.authoring.prices import Priced, prices
from repro.core.population import SETTING
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_as, read_table, write_json
from repro.products.records import read_record, recorded
from repro.verdicts.answers import Measurement, Test
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import called
from repro.verdicts.power import TOO_OFTEN
from repro.verdicts.preregistration import LEAST_POWER, LEAST_TOLD
from repro.verdicts.results import AGREES, DIFFERS
from repro.verdicts.verdict import by_bound, factor_for, widened

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 100  # tables of each law, for a design
FEWEST = 4  # seeds of an arm that is judged
DRAWN = 3  # seeds from which an arm of a table may be one: of fewer it is drawn, and stays as it is
SIZES = (FEWEST, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48)
NORMAL = -0.8416  # below which a fifth of a normal distribution lies
COPY = 10_000_000  # between the numbers of seeds of tables that are put together


@dataclass(frozen=True)
class Promise:
    """What a design promises of one test, with noise at its upper bound and intervals calibrated.

    power: share of tables that agree under the paper's law. told: share of verdicts with the truth
    where the table has it. error: the largest share of false ones, and the law that gives it.
    """

    power: float
    told: float
    error: float
    law: str

    @property
    def kept(self) -> bool:
        """Whether the register takes it."""
        right = self.power >= LEAST_POWER and self.told >= LEAST_TOLD
        return right and self.error <= TOO_OFTEN

    def __str__(self) -> str:
        short = "" if self.kept else ": too little"
        figures = f"power {self.power:.3g}, told {self.told:.3g}, error {self.error:.3g}"
        return f"{figures} ({self.law}){short}"


@dataclass(frozen=True)
class Design:
    """A design and what it promises. seeds: arm -> their number. runs, seconds: of all its arms;
    seconds of one core."""

    seeds: Mapping[str, int]
    runs: int
    seconds: float
    promises: Mapping[str, Promise]

    def tells(self, tests: Sequence[str]) -> bool:
        """Whether it keeps what the register asks of these."""
        return all(self.promises[test].kept for test in tests)

    @property
    def lines(self) -> list[str]:
        """Price and seeds, then a line a test."""
        seeds = "; ".join(f"{arm} {number}" for arm, number in self.seeds.items())
        head = f"{self.seconds:.0f} s of a core, {self.runs} runs: {seeds}"
        return [head, *(f"  {test}: {each}" for test, each in self.promises.items())]


class Source:
    """A figure's table with its arms and prices.

    table: columns of data.csv. priced: as from `prices`. Rows that share their columns of words are
    an arm, and those of arms that have the same seeds.
    """

    def __init__(
        self, suite: Suite, figure_name: str, table: "pd.DataFrame", priced: Sequence[Priced]
    ):
        self.suite, self.figure_name, self.table = suite, figure_name, table
        self.arm, self.priced = arms(table), priced

    @property
    def recorded(self) -> dict[str, int]:
        """Arm -> how many seeds the table has of it; without those whose rows are of no seed."""
        found = self.table["seed"].groupby(self.arm).nunique()
        return {str(arm): int(number) for arm, number in found.items() if number}

    def price(self, seeds: Mapping[str, int]) -> tuple[int, float]:
        """Runs and seconds of so many seeds of each arm."""
        runs = seconds = 0.0
        recorded = self.recorded
        for rows, whole, base in self.priced:
            arm = self.arm[rows[0]]
            if arm in recorded:
                each = seeds[arm] / recorded[arm]
                runs += each * (not base)
                seconds += each * whole
        return round(runs), seconds

    def cut(self, seeds: Mapping[str, int]) -> Callable:
        """What makes of draws a table of the design: (its tables, one after another) -> a table."""
        import pandas as pd

        rank, of_none = ranks(self.table, self.arm), self.table["seed"].isna().to_numpy()
        recorded = self.recorded
        asked = np.array([seeds.get(arm, 0) for arm in self.arm])
        there = np.array([recorded.get(arm, 1) for arm in self.arm])
        only, further = self.once

        def design(drawn: Sequence["pd.DataFrame"]) -> "pd.DataFrame":
            parts = []
            for copy, table in enumerate(drawn):
                first = of_none if copy == 0 else False  # what is of no seed is there once
                before = there + (copy - 1) * further if copy else 0
                place = only if copy else rank
                chosen = (place >= 0) & (place + before < asked) & ~of_none | first
                part = table[chosen]
                parts.append(part.assign(seed=part["seed"] + copy * COPY))
            return pd.concat(parts, ignore_index=True)

        return design

    @property
    def once(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every row its seed's place among those that further tables add, -1 of none, and how
        many its arm has of these: of drawn settings the first seed of each, for only the first
        settings of a design have two."""
        rank, number = (
            ranks(self.table, self.arm),
            np.array([self.recorded.get(a, 1) for a in self.arm]),
        )
        if SETTING not in self.table:
            return rank, number
        first = self.table.groupby(SETTING)["seed"].transform("min") == self.table["seed"]
        place = self.table["seed"].where(first).groupby(self.arm).rank(method="dense")
        return place.fillna(0).to_numpy(int) - 1, np.full(len(first), int(place.max()))

    def copies(self, seeds: Mapping[str, int]) -> int:
        """How many tables have as many seeds as a design."""
        further = dict(zip(self.arm, self.once[1], strict=True))
        recorded = self.recorded
        more = (math.ceil((n - recorded[arm]) / further[arm]) for arm, n in seeds.items())
        return 1 + max(0, *more)

    def design(self, seeds: Mapping[str, int], draws: int) -> Design:
        """A design with what it promises."""
        drawn = self.cut(seeds), self.copies(seeds)
        promises = promised(self.suite, self.figure_name, self.table, draws, *drawn)
        return Design(dict(seeds), *self.price(seeds), promises)


def arms(table: "pd.DataFrame") -> np.ndarray:
    """The arm of every row: its words, and those of all other rows that have the same seeds. What a
    drawn setting has in all of its rows tells no arm."""
    import pandas as pd

    words = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    of = table[SETTING] if SETTING in table else pd.Series(0, table.index)
    told = [name for name in words if table[name].groupby(of).nunique(dropna=False).max() > 1]
    label = table[told].fillna("").agg("/".join, axis=1) if told else pd.Series("all", table.index)
    alike: dict[tuple, list[str]] = {}
    for name, rows in table.groupby(label, sort=False):
        alike.setdefault(tuple(sorted(rows["seed"].unique())), []).append(str(name))
    names = {name: " + ".join(group) for group in alike.values() for name in group}
    return label.map(names).to_numpy()


def ranks(table: "pd.DataFrame", arm: np.ndarray) -> np.ndarray:
    """Of every row its seed's place among those of its arm: first those that most arms share, so
    that arms of fewer seeds stay paired."""
    held = table.groupby("seed", sort=True).apply(
        lambda rows: len({*arm[table.index.get_indexer(rows.index)]}), include_groups=False
    )
    order = sorted(held.index, key=lambda seed: (-held[seed], seed))
    place = table["seed"].map({seed: number for number, seed in enumerate(order)})
    return place.groupby(arm).rank(method="dense").fillna(0).to_numpy(int) - 1


def upper(freedom: float) -> float:
    """How many times as large as found a standard deviation of so many degrees of freedom is at
    most, in four of five cases: by chi-squared's quantile, as Wilson & Hilferty (1931) have it."""
    part = 2 / (9 * max(freedom, 1))
    return (1 - part + NORMAL * math.sqrt(part)) ** -1.5


def noisier(found: Sequence[Measurement], times: float) -> list[Measurement]:
    """Measurements under one law as they would be with noise so many times as large: as much
    farther from their mean, and with wider intervals."""
    finite = [m.value for m in found if np.isfinite(m.value)]
    if not finite:
        return [*found]
    mean = float(np.mean(finite))
    return [
        widened(trials.shifted(m, (times - 1) * (m.value - mean)), times)
        if np.isfinite(m.value)
        else m
        for m in found
    ]


def promised(
    suite: Suite,
    figure_name: str,
    table: "pd.DataFrame",
    draws: int,
    cut: Callable,
    copies: int,
) -> dict[str, Promise]:
    """Test -> what a design promises of it. cut, copies: as from `Source`."""
    scale, embedded = suite.config.scale, suite.is_embedded(figure_name)
    figure = figure_named(figure_name)
    tests = trials.tested(figure_name, scale, embedded)
    names = dict.fromkeys(law for test in tests for law in figure.laws[test.id].names)
    with called(figure_name, "measure"):
        here = figure.measure(table, scale)
    found = {
        law: trials.measured(figure_name, law, table, scale, embedded, draws, 0, cut, copies)
        for law in names
    }

    def promise(test: Test) -> Promise:
        its, recorded = figure.laws[test.id], here[test.id]
        times = upper(recorded.degrees)
        under = {law: noisier(found[law][test.id], times) for law in its.names}
        own, bound = under[its.paper], trials.bound_of(test, scale)
        at = {its.edge: under[its.edge]} if its.edge else trials.at_edges(bound, own)
        calibration = max((factor_for(bound, v, DIFFERS) for v in at.values()), default=1.0)
        strict = max(calibration, *(factor_for(bound, under[r], AGREES) for r in its.rivals))

        def share(values: Sequence[Measurement], *wanted: str) -> float:
            """Of the verdicts that come out, as `evidence.judge` has them."""
            seen = [by_bound(bound, widened(m, calibration)).seen for m in values]
            held = [by_bound(bound, widened(m, strict)).seen for m in values]
            told = (h if s == AGREES else s for s, h in zip(seen, held, strict=True))
            return sum(each in wanted for each in told) / max(len(values), 1)

        centre = float(np.mean([m.value for m in own if np.isfinite(m.value)] or [math.nan]))
        there = [trials.shifted(m, recorded.value - centre) for m in own]
        false = [(share(under[rival], AGREES), rival) for rival in its.rivals]
        false += [(share(values, DIFFERS), edge) for edge, values in at.items()]
        return Promise(share(own, AGREES), share(there, AGREES, DIFFERS), *max(false))

    return {test.id: promise(test) for test in tests}


def designs(source: Source, tests: Sequence[str], draws: int = DRAWS) -> Iterator[Design]:
    """Designs that were tried: as many seeds as the table has, twice as many where those tell too
    little, and then fewer of arm after arm, the dearest first.

    tests: that a design must tell, but for those that even the first ones do not.
    """
    recorded = source.recorded
    judged = [arm for arm, number in recorded.items() if number >= DRAWN]
    first = {arm: max(n, FEWEST) if arm in judged else n for arm, n in recorded.items()}
    best = source.design(first, draws)
    yield best
    if not best.tells(tests):
        twice = {arm: 2 * n if arm in judged else n for arm, n in first.items()}
        best = source.design(twice, draws)
        yield best
    asked = [test for test in tests if best.promises[test].kept]

    def each(arm: str) -> float:
        return source.price({**dict.fromkeys(recorded, 0), arm: 1})[1]

    for arm in sorted(judged, key=each, reverse=True) if asked else ():
        sizes = [n for n in SIZES if n < best.seeds[arm]]
        while sizes:
            middle = len(sizes) // 2
            tried = source.design({**best.seeds, arm: sizes[middle]}, draws)
            yield tried
            if tried.tells(asked):
                best, sizes = tried, sizes[:middle]
            else:
                sizes = sizes[middle + 1 :]


def of_figure(suite: Suite, figure_name: str, table: Path | None) -> Source:
    """A figure's source: a pilot's table, with what it took beside it as JSON; None: that on record
    at the configured scale and data."""
    pilot = suite.command(f"plan {figure_name} --pilot 3", program="python -m repro")
    if table is None:
        bases = recorded(suite, figure_name)
        if not bases:
            raise UserError(f"{figure_name}: has no record here; run a pilot: {pilot}")
        made = read_record(bases[0])["provenance"]["made"]
        seconds = sum(entry["seconds"] for entry in made)
        table = bases[0].with_suffix(".csv")
    else:
        beside = table.with_suffix(".json")
        if not beside.exists():
            raise UserError(
                f"{beside}: is missing, which says what the runs took; run a pilot: {pilot}"
            )
        seconds = read_as(beside, {"seconds": float})["seconds"]
    rows = read_table(table)
    return Source(suite, figure_name, rows, prices(suite, figure_name, rows, seconds))


def path(suite: Suite, figure_name: str) -> Path:
    """Where the plan of a figure is, of which its rows of the register are written."""
    return suite.paths.results / "plan" / f"{figure_name}.json"


def bound(suite: Suite, figure_name: str) -> list[str]:
    """The tests that are planned; raises UserError where there is none."""
    scale = suite.config.scale
    tests = [c.id for c in trials.tested(figure_name, scale, suite.is_embedded(figure_name))]
    if not tests:
        raise UserError(
            f"{figure_name}: none of its tests with laws, which are planned, binds at scale {scale}"
        )
    return tests


def plan(suite: Suite, figure_name: str, table: Path | None, seeds: str = "") -> Iterator[str]:
    """Designs beside their price, in lines; the cheapest of those that tell the most tests comes
    last, and is written (`path`).

    seeds: `ARM N; ARM N`, of that design alone; a part of an arm's name will do, and an arm that is
    not named has as many as in the table.
    """
    tests = bound(suite, figure_name)
    source, tried = of_figure(suite, figure_name, table), list[Design]()
    asked = [source.design(named(source, seeds), DRAWS)] if seeds else designs(source, tests)
    for each in asked:
        yield from each.lines
        tried.append(each)
    best = min(tried, key=lambda each: (-sum(p.kept for p in each.promises.values()), each.seconds))
    written = path(suite, figure_name)
    write_json(
        written,
        {"figure": figure_name, "scale": suite.config.scale, "data": suite.label} | asdict(best),
    )
    yield f"the cheapest that tells as many: {best.lines[0]}"
    yield written.as_posix()


def named(source: Source, seeds: str) -> dict[str, int]:
    """Arm -> seeds, of `ARM N; ARM N`."""
    found = source.recorded
    for pair in seeds.split(";"):
        word, _, number = pair.strip().rpartition(" ")
        matches = [arm for arm in found if word in arm]
        if len(matches) != 1 or not number.isdecimal() or not int(number):
            raise UserError(
                f"--seeds {pair.strip()!r}: write ARM N, of the arms {', '.join(found)}"
            )
        found[matches[0]] = int(number)
    return found
