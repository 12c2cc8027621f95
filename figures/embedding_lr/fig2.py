"""Figure 2: token frequencies follow Zipf's law."""

from statistics import NormalDist

from repro.theory import zipf
from repro.verdicts.answers import (
    OURS,
    THEORY,
    TOLERANCE,
    Test,
    all_scales,
    below,
    between,
    exact,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs, View
from repro.verdicts.power import Laws
from repro.verdicts.printed import numbers

ANSWERS = (
    Test(
        id="fig2.zipf-exponent",
        kind=THEORY,
        statement="zipf",
        column="exponent",
        quantity="exponent a farthest from 1 over the vocabularies",
        expected=all_scales(
            between(
                0.7,
                1.3,
                TOLERANCE,
                "'close to 1' read as 0.3 at most; 1/2, where the paper's regime ends, is outside",
            )
        ),
        real_data=True,
    ),
    Test(
        id="fig2.zipf-fit",
        kind=THEORY,
        statement="zipf",
        column="fit",
        quantity="residual of log frequency by Zipf's law over that by a log-normal law, both with "
        "two parameters, the largest over the vocabularies",
        expected=all_scales(
            below(
                1, OURS, "'excellent' has no number: which of two laws leaves the smaller residual"
            )
        ),
        real_data=True,
    ),
)
POWERS = {"Zipf": 1.0, "i^-1/2": 0.5, "i^-2": 2.0}
LOG_NORMAL = "log-normal"  # of a spread that looks straight over the first decades
SPREAD = 2.5
LAWS = {
    "fig2.zipf-exponent": Laws("Zipf", ("i^-1/2", "i^-2")),
    "fig2.zipf-fit": Laws("Zipf", (LOG_NORMAL,)),
}


def reduce(runs: Runs) -> Data:
    return runs["embedding_lr/frequencies"]


def fits(data: Data):
    """Vocabulary size -> (Zipf, Zipf-Mandelbrot), over every rank with an occurrence.

    The ranks are evenly spaced in log rank, so each decade of ranks weighs the same.
    """
    result = {}
    for size, part in data.groupby("data.vocab_size"):
        rank, frequency = (
            part["rank"].to_numpy(float),
            (part["count"] / part["tokens"]).to_numpy(),
        )
        result[size] = zipf.fit(rank, frequency), zipf.fit_mandelbrot(rank, frequency)
    return result


def measure(data: Data, scale: str) -> Measured:
    found = fits(data)
    words = []
    for size, (plain, mandelbrot) in found.items():
        part = data[data["data.vocab_size"] == size].iloc[0]
        words.append(
            f"m={size}: a = {plain.exponent:.3f} (R^2 {plain.r2:.3f}), Zipf-Mandelbrot a = "
            f"{mandelbrot.exponent:.3f}, q = {mandelbrot.shift:.2f} (R^2 {mandelbrot.r2:.3f}), "
            f"vocabulary reached {part['vocab_reached']}, ranks 1 to {part['types_used']}"
        )
    # Nothing is random in a corpus: of several vocabularies the one that fits worst is judged.
    exponent = max((f.exponent for f, _ in found.values()), key=lambda a: abs(a - 1))
    residuals = [
        found[size][0].rms
        / zipf.lognormal_rms(
            part["rank"].to_numpy(), part["count"] / part["tokens"], part["vocab_reached"].iloc[0]
        )
        for size, part in data.groupby("data.vocab_size")
    ]
    detail = "; ".join(words)
    return {
        "fig2.zipf-exponent": exact(exponent, detail=detail),
        "fig2.zipf-fit": exact(max(residuals), detail=detail),
    }


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """Counts of as many tokens, each type's drawn by itself, at the recorded ranks; of a rank that
    a law leaves without a token there is none."""
    import numpy as np

    drawn = recorded.copy()
    for (_, types), rows in recorded.groupby(["data.vocab_size", "types_used"]).groups.items():
        ranks = np.arange(1, types + 1)
        if law == LOG_NORMAL:
            places = (types - ranks + 0.5) / types
            weights = np.exp([SPREAD * NormalDist().inv_cdf(place) for place in places])
        else:
            weights = ranks ** -POWERS[law]
        tokens = recorded["tokens"].loc[rows[0]]
        counts = np.sort(rng.poisson(tokens * weights / weights.sum()))[::-1]
        drawn.loc[rows, "count"] = counts[recorded["rank"].loc[rows] - 1]
    return drawn[drawn["count"] > 0]


def draw(data: Data, scale: str) -> Drawn:
    import numpy as np

    from repro.verdicts import drawing

    found = fits(data)
    usual, *_ = numbers("embedding_lr", "fig2.zipf-exponent")
    figure, axes = drawing.panels(len(found))
    for ax, (size, part) in zip(axes[0], data.groupby("data.vocab_size"), strict=True):
        rank = part["rank"].to_numpy(float)
        frequency, reached = part["count"] / part["tokens"], part["vocab_reached"].iloc[0]
        ax.loglog(
            rank,
            frequency,
            ".",
            ms=4,
            color=drawing.COLORS[0],
            label="tokens",
        )
        plain, mandelbrot = found[size]
        ax.loglog(
            rank,
            np.exp(plain.intercept) * rank**-plain.exponent,
            "--",
            color="0.2",
            label=f"$i^{{-{plain.exponent:.2f}}}$, $R^2$ = {plain.r2:.3f}; "
            f"paper: $i^{{-{usual:g}}}$",
        )
        ax.loglog(
            rank,
            np.exp(mandelbrot.intercept) * (rank + mandelbrot.shift) ** -mandelbrot.exponent,
            ":",
            color=drawing.COLORS[1],
            label=f"$(i+{mandelbrot.shift:.1f})^{{-{mandelbrot.exponent:.2f}}}$, "
            f"$R^2$ = {mandelbrot.r2:.3f}",
        )
        rival = np.exp(zipf.fit_lognormal(rank, frequency, reached))
        ax.loglog(rank, rival, "-.", lw=1, color="0.6", label="log-normal, for comparison")
        vocabulary = f"m = {size}" if reached == size else f"m = {reached} ({size} asked for)"
        ax.set_title(f"vocabulary {vocabulary}", fontsize=9)
        ax.set_xlabel("rank $i$")
        ax.set_ylabel("frequency (share of tokens)")
        ax.legend(fontsize=7)
    return figure


FIGURE = Figure(
    title="Figure 2. Token frequency against rank",
    outcome=(
        "Frequency falls as 1 / rank^{fig2.zipf-exponent}; Zipf's law leaves {fig2.zipf-fit} "
        "times a log-normal's residual"
    ),
    caption=(
        "Frequency of BPE tokens by rank in the tokenizer's training text, vocabulary sizes m. "
        "Lines: least-squares fits in the logarithms, dashed Zipf's law, dotted Zipf-Mandelbrot's, "
        "grey a log-normal law, to the ranks drawn, evenly spaced in log rank up to the last token "
        "that occurs (Hayou & Liu, Figure 2)."
    ),
    studies=("embedding_lr/frequencies",),
    view=View("rank", "count"),
    answers=ANSWERS,
    laws=LAWS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    simulate=simulate,
)
