"""Theorem 1 measured: feature changes of one SignSGD step against the closed forms."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from repro.statistics import slope, t_interval
from repro.theory import sign_sgd
from repro.verdicts.answers import (
    ARITHMETIC,
    CONTROL,
    OURS,
    THEORY,
    TOLERANCE,
    Prediction,
    Test,
    all_scales,
    at_most,
    exact,
    over_batches,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.noise import Design
from repro.verdicts.power import Laws
from repro.verdicts.printed import numbers

GRID, REGIMES = "embedding_lr/rank_dependence", "embedding_lr/regimes"
REAL = "embedding_lr/real_residual"
STUDIES = (GRID, REGIMES, REAL)
TAIL = ">100"
NOISE = "room for the noise of the draws; without a term of Theorem 1 it would be outside"
TWO_LAWS = "a tenth of what is between the two regimes, powers 1/2 and 1 of d"
ANSWERS = (
    Test(
        id="theorem1.lemma-1",
        kind=ARITHMETIC,
        statement="frequencies",
        column="closed form",
        quantity="slope of log mean i^-2a against log m farthest from -1, a = 3/4, 1, 3/2",
        expected=all_scales(
            within(
                -1,
                0.05,
                TOLERANCE,
                "the law is of large m: slopes up to 2^18 have not quite reached it",
            )
        ),
    ),
    Test(
        id="theorem1.delta-embedding",
        kind=THEORY,
        statement="one-step",
        column="embedding's update",
        quantity="largest |measured/predicted - 1| over (d, m), d >= 64",
        expected=all_scales(at_most(0.03, TOLERANCE, NOISE)),
    ),
    Test(
        id="theorem1.delta-output-uniform",
        kind=THEORY,
        statement="one-step",
        column="projection's, equal frequencies",
        quantity="largest |measured/predicted - 1| over (d, m) and bins of ranks past 1, a = 0",
        expected=all_scales(at_most(0.05, TOLERANCE, NOISE)),
    ),
    Test(
        id="theorem1.delta-output-tail",
        kind=THEORY,
        statement="one-step",
        column="projection's, rare tokens",
        quantity="largest |measured/predicted - 1| over (d, m), ranks > 100, a = 1/2",
        expected=all_scales(at_most(0.05, TOLERANCE, NOISE)),
    ),
    Test(
        id="theorem1.head-tokens",
        kind=THEORY,
        statement="one-step",
        column="projection's, most frequent token",
        quantity="measured/predicted for rank 1, a = 1, mean over (d, m)",
        expected=all_scales(within(1, 0.05, TOLERANCE, NOISE)),
    ),
    Test(
        id="theorem1.exact-share",
        kind=CONTROL,
        statement="exact-share",
        column="linear model",
        quantity="largest |measured/exact - 1| over (d, m) and bins of ranks, a = 1/2 and 1",
        expected=all_scales(at_most(0.05, OURS, "room for the noise of the draws")),
    ),
    Test(
        id="theorem1.assumption-2",
        kind=THEORY,
        statement="residual",
        column="linear model",
        quantity="largest |measured/predicted - 1| over (d, m), the residual EW - Z of the model, "
        "uniform alpha",
        expected=all_scales(at_most(0.05, TOLERANCE, NOISE)),
    ),
    Test(
        id="theorem1.ratio",
        kind=THEORY,
        statement="ratio",
        column="linear model, m = 8d",
        quantity="slope of log delta_W / delta_E against log d, m = 8d, rank 1, a = 1",
        expected=all_scales(within(0.5, 0.05, TOLERANCE, TWO_LAWS)),
    ),
    Test(
        id="theorem1.rare-tokens",
        kind=THEORY,
        statement="regimes",
        column="projection's, rare tokens",
        quantity="slope of log delta_W (sigma_E = 1) against log d, m = 8d, ranks > 100, a = 1",
        expected=all_scales(within(0.5, 0.05, TOLERANCE, TWO_LAWS)),
    ),
    Test(
        id="theorem1.mup-regime",
        kind=THEORY,
        statement="regimes",
        column="embedding's, m = 16",
        quantity="slope of log delta_E (sigma_W = 1) against log d, m = 16",
        expected=all_scales(within(1, 0.05, TOLERANCE, TWO_LAWS)),
    ),
    Test(
        id="theorem1.large-vocabulary-regime",
        kind=THEORY,
        statement="regimes",
        column="embedding's, m = 8d",
        quantity="slope of log delta_E (sigma_W = 1) against log d, m = 8d",
        expected=all_scales(within(0.5, 0.05, TOLERANCE, TWO_LAWS)),
    ),
    Test(
        id="theorem1.figure-1-regime",
        kind=CONTROL,
        statement="figure-1-regime",
        column="closed form",
        quantity="slope of log delta_E (sigma_W = 1) against log d, m = 32768",
        expected=all_scales(within(0.5, 0.05, OURS, TWO_LAWS)),
    ),
)
# Theorem 1 is a sum of a term in d and one in d^2. Law -> how often each is taken.
TERMS = {
    "Theorem 1": (1, 1),
    "no d^2 term": (1, 0),
    "no d term": (0, 1),
    "twice the d^2 term": (1, 2),
}
AS_D = "change as d"
FORMULA = Laws("Theorem 1", ("no d^2 term", "no d term", "twice the d^2 term"))
LAWS = dict.fromkeys(
    (f"theorem1.{name}" for name in ("delta-embedding", "delta-output-uniform")), FORMULA
)
LAWS |= {
    "theorem1.delta-output-tail": FORMULA,
    "theorem1.assumption-2": FORMULA,
    "theorem1.head-tokens": Laws("Theorem 1", ("no d^2 term",)),
    "theorem1.ratio": Laws("Theorem 1", (AS_D,)),
    "theorem1.rare-tokens": Laws("Theorem 1", (AS_D,)),
    "theorem1.mup-regime": Laws("Theorem 1", ("no d^2 term",)),
    "theorem1.large-vocabulary-regime": Laws("Theorem 1", (AS_D,)),
    "theorem1.figure-1-regime": Laws("Theorem 1", (AS_D,)),
}


def reduce(runs: Runs) -> Data:
    import pandas as pd

    return pd.concat(
        [runs[name].assign(study=name.split("/")[1]) for name in STUDIES],
        ignore_index=True,
    )


def by_seed(table, value):
    """Array (seeds, everything else) of a column, and the other coordinates."""
    keys = ["width", "vocab_size", "zipf_exponent", "quantity", "ranks"]
    wide = table.pivot(index="seed", columns=keys, values=value)
    return wide.to_numpy(), wide.columns.to_frame(index=False)


def largest_error(ratios):
    return float(np.abs(ratios - 1).max())


def lemma_1_slope():
    """Slope of log mean squared frequency against log m farthest from -1 over exponents a."""
    m = np.array([2**k for k in range(10, 19)])
    slopes = [
        slope(np.log(m), [np.log(sign_sgd.mean_square_frequency(int(v), a)) for v in m])
        for a in (0.75, 1.0, 1.5)
    ]
    return max(slopes, key=lambda value: abs(value + 1))


def regime(table, vocab_size, quantity="delta_E", ranks="all"):
    """Rows of one vocabulary rule: an integer, or "8d"."""
    size = 8 * table["width"] if vocab_size == "8d" else vocab_size
    chosen = (table["quantity"] == quantity) & (table["ranks"] == ranks)
    return table[chosen & (table["vocab_size"] == size)].sort_values("width")


@cache
def exact_change(width, vocab_size, exponent):
    """Bin of ranks -> delta_W with the exact share of each token, root mean square over the bin."""
    alpha = np.arange(1, vocab_size + 1) ** -float(exponent)
    squares = sign_sgd.delta_output_exact(width, alpha, sigma_e=width**-0.5) ** 2
    bins = {"1": (0, 1), "2-10": (1, 10), "11-100": (10, 100), TAIL: (100, None)}
    return {name: float(squares[slice(*ends)].mean()) ** 0.5 for name, ends in bins.items()}


def over_exact(output):
    """The column `measured` over the exact change, of rows of delta_W."""
    keys = ["width", "vocab_size", "zipf_exponent"]
    found = {point: exact_change(*point) for point in output.groupby(keys).groups}
    points = zip(*(output[key] for key in keys), output["ranks"], strict=True)
    exact = np.array([found[tuple(point)][ranks] for *point, ranks in points])
    return output.assign(ratio=output["measured"] / exact)


def measure(data: Data, scale: str) -> Measured:
    grid = data[data["study"] == "rank_dependence"]
    regimes = data[data["study"] == "regimes"]
    output = grid[grid["quantity"] == "delta_W"]
    zipf = output[output["zipf_exponent"] == 1.0]
    bins = zipf.groupby("ranks")["ratio"].agg(["min", "max"])
    by_bin = "; ".join(f"ranks {r}: {v['min']:.2f} to {v['max']:.2f}" for r, v in bins.iterrows())
    tail = output[(output["ranks"] == TAIL) & (output["zipf_exponent"] == 0.5)]
    real = data[data["study"] == "real_residual"]
    chosen: dict[str, tuple[Data, Callable[[np.ndarray], float], str]] = {
        "delta-embedding": (grid[grid["quantity"] == "delta_E"], largest_error, ""),
        "delta-output-uniform": (
            output[(output["zipf_exponent"] == 0) & (output["ranks"] != "1")],
            largest_error,
            "",
        ),
        "delta-output-tail": (tail, largest_error, ""),
        "head-tokens": (zipf[zipf["ranks"] == "1"], np.mean, by_bin),
        "exact-share": (over_exact(output[output["zipf_exponent"] > 0]), largest_error, ""),
        "assumption-2": (real[real["ranks"] != "1"], largest_error, ""),
    }
    # Bounds are on means over seeds: the largest error of single ones would be that of their noise.
    measured = {
        f"theorem1.{name}": over_batches(by_seed(rows, "ratio")[0], statistic, detail)
        for name, (rows, statistic, detail) in chosen.items()
    }
    measured["theorem1.lemma-1"] = exact(lemma_1_slope())
    for name, vocab_size in (
        ("mup-regime", 16),
        ("large-vocabulary-regime", "8d"),
        ("figure-1-regime", 32_768),
    ):
        changes, points = by_seed(regime(regimes, vocab_size), "measured")
        predicted = sign_sgd.embedding_slope(points["width"], points["vocab_size"])
        log_d = np.log(points["width"].to_numpy())
        # The runs use sigma_W = d^-1/2; the claims are stated for sigma_W = 1.
        measured[f"theorem1.{name}"] = over_batches(
            np.log(changes) + log_d / 2,
            partial(slope, log_d),
            f"the closed form gives {predicted:.3f}",
        )
    frequent, points = by_seed(regime(regimes, "8d", "delta_W", "1"), "measured")
    log_d = np.log(points["width"].to_numpy())
    embedding, _ = by_seed(regime(regimes, "8d"), "measured")
    rare, _ = by_seed(regime(regimes, "8d", "delta_W", TAIL), "measured")
    # The runs use sigma_E = sigma_W = d^-1/2, which drops out of the ratio.
    for name, logs in (
        ("ratio", np.log(frequent / embedding)),
        ("rare-tokens", np.log(rare) + log_d / 2),
    ):
        measured[f"theorem1.{name}"] = over_batches(logs, partial(slope, log_d))
    return measured


def predict(data: Data, scale: str) -> dict[str, Prediction]:
    """What Theorem 1 gives at the widths and vocabularies of the slopes; the limits are its two
    regimes'."""
    regimes = data[data["study"] == "regimes"]

    found = {}
    for name, vocabulary, form, limit in (
        ("mup-regime", 16, sign_sgd.embedding_slope, 1.0),
        ("large-vocabulary-regime", "8d", sign_sgd.embedding_slope, 0.5),
        ("figure-1-regime", 32_768, sign_sgd.embedding_slope, 0.5),
        ("ratio", "8d", partial(sign_sgd.ratio_slope, rank=0), 0.5),
    ):
        rows = regime(regimes, vocabulary)
        value = form(*rows[["width", "vocab_size"]].drop_duplicates().to_numpy().T)
        found[f"theorem1.{name}"] = Prediction(value, value, limit, "Theorem 1")
    return found


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Changes as a law has them, with the recorded noise between seeds."""
    keys = ["study", "width", "vocab_size", "zipf_exponent", "quantity", "ranks"]
    design = Design(recorded, ["measured"], keys)
    if law == AS_D:
        width, predicted = (recorded[name].to_numpy() for name in ("width", "predicted"))
        size = np.log(predicted[width == width.min()].mean())
        # The runs use sigma_W = d^-1/2. Both layers' changes as d: no ratio to balance.
        design.mean[:, 0] = size + 0.5 * np.log(width / width.min())
    else:
        # Rates and spreads are such that the term in d is 1 at every d.
        linear, square = TERMS[law]
        with np.errstate(divide="ignore"):
            squares = linear + square * (recorded["predicted"].to_numpy() ** 2 - 1)
            design.mean[:, 0] = np.log(np.maximum(squares, 1e-6)) / 2
    drawn = design.draw(rng)
    return drawn.assign(ratio=drawn["measured"] / drawn["predicted"])


def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    grid, regimes = data[data["study"] == "rank_dependence"], data[data["study"] == "regimes"]
    figure, axes = drawing.panels(3, width=4.0)
    left, middle, right = axes[0]

    embedding = grid[(grid["quantity"] == "delta_E") & (grid["zipf_exponent"] == 0)]
    for i, (d, rows) in enumerate(embedding.groupby("width")):
        found = rows.groupby("vocab_size")["ratio"].agg(t_interval)
        color = ("0", "0.35", "0.6")[i]
        places = found.index * 1.1 ** (i - 1)  # side by side
        drawing.bars(left, places, found, fmt="os^"[i] + "-", color=color, label=f"d = {d}")
    left.set_xscale("log", base=2)
    left.set_xlim(embedding["vocab_size"].min() / 1.3, embedding["vocab_size"].max() * 1.3)
    left.axhspan(0.97, 1.03, color="0.9", lw=0, label="the claim's bound")
    drawing.log2_axis(left.xaxis)
    left.set_xlabel("vocabulary $m$")
    left.set_ylabel(r"$\bar\delta_E$, measured / predicted")
    drawing.legend_above(left, 2)

    output = grid[grid["quantity"] == "delta_W"]
    labels = list(dict.fromkeys(output["ranks"]))
    keys = ["zipf_exponent", "width", "vocab_size", "ranks"]
    each = output.groupby(keys, as_index=False)["ratio"].agg(t_interval)
    for i, (a, rows) in enumerate(each.groupby("zipf_exponent")):
        place = rows.groupby("ranks").cumcount()
        x = (
            rows["ranks"].map(labels.index)
            + 0.27 * (i - 1)
            + 0.2 * (place / max(place.max(), 1) - 0.5)
        )
        look: dict[str, Any] = {"fmt": "os^"[i], "ms": 3, "color": drawing.COLORS[i], "capsize": 0}
        drawing.bars(middle, x, rows["ratio"], label=f"a = {a:g}", **look)
    middle.axhspan(0.95, 1.05, color="0.9", lw=0, label="the claims' bound")
    middle.set_xticks(range(len(labels)), labels)
    middle.set_xlabel("token rank")
    middle.set_ylabel(r"$\bar\delta_W$, measured / predicted")
    middle.set_title("from left to right by width, then vocabulary; 95 %", fontsize=9)
    drawing.legend_above(middle, 4, title="frequencies $i^{-a}$")

    judged = measure(data, scale)
    for vocab_size, words, name, marker, shade in (
        (16, "m = 16", "mup-regime", "o", drawing.COLORS[3]),
        ("8d", "m = 8d", "large-vocabulary-regime", "s", drawing.COLORS[4]),
        (32_768, "m = 32768", "figure-1-regime", "^", drawing.COLORS[5]),
    ):
        rows = regime(regimes, vocab_size)
        change = (rows["measured"] * np.sqrt(rows["width"])).groupby(rows["width"]).mean()
        predicted = (rows["predicted"] * np.sqrt(rows["width"])).groupby(rows["width"]).mean()
        found = judged[f"theorem1.{name}"]
        words = f"{words}: slope {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"
        words += "".join(
            f", paper {value:g}" for value in numbers("embedding_lr", f"theorem1.{name}")
        )
        right.loglog(change.index, change, marker, ms=4, color=shade, label=words)
        right.loglog(predicted.index, predicted, "-", lw=1, color=shade)
    right.set_xscale("log", base=2)
    drawing.log2_axis(right.xaxis)
    drawing.plain_ticks(right.yaxis)
    right.set_xlabel("width $d$")
    right.set_ylabel(r"$\bar\delta_E / (\eta_E\sigma_W)$")
    right.plot([], [], "-", lw=1, color="0.3", label="predicted")
    drawing.legend_above(right, 1)
    return figure


FIGURE = Figure(
    title="Theorem 1. Feature changes of one SignSGD step, measured over predicted",
    outcome=(
        "Measured over predicted is {theorem1.head-tokens} for the most frequent token; the "
        "embedding's change is within {theorem1.delta-embedding} of the prediction"
    ),
    caption=(
        "Change of the outputs by the update of the embedding (delta_E) and of the output "
        "projection (delta_W). Left and middle: mean over seeds and its 95 % interval, in the "
        "middle a mark for each (d, m). Grey: the claims' bounds on these means; in the middle "
        "claimed for a = 0 past rank 1 and for every a past rank 100. Right: marks measured, with "
        "the 95 % interval of their slope, lines predicted (Hayou & Liu, Theorem 1)."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    predict=predict,
    draw=draw,
    simulate=simulate,
)
