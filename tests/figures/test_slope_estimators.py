"""An estimator of a slope returns one that is put in, or it judges nothing.

Curves have the shape of the mean losses on record, and are read on the very grid that the claim's
study has at a scale where the claim binds.
"""

import math

import numpy as np
import pandas as pd
import pytest

from figures.upscaling import fig3
from figures.upscaling._transfer import FITS, WIDTH, Fit
from repro.core import discovery
from repro.lineage.checkout import ROOT
from repro.statistics import slope
from repro.verdicts.answers import Test
from repro.verdicts.optimum import cubic

RECORD = ROOT / "records/overnight/embedded/cpu/upscaling/fig3.csv"
SCALES = ("reduced", "overnight")
BINDING = [
    (key, sweep, scale)
    for key, sweep in fig3.SERIES
    for scale in SCALES
    for test in fig3.ANSWERS
    if test.id == f"fig3.transfer-{sweep}-{key}"
    and isinstance(test, Test)
    and test.binds(scale, embedded=True)
]
PUT = (-0.25, -0.2, 0.2, 0.25)  # octaves a doubling of the width; a quarter is whole steps apart


@pytest.fixture(scope="module")
def recorded():
    return pd.read_csv(RECORD)


def curve(data, key, sweep, width):
    """log2 of the values, and the mean losses on record, which are finite; of the noise above 0."""
    axis = fig3.SWEEPS[sweep][1]
    rows = fig3.rows_of(data, key, sweep)
    losses = rows[(rows[WIDTH] == width) & (rows[axis] > 0)].groupby(axis)["train_loss"].mean()
    losses = losses[np.isfinite(losses)]
    return np.log2(losses.index.to_numpy()), losses.to_numpy()


def grid(key, sweep, scale):
    """(target widths, log2 of the values) of a claim's study."""
    axis, widths, values = fig3.SWEEPS[sweep][1], set(), set()
    for stage in fig3.stages_of(key, sweep):
        of = discovery.study(f"{fig3.MODELS[key][1]}/{stage}").at(scale).grid
        if of["seed"]:
            widths |= {pair[WIDTH] for pair in of["width"]}
            values |= {value for value in of[axis] if value > 0}
    return sorted(widths), np.log2(sorted(values))


def read(x, y, at):
    """A curve at other places: a cubic between its points, beyond them straight on."""
    found = cubic(x, y, np.clip(at, x[0], x[-1]))
    for beyond, (a, b) in ((at < x[0], (0, 1)), (at > x[-1], (-1, -2))):
        rise = (y[a] - y[b]) / (x[a] - x[b])
        found[beyond] = y[a] + rise * (at[beyond] - x[a])
    return found


def test_what_binds_is_judged_by_an_estimator_that_is_tried():
    assert ("gpt2", "lr", "reduced") in BINDING and ("mlp", "lr", "reduced") in BINDING
    assert {scale for *_, scale in BINDING} == {*SCALES} and len(BINDING) == 7
    assert not [each for each in BINDING if each[:2] == fig3.PAPER_ONLY]


def returned(recorded, fit, key, sweep, scale):
    """Slope that is put in -> the share of it that an estimator returns."""
    widths, places = grid(key, sweep, scale)
    curves = [curve(recorded, key, sweep, width) for width in widths]
    middle = np.mean(np.log2(widths))

    def found(put):
        vertices = [
            fit.vertex(2.0**places, read(x, y, places - put * (math.log2(width) - middle)))
            for width, (x, y) in zip(widths, curves, strict=True)
        ]
        return slope(np.log2(widths), vertices)

    return {put: (found(put) - found(0)) / put for put in PUT}


@pytest.mark.parametrize(("key", "sweep", "scale"), BINDING)
def test_an_estimator_returns_a_slope_that_is_put_in(recorded, key, sweep, scale):
    for fit in FITS[fig3.SWEEPS[sweep][1]]:
        shares = returned(recorded, fit, key, sweep, scale)
        assert all(0.85 <= share <= 1.15 for share in shares.values()), (str(fit), shares)


def test_what_was_judged_by_before_would_be_refused(recorded):
    """A parabola six octaves wide returns a third of a slope of the noise."""
    for key in ("gpt2", "mlp"):
        shares = returned(recorded, Fit(2, 3.0), key, "noise", "overnight")
        assert max(shares.values()) < 0.5
