"""Where a wide model's loss comes from: the width, the rate, the parametrization, and the ratio."""

import numpy as np

from figures.transfer import _drawing, _losses
from figures.transfer._losses import LR, NAME, PROXY, RATIO, WIDTH, WORKLOADS, Losses
from repro.core.names import StageName
from repro.statistics import t_interval
from repro.verdicts.answers import (
    OURS,
    TRAINING,
    Measurement,
    Reading,
    Test,
    above,
    trained_scales,
)
from repro.verdicts.figure import Figure
from repro.verdicts.intervals import joined
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN

ARMS = {"even": "one rate", "tuned": "tuned ratio"}
# The ViT's narrow model is best at ratio 1, which its records showed before there was this figure.
TOLD = {name: words for name, words in WORKLOADS.items() if name != "vit"}
SHOWN = ("SP", "muP")
ANSWERS = (
    *(
        Test(
            id=f"anatomy.ratio-{workload}",
            kind=TRAINING,
            statement="ratio",
            column=name,
            quantity="loss at the transferred rate with one rate for all layers minus that with "
            "the tuned ratio, nats",
            expected=trained_scales(
                above(0, OURS, "a sign: whether a tuned ratio is worth anything")
            ),
        )
        for workload, name in TOLD.items()
    ),
    *(
        Reading(
            id=f"anatomy.lead-{workload}",
            words="SP's loss minus muP's at the transferred rate, with one rate for all layers "
            "minus with the tuned ratio, nats",
            beside="0 if the ratio changes no ranking",
        )
        for workload, name in TOLD.items()
    ),
)
LAWS = {claim.id: SIGN for claim in ANSWERS if isinstance(claim, Test)}


def reduce(runs):
    """Final losses of SP and muP, with `arm`: one rate for all layers, or the tuned ratio."""
    import pandas as pd

    def arm(name: str) -> str:
        return "even" if StageName.parse(name).stage.startswith("even") else "tuned"

    runs = {
        name: each.assign(**{RATIO: 1.0}) if arm(name) == "even" else each
        for name, each in runs.items()
    }
    parts = [
        _losses.reduce({name: each for name, each in runs.items() if arm(name) == a}).assign(arm=a)
        for a in ARMS
    ]
    table = pd.concat(parts, ignore_index=True)
    shown = table[NAME].isin((PROXY, *SHOWN))
    return table[shown].sort_values(["arm", *_losses.COLUMNS[:6]], ignore_index=True)


def by_arm(data) -> dict[str, dict[str, Losses]]:
    """Arm -> workload -> losses."""
    return {arm: _losses.by_workload(data[data["arm"] == arm]) for arm in ARMS}


def difference(even: Losses, tuned: Losses, statistic, *names: str) -> Measurement:
    """A statistic of one rate for all layers minus that of the tuned ratio, paired by seed.

    statistic: (losses, rate) -> an array by seed. The interval spans the choice of either arm's
    rate, as `Comparison.interval` does.
    """
    best = statistic(even, even.proxy_rate()) - statistic(tuned, tuned.proxy_rate())
    mean, low, high = t_interval(best)
    means = [
        float(np.mean(statistic(even, one) - statistic(tuned, other)))
        for one in even.other_proxy_rates()
        for other in tuned.other_proxy_rates()
    ]
    problem = joined(*(words for each in (even, tuned) if (words := each.problem(*names))))
    detail = (
        f"ratio {tuned.ratio:g}; best rate of the narrow model 2^{np.log2(even.proxy_rate()):g} "
        f"at ratio 1, 2^{np.log2(tuned.proxy_rate()):g} at this"
    )
    return Measurement(mean, min(low, *means), max(high, *means), len(best), problem, detail)


def of_mup(losses: Losses, rate: float) -> np.ndarray:
    """By seed: muP's loss at the largest width."""
    return losses.transferred("muP", losses.widest, rate)


def lead(losses: Losses, rate: float) -> np.ndarray:
    """By seed: how much lower muP's loss is than SP's at the largest width."""
    return losses.transferred("SP", losses.widest, rate) - of_mup(losses, rate)


def measure(data, scale):
    arms = by_arm(data)
    found = {}
    for name in TOLD:
        even, tuned = (arms[arm][name] for arm in ARMS)
        found[f"anatomy.ratio-{name}"] = difference(even, tuned, of_mup, "muP")
        found[f"anatomy.lead-{name}"] = difference(even, tuned, lead, *SHOWN)
    return found


def simulate(law, recorded, scale, rng):
    """muP's widest with one rate above that with the tuned ratio, by the recorded difference; or
    both it and the narrow model as with the tuned ratio; or then that much below."""
    drawn = recorded.copy()
    for _, table in recorded.groupby("workload"):
        design = Design(table, ["train_loss"], ["arm", NAME, WIDTH, RATIO, LR], log=False)
        even, tuned = (Losses(table[table["arm"] == arm]) for arm in ARMS)
        log2, side = np.log2(table[LR].to_numpy()), SIDES[law]
        gain = difference(even, tuned, of_mup).value
        wide = {NAME: "muP", WIDTH: even.widest}
        if side < 1:
            for point in ({NAME: PROXY, WIDTH: even.base}, wide):
                ours = design.rows(arm="even", **point)
                follow(
                    design, ours, design.rows(arm="tuned", **point, **{RATIO: tuned.ratio}), log2
                )
        if np.isfinite(gain):
            moved = abs(gain) - gain if side == 1 else side * abs(gain)
            design.mean[design.rows(arm="even", **wide)] += moved
        drawn.loc[table.index, "train_loss"] = design.draw(rng)["train_loss"]
    return drawn


def follow(design: Design, ours: np.ndarray, other: np.ndarray, x: np.ndarray) -> None:
    """Put one curve on another; beyond that one's ends, at the height of the end.

    ours, other: positions of their rows. x: place of every row of the table.
    """
    places, first = np.unique(x[other], return_index=True)
    for row, place in zip(ours, x[ours], strict=True):
        design.mean[row] = design.mean[other[first[np.argmin(np.abs(places - place))]]]


def draw(data, scale):
    return _drawing.draw_anatomy(by_arm(data), ARMS, SHOWN)


FIGURE = Figure(
    title=(
        "Tuned narrow, trained wide: with one rate for all layers, and with the embedding's apart"
    ),
    outcome=(
        "A tuned embedding ratio lowers muP's loss by {anatomy.ratio-decoder} nats (decoder), "
        "{anatomy.ratio-gpt2} (GPT-2), {anatomy.ratio-mlp} (MLP), {anatomy.ratio-gru} (GRU), "
        "{anatomy.ratio-bart} (BART)"
    ),
    caption=(
        "Loss of the largest width under SP and muP, a panel a workload. Left pair: one rate for "
        "the embedding and all else. Right pair: the embedding's rate times the ratio that is best "
        "for the narrow model. Dots: at the narrow model's best learning rate, with a 95 % "
        "interval over seeds (arrows: it goes on). Circles: at its own best rate. Between them, "
        "red: regret by the grid, what retuning would win back. Dashes: the tuned loss of the "
        "narrow model. The axes differ, as losses do."
    ),
    studies=(
        *_losses.STUDIES,
        *(f"transfer/{name}/{stage}" for name in WORKLOADS for stage in ("even_proxy", "even")),
    ),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
