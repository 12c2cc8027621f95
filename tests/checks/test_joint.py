"""The joint fit of curves over widths: does it see a slope that is there, on any grid?"""

import math

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from repro.lineage.checkout import ROOT
from repro.verdicts.optimum import cubic
from repro.verdicts.run_sweeps import sweep_of
from widthwise.checks.joint import joint_optima
from widthwise.checks.sweep import Sweep, Sweeps

WIDTHS = (16, 64, 256)
GRIDS = {
    "octaves": np.arange(-9.0, 0.1),
    "half octaves": np.arange(-9.0, 0.1, 0.5),
    "shifted octaves": np.arange(-8.5, 0.1),
}
SHAPES = {
    "symmetric": lambda v: v**2,
    "cubic": lambda v: v**2 + 0.12 * v**3 * (np.abs(v) < 4),
    "steeper above": lambda v: 4 * (np.exp(v / 2) - v / 2 - 1),
    "steeper below": lambda v: 4 * (np.exp(-v / 3) + v / 3 - 1),
}
grids = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)


def bowls(slope, grid, shape=SHAPES["symmetric"], noise=None, seeds=3, first=-3.6):
    """Widths' curves, each of its own height and curvature, best rates at a power of the width.
    noise: (rng, level, octaves), of each seed's height and place."""
    found = Sweeps()
    for k, width in enumerate(WIDTHS):
        moved = np.zeros((seeds, 2))
        if noise is not None:
            rng, *sizes = noise
            moved = rng.normal(size=(seeds, 2)) * sizes
        v = grid - (first + slope * np.log2(width / WIDTHS[0])) - moved[:, 1:]
        losses = 4 - 0.2 * k + moved[:, :1] + (0.015 + 0.01 * k) * shape(v)
        found[width] = Sweep(2.0**grid, tuple(range(seeds)), losses)
    return found


@grids
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("slope", [-0.5, -0.35, 0.25])
def test_the_slope_of_a_known_law_is_recovered_on_every_grid(slope, shape, grid):
    assert 0.85 <= bowls(slope, grid, shape).slope("joint") / slope <= 1.15


@grids
def test_of_curves_of_its_form_the_places_are_exact(grid):
    shapes = [lambda v: 0.02 * (v**2 + 0.1 * v**3), lambda v: 0.05 * (v**2 + 0.1 * v**3)]
    near = grid[(grid > -7.2) & (grid < -2.4)]
    curves = [
        (near, 3 + shape(near - place)) for shape, place in zip(shapes, (-5.3, -4.2), strict=True)
    ]
    assert joint_optima(curves) == pytest.approx([-5.3, -4.2], abs=1e-5)


def test_it_is_the_fit_that_another_program_finds():
    optimize = pytest.importorskip("scipy.optimize")
    grid = GRIDS["half octaves"]
    curves = [(s.log2, s.mean()) for s in bowls(-0.4, grid, SHAPES["steeper above"]).values()]

    def residuals(values):
        places, heights, bends = values[:-1].reshape(3, len(curves))
        return np.concatenate(
            [
                np.exp(-(y - y.min()) / 0.04)
                * (y - a - b * ((x - c) ** 2 + values[-1] * (x - c) ** 3))
                for (x, y), c, a, b in zip(curves, places, heights, bends, strict=True)
            ]
        )

    start = [x[np.argmin(y)] for x, y in curves] + [y.min() for _, y in curves] + [0.02] * 3 + [0]
    found = optimize.least_squares(residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert joint_optima(curves) == pytest.approx(found.x[:3].tolist(), abs=1e-5)


def test_a_width_without_a_minimum_inside_is_nan_and_in_no_fit():
    grid = GRIDS["octaves"]
    found = bowls(-0.5, grid)
    alone = Sweeps({width: found[width] for width in (16, 64)}).optima("joint")
    for mean in (np.linspace(4, 5, len(grid)), np.full(len(grid), math.inf)):
        lost = Sweep(found[256].rates, (0, 1, 2), np.tile(mean, (3, 1)))
        changed = Sweeps({**found, 256: lost})
        assert changed.optima("joint") == pytest.approx({**alone, 256: math.nan}, nan_ok=True)
        assert math.isnan(changed.slope("joint"))
        assert all(map(math.isnan, changed.interval("joint")))
    losses = found[256].losses.copy()
    losses[1, losses.mean(0).argmin() + 1] = math.inf
    beside = Sweeps({**found, 256: Sweep(found[256].rates, (0, 1, 2), losses)})
    assert math.isnan(beside.optima("joint")[256])


def test_without_noise_the_interval_is_a_point_and_one_seed_has_none():
    value, low, high = bowls(-0.5, GRIDS["octaves"]).interval("joint")
    assert (low, high) == pytest.approx((value, value), abs=1e-6)
    value, low, high = bowls(-0.5, GRIDS["octaves"], seeds=1).interval("joint")
    assert value == pytest.approx(-0.5) and math.isnan(low) and math.isnan(high)


def test_seeds_that_widths_share_are_left_out_together_and_others_apart():
    """Where all widths move alike, their slope does not: what is shared falls out."""
    grid, moved = GRIDS["octaves"], Sweeps()
    for k, width in enumerate(WIDTHS):
        v = grid + 3.6 + 0.5 * np.log2(width / 16) - 0.3 * np.arange(-1, 2)[:, None]
        moved[width] = Sweep(2.0**grid, (0, 1, 2), 4 + (0.015 + 0.01 * k) * v**2)
    paired = moved.interval()
    others = Sweeps({w: Sweep(s.rates, (w, w + 1, w + 2), s.losses) for w, s in moved.items()})
    apart = others.interval()
    assert paired[0] == apart[0] == pytest.approx(-0.5)
    assert paired[2] - paired[1] < 1e-6 < 0.1 < apart[2] - apart[1]


@pytest.mark.parametrize("by", ["joint", "parabola"])
def test_the_interval_of_a_slope_covers_the_truth_in_95_of_100_draws(by):
    rng, held, draws = np.random.default_rng(1), 0, 200
    for _ in range(draws):
        found = bowls(-0.5, GRIDS["octaves"], noise=(rng, 0.02, 0.15), seeds=6)
        _, low, high = found.interval(by)
        held += low <= -0.5 <= high
    assert 0.9 <= held / draws <= 0.995


def recorded(study):
    """The curves of the scale whose grids are wide enough to move a minimum by octaves."""
    base = ROOT / "records" / "overnight" / "embedded" / "cpu" / "embedding_lr" / "fig3.csv"
    table = pd.read_csv(base)
    rows = table[table["study"] == study]
    each = {
        n: sweep_of(own, "lr.embedding", "train_loss", own["seed"])
        for n, own in rows.groupby("model.width")
    }
    return Sweeps(each)


def put_in(sweeps, slope, grid):
    """The curves with every width's moved by a slope, and read on another grid."""
    middle, found = np.mean(np.log2([*sweeps])), Sweeps()
    for width, sweep in sweeps.items():
        x = sweep.log2
        at = np.clip(grid - slope * (np.log2(width) - middle), x[0], x[-1])
        found[width] = Sweep(
            2.0**grid, sweep.seeds, np.array([cubic(x, y, at) for y in sweep.losses])
        )
    return found


@pytest.mark.parametrize("within", [0.01, 0.02, 0.04])
@pytest.mark.parametrize("study", ["as_printed", "width_and_vocabulary"])
def test_a_slope_put_into_recorded_curves_comes_back_on_every_grid(study, within):
    sweeps = recorded(study)
    for grid in (np.arange(-8, 0.1), np.arange(-8, 0.1, 0.5), np.arange(-7.5, 0.1)):
        before = put_in(sweeps, 0, grid).slope("joint", within=within)
        for slope in (-0.5, -0.25, 0.25, 0.5):
            seen = put_in(sweeps, slope, grid).slope("joint", within=within) - before
            assert 0.85 <= seen / slope <= 1.15, (slope, grid)


def test_the_slope_of_the_record_does_not_hang_on_the_grid():
    """Octaves, half octaves, octaves shifted by a half: none excludes another."""
    for study in ("as_printed", "width_and_vocabulary"):
        sweeps = recorded(study)
        grids = (np.arange(-8, 0.0), np.arange(-8, 0.0, 0.5), np.arange(-7.5, 0.0))
        found = [put_in(sweeps, 0, grid).interval("joint") for grid in grids]
        values, lows, highs = zip(*found, strict=True)
        assert max(lows) <= min(values) and max(values) <= min(highs)
        assert max(values) - min(values) < 0.02


def test_a_joint_fit_is_of_several_widths():
    with refused("'joint' is of the best rates of several widths"):
        bowls(-0.5, GRIDS["octaves"])[16].optimum("joint")
