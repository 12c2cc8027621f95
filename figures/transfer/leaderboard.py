"""What is lost by tuning the narrow model: for want of retuning, and by the parametrization."""

import numpy as np

from figures.transfer import _board, _losses, _matrix
from figures.transfer._losses import (
    LR,
    NAME,
    PROXY,
    RATIO,
    WIDTH,
    WORKLOADS,
    Losses,
    reduce,
)
from repro.verdicts.answers import (
    STATED,
    TOLERANCE,
    TRAINING,
    Test,
    above,
    below,
    over_means,
    trained_scales,
    within,
)
from repro.verdicts.figure import Figure
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, SIDES, SIGN, Laws

# What the board's page asks of this figure.
VERSION, NAMES, entries, leads_to = _board.VERSION, _losses.ORDER, _board.entries, _board.leads_to
matrix = _board.matrix
RIVALS = ("full-alignment", "LVP")  # what is compared with muP on the decoder
RULED_OUT = Laws("the embedding alone", ("every layer",))
OF_NETWORKS = "they say it of their networks, not of each of these"
ANSWERS = (
    *(
        Test(
            id=f"leaderboard.sp-regret-{workload}",
            kind=TRAINING,
            statement="sp-costs",
            column=name,
            quantity="regret by the grid of SP minus that of muP at the largest width, nats",
            expected=trained_scales(above(0, STATED, OF_NETWORKS)) | _losses.at_night(workload),
        )
        for workload, name in WORKLOADS.items()
    ),
    *(
        Test(
            id=f"leaderboard.wider-mup-{workload}",
            kind=TRAINING,
            statement="wider-better",
            column=name,
            quantity="smallest fall of the loss at the transferred rate from a width to the next, "
            "nats",
            expected=trained_scales(above(0, STATED, OF_NETWORKS)) | _losses.at_night(workload),
        )
        for workload, name in WORKLOADS.items()
    ),
    *(
        Test(
            id=f"leaderboard.{name.lower()}-beats-mup",
            kind=TRAINING,
            statement="beats-mup",
            column=f"decoder, {name}",
            quantity=f"tuned loss of {name} minus that of muP, nats",
            expected=trained_scales(below(0)),
        )
        for name in RIVALS
    ),
    Test(
        id="leaderboard.embedding-alone",
        kind=TRAINING,
        statement="embedding-alone",
        column="decoder",
        quantity="share of muP's gain over SP, both tuned, that full alignment lacks",
        expected=trained_scales(
            within(
                0,
                0.2,
                TOLERANCE,
                "'as low' read as a fifth; the rival, all of muP's gain lacking, is 1",
            )
        ),
    ),
)
LAWS = {
    claim.id: RULED_OUT if claim.id == "leaderboard.embedding-alone" else SIGN for claim in ANSWERS
}


def fall(losses: Losses, name: str, rate: float) -> np.ndarray:
    """By seed: the smallest fall of the loss at a rate from a width to the next wider one."""
    ends = [losses.transferred(name, width, rate) for width in losses.widths]
    return np.min([narrow - wide for narrow, wide in zip(ends, ends[1:], strict=False)], axis=0)


def measure(data, scale):
    workloads = _losses.by_workload(data)
    found = {}
    for workload, losses in workloads.items():
        detail = _losses.regrets(losses, *losses.names)
        found[f"leaderboard.sp-regret-{workload}"] = _losses.of_regret(
            losses, losses.more_regret, "SP", "muP", detail=detail
        )
        found[f"leaderboard.wider-mup-{workload}"] = _losses.of_rates(
            losses, lambda rate, losses=losses: fall(losses, "muP", rate), "muP"
        )
    decoder = workloads["decoder"]
    # Tuned losses alone, at each seed's rate that the other seeds choose: no rate is transferred.
    tuned = {name: decoder.tuned(name, decoder.widest) for name in decoder.names}
    detail = "tuned losses " + ", ".join(f"{k} {v.mean():.4f}" for k, v in tuned.items())
    for name in RIVALS:
        found[f"leaderboard.{name.lower()}-beats-mup"] = _losses.of_rates(
            decoder, lambda rate, name=name: tuned[name] - tuned["muP"], name, "muP", detail=detail
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


def simulate(law, recorded, scale, rng):
    """The recorded differences of each claim on its side, none of them, or on the other side.

    Tuned losses of two parametrizations: one's curves are moved up or down. Regret: SP's wide
    curves lie as recorded, or at the narrow model's rate, or muP's lie where SP's did. The fall
    with the width: the widest curve is moved up or down.
    """
    side = SIDES.get(law, 1)
    drawn = recorded.copy()
    for workload, table in recorded.groupby("workload"):
        losses = Losses(table)
        design = Design(table, ["train_loss"], [NAME, WIDTH, RATIO, LR], log=False)
        log2 = np.log2(table[LR].to_numpy())
        rows = table.groupby([NAME, WIDTH]).indices
        shifts(design, losses, rows, log2, side)
        levels(design, losses, rows, log2, law, side, workload)
        drawn.loc[table.index, "train_loss"] = design.draw(rng)["train_loss"]
    return drawn


def shifts(design, losses: Losses, rows, log2, side: int) -> None:
    """Where SP's and muP's wide curves lie: the one of larger regret SP's, both at the narrow
    model's rate, or the one of larger regret muP's."""
    recorded = losses.more_regret().mean()
    if side * recorded > 0:
        return
    base = np.nanmean(losses.curves["SP", losses.base].vertices())
    for width in losses.widths[1:]:
        found = {name: np.nanmean(losses.curves[name, width].vertices()) for name in ("SP", "muP")}
        targets = {"SP": found["muP"], "muP": found["SP"]} if side else dict.fromkeys(found, base)
        for name, target in targets.items():
            if np.isfinite(target - found[name]):
                design.move(rows[name, width], log2, target - found[name])


def levels(design, losses: Losses, rows, log2, law: str, side: int, workload: str) -> None:
    """How low the curves lie."""
    wide = losses.widest

    def raise_by(name: str, width: float, by: float) -> None:
        design.mean[rows[name, width]] += by

    low = {name: float(losses.tuned(name, wide).mean()) for name in losses.names}
    if law in SIDES and law != AS_CLAIMED:
        # A wider model as good as the next narrower one, or as much worse as it was better; where
        # the curves lie by now.
        at_rate = log2 == np.log2(losses.proxy_rate())

        def mean(name: str, width: float) -> float:
            each = rows[name, width]
            return float(design.mean[each[at_rate[each]]].mean())

        before = losses.widths[-2]
        narrower = mean("muP", before) if before > losses.base else mean(PROXY, before)
        gains = narrower - mean("muP", wide)
        found = losses.transferred("muP", before) - losses.transferred("muP", wide)
        for name in losses.names:
            raise_by(name, wide, gains - side * abs(float(found.mean())))
    if workload != "decoder":
        return
    if law in SIDES:
        for name in RIVALS:
            recorded = low[name] - low["muP"]
            raise_by(name, wide, -side * abs(recorded) - recorded)
    else:
        lacking = {"the embedding alone": "muP", "every layer": "SP"}[law]
        raise_by("full-alignment", wide, low[lacking] - low["full-alignment"])


def draw(data, scale):
    return _matrix.draw_board(matrix(data, scale))


FIGURE = Figure(
    title="Tuned narrow, trained wide: what is lost",
    outcome=(
        "Regret by the grid of SP minus that of muP, nats: {leaderboard.sp-regret-decoder} "
        "(decoder), {leaderboard.sp-regret-gpt2} (GPT-2), {leaderboard.sp-regret-mlp} (MLP), "
        "{leaderboard.sp-regret-vit} (ViT), {leaderboard.sp-regret-gru} (GRU), "
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
        "Data are seen once, losses are of the last fifth of the steps. Claims and title have "
        "regret by the grid, both best rates points of it, as two of them are "
        "registered; what it is by parabolas stands beside each."
    ),
    studies=_losses.STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
