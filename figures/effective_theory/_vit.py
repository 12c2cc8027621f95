"""The ViT's runs behind Figures 1 and 2 and the ablation: one table, optima, largest top-1."""

import numpy as np

from repro.judge.claims import over_seeds
from repro.suite import registry, search
from repro.suite.spec import lookup, override
from studies.effective_theory._vit import STRATEGIES
from studies.effective_theory.vit import MOVES, stage_name

STUDY = "effective_theory/vit"
DECAY = "optimizer.weight_decay"
COLUMNS = ["strategy", "part", "lr", DECAY, "seed", "step"]
COLUMNS += ["train_loss", "valid_loss", "valid_accuracy", "lowest_error"]
TRAINED = ("reduced", "paper")
ABLATIONS = {"positions_raised": "standard", "positions_lowered": "neural-tangent"}


def stages(*parts):
    """The stages of these parts of every strategy."""
    return tuple(f"{STUDY}/{stage_name(each, part)}" for part in parts for each in STRATEGIES)


def reduce(runs, *further):
    """Every stage's records in one table; a search's rounds belong to its stage.

    further: columns beside COLUMNS; there is `round`, of a search, 0 its starting grid.
    """
    import pandas as pd

    places = {stage_name(each, part): (each, part) for each in STRATEGIES for part in PARTS}
    places |= {name: (strategy, name) for name, strategy in ABLATIONS.items()}
    tables = []
    for name, table in runs.items():
        stage, _, number = name.rpartition("/")[2].partition("+")
        strategy, part = places[stage]
        tables.append(table.assign(strategy=strategy, part=part, round=int(number or 0)))
    return pd.concat(tables, ignore_index=True).reindex(columns=[*COLUMNS, *further])


PARTS = ("search", "best", "long")


def rows_of(data, strategy, part):
    """The rows of one strategy's part."""
    return data[(data["strategy"] == strategy) & (data["part"] == part)]


def setting(scale, key):
    """A setting of the standard runs at a scale."""
    study = registry.study(f"{STUDY}/{stage_name('standard', 'best')}")
    return lookup(override(study.spec, study.scales[scale].spec), key)


def top1(rows):
    """Seed -> largest top-1 along the run in %, as the captions report; 0 where there is none."""
    return 100 * rows.groupby("seed")["valid_accuracy"].max().fillna(0.0)


def errors(rows, seeds=None):
    """(lr, wd) -> mean lowest error over seeds, infinite where one diverged."""
    last = rows[rows["step"] == rows["step"].max()].fillna({"lowest_error": np.inf})
    seeds = rows["seed"].unique() if seeds is None else seeds
    return {
        point: float(group.set_index("seed")["lowest_error"].loc[list(seeds)].mean())
        for point, group in last.groupby(["lr", DECAY])
    }


def open_around(found, point):
    """Neighbours of a point that were not tried."""
    return search.missing(found | {point: -1.0}, MOVES)


def equals(found):
    """The points of `errors` with the lowest one.

    Top-1 is a count of images, so two points may be equal: the last digit, which is not the same
    in a CSV file, must not decide between them.
    """
    return [point for point, error in found.items() if error <= min(found.values()) + 1e-9]


def optimum(rows, seeds=None):
    """(lr*, wd*) by the mean over seeds; among equals one whose neighbours were all tried."""
    found = errors(rows, seeds)
    return min(equals(found), key=lambda point: len(open_around(found, point)))


def path(rows):
    """The best (lr, wd) after each round of a search, its last the optimum."""
    rounds = sorted(rows["round"].unique())
    return [optimum(rows[rows["round"] <= number]) for number in rounds]


def edge(data, strategy):
    """Why a strategy's optimum is none: neighbours that were not tried; "" when there are none."""
    rows = rows_of(data, strategy, "search")
    found = errors(rows)
    if not np.isfinite(min(found.values())):
        return f"{strategy}: every run diverged"
    lr, decay = optimum(rows)
    if not open_around(found, (lr, decay)):
        return ""
    return f"{strategy}: search limit, the best so far is lr = {lr:.3g}, wd = {decay:.3g}"


def edges(data, *strategies):
    """`edge` of some strategies."""
    return "; ".join(words for each in strategies if (words := edge(data, each)))


def in_words(data, part="best"):
    """Mean of the largest top-1 by strategy, and at which (lr, wd)."""
    words = []
    for strategy in STRATEGIES:
        rows = rows_of(data, strategy, part)
        if len(rows):
            lr, decay = rows[["lr", DECAY]].iloc[0]
            words.append(f"{strategy} {top1(rows).mean():.2f} % at lr {lr:.4g}, wd {decay:.4g}")
    return "; ".join(words)


def draw_curve(panel, run, scale, **style):
    """Top-1 in % at every evaluation, of which there is one an epoch at reduced and paper scale."""
    evaluation = run["step"] / (setting(scale, "steps") / setting(scale, "evaluations"))
    panel.plot(evaluation, 100 * run["valid_accuracy"], **style)


def label_axes(panel, scale):
    """Axes of `draw_curve`, ticks at whole epochs."""
    panel.set_xlabel("epoch" if scale in TRAINED else "evaluation")
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
