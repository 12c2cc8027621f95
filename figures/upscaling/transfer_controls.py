"""What Figure 3's transfer is held against: SP's rates, and noise of one size at every width."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from figures.upscaling import fig3
from figures.upscaling._transfer import LEVEL, WIDTH, log2_places, sweeps
from figures.upscaling.fig3 import reduce
from repro.statistics import t_interval
from repro.verdicts.answers import (
    CONTROL,
    OURS,
    Reading,
    Test,
    below,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.intervals import joined, no_finer_than
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN
from widthwise.checks.sweep import Sweep

MODELS = {"mlp-sgd": "MLP with SGD", "mlp": "MLP with AdamW"}
STUDY = {"mlp-sgd": "upscaling/mlp_sgd_controls", "mlp": "upscaling/mlp_adamw_controls"}
# Sweep -> its stage, the control's, the axis in both, and its name.
SWEEPS = {
    "lr": ("by_lr", "by_lr_sp", "lr", "learning rate"),
    "noise": ("by_noise", "by_noise_raw", LEVEL, "noise level"),
}
PAIRS = [(sweep, key) for sweep in SWEEPS for key in MODELS]
ANSWERS = (
    *(
        Test(
            id=f"transfer_controls.{sweep}-{key}",
            kind=CONTROL,
            statement="scalings",
            column=f"{MODELS[key]}, {SWEEPS[sweep][3]}",
            quantity=f"final training loss at the widest target with the {SWEEPS[sweep][3]} that "
            "is best at the narrowest, over the control's with its own",
            expected=trained_scales(
                below(1, OURS, "a sign: which of two scalings transfers better")
            ),
        )
        for sweep, key in PAIRS
    ),
    *(
        Reading(
            id=f"transfer_controls.regret-{sweep}-{key}",
            words="final training loss at the widest target with the narrowest's best value "
            "minus that with its own best, nats",
            beside="0 if nothing is lost",
        )
        for sweep, key in PAIRS
    ),
)
LAWS = {f"transfer_controls.{sweep}-{key}": SIGN for sweep, key in PAIRS}


def arms(data: Data, sweep, key):
    """Of the paper's scaling, then of the control: width -> sweep."""
    return [
        sweeps(data[(data["study"] == STUDY[key]) & (data["stage"] == stage)], SWEEPS[sweep][2])
        for stage in SWEEPS[sweep][:2]
    ]


def transferred(curves, seed):
    """A seed's best value at the narrowest width, and its loss at the widest."""
    narrow, wide = (curves[end(curves)].of([seed]) for end in (min, max))
    return narrow.best_rate, float(wide.at(narrow.optimum("grid"), "grid")[0])


def regret(curves, width):
    """By seed: what is lost at a width with the value that is best at the narrowest; both bests
    are those of the means over seeds."""
    carried, own = (curves[each].optimum("grid") for each in (min(curves), width))
    return curves[width].at(carried, "grid") - curves[width].at(own, "grid")


def at_the_edge(curves, name, width):
    """Why the best value at a width may be another, in words; "" if it is inside of its grid."""
    return f"{name} best at width {width} is at the grid's edge" if curves[width].at_edge else ""


def _of_seed(values: Mapping[int, float]) -> Callable[[Sequence[int]], float]:
    """One seed -> its value."""
    return lambda seeds: values[seeds[0]]


def measure(data: Data, scale: str) -> Measured:
    measured = {}
    for sweep, key in PAIRS:
        ours, control = arms(data, sweep, key)
        seeds, ends = ours.seeds, (min(ours), max(ours))

        # Each seed carries its own best value: the interval holds how sure that choice is.
        def ratio(sample, ours=ours, control=control):
            return transferred(ours, sample[0])[1] / transferred(control, sample[0])[1]

        words = "; ".join(
            f"{name} "
            + ", ".join("{:.3g}: {:.4g}".format(*transferred(curves, seed)) for seed in seeds)
            for name, curves in (("the paper's", ours), ("the control's", control))
        )
        measured[f"transfer_controls.{sweep}-{key}"] = over_seeds(
            ratio,
            seeds,
            joined(
                at_the_edge(ours, "the paper's", ends[0]),
                at_the_edge(control, "the control's", ends[0]),
            ),
            f"value and loss a seed, {words}",
        )
        lost = dict(zip(seeds, regret(ours, ends[1]).tolist(), strict=True))
        found = over_seeds(
            _of_seed(lost),
            seeds,
            joined(*(at_the_edge(ours, "the paper's", width) for width in ends)),
            f"the control's {regret(control, ends[1]).mean():.3g}",
        )
        step = ours[ends[1]].half_step()
        measured[f"transfer_controls.regret-{sweep}-{key}"] = no_finer_than(found, step)
    return measured


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The control's curves at the widest width where what transfers to them ends as far above what
    transfers under the paper's scaling as recorded, as low, or as far below."""
    design = Design(recorded, ["train_loss"], ["study", "stage", WIDTH, "lr", LEVEL])
    for sweep, key in PAIRS:
        curves = (
            {n: Sweep(each.rates, (0,), each.mean()[None]) for n, each in arm.items()}
            for arm in arms(recorded, sweep, key)
        )
        ours, control = (math.log(transferred(arm, 0)[1]) for arm in curves)
        rows = design.rows(study=STUDY[key], stage=SWEEPS[sweep][1])
        widths = recorded[WIDTH].to_numpy()[rows]
        if math.isfinite(control - ours):
            to = ours + SIDES[law] * abs(control - ours)
            design.mean[rows[widths == widths.max()]] += to - control
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(4, len(SWEEPS), width=3.6)
    for panels, sweep in zip(axes, SWEEPS, strict=True):
        stage, _, axis, label = SWEEPS[sweep]
        *curves, lost, judged = panels
        for panel, key in zip(curves, MODELS, strict=True):
            rows = data[(data["study"] == STUDY[key]) & (data["stage"] == stage)]
            colors = fig3.width_colors(rows)
            ours, control = arms(data, sweep, key)
            grid = sorted(
                {v for arm in (ours, control) for each in arm.values() for v in each.rates}
            )
            fig3.draw_panel(panel, rows, axis, colors, grid)
            panel.set_title(MODELS[key], fontsize=9)
            mark_best(panel, ours, grid, colors, ms=10)
            draw_control(panel, control, grid, colors)
            panel.set_xlabel(f"{label} (base constant)")
            panel.set_ylabel("final training loss (nats)")
        draw_regret(lost, data, sweep)
        draw_judged(judged, measure(data, scale), sweep)
    return figure


def mark_best(panel, curves, grid, colors, **size):
    """Stars at the lowest means; zero noise lies one step below the grid's smallest other value."""
    place = log2_places(grid)
    for width, curve in curves.items():
        style = {"color": colors[width], "mec": "black", "mew": 0.5, "ls": "none"}
        panel.plot(2.0 ** place[curve.best_rate], curve.mean().min(), marker="*", **style, **size)


def draw_control(panel, curves, grid, colors):
    """The control's curves, dashed, down to their lowest, but at zero noise, where they are the
    same; what is far above the paper's curves is cut off."""
    from repro.verdicts import drawing

    low, high = panel.get_ylim()
    low = min(low, *(0.98 * float(curve.mean().min()) for curve in curves.values()))
    for width, curve in curves.items():
        mean = curve.mean()
        shown = (curve.rates > 0) & np.isfinite(mean)
        panel.plot(curve.rates[shown], mean[shown], "--", lw=1, color=colors[width])
    mark_best(panel, curves, grid, colors, ms=6)
    panel.set_ylim(low, high)
    panel.plot([], [], "--", lw=1, color="0.4", label="control")
    panel.plot([], [], "*", ms=10, color="0.7", mec="black", mew=0.5, ls="none", label="lowest")
    drawing.legend_above(panel, 3, fontsize=6.5, handlelength=1.2)


def draw_regret(panel, data: Data, sweep):
    """What the narrowest's best value costs at every target, with intervals over seeds."""
    from repro.verdicts import drawing

    for place, key in enumerate(MODELS):
        for curves, style in zip(arms(data, sweep, key), ("-", "--"), strict=True):
            widths = sorted(curves)
            found = [t_interval(regret(curves, width)) for width in widths]
            x = np.array(widths) * 2.0 ** (0.1 * place)  # side by side
            look: dict[str, Any] = {"color": drawing.COLORS[place], "ls": style}
            drawing.bars(panel, x, found, **look, label=MODELS[key] + ", control" * (style == "--"))
    panel.axhline(0, lw=0.8, color="0.6")
    panel.set_xscale("log", base=2)
    panel.set_xlabel("target width")
    panel.set_ylabel("regret (nats)")
    panel.set_title("cost of the narrowest's best", fontsize=9)
    drawing.legend_above(panel, 2)


def draw_judged(panel, measured, sweep):
    """The loss that transfers to the widest width, over the control's: below 1 if it transfers
    better."""
    from repro.verdicts import drawing

    found = [measured[f"transfer_controls.{sweep}-{key}"] for key in MODELS]
    places = range(len(MODELS))
    drawing.bars(panel, places, [(f.value, f.low, f.high) for f in found], color="black")
    panel.axhline(1, ls="--", lw=1, color="0.6")
    panel.set_xlim(-0.5, len(MODELS) - 0.5)
    panel.set_xticks(places, MODELS.values())
    panel.set_ylabel("widest, loss over control's")
    panel.set_title("what is judged, 95 %", fontsize=9)


FIGURE = Figure(
    title="What the transfer of Figure 3 is held against",
    outcome=(
        "The narrowest target's best rate ends at {transfer_controls.lr-mlp} times the control's "
        "loss at the widest with AdamW, {transfer_controls.lr-mlp-sgd} with SGD"
    ),
    caption=(
        "Upscaled MLPs as in Figure 3. Left: final training loss, a mean since the last "
        "evaluation, against the learning rate (top) and the noise (bottom), one curve a target "
        "width; mean, and range over seeds (band). Dashed: under the standard parametrization "
        "(top), with noise of one standard deviation at every width (bottom). Stars: lowest mean. "
        "Third column: regret, what is lost at each target with the value that is best at the "
        "narrowest, against its own best; dashed: the control's. Right: final training loss at the "
        "widest target with the narrowest's best value, over the control's. Bars: 95 % intervals "
        "over seeds. (Ours, on Ma et al., Figure 3.)"
    ),
    studies=tuple(f"{STUDY[key]}/{stage}" for sweep, key in PAIRS for stage in SWEEPS[sweep][:2]),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
