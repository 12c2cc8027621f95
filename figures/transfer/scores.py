"""The leaderboard in numbers: what every parametrization loses on every workload."""

from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from figures.transfer import _losses, sgd
from figures.transfer._losses import WORKLOADS, Losses, reduce  # noqa: F401
from repro.judge.claims import CONTROL, Claim, Measurement, reported, trained_scales
from repro.judge.figure import Aside, Asides, Bar
from repro.judge.typeset import Table
from repro.statistics import t_interval
from repro.suite.registry import ROOT
from widthwise.parametrization import shipped

TITLE = "Tuned narrow, trained wide: the scores"
OUTCOME = "muP loses {scores.median-lost} % of what width gains, in the median over workloads"
CAPTION = (
    "Every parametrization on every workload it is defined for, at the largest width, beside the "
    "others with the same optimizer. Slope: of log2 of the best rate against log2 of the width, 0 "
    "if it transfers. Regret: what retuning the rate would win back. Penalty: the tuned loss above "
    "that of the best parametrization. Lost: both, of what the width gains. Margin: octaves from "
    "the transferred rate to the first one at which a run of the largest width diverges or ends no "
    "better than chance; at least so many where none does. Wider: whether the loss at the "
    "transferred rate falls with every width. Brackets: 95 % interval over seeds, paired."
)
WITH_SGD = sgd.WORKLOADS
ALL = WORKLOADS | WITH_SGD
STUDIES = (*_losses.STUDIES, *sgd.STUDIES)
CLAIMS = (
    Claim(
        id="scores.median-lost",
        kind=CONTROL,
        statement="Score, ours: what is lost under muP, which is defined for every workload",
        source="suite",
        quantity="median over workloads of the share lost under muP, %",
        expected=trained_scales(reported("no bound: the benchmark's score")),
    ),
)


def measure(data, scale):
    workloads = _losses.by_workload(data)
    told = {name: each for name, each in workloads.items() if not each.problem("SP", "muP")}
    told = told or workloads  # then none can be judged, which the first one says
    # The median, because the share lost has no upper end: one workload would make the mean.
    medians = {name: median_lost(told, name) for name in ("SP", "muP")}
    seeds = min(len(each.seeds) for each in told.values())
    problem = next(iter(told.values())).problem("SP", "muP")
    words = f"over {', '.join(WORKLOADS[name] for name in told)}; SP {medians['SP'][0]:.0f} %"
    return {"scores.median-lost": Measurement(*medians["muP"], seeds, problem, words)}


def median_lost(workloads: dict[str, Losses], name: str) -> list[float]:
    """[value, low, high] of the share lost, each the median over workloads. Where the workloads'
    intervals hold their shares, this one holds the shares' median."""
    each = [losses.interval(partial(losses.lost, name)) for losses in workloads.values()]
    return [float(value) for value in np.median(each, axis=0)]


def table(data, scale):
    rows = [
        scores(workload, losses, name)
        for workload, losses in _losses.by_workload(data, ALL).items()
        for name in losses.names
    ]
    columns = [
        "workload, widths",
        "optimizer",
        "parametrization",
        "slope",
        "regret, nats",
        "penalty, nats",
        "lost, %",
        "margin",
        "wider is better",
        "tells nothing because",
    ]
    return Table(columns, rows)


def scores(workload: str, losses: Losses, name: str) -> list[str]:
    """A line of the table."""
    widest = losses.widest
    slope = _losses.slope_measurement(losses, name)
    regret = _losses.of_regret(losses, lambda rate: losses.regret(name, widest, rate), name)
    return [
        f"{ALL[workload]}, {losses.base:g} to {widest:g}",
        "SGD" if workload in WITH_SGD else "AdamW",
        name,
        words(slope.value, slope.low, slope.high, 2),
        words(regret.value, regret.low, regret.high, 3),
        words(*t_interval(losses.penalty(name)), 3),
        words(*losses.interval(partial(losses.lost, name)), 0),
        margin(losses, name),
        "yes" if wider_is_better(losses, name) else "no",
        losses.problem(name) or "-",
    ]


def margin(losses: Losses, name: str) -> str:
    """Octaves from the transferred rate up to the first that ruins a run of the largest width."""
    rates, found = losses.curves[name, losses.widest]
    start = losses.proxy_rate()
    ruined = rates[(found >= losses.chance).any(0) & (rates > start)]
    if (losses.transferred(name, losses.widest) >= losses.chance).any():
        return "0"
    if not len(ruined):
        return f"at least {np.log2(rates[-1] / start):g}"
    return f"{np.log2(ruined[0] / start):g}"


def wider_is_better(losses: Losses, name: str) -> bool:
    """Whether the mean loss at the transferred rate is lower at every width than at the last."""
    ends = [losses.transferred(name, width).mean() for width in losses.widths]
    return bool((np.diff(ends) < 0).all())


def words(value: float, low: float, high: float, digits: int) -> str:
    """A number with its interval; a dash where there is none."""
    if not np.isfinite(value):
        return "-"
    return f"{value:z.{digits}f} [{low:z.{digits}f}, {high:z.{digits}f}]"


def asides(data, scale):
    rows = [
        aside(workload, losses, name)
        for workload, losses in _losses.by_workload(data, ALL).items()
        for name in losses.names
    ]
    return Asides(rows, "lost", before="slope", unit="% of the gain", ends=(-25, 200))


def aside(workload: str, losses: Losses, name: str) -> Aside:
    """A bar of what is lost; the curves and runs it is read off; the files that made them."""
    parts = {"regret": losses.regret(name, losses.widest), "penalty": losses.penalty(name)}
    shares = {part: float(100 * loss.mean() / losses.gain()) for part, loss in parts.items()}
    _, low, high = losses.interval(partial(losses.lost, name))
    figure = "transfer/sgd" if workload in WITH_SGD else "transfer/bowls"
    bowls = f"{figure}#" + urlencode({"workload": workload, _losses.NAME: name})
    rules = Path(shipped()[name]["__file__"]).relative_to(ROOT).as_posix()
    return Aside(
        Bar(shares, low, high),
        {"bowls": bowls, "runs": f"{bowls}&table=open"},
        [f"studies/transfer/{workload}.py", rules],
    )
