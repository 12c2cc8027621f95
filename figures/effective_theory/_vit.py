"""The ViT's runs behind Figures 1 and 2 and the ablation: one table, optima, largest top-1."""

from repro.core import discovery
from repro.core.spec import lookup
from repro.core.study import TRAINED_SCALES
from repro.verdicts import run_sweeps
from repro.verdicts.answers import over_seeds
from repro.verdicts.figure import Data, Generator, Runs
from repro.verdicts.noise import Design
from studies.effective_theory._strategies import STRATEGIES
from studies.effective_theory.vit import ARMS, MOVES, stage_name

STUDY = "effective_theory/vit"
DECAY = "optimizer.weight_decay"
COLUMNS = ["strategy", "part", "lr", DECAY, "seed", "step"]
COLUMNS += ["train_loss", "valid_loss", "valid_accuracy", "lowest_error"]
# The optimum in (lr, wd) of a search, by the lowest error along a run. Top-1 is a count of images,
# so two points may be equal: the last digit of their errors, which is not the same in a CSV file,
# must not decide between them.
SEARCH = run_sweeps.Grid(
    ("lr", DECAY),
    "lowest_error",
    MOVES,
    tie=1e-9,
    place="the best so far is lr = {:.3g}, wd = {:.3g}",
)


def stages(*parts, of=tuple(STRATEGIES)):
    """The stages of these parts of some strategies, those that there are."""
    arms = ((strategy, part) for part in parts for strategy in of)
    return tuple(f"{STUDY}/{stage_name(*arm)}" for arm in arms if arm in ARMS)


def reduce(runs: Runs, *further) -> Data:
    """Every stage's records in one table; a search's rounds belong to its stage.

    further: columns beside COLUMNS; there is `round`, of a search, 0 its starting grid.
    """
    places = {stage_name(*arm): arm for arm in ARMS}

    def label(name):
        strategy, part = places[name.stage]
        return {"strategy": strategy, "part": part, "round": name.round}

    return run_sweeps.gathered(runs, label).reindex(columns=[*COLUMNS, *further])


def rows_of(data: Data, strategy, part):
    """The rows of one strategy's part."""
    return data[(data["strategy"] == strategy) & (data["part"] == part)]


def searches(data: Data):
    """Strategy -> the rows of its search, of those that there are."""
    found = {strategy: rows_of(data, strategy, "search") for strategy in STRATEGIES}
    return {strategy: rows for strategy, rows in found.items() if len(rows)}


def setting(scale: str, key, part="best"):
    """A setting of the standard strategy's runs at a scale."""
    study = discovery.study(f"{STUDY}/{stage_name('standard', part)}")
    return lookup(study.settings(scale), key)


def top1(rows):
    """Seed -> largest top-1 along the run in %, as the captions report; 0 where there is none."""
    return 100 * rows.groupby("seed")["valid_accuracy"].max().fillna(0.0)


def edges(data: Data, *strategies, part="search"):
    """Why some strategies' searches have no optimum: neighbours that were not tried; "" when there
    are none, and where there is no such search."""
    searches = {strategy: rows_of(data, strategy, part) for strategy in strategies}
    return run_sweeps.by_name(
        {name: SEARCH.edge(rows) for name, rows in searches.items() if not rows.empty}
    )


def arm_in_words(data: Data, strategy, part):
    """Mean of the largest top-1 of one strategy's part, and at which (lr, wd)."""
    rows = rows_of(data, strategy, part)
    lr, decay = rows[["lr", DECAY]].iloc[0]
    return f"{strategy} {top1(rows).mean():.2f} % at lr {lr:.4g}, wd {decay:.4g}"


def in_words(data: Data, part="best"):
    """`arm_in_words` of every strategy that has the part."""
    there = [strategy for strategy in STRATEGIES if len(rows_of(data, strategy, part))]
    return "; ".join(arm_in_words(data, strategy, part) for strategy in there)


def set_apart(recorded: Data, sides, rng: Generator):
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


def draw_curve(panel, run, scale: str, **style):
    """Top-1 in % at every evaluation, of which there is one an epoch at reduced and paper scale."""
    evaluation = run["step"] / (setting(scale, "steps") / setting(scale, "evaluations"))
    panel.plot(evaluation, 100 * run["valid_accuracy"], **style)


def label_axes(panel, scale: str):
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
