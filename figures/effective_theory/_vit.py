"""The ViT's runs behind Figures 1 and 2 and the ablation: one table, optima, largest top-1."""

from repro.judge import tables
from repro.judge.claims import over_seeds
from repro.judge.noise import Design
from repro.judge.optimum import search_optimum
from repro.suite import registry
from repro.suite.names import StageName
from repro.suite.spec import lookup
from repro.suite.study import TRAINED_SCALES
from studies.effective_theory._strategies import STRATEGIES
from studies.effective_theory.vit import MOVES, stage_name

STUDY = "effective_theory/vit"
DECAY = "optimizer.weight_decay"
COLUMNS = ["strategy", "part", "lr", DECAY, "seed", "step"]
COLUMNS += ["train_loss", "valid_loss", "valid_accuracy", "lowest_error"]
ABLATIONS = {"positions_raised": "standard", "positions_lowered": "neural-tangent"}


def stages(*parts):
    """The stages of these parts of every strategy."""
    return tuple(
        f"{STUDY}/{stage_name(strategy, part)}" for part in parts for strategy in STRATEGIES
    )


def reduce(runs, *further):
    """Every stage's records in one table; a search's rounds belong to its stage.

    further: columns beside COLUMNS; there is `round`, of a search, 0 its starting grid.
    """
    import pandas as pd

    places = {
        stage_name(strategy, part): (strategy, part) for strategy in STRATEGIES for part in PARTS
    }
    places |= {name: (strategy, name) for name, strategy in ABLATIONS.items()}
    parts = []
    for name, table in runs.items():
        origin = StageName.parse(name)
        strategy, part = places[origin.stage]
        parts.append(table.assign(strategy=strategy, part=part, round=origin.round))
    return pd.concat(parts, ignore_index=True).reindex(columns=[*COLUMNS, *further])


PARTS = ("search", "best", "long")


def rows_of(data, strategy, part):
    """The rows of one strategy's part."""
    return data[(data["strategy"] == strategy) & (data["part"] == part)]


def setting(scale, key):
    """A setting of the standard runs at a scale."""
    study = registry.study(f"{STUDY}/{stage_name('standard', 'best')}")
    return lookup(study.settings(scale), key)


def top1(rows):
    """Seed -> largest top-1 along the run in %, as the captions report; 0 where there is none."""
    return 100 * rows.groupby("seed")["valid_accuracy"].max().fillna(0.0)


def optimum(rows, seeds=None):
    """The optimum in (lr, wd) of a search, by the lowest error along a run, mean over seeds.

    Top-1 is a count of images, so two points may be equal: the last digit of their errors, which is
    not the same in a CSV file, must not decide between them.
    """
    errors = tables.mean_losses(rows, ["lr", DECAY], "lowest_error", seeds)
    return search_optimum(errors, MOVES, tie=1e-9)


def edge(data, strategy):
    """Why a strategy's optimum is none: neighbours that were not tried; "" when there are none."""
    found = optimum(rows_of(data, strategy, "search"))
    lr, decay = found.point
    problem = found.problem(f"the best so far is lr = {lr:.3g}, wd = {decay:.3g}")
    return f"{strategy}: {problem}" if problem else ""


def edges(data, *strategies):
    """`edge` of some strategies."""
    return tables.joined(*(edge(data, strategy) for strategy in strategies))


def in_words(data, part="best"):
    """Mean of the largest top-1 by strategy, and at which (lr, wd)."""
    words = []
    for strategy in STRATEGIES:
        rows = rows_of(data, strategy, part)
        if len(rows):
            lr, decay = rows[["lr", DECAY]].iloc[0]
            words.append(f"{strategy} {top1(rows).mean():.2f} % at lr {lr:.4g}, wd {decay:.4g}")
    return "; ".join(words)


def set_apart(recorded, sides, rng):
    """The table with new seeds, and some arms' top-1 elsewhere by its recorded difference.

    sides: (ours, other), each a (strategy, part) -> 1 puts ours below, 0 upon, -1 above the other.
    """
    axes = ["strategy", "part", "lr", DECAY, "step"]
    design = Design(recorded, ["valid_accuracy"], axes, log=False)
    for pair, side in sides.items():
        ours, other = (design.rows(strategy=name, part=part) for name, part in pair)
        if len(ours) and len(other):  # not every scale has all parts
            design.set_apart(ours, other, side)
    drawn = design.draw(rng)
    return drawn.assign(valid_accuracy=drawn["valid_accuracy"].clip(0, 1))


def draw_curve(panel, run, scale, **style):
    """Top-1 in % at every evaluation, of which there is one an epoch at reduced and paper scale."""
    evaluation = run["step"] / (setting(scale, "steps") / setting(scale, "evaluations"))
    panel.plot(evaluation, 100 * run["valid_accuracy"], **style)


def label_axes(panel, scale):
    """Axes of `draw_curve`, ticks at whole epochs."""
    panel.set_xlabel("epoch" if scale in TRAINED_SCALES else "evaluation")
    panel.set_ylabel("top-1 (%)")
    panel.xaxis.get_major_locator().set_params(integer=True)


def difference(one, other, problem="", detail=""):
    """Mean over seeds of one quantity minus another, each a table by seed."""
    return over_seeds(
        lambda seeds: float(one.loc[list(seeds)].mean() - other.loc[list(seeds)].mean()),
        one.index,
        problem,
        detail,
    )
