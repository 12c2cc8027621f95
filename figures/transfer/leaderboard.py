"""What is lost by tuning the narrow model: for want of retuning, and by the parametrization."""

from functools import partial

import numpy as np

from figures.transfer import _board, _losses, _matrix
from figures.transfer._losses import (
    LR,
    NAME,
    RATIO,
    WIDTH,
    WORKLOADS,
    Losses,
    reduce,
)
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Reading,
    Test,
    above,
    over_means,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN

# What the board's page asks of this figure.
VERSION, NAMES, entries, leads_to = _board.VERSION, _losses.ORDER, _board.entries, _board.leads_to
matrix = _board.matrix
RIVALS = ("full-alignment", "LVP")  # what is compared with muP on the decoder
REGRET = "regret by the grid of SP minus that of muP at the largest width, nats: {}"
OF_NETWORKS = "they say it of their networks, not of each of these"
ANSWERS = (
    *(
        Test(
            id=f"leaderboard.sp-regret-{workload}",
            kind=TRAINING,
            statement="sp-costs",
            column=name,
            quantity=REGRET.format(name),
            expected={OVERNIGHT: above(0, STATED, OF_NETWORKS)},
        )
        if workload in _losses.NIGHT
        else Reading(
            f"leaderboard.sp-regret-{workload}", REGRET.format(name), "above 0 if SP loses more"
        )
        for workload, name in WORKLOADS.items()
    ),
    *(
        Reading(
            f"leaderboard.wider-mup-{workload}",
            "smallest fall of muP's loss at the transferred rate from a width to the next, nats: "
            + name,
            "above 0 if a wider model is always better",
        )
        for workload, name in WORKLOADS.items()
    ),
    *(
        Reading(
            f"leaderboard.{name.lower()}-beats-mup",
            f"decoder's tuned loss of {name} minus that of muP, nats",
            "below 0 by Everett et al. (arXiv 2407.05872) and Hayou & Liu (arXiv 2506.15025)",
        )
        for name in RIVALS
    ),
    Reading(
        "leaderboard.embedding-alone",
        "share of muP's gain over SP on the decoder, both tuned, that full alignment lacks",
        "0 if the embedding's rate is all of it, as Kalra & Barkeshli (arXiv 2605.21486) say",
    ),
)
LAWS = {f"leaderboard.sp-regret-{workload}": SIGN for workload in _losses.NIGHT}


def fall(losses: Losses, name: str, rate: float) -> np.ndarray:
    """By seed: the smallest fall of the loss at a rate from a width to the next wider one."""
    ends = [losses.transferred(name, width, rate) for width in losses.widths]
    return np.min([narrow - wide for narrow, wide in zip(ends, ends[1:], strict=False)], axis=0)


def measure(data: Data, scale: str) -> Measured:
    workloads = _losses.by_workload(data)
    found = {}
    for workload, losses in workloads.items():
        detail = _losses.regrets(losses, *losses.names)
        found[f"leaderboard.sp-regret-{workload}"] = _losses.of_regret(
            losses, losses.more_regret, "SP", "muP", detail=detail
        )
        found[f"leaderboard.wider-mup-{workload}"] = _losses.of_rates(
            losses, partial(fall, losses, "muP"), "muP"
        )
    decoder = workloads["decoder"]
    # Tuned losses alone, at each seed's rate that the other seeds choose: no rate is transferred.
    tuned = {name: decoder.tuned(name, decoder.widest) for name in decoder.names}
    detail = "tuned losses " + ", ".join(f"{k} {v.mean():.4f}" for k, v in tuned.items())
    for name in RIVALS:
        found[f"leaderboard.{name.lower()}-beats-mup"] = _losses.of_rates(
            decoder, _at_any_rate(tuned[name] - tuned["muP"]), name, "muP", detail=detail
        )
    gained = tuned["SP"] - tuned["muP"]
    lacking = tuned["full-alignment"] - tuned["muP"]
    found["leaderboard.embedding-alone"] = over_means(
        lambda seeds: float(lacking[seeds].mean() / gained[seeds].mean()),  # both are uncertain
        decoder.seeds,
        decoder.problem("SP", "muP", "full-alignment"),
        f"muP's gain {gained.mean():.4f} nats; {detail}",
    )
    return _losses.of_all(ANSWERS, found)


def _at_any_rate(found: np.ndarray) -> _losses.Statistic:
    return lambda rate: found


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The recorded difference of regrets on the claimed side, none, or on the other side.

    Of SP's and muP's wide curves the one of larger regret is SP's, both lie at the narrow model's
    rate, or the one of larger regret is muP's.
    """
    side = SIDES[law]
    drawn = recorded.copy()
    for _, table in recorded.groupby("workload"):
        losses = Losses(table)
        design = Design(table, ["train_loss"], [NAME, WIDTH, RATIO, LR], log=False)
        if side * losses.more_regret().mean() <= 0:
            swap(design, losses, table, side)
        drawn.loc[table.index, "train_loss"] = design.draw(rng)["train_loss"]
    return drawn


def swap(design: Design, losses: Losses, table: Data, side: int) -> None:
    """Put SP's wide curves where muP's are and those where SP's are; at side 0, both where the
    narrow model's is."""
    log2 = np.log2(table[LR].to_numpy())
    rows = table.groupby([NAME, WIDTH]).indices
    base = np.nanmean(losses.curves["SP", losses.base].vertices())
    for width in losses.widths[1:]:
        found = {name: np.nanmean(losses.curves[name, width].vertices()) for name in ("SP", "muP")}
        targets = {"SP": found["muP"], "muP": found["SP"]} if side else dict.fromkeys(found, base)
        for name, target in targets.items():
            if np.isfinite(target - found[name]):
                design.move(rows[name, width], log2, target - found[name])


def draw(data: Data, scale: str) -> Drawn:
    return _matrix.draw_board(matrix(data, scale))


FIGURE = Figure(
    title="Tuned narrow, trained wide: what is lost",
    outcome=(
        "Regret by the grid of SP minus that of muP, nats: {leaderboard.sp-regret-decoder} "
        "(decoder), {leaderboard.sp-regret-mlp} (MLP), {leaderboard.sp-regret-gru} (GRU), "
        "{leaderboard.sp-regret-bart} (BART)"
    ),
    caption=(
        "Of what the largest width gains over the narrow model, written above, the share that is "
        "lost under each parametrization with the narrow model's best learning rate, against the "
        f"workload's reference of version {_board.VERSION}, on one scale; sorted by the median "
        "over the workloads that it is defined on, three or more. Dark: regret by parabolas, what "
        "retuning the rate would win back. Pale: penalty, the tuned loss above the reference's. "
        "Bars: 95 % interval of the whole chain, over tuning and judging seeds; arrows: it goes "
        "on. Stars: the least lost of a workload, and what a paired test does not part from it. "
        "Numbers at the medians: entries of one number are tied. Ref.: its own tuned loss is the "
        "reference. Undefined: the board's page says why; a panel undefined for all is left out. "
        "Data are seen once, losses are of the last fifth of the steps. Tests and title have "
        "regret by the grid, both best rates points of it, as it was registered; what it is by "
        "parabolas stands beside each."
    ),
    studies=_losses.STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
