"""Over workloads: how often a parametrization loses little, and how the parametrizations rank."""

from collections.abc import Callable, Mapping

import numpy as np

from figures.transfer import _losses
from figures.transfer._losses import ORDER, WORKLOADS, Losses, reduce
from repro.verdicts.answers import Measurement, Reading
from repro.verdicts.figure import Figure
from widthwise.checks.regret import Comparison

LITTLE = 10  # % of the width's gain
DRAWS = 400
ANSWERS = (
    Reading(
        id="profile.rank-mup",
        words="mean rank of muP, 1 the best",
        beside="the benchmark's score",
    ),
    Reading(
        id="profile.little-mup",
        words=f"share of workloads on which muP loses at most {LITTLE} %",
        beside="the benchmark's score",
    ),
)
Shares = dict[str, dict[str, float]]  # workload -> parametrization -> % lost, mean over seeds


def lost(workloads: Mapping[str, Comparison]) -> Shares:
    """What every parametrization loses on every workload."""
    return {workload: lost_of(curves) for workload, curves in workloads.items()}


def lost_of(curves: Comparison) -> dict[str, float]:
    """Parametrization -> mean over seeds of `Comparison.lost`: what its transferred loss lies above
    the best tuned one. All at once, because tables are drawn by the hundred."""
    wide, rate = curves.widest, curves.proxy_rate()
    tuned = {name: float(curves.tuned(name, wide).mean()) for name in curves.names}
    best = min(curves.names, key=lambda name: curves.curves[name, wide].mean().min())
    gain = float(curves.tuned(curves.names[0], curves.base).mean()) - min(tuned.values())
    ends = {name: float(curves.transferred(name, wide, rate).mean()) for name in curves.names}
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is gained, or all diverged
        lost = {name: np.divide(100 * (ends[name] - tuned[best]), gain) for name in curves.names}
    return {name: float(share) for name, share in lost.items()}


def ranks(shares: Shares) -> dict[str, float]:
    """Parametrization -> mean rank over the workloads that all are defined for; {} if there is
    none."""
    every = {name for of in shares.values() for name in of}
    common = [of for of in shares.values() if set(of) == every]
    return {
        name: float(np.mean([1 + sum(each < of[name] for each in of.values()) for of in common]))
        for name in sorted(every, key=ORDER.index)
        if common
    }


def medians(shares: Shares) -> dict[str, float]:
    """Parametrization -> median of what it loses, over the workloads that it is defined for."""
    names = [name for name in ORDER if any(name in of for of in shares.values())]
    return {
        name: float(np.median([of[name] for of in shares.values() if name in of])) for name in names
    }


def profile(shares: Shares, name: str, within: np.ndarray) -> np.ndarray:
    """Share of a parametrization's workloads on which it loses at most so many %."""
    each = np.array([of[name] for of in shares.values() if name in of])
    return (each[:, None] <= within).mean(0)


def little(shares: Shares) -> dict[str, float]:
    """Parametrization -> share of its workloads on which it loses at most LITTLE %."""
    return {name: float(profile(shares, name, np.array([LITTLE]))[0]) for name in medians(shares)}


def redrawn(workloads: Mapping[str, Comparison]) -> list[Shares]:
    """`lost` of tables drawn with the recorded noise."""
    rng = np.random.default_rng(0)
    return [
        lost({workload: curves.redrawn(rng) for workload, curves in workloads.items()})
        for _ in range(DRAWS)
    ]


def interval(values: list) -> np.ndarray:
    """Ends of the middle 95 % of values, along the first axis."""
    return np.percentile(np.array(values), [2.5, 97.5], axis=0)


def told(data) -> tuple[dict[str, Losses], str]:
    """(the workloads on which something can be told of every parametrization, "" or, where there is
    none, all of them and the first one's problem)."""
    workloads = _losses.by_workload(data)
    found = {name: each for name, each in workloads.items() if not each.problem(*each.names)}
    first = next(iter(workloads.values()))
    return (found, "") if found else (workloads, first.problem(*first.names))


def measure(data, scale):
    workloads, problem = told(data)
    shares, drawn = lost(workloads), redrawn(workloads)
    seeds = min(len(each.seeds) for each in workloads.values())

    # Ranks and shares of workloads jump: their interval is that of curves drawn again with the
    # recorded noise.
    def measured(statistic, words: str) -> Measurement:
        value = statistic(shares)
        low, high = interval([statistic(each) for each in drawn])
        return Measurement(value, min(low, value), max(high, value), seeds, problem, words)

    every = ", ".join(f"{name} {rank:.2f}" for name, rank in ranks(shares).items())
    each = ", ".join(f"{WORKLOADS[k]} {of['muP']:.0f} %" for k, of in shares.items())
    return {
        "profile.rank-mup": measured(lambda of: ranks(of).get("muP", np.nan), every),
        "profile.little-mup": measured(lambda of: little(of)["muP"], each),
    }


def draw(data, scale):
    from repro.verdicts import drawing

    workloads, _ = told(data)
    shares, drawn = lost(workloads), redrawn(workloads)
    figure, axes = drawing.panels(2, 2, width=4.2, height=2.6)
    common = sum(set(of) == set(ranks(shares)) for of in shares.values())
    draw_profile(axes[0, 0], shares)
    for place, scores, words in (
        (axes[0, 1], little, f"share of workloads with at most {LITTLE} % lost"),
        (axes[1, 0], medians, "% of the width's gain lost, median"),
        (axes[1, 1], ranks, f"mean rank, {common} workloads, 1 the best"),
    ):
        draw_scores(place, shares, drawn, scores)
        place.set_xlabel(words)
    return figure


def draw_profile(place, shares: Shares) -> None:
    """Share of workloads against what is lost at most. Its intervals would lie over each other:
    `draw_scores` has them at LITTLE."""
    from repro.verdicts.drawing import COLORS, legend_above

    within = np.linspace(0, 150, 301)
    for aside, (color, name) in enumerate(zip(COLORS, ORDER, strict=False)):
        number = sum(name in of for of in shares.values())
        if not number:
            continue
        label = f"{name} ({number})"
        height = profile(shares, name, within) + 0.012 * (aside - (len(ORDER) - 1) / 2)
        place.step(within, height, color=color, label=label, where="post")
    place.axvline(LITTLE, ls=":", lw=1, color="0.5", label=f"{LITTLE} %")
    place.set_xlabel("% of the width's gain lost, at most")
    place.set_ylabel("share of workloads")
    legend_above(place, 3)


def draw_scores(place, shares: Shares, drawn: list[Shares], scores: Callable) -> None:
    """A point a parametrization. scores: `Shares` -> parametrization -> number."""
    from repro.verdicts.drawing import COLORS, bars

    found = scores(shares)
    several = [scores(each) for each in drawn]
    for y, (color, name) in enumerate(zip(COLORS, ORDER, strict=False)):
        if name in found:
            value, (low, high) = found[name], interval([each[name] for each in several])
            ends = (value, min(low, value), max(high, value))
            bars(place, [y], [ends], across=True, color=color)
    place.set_yticks(range(len(ORDER)), ORDER, fontsize=8)
    place.set_ylim(len(ORDER) - 0.5, -0.5)


FIGURE = Figure(
    title="Tuned narrow, trained wide: over workloads",
    outcome="muP's mean rank over the workloads is {profile.rank-mup}",
    caption=(
        "Top left: the performance profile, the share of workloads on which a parametrization "
        "loses at most so much of what the largest width gains, with the narrow model's best "
        "learning rate, by the grid of rates; (n): of so many that it is defined for; equal shares "
        f"are drawn side by side. Top right: this share at {LITTLE} %. Below, left: the median "
        "over these workloads of what is lost. Right: the rank by what is lost, 1 the least, a "
        "mean over the workloads that all are defined for. Bars: 95 % of 400 tables drawn with the "
        "noise between the seeds on record."
    ),
    studies=_losses.STUDIES,
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
