"""Ways to grow a model against training it from scratch, by the factor of its width and the budget.

Ours, on the abstract of Mallik et al. (arXiv 2605.13405): `studies/growth/_ways.py`.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from repro.core import discovery
from repro.core.names import StageName
from repro.core.spec import override
from repro.core.study import OVERNIGHT
from repro.tasks import TASKS
from repro.verdicts import run_sweeps
from repro.verdicts.answers import (
    STATED,
    TRAINING,
    Condition,
    Reading,
    Test,
    above,
    exact,
    over_seeds,
    trained_scales,
)
from repro.verdicts.figure import Data, Drawn, Figure, Generator, Measured, Runs
from repro.verdicts.intervals import joined
from repro.verdicts.noise import Design
from repro.verdicts.power import SIDES, SIGN
from studies.growth._ways import FACTORS, SHRINK
from studies.growth.grown import NAMES as WAYS_OF

NETWORKS = {"mlp": "MLP", "gpt2": "GPT-2"}
SCRATCH, RATES = "scratch", "rates_"
POINT = ["network", "stage", "factor", "budget"]
TUNED = ["lr", "setting"]
COLUMNS = (*POINT, *TUNED, "seed", "step", "train_loss")
LOW, HIGH = 0, 1
TWO, MOST = FACTORS[0], FACTORS[-1]
RATIO = "final training loss over that from scratch"
SHRUNK = f"{RATIO} for equal operations, shrunk"
# Name -> (statement, quantity, bound).
TESTS = {
    "preserving": (
        f"final training loss, grown by {TWO}, the best way that keeps the function over shrunk",
        above(1, STATED, "none is better"),
    ),
    "limit": (f"{SHRUNK} and grown by {MOST}", above(1, STATED, "from scratch is as good")),
    "factor-two": (
        f"{SHRUNK}, the lowest by a larger factor over that by {TWO}",
        above(1, STATED, "the gain is largest by 2"),
    ),
    "budget": (
        f"{SHRUNK} and grown by {TWO}, at the larger budget over at the smaller",
        above(1, STATED, "the gain falls"),
    ),
}
# What so many seeds tell at the default scale, by a pilot.
TOLD = ("preserving-gpt2", "limit-gpt2", "budget-mlp")
WORDS = {
    "copies": "copies",
    "noisy": "copies, noise",
    "zeros": "zeros, noise",
    SHRINK: "shrunk",
}
EQUAL = {"steps": "for equal steps of the wide model", "operations": "for equal operations"}
STUDIES = tuple(
    f"growth/grown/{network}_{of}{way}"
    for network, names in WAYS_OF.items()
    for way in (*names, SCRATCH)
    for of in ("", RATES)
)


ROWS = 12_000  # of the synthetic table, for training


def other_arms(network: str, data: Data, scale: str) -> str:
    """How the arms that are compared are not those that the statement names: the way that keeps the
    function best by noise, which keeps none, or the way that shrinks by a factor of 1."""
    ends = Ends(data, network, scale)
    best = min(ends.keeping, key=lambda way: ends.final_losses(way).mean())
    level, shrink = (ends.rows[way, TWO, LOW]["setting"].iloc[0] for way in (best, SHRINK))
    noise = f"{WORDS[best]} of {level:g} in the arm that keeps the function" if level else ""
    return joined(noise, "" if shrink else "a factor of 1 in the arm that shrinks")


def seen_again(network: str, data: Data, scale: str) -> str:
    """How often the longest runs on a table see its rows; "" of text, which is drawn anew."""
    settings = discovery.study(f"growth/grown/{network}_{SCRATCH}").settings(scale)
    steps = data.loc[(data["network"] == network) & (data["stage"] == SHRINK), "step"].max()
    passes = steps * settings["data"]["batch_size"] / ROWS
    return f"every row seen {passes:g} times" if network == "mlp" and passes > 1 else ""


# Name of TESTS -> what its words ask of a design.
ASKED = {
    "preserving": [("one arm that keeps the function and one that shrinks", other_arms)],
    "budget": [("tokens seen once (abstract)", seen_again)],
}
ANSWERS = (
    *(
        Test(
            id=f"ways.{name}-{network}",
            kind=TRAINING,
            statement=name,
            column=words,
            quantity=quantity,
            expected=trained_scales(bound, "reduced" if f"{name}-{network}" in TOLD else OVERNIGHT),
            conditions=tuple(
                Condition(asked, partial(broken, network)) for asked, broken in ASKED.get(name, ())
            ),
        )
        for name, (quantity, bound) in TESTS.items()
        for network, words in NETWORKS.items()
    ),
    *(
        Reading(
            id=f"ways.{name}-{way}-{network}",
            words=f"{words}, {WORDS[way]}, grown by {TWO}: {RATIO} {equal}, at the smaller budget",
        )
        for name, equal in EQUAL.items()
        for network, words in NETWORKS.items()
        for way in WAYS_OF[network]
    ),
)
LAWS = {f"ways.{name}-{network}": SIGN for name in TESTS for network in NETWORKS}


def reduce(runs: Runs) -> Data:
    """One table; budgets are numbered, from the smaller."""

    def factor(table: Data) -> Data:
        return TWO * table["start.width"].max() // table["start.width"]

    def setting(table: Data) -> Data:
        if "start.shrink" in table:
            return 1 - table["start.shrink"]  # which ends where nothing is shrunk
        return table.get("start.level", 0.0)

    def label(name: StageName) -> dict[str, Any]:
        network, _, stage = name.stage.partition("_")
        return {
            "network": network,
            "stage": stage,
            "factor": 1 if stage.endswith(SCRATCH) else factor,
            "setting": setting,
            "budget": lambda table: np.unique(table["steps"], return_inverse=True)[1],
        }

    table = run_sweeps.gathered(runs, label)
    return table[[*COLUMNS]]


@discovery.of_studies
def share(network: str, scale: str, factor: int) -> float:
    """Operations of a base over those of the wide model, for the same steps."""
    study = discovery.study(f"growth/grown/{network}_{SCRATCH}")
    settings = study.settings(scale)
    width = settings["model"]["width"] // factor
    base = override(settings, {"model.width": width})
    cost = TASKS[study.task].cost
    return cost(base).flops / cost(settings).flops


class Ends:
    """Where the runs of a network end: seed -> final training loss."""

    def __init__(self, data: Data, network: str, scale: str) -> None:
        self.rows = dict(list(data[data["network"] == network].groupby(POINT[1:])))
        self.network, self.scale = network, scale
        self.longer = (SHRINK, TWO, HIGH) in self.rows  # whether the larger budget is tried
        self.window = discovery.study(f"growth/grown/{network}_{SCRATCH}").at(scale).window
        self.keeping = [way for way in WAYS_OF[network] if way != SHRINK]

    def final_losses(
        self, stage: str, factor: int = TWO, budget: int = LOW, last: float = np.inf
    ) -> Data:
        """Final training losses by seed. last: the step after which no curve is read."""
        rows = self.rows[stage, factor, budget]
        rows = run_sweeps.at_end(rows[rows["step"] <= last], self.window, ["train_loss"])
        return rows.set_index("seed")["train_loss"]

    def scratch(self, factor: int = TWO, budget: int = LOW, equal: str = "operations") -> Data:
        """From scratch, at the first evaluation not before a grown model's steps or operations."""
        steps = np.unique(self.rows[SCRATCH, 1, budget]["step"])
        asked = self.rows[SHRINK, TWO, budget]["step"].max()
        if equal == "operations":
            asked *= 1 + share(self.network, self.scale, factor)
        return self.final_losses(SCRATCH, 1, budget, steps[np.searchsorted(steps, asked - 1e-9)])

    def ratio(
        self, factor: int = TWO, budget: int = LOW, way: str = SHRINK, equal: str = "operations"
    ) -> Data:
        """Seed -> loss over that from scratch."""
        return self.final_losses(way, factor, budget) / self.scratch(factor, budget, equal)

    def quantities(self) -> dict[str, Data]:
        """Name of TESTS -> seed -> its quantity. What is best is so in the mean over seeds."""
        best = min((self.final_losses(way) for way in self.keeping), key=lambda of: of.mean())
        two, *larger = (self.ratio(factor) for factor in FACTORS)
        found = {
            "preserving": best / self.final_losses(SHRINK),
            "limit": larger[-1],
            "factor-two": min(larger, key=lambda of: of.mean()) / two,
        }
        return found | ({"budget": self.ratio(budget=HIGH) / two} if self.longer else {})

    def problem(self) -> str:
        """Which have their best rate at the end of what was tried, of all that are judged."""
        grid = run_sweeps.Grid(TUNED, "train_loss")
        return run_sweeps.by_name(
            {
                f"{stage.removeprefix(RATES)}, factor {factor}, budget {budget}": grid.edge(rows)
                for (stage, factor, budget), rows in self.rows.items()
                if stage.startswith(RATES)
                and (stage[len(RATES) :] in (SHRINK, SCRATCH) or (factor, budget) == (TWO, LOW))
            }
        )


def measure(data: Data, scale: str) -> Measured:
    found = dict.fromkeys((test.id for test in ANSWERS), exact(math.nan, 0, "no such runs here"))
    for network, names in WAYS_OF.items():
        ends = Ends(data, network, scale)
        problem = ends.problem()
        values = {f"ways.{name}-{network}": each for name, each in ends.quantities().items()}
        values |= {
            f"ways.{equal}-{way}-{network}": ends.ratio(way=way, equal=equal)
            for equal in EQUAL
            for way in names
        }
        for name, each in values.items():
            found[name] = over_seeds(_mean_of(each), each.index, problem)
    return found


def _mean_of(values: Data) -> Callable[[Sequence[int]], float]:
    """Seeds -> mean of values over them."""
    return lambda seeds: values[seeds].mean()


def simulate(law: str, recorded: Data, scale: str, rng: Generator) -> Data:
    """What was recorded of each quantity on one side, upon its bound, or on the other side."""
    design = Design(recorded, ["train_loss"], [*POINT, *TUNED, "step"])
    side = SIDES[law]
    for network in WAYS_OF:
        ends = Ends(recorded, network, scale)
        of = {name: side * abs(np.log(each.mean())) for name, each in ends.quantities().items()}
        two = of["limit"] - of["factor-two"]
        wanted = {(k, LOW): of["limit"] for k in FACTORS[1:]}
        wanted |= {(TWO, LOW): two} | ({(TWO, HIGH): two + of["budget"]} if ends.longer else {})
        moved = {
            (SHRINK, *place): asked - np.log(ends.ratio(*place)).mean()
            for place, asked in wanted.items()
        }
        kept = np.log(ends.quantities()["preserving"]).mean() - moved[SHRINK, TWO, LOW]
        moved |= {(way, TWO, LOW): of["preserving"] - kept for way in ends.keeping}
        for (stage, factor, budget), by in moved.items():
            where = {"network": network, "stage": stage, "factor": factor, "budget": budget}
            design.mean[design.rows(**where)] += by
    return design.draw(rng)


def draw(data: Data, scale: str) -> Drawn:
    from repro.statistics import t_interval
    from repro.verdicts import drawing

    figure, axes = drawing.panels(len(WAYS_OF), width=4.8)
    for axis, (network, names) in zip(axes.flat, WAYS_OF.items(), strict=True):
        ends = Ends(data, network, scale)
        for i, (way, words) in enumerate(WORDS.items()):
            if way in names:
                found = [t_interval(ends.ratio(factor, way=way).tolist()) for factor in FACTORS]
                beside = [factor * 1.04**i for factor in FACTORS]
                drawing.bars(axis, beside, found, color=f"C{i}", label=words)
        if ends.longer:
            late = ends.ratio(budget=HIGH)
            axis.plot([TWO], [late.mean()], "k*", label="shrunk, larger budget")
        axis.axhline(1, ls="--", lw=1, color="0.4")
        axis.set_xscale("log", base=2)
        axis.set_xticks(FACTORS, FACTORS)
        axis.set_xlabel(f"factor of the width, {NETWORKS[network]}")
        axis.set_ylabel("loss, grown over from scratch")
        axis.legend()
    return figure


FIGURE = Figure(
    title="Ways to grow a model, and how far it pays",
    outcome=(
        f"Shrunk and grown by {TWO} for equal operations the MLP ends at "
        "{ways.operations-shrink-mlp} of the loss from scratch, GPT-2 at "
        "{ways.operations-shrink-gpt2}"
    ),
    caption=(
        "Final training loss of grown models over that from scratch for equal operations, those of "
        "the base counted, by the factor of the width; mean and 95 % interval over seeds, at the "
        "smaller budget. Each way has its own best rate, tuned on another seed. Models that grow "
        "by one factor start from one base, so that intervals are of what follows."
    ),
    studies=STUDIES,
    answers=ANSWERS,
    columns=COLUMNS,
    reduce=reduce,
    measure=measure,
    draw=draw,
    laws=LAWS,
    simulate=simulate,
)
