"""Appendix C.4: difference between a base and its zero-noise widening, trained side by side."""

import math

import numpy as np

from repro.verdicts.answers import (
    CONTROL,
    OURS,
    THEORY,
    TOLERANCE,
    Measurement,
    Test,
    above,
    all_scales,
    at_most,
    exact,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.power import AS_CLAIMED, Laws

FLOOR = 1e-17  # a difference of exactly zero is drawn here
FREE, CLIPPING = "upscaling/architectures", "upscaling/clipping"
OWN = "upscaling/own_widenings"
ARCHITECTURES = {"mlp": "MLP", "resnet": "ResNet", "gpt2": "GPT-2"}
KINDS = {
    "summing": "MLP whose readout sums",
    "heads": "Transformer whose heads grow in number",
    "stages": "ResNet whose stages grow apart",
}
BOUND = 1e-9
ROUNDING = "what rounding of float64 grows to along training; what breaks it is far above"
OPTIMIZERS = ("C0", "C1", "C2", "C3", "C4", "C7")  # their colours
MARKERS = {"mlp": "o", "gpt2": "^", "resnet": "s"}  # of architectures, where they share a panel
PLAIN, AWARE = "plain norm", "width-aware norm"
BLOCK = 5  # steps, of which the largest difference is kept
RUN = ["architecture", "optimizer", "factor"]
ANSWERS = (
    *(
        Test(
            id=f"equivalence.{key}",
            kind=THEORY,
            statement="equivalence",
            column=name,
            quantity="largest difference over SGD, momentum, Nesterov, Adam, AdamW, AMSGrad, "
            "factors and steps",
            expected=all_scales(at_most(BOUND, TOLERANCE, ROUNDING)),
        )
        for key, name in ARCHITECTURES.items()
    ),
    *(
        Test(
            id=f"equivalence.{key}",
            kind=THEORY,
            statement="equivalence",
            column=name,
            quantity="largest difference over SGD, momentum, Nesterov, Adam, AdamW, AMSGrad, "
            "factors and steps",
            expected=all_scales(at_most(BOUND, TOLERANCE, ROUNDING)),
        )
        for key, name in KINDS.items()
    ),
    Test(
        id="equivalence.clipping-plain",
        kind=CONTROL,
        statement="clipping",
        column="MLP and GPT-2, plain norm",
        quantity="smallest over runs of each run's largest difference",
        expected=all_scales(above(BOUND, OURS, "more than rounding, by the bound of the others")),
    ),
    Test(
        id="equivalence.clipping-width-aware",
        kind=CONTROL,
        statement="clipping",
        column="MLP and GPT-2, width-aware norm",
        quantity="largest difference over runs and steps",
        expected=all_scales(at_most(BOUND, OURS, ROUNDING)),
    ),
)
LAWS = dict.fromkeys(
    (f"equivalence.{key}" for key in ARCHITECTURES | KINDS),
    Laws(AS_CLAIMED, ("broken as by clipping",)),
)


def optimizer_name(settings):
    """What the legend calls an optimizer's settings."""
    if settings["name"] == "sgd":
        if not settings["momentum"]:
            return "SGD"
        return "Nesterov" if settings["nesterov"] else "momentum"
    if settings["amsgrad"]:
        return "AMSGrad"
    return {"adam": "Adam", "adamw": "AdamW"}[settings["name"]]


def clipping_name(clip):
    """What the legend calls a way of clipping."""
    return AWARE if clip["width_aware"] else PLAIN


def reduce(runs: Runs) -> Data:
    """The largest difference of every BLOCK steps; one that is no number counts as infinite."""
    import pandas as pd

    parts = []
    for study, clipping in ((FREE, False), (OWN, False), (CLIPPING, True)):
        table = runs[study]
        names = table["kind"] if study == OWN else [model["name"] for model in table["model"]]
        parts.append(
            pd.DataFrame(
                {
                    "architecture": names,
                    "optimizer": [optimizer_name(settings) for settings in table["optimizer"]],
                    "clipping": list(map(clipping_name, table["clip"])) if clipping else "none",
                    "factor": table["factor"],
                    "step": table["step"] // BLOCK * BLOCK,
                    "difference": pd.to_numeric(table["difference"]).fillna(math.inf),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    keys = [column for column in table.columns if column != "difference"]
    return table.groupby(keys, sort=False, as_index=False)["difference"].max()


def worst(rows):
    """Each run's largest difference, a Series over (architecture, optimizer, factor)."""
    return rows.groupby(RUN)["difference"].max()


def measurement(value: float, runs: Data) -> Measurement:
    where = ", ".join(
        f"{name} {found:.1e}" for name, found in runs.groupby("optimizer").max().items()
    )
    return exact(value, len(runs), detail=where)


def measure(data: Data, scale: str) -> Measured:
    measured = {}
    for key in ARCHITECTURES | KINDS:
        rows = data[(data["architecture"] == key) & (data["clipping"] == "none")]
        runs = worst(rows)
        measured[f"equivalence.{key}"] = measurement(runs.max(), runs)
    # Judged is the least drift of runs that should drift, and the largest of those that should not.
    plain, aware = (worst(data[data["clipping"] == name]) for name in (PLAIN, AWARE))
    measured["equivalence.clipping-plain"] = measurement(plain.min(), plain)
    measured["equivalence.clipping-width-aware"] = measurement(aware.max(), aware)
    return measured


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Nothing is random here. The rival: every run drifts as slowly as the one that clipping by the
    plain norm disturbs least."""
    if law == AS_CLAIMED:
        return recorded
    least = worst(recorded[recorded["clipping"] == PLAIN]).min()
    share = (recorded["step"] + BLOCK) / (recorded["step"].max() + BLOCK)
    free = recorded["clipping"] == "none"
    return recorded.assign(difference=recorded["difference"].where(~free, least * share))


def over_factors(rows):
    """Step -> the largest difference over factors."""
    return rows.groupby("step")["difference"].max().clip(lower=FLOOR)


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(4, 2, width=3.7, height=3.1)
    colors = dict(zip(data["optimizer"].unique(), OPTIMIZERS, strict=False))
    last = data["step"].max() + BLOCK
    broken = worst(data[data["clipping"] == PLAIN]).min()
    free, clipped = ((data["clipping"] == "none") == kept for kept in (True, False))
    for axis, (key, name) in zip(axes[:, :3].flat, (ARCHITECTURES | KINDS).items(), strict=True):
        rows = data[(data["architecture"] == key) & free]
        for optimizer, part in rows.groupby("optimizer", sort=False):
            curve = over_factors(part)
            axis.semilogy(curve.index, curve, lw=1, color=colors[optimizer], label=optimizer)
        rival = {"ls": "--", "lw": 1, "color": "0.6", "label": "rival: as by clipping"}
        steps = np.arange(BLOCK, last + 1, BLOCK)
        axis.semilogy(steps - BLOCK, broken * steps / last, **rival)
        axis.set_title(f"{name}\nk = {factors(rows)}", fontsize=9)
    for axis, name in zip(axes[:, 3], (PLAIN, AWARE), strict=True):
        rows = data[clipped & (data["clipping"] == name)]
        for (key, optimizer), part in rows.groupby(["architecture", "optimizer"], sort=False):
            curve = over_factors(part)
            look = {"marker": MARKERS[key], "ms": 4, "markevery": 5, "lw": 1, "mfc": "white"}
            label = f"{ARCHITECTURES[key]}, {optimizer}"
            axis.semilogy(curve.index, curve, color=colors[optimizer], label=label, **look)
        axis.set_title(f"clipped at every step by the\n{name}, k = {factors(rows)}", fontsize=9)
    highest = data["difference"][np.isfinite(data["difference"])].max()
    for axis in axes.flat:
        axis.axhline(
            BOUND, color="0.5", lw=0.8, ls=":", label=f"bound: $10^{{{math.log10(BOUND):.0f}}}$"
        )
        axis.set_xlabel("step after widening")
        axis.set_ylim(FLOOR / 2, max(10, 2 * highest))
    for axis in axes[:, 0]:
        axis.set_ylabel(r"$\max|f_{wide} - f_{base}|\ /\ \max|f_{base}|$")
    # Between the bound and the rival there is room in every panel.
    for axis in (axes[0, 0], *axes[:, 3]):
        axis.legend(fontsize=7, ncols=2, loc="center", bbox_to_anchor=(0.5, 0.62))
    return figure


def factors(rows):
    """The factors k of some rows, in words."""
    return ", ".join(str(k) for k in sorted(rows["factor"].unique()))


FIGURE = Figure(
    title="Dynamic equivalence. A widened run against its base in float64, along training",
    outcome=(
        "A widened run leaves its base by at most {equivalence.mlp} (MLP), {equivalence.resnet} "
        "(ResNet-18), {equivalence.gpt2} (GPT-2)"
    ),
    caption=(
        "Largest output difference over largest output in every five steps, the worst of the "
        "factors k for each architecture and optimizer; a difference of zero is drawn at "
        f"{FLOOR:g}. Upper row: the paper's models. Lower row: what they leave out, widened by the "
        "library; the ResNet's stages by k, k + 1, k and k + 1. Last column: gradients clipped at "
        "every step, by the plain global norm (above) or by one with squared norms weighted k "
        "(vectors) and k_out / k_in (matrices) (below). Dotted: the bound of the claims; dashed: "
        "the rival that they are held against, broken as slowly as the run that clipping disturbs "
        "least. (Ma et al., Appendix C.4; clipping is the suite's.)"
    ),
    studies=(FREE, OWN, CLIPPING),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
