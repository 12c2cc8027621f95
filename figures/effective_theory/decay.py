"""Control (ours): does the headline change where weight decay acts, and are lr* wd* equal then?"""

import math

from figures.effective_theory import _vit
from figures.effective_theory._strategies import ratio_of_rates, style
from figures.effective_theory._vit import DECAY
from repro.verdicts.answers import Reading
from repro.verdicts.figure import Figure, View
from studies.effective_theory._strategies import COMPARED, STANDARD, TANGENT, matrix_factor

# A search and runs at its optimum; and where decay acts in any case.
ACTING = ("decay_search", "decay")
ANYWAY = ("order_one_search", "order_one")
ANSWERS = (
    Reading(
        id="decay.nt-better",
        words="largest top-1 in percentage points, neural-tangent minus standard, both with "
        "positions of standard deviation 1, each at the (lr*, wd*) of a search that starts where "
        "the sum of lr wd along the run is 1",
        beside="above 0 in the paper's setting",
    ),
    Reading(
        id="decay.product",
        words="lr* wd* of neural-tangent over that of standard, wd* by a parabola through the "
        "best decay and its neighbours at lr*",
        beside="1 in the paper; one search, one seed",
    ),
)


def reduce(runs):
    """One table; at the scales of a GPU that of the runs with positions of order one."""
    data = _vit.reduce(runs)
    own = data["part"].isin(ACTING)
    return data[own].reset_index(drop=True) if own.any() else data


def parts(data):
    """The names of the search and of the runs at its optimum."""
    return ACTING if (data["part"] == ACTING[0]).any() else ANYWAY


def summed(scale, part, product):
    """Sum of lr wd along a run: warm-up and cosine take half of the rate, on average."""
    return product * _vit.setting(scale, "steps", part) / 2


def best_product(rows, seeds):
    """log2 of lr* wd*; all seeds together say lr*, and which decays are wd*'s neighbours."""
    lr, _ = _vit.SEARCH.optimum(rows).point
    return math.log2(lr) + _vit.SEARCH.vertex(rows, DECAY, seeds)


def measure(data, scale):
    search, runs = parts(data)
    problem = _vit.edges(data, *COMPARED, part=search)
    searched = {strategy: _vit.rows_of(data, strategy, search) for strategy in COMPARED}
    sums = "; ".join(
        f"{strategy} lr* wd* {lr * wd:.3g}, summed {summed(scale, runs, lr * wd):.2g}"
        for strategy, rows in searched.items()
        for lr, wd in [_vit.SEARCH.optimum(rows).point]
    )

    # Products that are equal may be a step of the search apart on its points: hence the vertex.
    def octaves(seeds):
        return best_product(searched[TANGENT], seeds) - best_product(searched[STANDARD], seeds)

    words = "; ".join(_vit.arm_in_words(data, strategy, runs) for strategy in COMPARED)
    standard, tangent = top1(data, runs)
    seeds = searched[STANDARD]["seed"].unique()
    return {
        "decay.nt-better": _vit.difference(tangent, standard, problem, f"{words}; {sums}"),
        "decay.product": ratio_of_rates(octaves, seeds, problem, sums),
    }


def top1(data, part):
    """Of both strategies, by seed."""
    return [_vit.top1(_vit.rows_of(data, strategy, part)) for strategy in COMPARED]


def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(3, width=3.4, height=3.4)
    axes[0, 1].sharey(axes[0, 0])
    search, runs = parts(data)
    width = _vit.setting(scale, "model.width")
    found = {strategy: _vit.rows_of(data, strategy, search) for strategy in COMPARED}
    rates = {
        strategy: {lr: round(math.log2(lr * matrix_factor(strategy, width))) for lr in rows["lr"]}
        for strategy, rows in found.items()
    }
    # One colour a rate in both panels.
    colors = drawing.ramp(power for powers in rates.values() for power in powers.values())
    for panel, (strategy, rows) in zip(axes[0], found.items(), strict=False):
        styles = {lr: (power, colors[power]) for lr, power in rates[strategy].items()}
        draw_search(panel, rows, styles, lambda product: summed(scale, runs, product))
        panel.set_title(f"{strategy}: search", fontsize=9)
    draw_runs(axes[0, 2], top1(data, runs))
    return figure


def draw_search(panel, rows, styles, total):
    """Largest top-1 against the sum of lr wd, a line a rate, a circle around the optimum.

    styles: lr -> log2 of the matrices' rate, its colour. total: lr wd -> its sum along a run.
    """
    top = {point: _vit.top1(group).mean() for point, group in rows.groupby(["lr", DECAY])}
    for lr in sorted(rows["lr"].unique()):
        power, color = styles[lr]
        line = {total(lr * wd): mean for (rate, wd), mean in top.items() if rate == lr}
        label = f"$2^{{{power}}}$"
        panel.plot([*line], [*line.values()], "o-", ms=4, lw=1, color=color, label=label)
    best = _vit.SEARCH.optimum(rows).point
    ring = {"ms": 13, "mfc": "none", "color": "black", "ls": "none"}
    panel.plot(total(math.prod(best)), top[best], "o", **ring, label="optimum")
    panel.set_xscale("log", base=2)
    panel.set_xlabel("sum of lr wd along the run")
    panel.set_ylabel("largest top-1 (%)")
    panel.legend(title="matrices' rate", fontsize=8, title_fontsize=8, labelspacing=0.8)


def draw_runs(panel, both):
    """A column of circles for each strategy, and its mean. both: from `top1`."""
    for x, (strategy, largest) in enumerate(zip(COMPARED, both, strict=True)):
        color = style(strategy)["color"]
        panel.plot([x] * len(largest), largest, "o", color=color, mfc="none", ms=5)
        panel.plot([x - 0.2, x + 0.2], [largest.mean()] * 2, color=color, lw=2)
    panel.plot([], [], "o", color="0.4", mfc="none", ms=5, label="a seed")
    panel.plot([], [], lw=2, color="0.4", label="mean")
    panel.legend(fontsize=8, loc="upper left")
    panel.set_xticks(range(len(COMPARED)), COMPARED)
    panel.set_xlim(-0.6, len(COMPARED) - 0.4)
    panel.set_ylabel("largest top-1 (%)")
    panel.set_title("at the optima", fontsize=9)


FIGURE = Figure(
    title="Control. ViT, standard against neural-tangent where weight decay acts",
    outcome=(
        "Where weight decay acts, neural-tangent's top-1 is {decay.nt-better} points above "
        "standard's"
    ),
    caption=(
        "The ViT whose positions begin with standard deviation 1 (reduced: 12 epochs). Left: "
        "largest top-1 along the run for every (lr, wd) of a search by II.1.E's rule (Dinan et "
        "al.), against the sum of lr wd along the run; a line a rate, that of the matrices in "
        "powers of 2, of one colour in both panels, without a mark where the search has not been; "
        "circle: the optimum. Right: fresh seeds at it, circles; line: their mean."
    ),
    studies=_vit.stages(*ACTING, *ANYWAY, of=COMPARED),
    view=View("step", "valid_accuracy", {"part": "decay"}),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
