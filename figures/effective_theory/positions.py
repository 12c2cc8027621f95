"""Footnote 44: is the gain due to the positional embedding's learning rate?"""

from figures.effective_theory import _vit
from figures.effective_theory._strategies import COLORS
from figures.effective_theory._vit import reduce  # noqa: F401
from repro.judge.claims import TRAINING, Claim, above, below, over_means, reported, trained_scales
from repro.judge.power import SIDES, SIGN

TITLE = "Footnote 44. ViT, only the positional embedding's learning rate changed"
CAPTION = (
    "Largest top-1 of the ViT along the run under the standard and the neural-tangent strategy, "
    "and with the positional embedding's rate alone changed, to n times as high and to that of the "
    "matrices, each at the strategy's (lr*, wd*) (Dinan et al., footnote 44). Circles: seeds; "
    "line: their mean; colour: the strategy."
)
STUDIES = (
    *_vit.stages("search", "best")[:2],
    *_vit.stages("best")[:2],
    *(f"{_vit.STUDY}/{name}" for name in _vit.ABLATIONS),
)
BARS = {
    "standard": ("standard", "best"),
    "standard,\npositions n times faster": ("standard", "positions_raised"),
    "neural-tangent": ("neural-tangent", "best"),
    "neural-tangent,\npositions as the matrices": ("neural-tangent", "positions_lowered"),
}
WHERE = "II.1.E, footnote 44"
CLAIMS = (
    Claim(
        id="positions.raised",
        kind=TRAINING,
        statement="The positional embedding's higher rate alone improves the standard strategy",
        source=WHERE,
        quantity="largest top-1 in percentage points, standard with positions n times faster minus "
        "standard",
        expected=trained_scales(above(0)),
    ),
    Claim(
        id="positions.lowered",
        kind=TRAINING,
        statement="Without it the neural-tangent strategy loses",
        source=WHERE,
        quantity="largest top-1 in percentage points, neural-tangent with positions as its "
        "matrices, minus without",
        expected=trained_scales(below(0)),
    ),
    Claim(
        id="positions.share",
        kind=TRAINING,
        statement="The gain is essentially the positional embedding's",
        source=WHERE,
        quantity="gain of standard by faster positions over the gain of neural-tangent",
        expected=trained_scales(reported("no bound: about 1 if it is all of it")),
    ),
)
LAWS = dict.fromkeys(("positions.raised", "positions.lowered"), SIGN)


def measure(data, scale):
    top1 = {name: _vit.top1(_vit.rows_of(data, *place)) for name, place in BARS.items()}
    standard, raised, tangent, lowered = top1.values()
    problem = _vit.edges(data, "standard", "neural-tangent")
    words = ", ".join(f"{name} {by_seed.mean():.2f} %" for name, by_seed in top1.items())
    words = words.replace("\n", " ")

    def share(seeds):
        means = [by_seed.loc[list(seeds)].mean() for by_seed in (standard, raised, tangent)]
        gain = means[2] - means[0]
        return float((means[1] - means[0]) / gain) if gain else float("nan")

    return {
        "positions.raised": _vit.difference(raised, standard, problem, words),
        "positions.lowered": _vit.difference(lowered, tangent, problem, words),
        "positions.share": over_means(share, standard.index, problem, words),
    }


def simulate(law, recorded, scale, rng):
    standard, raised, tangent, lowered = BARS.values()
    sides = {(raised, standard): -SIDES[law], (lowered, tangent): SIDES[law]}
    return _vit.set_apart(recorded, sides, rng)


def draw(data, scale):
    from repro.judge import drawing

    figure, axes = drawing.panels(1, width=6.5)
    panel = axes[0, 0]
    for i, (strategy, part) in enumerate(BARS.values()):
        largest = _vit.top1(_vit.rows_of(data, strategy, part))
        panel.plot([i] * len(largest), largest, "o", color=COLORS[strategy], mfc="none", ms=6)
        panel.plot([i - 0.2, i + 0.2], [largest.mean()] * 2, color=COLORS[strategy], lw=2)
    panel.set_xticks(range(len(BARS)), list(BARS), fontsize=7)
    panel.set_ylabel("largest top-1 (%)")
    return figure
