"""The figures of Sweep 2, what they claim, and how it is measured."""

import numpy as np

from figures.upscaling import _drawing, _laws
from figures.upscaling._runs import (
    LEVEL,
    QUIET,
    SETTINGS,
    SMALL,
    best,
    by_stage,
    difference,
    edges,
    ends,
    losses,
    point,
    ratio,
    reduce,
    shared,
)
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Test,
    above,
    below,
    of_one_run,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure


def figure(number, key, *more):
    """The figure of a setting's Sweep 2. more: further stages."""
    name, setting = f"fig{number}", SETTINGS[key]

    def measure_it(data: Data, scale: str):
        return measure(name, data, setting, scale)

    def draw(data: Data, scale: str) -> Drawn:
        return _drawing.draw_sweep(data, setting, scale)

    return Figure(
        title=f"Figure {number}. Sweep over learning rate and noise, {setting.name}",
        outcome=(
            f"Noise at the ends of its grid ends at {{{name}.optimal-noise}} times the best loss, "
            "or more"
        ),
        caption=_drawing.SWEPT.format(_drawing.final(setting), f"Ma et al., Figure {number}"),
        studies=tuple(f"{setting.study}/{s}" for s in ("tune_upscaled", *more, *SMALL)),
        answers=claims(name, setting),
        laws=_laws.sweep_laws(name),
        reduce=reduce,
        measure=measure_it,
        draw=draw,
        simulate=_laws.simulate,
    )


def claims(figure, setting):
    """The claim of a figure of a sweep."""
    return (
        Test(
            id=f"{figure}.optimal-noise",
            kind=TRAINING,
            statement="optimal-noise",
            column=setting.name,
            quantity="final training loss at the small width: the smaller of zero noise at its own "
            "best rate and the largest noise at the selected one's, over the selected noise",
            expected=trained_scales(above(1, STATED)),
        ),
        Test(
            id=f"{figure}.nonzero-selected",
            kind=TRAINING,
            statement="optimal-noise",
            column=setting.name,
            quantity="final training loss at the small width, the selected noise minus zero noise, "
            "each at its own best rate; 0 where the sweep selects none",
            expected=trained_scales(below(0)),
        ),
    )


def measure(figure, data: Data, setting, scale: str):
    """Test id -> Measurement, for `claims`; of one seed where Sweep 2 is all there is."""
    stages = by_stage(data, scale)
    rows, metric = ends(stages, "tune_upscaled"), setting.metric_of("tune_upscaled")
    by_level = rows.groupby(LEVEL)[metric].min()
    outer = by_level.iloc[[0, -1]]
    lowest = float(by_level.min())
    gains = ", ".join(
        f"{1 - lowest / loss:.1%} below {name}" if np.isfinite(loss) else f"{name} diverged"
        for name, loss in zip(("zero noise", "the largest"), outer, strict=True)
    )
    problem = edges(stages, setting, "tune_upscaled", QUIET)
    words = f"Sweep 2, one seed: {point(best(rows, ['lr', LEVEL], metric))}: {lowest:.4g}, {gains}"
    if SMALL[0] in stages:
        winner, *others = (losses(stages, name) for name in SMALL)

        def least(seeds):
            return min(ratio(other, winner)(seeds) for other in others)

        return {
            f"{figure}.optimal-noise": over_seeds(least, winner.index, problem, words),
            f"{figure}.nonzero-selected": over_seeds(
                difference(winner, others[0]), shared(winner, others[0]), problem, words
            ),
        }
    return {
        f"{figure}.optimal-noise": of_one_run(float(outer.min()) / lowest, problem, words),
        f"{figure}.nonzero-selected": of_one_run(lowest - float(outer.iloc[0]), problem, words),
    }
