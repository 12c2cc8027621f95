"""Where the best learning rate of Muon goes with the width, by how its updates are scaled."""

import numpy as np

from figures.transfer import _drawing, _losses
from figures.transfer._losses import NAME, PROXY, Losses
from repro.verdicts.answers import (
    Reading,
    over_seeds,
)
from repro.verdicts.figure import Figure
from repro.verdicts.intervals import joined
from repro.verdicts.run_sweeps import gathered

ARM = "optimizer.adjust_lr_fn"
ARMS = ("original", "match_rms_adamw")
COLUMNS = [ARM, *_losses.COLUMNS[1:]]
SOURCE = "suite; Jordan et al. (kellerjordan.github.io/posts/muon), Liu et al. (arXiv 2502.16982)"
FALLS = "muon.match-rms-falls"
# Reported, not judged: embedding and readout have the same learning rate, under muP, and hold it
# where they have their own best, whatever the matrices between would take.
ANSWERS = (
    Reading(
        id=FALLS,
        words="slope of log2 of the best rate against log2 of the width, match_rms_adamw minus "
        "original",
        beside="-1/2 if the hidden matrices alone decide, 0 if the rest does",
    ),
    *(
        Reading(
            id=f"muon.regret-{arm.split('_')[0]}",
            words="regret by the grid: loss at the transferred rate minus the tuned loss, nats",
            beside="0 if nothing is lost",
        )
        for arm in ARMS
    ),
)


def reduce(runs):
    """Final losses of every run; a search's rounds belong to their stage."""
    narrow = {NAME: PROXY}
    table = gathered(runs, lambda name: narrow if name.stage == "proxy" else {}, last=True)[COLUMNS]
    return table.sort_values(COLUMNS[:6], ignore_index=True)


def by_arm(data) -> dict[str, Losses]:
    """Adjustment -> its losses."""
    return {arm: Losses(data[data[ARM] == arm]) for arm in ARMS}


def measure(data, scale):
    arms = by_arm(data)
    problem = joined(*(words for each in arms.values() if (words := each.problem("muP"))))
    slopes = {arm: losses.of("muP").slopes() for arm, losses in arms.items()}
    words = ", ".join(f"{arm} {np.mean(each):z.2f}" for arm, each in slopes.items())
    ratios = ", ".join(f"{losses.ratio:g}" for losses in arms.values())
    found = {
        FALLS: over_seeds(
            lambda k: slopes[ARMS[1]][k[0]] - slopes[ARMS[0]][k[0]],
            arms[ARMS[1]].seeds,
            problem,
            f"slopes: {words}; ratios of the embedding's rate {ratios}",
        )
    }
    for arm, losses in arms.items():
        end = losses.tuned("muP", losses.widest).mean()
        found[f"muon.regret-{arm.split('_')[0]}"] = _losses.of_regret(
            losses,
            lambda rate, losses=losses: losses.regret("muP", losses.widest, rate),
            "muP",
            detail=f"tuned {end:.4f} nats at width {losses.widest:g}; "
            + _losses.regrets(losses, "muP"),
        )
    return found


def draw(data, scale):
    return _drawing.draw_muon(by_arm(data))


FIGURE = Figure(
    title="Muon, tuned narrow and trained wide",
    outcome=(
        "Under Muon's two adjustments the slopes of the best rate over the width differ by "
        "{muon.match-rms-falls}"
    ),
    caption=(
        "The decoder with Muon for hidden matrices and AdamW for the rest, under muP. Left, "
        "middle: final training loss, on data seen once, against the learning rate, a panel an "
        "adjustment of the rate to a matrix' shape, a colour a width; mean and range (band) over "
        "seeds; dotted: the rate that is best for the narrow model. Right: the best rate against "
        "the width; bars: 95 % interval over seeds. Guides: constant (dotted) and n^-1/2 "
        "(dash-dotted)."
    ),
    studies=("transfer/decoder_muon/proxy", "transfer/decoder_muon/wide"),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
