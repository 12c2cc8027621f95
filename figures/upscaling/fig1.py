"""Figure 1: the upscaling method and transfer, drawn from real runs instead of a schematic."""

from figures.upscaling import _drawing, _runs, fig3
from figures.upscaling._transfer import WIDTH
from repro.verdicts.answers import (
    THEORY,
    TOLERANCE,
    Reading,
    Test,
    all_scales,
    at_most,
    over_seeds,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, Laws

MLP, TRANSFER = "upscaling/mlp_adamw", "upscaling/mlp_adamw_transfer/by_lr"
STAGES = {
    "upscaled": "with noise, at its best rate",
    "upscaled_without_noise": "zero noise, at its best rate",
}
ANSWERS = (
    Test(
        id="fig1.stays-inside",
        kind=THEORY,
        statement="equivalence",
        column="MLP with AdamW, float32",
        quantity="largest distance from the subspace over the distance moved along it, float32",
        expected=all_scales(at_most(1e-3, TOLERANCE, "rounding of float32 along training")),
    ),
    Reading(
        id="fig1.leaves",
        words="distance from the subspace at the end over its first record",
        beside="not 1 where training uses the new directions",
    ),
)
LAWS = {"fig1.stays-inside": Laws(AS_CLAIMED, ("leaves as far as it moves",))}


def reduce(runs: Runs) -> Data:
    import pandas as pd

    path = _runs.reduce({k: v for k, v in runs.items() if k != TRANSFER})
    path = path[["stage", "seed", "step", "outside", "inside", "lr"]]
    sweep = fig3.reduce({TRANSFER: runs[TRANSFER]})
    sweep = sweep[["stage", WIDTH, "lr", "seed", "step", "train_loss"]]
    columns = ["stage", "seed", "step", "outside", "inside", WIDTH, "lr", "train_loss"]
    return pd.concat([path, sweep], ignore_index=True)[columns]


def measure(data: Data, scale: str) -> Measured:
    quiet = data[data["stage"] == "upscaled_without_noise"].groupby("seed")
    # The largest along a run: without noise it should at no step leave the subspace.
    share = quiet.apply(lambda rows: float((rows["outside"] / rows["inside"]).max()))
    noisy = data[data["stage"] == "upscaled"].sort_values("step").groupby("seed")["outside"]
    growth = noisy.last() / noisy.first()
    return {
        "fig1.stays-inside": over_seeds(lambda s: float(share[list(s)].max()), share.index),
        "fig1.leaves": over_seeds(lambda s: float(growth[list(s)].mean()), growth.index),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """The distance from the subspace as it is, or as large as the movement along it."""
    design = Design(recorded, ["outside"], ["stage", "step", WIDTH, "lr"], log=False)
    if law != AS_CLAIMED:
        quiet = design.rows(stage="upscaled_without_noise")
        design.mean[quiet, 0] = recorded["inside"].to_numpy()[quiet]
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(2, width=4.8)
    path, curves = axes[0]
    farthest = data["inside"].max()
    drawing.guides(path, (1, farthest), 1, {"rival: as far\nas it moves": 1}, paper="")
    for (stage, words), marker in zip(STAGES.items(), "os", strict=True):
        runs = data[data["stage"] == stage]
        words += "".join(f" {rate:.3g}" for rate in runs["lr"].unique())
        color = _drawing.LINES[stage]["color"]
        for i, (_, rows) in enumerate(runs.groupby("seed")):
            label = f"upscaled, {words}" if i == 0 else None
            style = {"marker": marker, "ms": 3, "lw": 1, "color": color}
            path.plot(rows["inside"], rows["outside"], **style, label=label)
    drawing.printed(path, (0, farthest), 0, "the paper,\nzero noise: 0")
    path.set_xlabel("movement along the widened subspace (norm)")
    path.set_ylabel("distance from it (norm)")
    path.set_title("a curve a seed, a mark a record", fontsize=9)
    low, high = path.get_ylim()
    # Room for the legend, and for the name of what the paper says.
    path.set_ylim(low - 0.05 * (high - low), high + 0.15 * (high - low))
    path.legend(fontsize=8, loc="upper left")
    sweep = data[data["stage"] == "by_lr"]
    colors = fig3.width_colors(sweep)
    ends = {width: colors[width] for width in (min(colors), max(colors))}
    curves.set_title("tuned small, used large: target width n", fontsize=9)
    fig3.draw_panel(curves, sweep, "lr", ends)
    fig3.mark_optima(curves, sweep, "lr", ends, "SP")
    curves.set_xlabel("learning rate (base constant)")
    curves.set_ylabel("final training loss (nats)")
    return figure


FIGURE = Figure(
    title="Figure 1. Leaving the widened subspace, and hyperparameter transfer",
    outcome=(
        "Without noise a widened model leaves the subspace by {fig1.stays-inside} of the distance "
        "it moves"
    ),
    caption=(
        "The paper's Figure 1 is a schematic; these are runs of the MLP with AdamW. Left: distance "
        "of the wide weights from the subspace of widened models against their movement along it, "
        "both Euclidean norms over all weights; grey: the rival that the claim is held against. "
        "Right: final training loss, a mean since the last evaluation, of a small and a large "
        "upscaled system; mean, and range over seeds (band), stars: vertex of a parabola, 95 % "
        "intervals over seeds, cross: where SP's 1/n would have it, arrows at the top edge: a mean "
        "above the panel, or a seed that diverged. (Ma et al., Figure 1.)"
    ),
    studies=(*(f"{MLP}/{stage}" for stage in STAGES), TRANSFER),
    view=View("step", "outside", {"stage": tuple(STAGES)}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
