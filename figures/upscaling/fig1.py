"""Figure 1: the upscaling method and transfer, drawn from real runs instead of a schematic."""

from figures.upscaling import _protocol, fig3
from repro.claims import Claim, all_scales, at_most, over_seeds, reported

TITLE = "Figure 1. Leaving the widened subspace, and hyperparameter transfer"
CAPTION = (
    "Left: distance of the wide weights from the subspace of widened base models against their "
    "movement along it during upscaled training, with and without noise. Right: final training "
    "loss of a small and a large upscaled system against the learning rate. The paper's Figure 1 "
    "is a schematic; these are runs of the MLP with AdamW (Ma et al., Figure 1)."
)
MLP, TRANSFER = "upscaling/mlp_adamw", "upscaling/mlp_adamw_transfer/by_lr"
STAGES = {"upscaled": "with noise", "upscaled_without_noise": "zero noise"}
STUDIES = (*(f"{MLP}/{stage}" for stage in STAGES), TRANSFER)
CLAIMS = (
    Claim(
        id="fig1.stays-inside",
        statement="Without noise training never leaves the subspace of widened models",
        source="Figure 1; Theorem 2.5",
        quantity="largest distance from the subspace over the distance moved along it, float32",
        expected=all_scales(at_most(1e-3)),
    ),
    Claim(
        id="fig1.leaves",
        statement="Ours: with noise the distance from the subspace changes in training",
        source="suite",
        quantity="distance from the subspace at the end over its first record",
        expected=all_scales(reported("no bound: not 1 where training uses the new directions")),
    ),
)


def reduce(runs):
    import pandas as pd

    path = _protocol.reduce({k: v for k, v in runs.items() if k != TRANSFER})
    path = path[["stage", "seed", "step", "outside", "inside"]]
    sweep = fig3.reduce({TRANSFER: runs[TRANSFER]})
    sweep = sweep[["stage", fig3.WIDTH, "lr", "seed", "step", "train_loss"]]
    return pd.concat([path, sweep], ignore_index=True)


def measure(data, scale):
    quiet = data[data["stage"] == "upscaled_without_noise"].groupby("seed")
    share = quiet.apply(lambda rows: float((rows["outside"] / rows["inside"]).max()))
    noisy = data[data["stage"] == "upscaled"].sort_values("step").groupby("seed")["outside"]
    growth = noisy.last() / noisy.first()
    return {
        "fig1.stays-inside": over_seeds(lambda s: float(share[list(s)].max()), share.index),
        "fig1.leaves": over_seeds(lambda s: float(growth[list(s)].mean()), growth.index),
    }


def draw(data, scale):
    from repro import drawing

    figure, axes = drawing.panels(2, width=4.8)
    path, curves = axes[0]
    for color, (stage, words) in zip(drawing.COLORS, STAGES.items(), strict=False):
        for i, (_, rows) in enumerate(data[data["stage"] == stage].groupby("seed")):
            label = f"upscaled, {words}" if i == 0 else None
            path.plot(rows["inside"], rows["outside"], "-o", ms=2.5, color=color, label=label)
            path.plot(rows["inside"].iloc[-1], rows["outside"].iloc[-1], "s", color=color, ms=5)
    path.axhline(0, color="0.6", lw=0.8, ls=":")
    path.set_xlabel("movement along the widened subspace")
    path.set_ylabel("distance from the widened subspace")
    path.set_title("a seed each, from the first to the last record (square)", fontsize=8)
    path.legend(fontsize=7)
    sweep = data[data["stage"] == "by_lr"]
    ends = sweep[sweep[fig3.WIDTH].isin([sweep[fig3.WIDTH].min(), sweep[fig3.WIDTH].max()])]
    fig3.draw_panel(curves, ends, "lr", drawing)
    curves.set_xlabel("learning rate (base constant)")
    curves.set_ylabel("final training loss (nats)")
    curves.set_title("tuned small, used large (stars: optima)", fontsize=8)
    return figure
