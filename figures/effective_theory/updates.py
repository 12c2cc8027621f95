"""How far training moves outputs and hidden streams, against width, for every s: I.2's aim."""

import math

import numpy as np

from figures.effective_theory._strategies import COLORS
from repro.core import discovery
from repro.statistics import t_interval
from repro.verdicts import widths
from repro.verdicts.answers import (
    TOLERANCE,
    TRAINING,
    Condition,
    Reading,
    Test,
    trained_scales,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.intervals import farthest, in_words
from repro.verdicts.noise import Design
from repro.verdicts.power import AS_CLAIMED, Laws
from repro.verdicts.run_sweeps import gathered
from studies.effective_theory.update_sizes import STAGES
from widthwise.parametrization import s_of

STUDIES = tuple(f"effective_theory/update_sizes/{stage}" for stage in STAGES)
MODELS = {"vit": "ViT", "bart": "BART"}
UNIFORM = "uniform rates"
S_FAMILY = ("neural-tangent", "hybrid", "maximal-update")
WIDTH = "width"


def output(name, model):
    return Test(
        id=f"updates.output-{name}",
        kind=TRAINING,
        statement="output-change",
        column=model,
        quantity="exponent in n of the outputs' root mean square change, the farthest from 0 over "
        "s = 0, 1/2, 1",
        expected=trained_scales(
            within(0, 0.15, TOLERANCE, "a round figure; the nearest rival, n^-1/2, is 1/2 away")
        ),
        conditions=(Condition("n below n_vocab (footnote 19)", as_wide),) if name == "bart" else (),
    )


def as_wide(data, scale):
    """That BART's widths reach its vocabulary, where the contact term is as large as the rest."""
    widest = data.loc[data["model"] == "bart", WIDTH].max()
    vocabulary = discovery.study("effective_theory/update_sizes/bart").settings(scale)["data"]
    size = vocabulary["vocab_size"]
    return f"n to {widest} at n_vocab = {size}" if widest >= size else ""


def hidden(strategy, s, power):
    return Test(
        id=f"updates.hidden-{strategy}",
        kind=TRAINING,
        statement="hidden-change",
        column=f"ViT and BART, s = {s}",
        quantity="exponent in n of the stream's root mean square change, the farthest from "
        f"{power:g} of both models",
        expected=trained_scales(
            within(power, 0.1, TOLERANCE, "less than half way to the next s, 0.125")
        ),
    )


ANSWERS = (
    *(output(*item) for item in MODELS.items()),
    hidden("neural-tangent", "0", -0.5),
    hidden("hybrid", "1/2", -0.25),
    hidden("maximal-update", "1", 0.0),
    Reading(
        id="updates.uniform",
        words="exponent in n of the outputs' root mean square change with one rate for all "
        "parameters, the smaller of both models",
        beside="3/2 by eq. 1.95 with 1.108 to 1.116, before outputs saturate; trials gave 1, and a "
        "bound that was set from them is none",
    ),
)
# Law -> what it adds to the exponents of outputs and of streams.
AS_UNIFORM = "as with uniform rates"
OTHER_S = {"as s = 0": 0.0, "as s = 1/2": 0.5, "as s = 1": 1.0}
LAWS = {
    **{f"updates.output-{m}": Laws(AS_CLAIMED, (AS_UNIFORM, "n^-1/2")) for m in MODELS},
    "updates.hidden-neural-tangent": Laws(AS_CLAIMED, ("as s = 1/2", "as s = 1")),
    "updates.hidden-hybrid": Laws(AS_CLAIMED, ("as s = 0", "as s = 1")),
    "updates.hidden-maximal-update": Laws(AS_CLAIMED, ("as s = 0", "as s = 1/2")),
}
CHANGES = ("output_change", "hidden_change")


def reduce(runs: Runs) -> Data:
    table = gathered(runs, lambda name: {"model": name.stage.split("_")[0]})
    names = table["parametrization"].where(table["rates"] == "strategy", UNIFORM)
    table = table.assign(strategy=names).rename(columns={"model.width": WIDTH})
    columns = ["model", "strategy", WIDTH, "seed", "step", *CHANGES, "output", "hidden"]
    return table[[*columns, "train_loss"]]


def exponents(data: Data):
    """(model, strategy, change) -> exponent in n of a change at the last step."""
    last, found = data[data["step"] == data["step"].max()], {}
    for (model, strategy), rows in last.groupby(["model", "strategy"]):
        for change in CHANGES:
            logs: dict[float, dict[int, float]] = {
                int(n): dict(zip(each["seed"], np.log(each[change]), strict=True))
                for n, each in rows.groupby(WIDTH)
            }
            found[model, strategy, change] = widths.exponent(logs)
    return found


def measure(data: Data, scale: str) -> Measured:
    found = exponents(data)

    def of(keys, power):
        """The exponent that is farthest from a power."""
        each = [found[key] for key in keys]
        words = ", ".join(
            f"{model} {strategy} {one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"
            for (model, strategy, _), one in zip(keys, each, strict=True)
        )
        return farthest(each, power, words)

    measured = {
        f"updates.output-{model}": of([(model, s, "output_change") for s in S_FAMILY], 0.0)
        for model in MODELS
    }
    for strategy in S_FAMILY:
        keys = [(model, strategy, "hidden_change") for model in MODELS]
        measured[f"updates.hidden-{strategy}"] = of(keys, hidden_power(s_of(strategy)))
    rivals = [(model, UNIFORM, "output_change") for model in MODELS]
    return measured | {"updates.uniform": of(rivals, math.inf)}  # the smallest


def hidden_power(s):
    """-(1 - s) / 2."""
    return -(1 - s) / 2


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Changes as powers of n, in the middle as large as the recorded, with the recorded noise."""
    design = Design(recorded, CHANGES, ["model", "strategy", WIDTH, "step"])
    log_n = np.log(recorded[WIDTH].to_numpy())
    for (_, strategy, _), at in recorded.groupby(["model", "strategy", "step"]).indices.items():
        powers, middle = np.array(law_powers(law, strategy)), design.mean[at].mean(0)
        design.mean[at] = middle + powers * (log_n[at] - log_n[at].mean())[:, None]
    return design.draw(rng)


def law_powers(law: str, strategy):
    """Exponents of outputs and streams of a strategy under a law."""
    if strategy == UNIFORM:
        return 1.0, 1.0
    outputs = {AS_UNIFORM: 1.0, "n^-1/2": -0.5}.get(law, 0.0)
    return outputs, hidden_power(OTHER_S.get(law, s_of(strategy)))


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(CHANGES), len(MODELS), width=4.8, height=3.8)
    titles = dict(zip(CHANGES, ("outputs", "stream behind the last block"), strict=True))
    last, powers = data[data["step"] == data["step"].max()], exponents(data)
    for row, (model, name) in zip(axes, MODELS.items(), strict=True):
        for panel, change in zip(row, CHANGES, strict=True):
            for strategy, marker in zip((*S_FAMILY, UNIFORM), "os^x", strict=True):
                rows = last[(last["model"] == model) & (last["strategy"] == strategy)]
                power = powers[model, strategy, change]
                color = COLORS.get(strategy, "0.5")
                label = f"{strategy}: {in_words(power)}"
                draw_change(panel, rows, change, fmt=marker + "-", color=color, label=label)
            start = last[(last["model"] == model) & (last["strategy"] == S_FAMILY[0])]
            if change == "output_change":
                widths = np.unique(start[WIDTH])
                first = np.exp(np.log(start[start[WIDTH] == widths[0]][change]).mean())
                laws = {"paper: $n^0$": 0.0, "rival:\n$n^{-1/2}$": -0.5}
                drawing.guides(panel, widths, first, laws, "paper: $n^0$")
            else:
                panel.plot([], [], "--", color="0.3", lw=0.8, label="dashes: the paper's power")
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            drawing.log2_axis(panel.xaxis)
            drawing.plain_ticks(panel.yaxis)
            panel.set_xlabel("width $n$")
            panel.set_ylabel(
                f"{name}: {titles[change]},\nRMS change after {last['step'].iloc[0]:g} steps"
            )
            above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "handlelength": 1.2}
            panel.legend(title="exponent in $n$", fontsize=8, **above)
    return figure


def draw_change(panel, rows, change, **style):
    """A strategy's change against width, with 95 % intervals; dashed: the paper's power, of the
    stream's."""
    from repro.verdicts import drawing

    logs = {n: np.log(each) for n, each in rows.groupby(WIDTH)[change]}
    found = [np.exp(t_interval(values)).tolist() for values in logs.values()]
    drawing.bars(panel, logs, found, **style)
    strategy = rows["strategy"].iloc[0]
    if change == "hidden_change" and strategy in S_FAMILY:
        n = np.array([*logs], float)
        guide = found[0][0] * (n / n[0]) ** hidden_power(s_of(strategy))
        panel.plot(n, guide, "--", lw=0.8, color=style["color"])


FIGURE = Figure(
    title="Sections I.2 and I.3. Updates of the network function and of the stream, in training",
    outcome=(
        "A step changes the outputs as n^{updates.output-vit} in the ViT and as "
        "n^{updates.output-bart} in BART, where the paper says n^0"
    ),
    caption=(
        "Root mean square change of the outputs (left) and of the stream that the last LayerNorm "
        "reads (right), on held-out data after the first steps of AdamW, against the width: mean "
        "of logarithms and 95 % interval over seeds. Every s gives the matrices one rate at one "
        "width; uniform rates are the rival. Above: exponents in n with their intervals; dashed, "
        "right: n^-(1-s)/2 (Dinan, Yaida & Zhang, I.2 and footnote 21)."
    ),
    studies=STUDIES,
    view=View(WIDTH, "output_change", {"model": "vit"}),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
