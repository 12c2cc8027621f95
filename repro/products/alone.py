"""A test alone: which stages of its figure it is measured of, found by asking its `measure`.

Runs are stood in for by made-up ones (`repro.core.stand_ins`). What a test comes to then changes
with the stages that it reads, and with no other. So a figure's other stages need not be run:
stand-ins take their place, and what is measured must not depend on them.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from repro.core import discovery
from repro.core.names import StageName
from repro.core.stand_ins import contents, recorded
from repro.core.suite import Suite
from repro.errors import UserError
from repro.verdicts.answers import Answer, Measurement, Test
from repro.verdicts.figure import Data, figure_named
from repro.verdicts.tabulate import frame

DEFAULT = "reduced"
# Where the best of a stand-in's grid may be: of some a test has no number.
BESTS = (0.5, 0.8, 0.2)
Tables = Mapping[str, Any]  # stage or round -> its table of runs


def module_of(stage: str) -> str:
    """`<paper>/<study>` of a stage."""
    return StageName.parse(stage).module


def stage_of(name: str) -> str:
    """A stage without the round of its search."""
    return name.partition("+")[0]


def _noisy(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return values * (1 + 0.05 * rng.standard_normal(len(values)))


def _turned(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Worst where it was best, so that an optimum lies at an edge."""
    return np.nanmax(values) + np.nanmin(values) - values


def _lost(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some runs diverged."""
    return np.where(rng.random(len(values)) < 0.3, math.inf, values)


WAYS: Sequence[Callable[[np.ndarray, np.random.Generator], np.ndarray]] = (_noisy, _turned, _lost)


def _changed(table, columns: Iterable[str], way: Callable):
    """A table with other values in what its runs record."""
    rng = np.random.default_rng(0)
    its = [c for c in columns if c in table and table[c].dtype.kind == "f"]
    return table.assign(**{column: way(table[column].to_numpy(), rng) for column in its})


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what numpy says of stand-ins."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def measured(figure_name: str, answer: Answer, tables: Tables, scale: str) -> tuple:
    """(what a figure measures of one answer, how the design breaks its conditions)."""
    figure = figure_named(figure_name)
    data: Data = figure.reduce(tables)
    found = figure.measure(data, scale)[answer.id]
    conditions = answer.conditions if isinstance(answer, Test) else ()
    return found, tuple(filter(None, (each.broken(data, scale) for each in conditions)))


def _measured(figure_name: str, answer: Answer, tables: Tables, scale: str) -> tuple | None:
    """The same of stand-ins; None where the figure has no number for such."""
    try:
        return measured(figure_name, answer, tables, scale)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def _told(found: Measurement, broken: tuple) -> tuple:
    return repr((found.value, found.low, found.high, found.n, found.problem)), broken


def needed(suite: Suite, figure_name: str, answer: Answer) -> list[str]:
    """The stages that a test is measured of at a scale, without those that these take something
    from; all of its figure's where made-up runs give it no number. Asked at the default scale too:
    at smoke scale a grid is too small for an optimum.

    Raises UserError where none has runs."""
    default = Suite(replace(suite.config, scale=DEFAULT))
    every = dict.fromkeys(map(stage_of, discovery.figure_stages(figure_name)))
    having = [stage for stage in every if suite.cells(stage)]
    at = [suite, default][suite.config.scale == DEFAULT :]
    found = {stage for each in at for stage in _needed(each, figure_name, answer)}
    if not having:
        raise UserError(f"{answer.id}: nothing is run of it at {suite.config.scale} scale")
    return [stage for stage in having if stage in found] or having


def _needed(
    suite: Suite, figure_name: str, answer: Answer, own: Tables = MappingProxyType({})
) -> list[str]:
    """The same by what is run at one scale, of the stages whose tables are not known; none where
    its figure has no number for the test. own: known tables."""
    scale = suite.config.scale
    with _quiet():
        try:
            made = [{**stand_ins(suite, figure_name, share), **own} for share in BESTS]
        except (LookupError, TypeError, ValueError, UserError):  # a task whose records are no loss
            return []
        told = [_measured(figure_name, answer, tables, scale) for tables in made]
        numbers = [found for found in told if found and not found[0].problem]
        if not any(told):
            return []
        first = (numbers or [*filter(None, told)])[0]
        tables, usual = made[told.index(first)], _told(*first)

        def reads(stages: Sequence[str]) -> bool:
            for way in WAYS:
                other = {
                    name: _changed(table, recorded(stage_of(name)), way)
                    if stage_of(name) in stages
                    else table
                    for name, table in tables.items()
                }
                found = _measured(figure_name, answer, other, scale)
                if found is None or _told(*found) != usual:
                    return True
            return False

        def among(stages: Sequence[str]) -> list[str]:
            if not stages or not reads(stages):
                return []
            if len(stages) == 1:
                return [*stages]
            half = len(stages) // 2
            return among(stages[:half]) + among(stages[half:])

        every = list(dict.fromkeys(stage_of(name) for name in tables if name not in own))
        modules = dict.fromkeys(map(module_of, every))
        return [s for m in modules for s in among([e for e in every if module_of(e) == m])]


def stand_ins(suite: Suite, figure_name: str, share: float = 0.5) -> Tables:
    """Stage or round -> a table of made-up runs (`repro.core.stand_ins`), of those behind a figure
    that have runs."""
    shown = discovery.figure_stages(figure_name)
    made = contents(suite, dict.fromkeys(map(module_of, shown)), share)
    return {name: frame([made[name]]) for name in shown if name in made}


class NeedsMore(UserError):
    """A test hangs on further stages, by what came out of those that were run."""

    def __init__(self, test: str, stages: Sequence[str]):
        super().__init__(f"{test}: by what came out it also hangs on {', '.join(stages)}")
        self.stages = (*stages,)


def alone(
    suite: Suite, figure_name: str, answer: Answer, own: Tables
) -> tuple[Measurement, tuple[str, ...]]:
    """What a test comes to of its own stages' tables, with stand-ins for the others', and how the
    design breaks its conditions. Raises NeedsMore where a stand-in would have a say."""
    left = [name for name in discovery.figure_stages(figure_name) if suite.cells(name)]
    if {*left} <= {*own}:
        return measured(figure_name, answer, own, suite.config.scale)
    if further := _needed(suite, figure_name, answer, own):
        raise NeedsMore(answer.id, further)
    with _quiet():
        tables = {**stand_ins(suite, figure_name), **own}
        return measured(figure_name, answer, tables, suite.config.scale)
