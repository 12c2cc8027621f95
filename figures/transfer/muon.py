"""Where the best learning rate of Muon goes with the width, by how its updates are scaled."""

import numpy as np

from figures.transfer import _drawing, _losses
from figures.transfer._losses import LR, NAME, PROXY, RATIO, WIDTH, Losses
from repro.judge.claims import (
    CONTROL,
    TRAINING,
    Claim,
    over_seeds,
    reported,
    trained_scales,
    within,
)
from repro.judge.noise import Design
from repro.judge.power import Laws
from repro.judge.tables import joined, last_step
from repro.suite.names import StageName

TITLE = "Muon, tuned narrow and trained wide"
CAPTION = (
    "The decoder with Muon for hidden matrices and AdamW for the rest, under muP. Left, middle: "
    "final training loss, on data seen once, against the learning rate, a panel an adjustment of "
    "the rate to a matrix' shape, a colour a width; mean and range (band) over seeds; dotted: the "
    "rate that is best for the narrow model. Right: the best rate against the width; bars: 95 % "
    "interval over seeds. Guides: constant (dotted) and n^-1/2 (dash-dotted)."
)
STUDIES = ("transfer/decoder_muon/proxy", "transfer/decoder_muon/wide")
ARM = "optimizer.adjust_lr_fn"
ARMS = ("original", "match_rms_adamw")
COLUMNS = [ARM, *_losses.COLUMNS[1:]]
SOURCE = "suite; Jordan et al. (kellerjordan.github.io/posts/muon), Liu et al. (arXiv 2502.16982)"
FALLS = "muon.match-rms-falls"
CLAIMS = (
    Claim(
        id=FALLS,
        kind=TRAINING,
        statement="Muon's best learning rate falls as the root of the width beside that of updates "
        "whose spectral norm is kept, where their size is made AdamW's",
        source=SOURCE,
        quantity="slope of log2 of the best rate against log2 of the width, match_rms_adamw minus "
        "original",
        expected=trained_scales(within(-0.5, 0.25)),
    ),
    *(
        Claim(
            id=f"muon.regret-{arm.split('_')[0]}",
            kind=CONTROL,
            statement=f"What the narrow decoder's rate costs at the largest width, Muon, {arm}",
            source="suite",
            quantity="loss at the transferred rate minus the tuned loss, nats",
            expected=trained_scales(reported("no bound: 0 if nothing is lost")),
        )
        for arm in ARMS
    ),
)
SLOPES = {"n^-1/2": -0.5, "constant": 0.0, "1/n": -1.0, "n^1/2": 0.5}
LAWS = {FALLS: Laws("n^-1/2", ("constant", "1/n", "n^1/2"))}


def reduce(runs):
    """Final losses of every run; a search's rounds belong to their stage."""
    import pandas as pd

    parts = []
    for name, table in runs.items():
        if "step" not in table:  # a round that the search did not need
            continue
        narrow = StageName.parse(name).stage == "proxy"
        part = last_step(table)
        parts.append(part.assign(**{NAME: PROXY}) if narrow else part)
    table = pd.concat(parts, ignore_index=True)[COLUMNS]
    return table.sort_values(COLUMNS[:6], ignore_index=True)


def by_arm(data) -> dict[str, Losses]:
    """Adjustment -> its losses."""
    return {arm: Losses(data[data[ARM] == arm]) for arm in ARMS}


def measure(data, scale):
    arms = by_arm(data)
    original, matched = (arms[arm] for arm in ARMS)
    problem = joined(*(words for each in arms.values() if (words := each.problem("muP"))))
    slopes = {
        arm: np.mean([losses.slope("muP", seed) for seed in losses.seeds])
        for arm, losses in arms.items()
    }
    words = ", ".join(f"{arm} {slope:z.2f}" for arm, slope in slopes.items())
    ratios = ", ".join(f"{losses.ratio:g}" for losses in arms.values())
    found = {
        FALLS: over_seeds(
            lambda k: matched.slope("muP", k[0]) - original.slope("muP", k[0]),
            matched.seeds,
            problem,
            f"slopes: {words}; ratios of the embedding's rate {ratios}",
        )
    }
    for arm, losses in arms.items():
        end = losses.tuned("muP", losses.widest).mean()
        found[f"muon.regret-{arm.split('_')[0]}"] = _losses.of_rates(
            losses,
            lambda rate, losses=losses: losses.regret("muP", losses.widest, rate),
            "muP",
            detail=f"tuned {end:.4f} nats at width {losses.widest:g}",
        )
    return found


def simulate(law, recorded, scale, rng):
    """The wide curves of match_rms_adamw moved to where the law has them beside the other's."""
    drawn = recorded.copy()
    arms = by_arm(recorded)

    def optimum(arm: str, width: float) -> float:
        return float(np.nanmean(arms[arm].optimum("muP", width)))

    for arm, losses in arms.items():
        table = recorded[recorded[ARM] == arm]
        design = Design(table, ["train_loss"], [NAME, WIDTH, RATIO, LR])
        log2, original = np.log2(table[LR].to_numpy()), ARMS[0]
        for width in losses.widths[1:] if arm != original else ():
            beside = optimum(original, width) - optimum(original, losses.base)
            target = optimum(arm, losses.base) + beside + SLOPES[law] * np.log2(width / losses.base)
            by = target - optimum(arm, width)
            if np.isfinite(by):
                rows = np.flatnonzero((table[NAME] != PROXY) & (table[WIDTH] == width))
                design.move(rows, log2, by)
        drawn.loc[table.index, "train_loss"] = design.draw(rng, curve=WIDTH)["train_loss"]
    return drawn


def draw(data, scale):
    return _drawing.draw_muon(by_arm(data))
