"""Runs that diverge, ties and single seeds, put into the table of every figure on record: it is
judged and drawn, nothing is told of what all diverged, and more divergence decides no more."""

import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from repro.core import catalog, discovery
from repro.files import read_table
from repro.products import records
from repro.report import settings
from repro.tasks import TASKS
from repro.tasks.recorded import Number
from repro.verdicts import drawing, judging
from repro.verdicts.figure import figure_named

pytestmark = pytest.mark.long

INFINITE = ("train", "lowest_valid", "valid_bits")  # what is infinite of a run that diverged
BY_ARITHMETIC = {"fig1.lr-min"}  # tests of no measured number


def measured_in(name, table):
    """The columns that runs of training measured; none of a figure that shows no training."""
    of = [TASKS[discovery.study(stage).task].records for stage in discovery.figure_stages(name)]
    every = (each.columns | each.evaluated | each.some for each in of)
    forms = {key: form for each in every for key, form in each.items()}
    if not any("train_loss" in each.columns for each in of):
        return []
    numbers = {key for key, form in forms.items() if isinstance(form, Number) and not form.whole}
    varied = settings.axes(name) | {"ratio", "chance"}
    return [column for column in table if column in numbers and column not in varied]


def smallest(name):
    """A figure's record with the fewest rows."""
    bases = records.bases(name)
    return min(bases, key=lambda base: base.with_suffix(".csv").stat().st_size, default=None)


@cache
def of(name):
    """Table, provenance and measured columns of a figure on record."""
    base = smallest(name)
    table = read_table(base.with_suffix(".csv"))
    return table, records.as_built(name, records.read_record(base)), measured_in(name, table)


TRAINED = [
    name
    for name in catalog.figure_names()
    if (base := smallest(name)) and measured_in(name, read_table(base.with_suffix(".csv")))
]


def lost(name, rows, value=np.inf):
    """The table with these runs diverged: losses infinite, and no evaluation."""
    table, _, columns = of(name)
    changed = table.astype(dict.fromkeys(columns, float))
    for column in columns:
        infinite = value != np.inf or column.startswith(INFINITE)
        changed.loc[rows, column] = value if infinite else np.nan
    return changed


def shown(name, table, draw=True):
    """Test -> its status, of a table that is also drawn."""
    figure, provenance = figure_named(name), of(name)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means of nothing: what came of them is looked at
        found = judging.judge_all(name, table, provenance)
        drawing.style()
        drawn = [figure.draw, figure.small] if draw else []
        for each in filter(None, drawn):
            with judging.called(name, "draw"):
                picture = each(table, provenance["scale"])
                drawing._settle(picture)
            plt.close(picture)
    return {row["test"]: row["status"] for row in found["tests"]}


def told(found):
    return {test for test, status in found.items() if status != "inconclusive"} - BY_ARITHMETIC


@pytest.mark.parametrize("name", TRAINED)
def test_a_figure_whose_runs_all_diverge_is_drawn_and_tells_nothing(name):
    """Found in review: seven ended in a traceback in place of a picture that says so."""
    assert told(shown(name, lost(name, slice(None)))) == set()


def changes(name):
    """What is done to a table: the table, and another that has more runs diverged."""
    table, _, columns = of(name)
    half = np.random.default_rng(0).random(len(table)) < 0.5
    seeds = table["seed"] if "seed" in table else pd.Series(0, table.index)
    some = seeds.isin(sorted(seeds.dropna().unique())[::2]).to_numpy()
    yield "half", lost(name, half, np.nan), None
    yield "some seeds", lost(name, some), lost(name, half | some)
    yield "ties", lost(name, slice(None), 1.0), None
    rate = next((key for key in ("lr", "lr.embedding") if key in table), None)
    if rate:
        top = (table[rate] == table[rate].max()).to_numpy()
        one = np.arange(len(table)) == np.flatnonzero(top)[0]
        yield "one at the largest rate", lost(name, one), lost(name, top)
    words = [key for key in table if key not in columns and table[key].dtype.kind != "f"]
    words += [key for key in settings.axes(name) if key in table and key not in words]
    by = [key for key in words if key != "seed"]
    if by and "seed" in table:
        first = table.groupby(by, dropna=False)["seed"].transform("min")
        yield "one seed", table[(table["seed"] == first) | table["seed"].isna()], None


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_what_diverges_in_part_is_drawn_and_more_of_it_tells_no_more(name):
    for what, changed, more in changes(name):
        found = shown(name, changed, draw=more is None)
        if more is not None:
            assert told(shown(name, more, draw=False)) <= told(found), what
