"""The leaderboard in numbers: what every parametrization loses on every workload."""

import math
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from figures.transfer import _board, _losses, sgd
from figures.transfer._losses import WORKLOADS, Losses, reduce
from repro.lineage.checkout import ROOT
from repro.transfer_bench import references
from repro.transfer_bench.matrix import Board, BoardRow
from repro.transfer_bench.score import Estimate, Interval, Score
from repro.verdicts.answers import (
    Measurement,
    Reading,
    exact,
)
from repro.verdicts.figure import Aside, Asides, Bar, Figure
from repro.verdicts.intervals import joined
from repro.verdicts.typeset import Table
from widthwise.parametrization import shipped

VERSION, NAMES, entries = _board.VERSION, _losses.ORDER, _board.entries
WITH_SGD = sgd.WORKLOADS
ALL = WORKLOADS | WITH_SGD
ANSWERS = (
    Reading(
        id="scores.median-lost",
        words="median over workloads of the share lost under muP, %, against reference "
        f"{_board.VERSION}",
        beside="the benchmark's score",
    ),
)


def measure(data, scale):
    rows = {row.name: row for row in matrix(data, scale).rows}
    if _board.OPTIMIZER in data:
        return {"scores.median-lost": exact(math.nan, 0, "these are the runs of an entry")}
    mup, sp = (rows[f"{name}, {_board.ADAMW}"] for name in ("muP", "SP"))
    seeds = min(len(each.seeds) for each in mup.chains.values())
    words = f"over {', '.join(_board.COLUMNS[name] for name in mup.defined)}; SP {percent(sp)}"
    undefined = [each.problem for each in mup.scores.values() if each.problem]
    lacking = "" if mup.defined else next(iter(undefined))
    found = mup.median
    measured = Measurement(found.value, found.low, found.high, seeds, lacking, words)
    return {"scores.median-lost": measured}


def percent(entry: BoardRow) -> str:
    """`41 %`; `undefined`."""
    value = entry.median.value
    return f"{value:.0f} %" if np.isfinite(value) else "undefined"


def matrix(data, scale, more=()) -> Board:
    """Rows a parametrization with an optimizer, columns workloads. more: entries sent in."""
    return _board.matrix(data, scale, more)


def references_of(data, scale, version, label, digest):
    """Rows that would be the references of a new version (a test holds the rows on file to it)."""
    entries = _board.entries(data, scale, version)
    return references.taken(version, scale, label, digest, _board.settings(data), entries)


def table(data, scale):
    rows = [scores(*each) for each in lines(data, scale)]
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
        "undefined, or to be known",
    ]
    note = f"Reference {_board.VERSION}: {', '.join(of_references(data, scale))}."
    return Table(columns, rows, note)


def lines(data, scale) -> Iterator[tuple[str, Losses, str, BoardRow]]:
    """(workload, its losses, parametrization, row of the board) of every line of the table."""
    found = {row.name: row for row in _board.entries(data, scale)}
    for workload, losses in _losses.by_workload(data, ALL).items():
        optimizer = _board.optimizer(data, workload)
        for name in losses.names:
            yield workload, losses, name, found[f"{name}, {optimizer}"]


def of_references(data, scale) -> list[str]:
    """`decoder u-muP, AdamW (gain 0.140 nats)` of every workload's."""
    known = matrix(data, scale).references
    found = [
        f"{_board.COLUMNS[name]} {each.of} (gain {each.gain:.3f} nats)"
        for name, each in known.items()
    ]
    return found or ["none at this scale"]


def scores(workload: str, losses: Losses, name: str, row: BoardRow) -> list[str]:
    """A line of the table. Where a row's runs are the workload's reference its penalty is 0 by
    that."""
    slope = _losses.slope_measurement(losses, name)
    found = row.scores[_board.of_study(workload)[0]]
    return [
        f"{ALL[workload]}, {losses.base:g} to {losses.widest:g}",
        row.optimizer,
        name,
        words(slope, 2),
        words(found.regret, 3),
        "the reference" if found.reference == row.name else words(found.penalty, 3),
        words(found.lost, 0),
        margin(losses, name),
        "yes" if wider_is_better(losses, name) else "no",
        joined(found.problem, found.own, found.note) or "-",
    ]


def margin(losses: Losses, name: str) -> str:
    """Octaves from the transferred rate up to the first that ruins a run of the largest width."""
    found, start = losses.curves[name, losses.widest], losses.proxy_rate()
    rates = found.rates
    ruined = rates[(found.losses >= losses.chance).any(0) & (rates > start)]
    if (losses.transferred(name, losses.widest) >= losses.chance).any():
        return "0"
    if not len(ruined):
        return f"at least {np.log2(rates[-1] / start):g}"
    return f"{np.log2(ruined[0] / start):g}"


def wider_is_better(losses: Losses, name: str) -> bool:
    """Whether the mean loss at the transferred rate is lower at every width than at the last."""
    ends = [losses.transferred(name, width).mean() for width in losses.widths]
    return bool((np.diff(ends) < 0).all())


def words(found: Estimate | Interval | Measurement, digits: int) -> str:
    """A number with its interval; a dash where there is none."""
    if not np.isfinite(found.value):
        return "-"
    ends = found.low, found.high
    if not np.isfinite(ends).all():
        return f"{found.value:z.{digits}f}"
    return f"{found.value:z.{digits}f} [{ends[0]:z.{digits}f}, {ends[1]:z.{digits}f}]"


def asides(data, scale):
    rows = [aside(workload, name, row) for workload, _, name, row in lines(data, scale)]
    return Asides(rows, "lost", before="slope", unit="% of the gain", ends=(-25, 200))


def aside(workload: str, name: str, row: BoardRow) -> Aside:
    """A bar of what is lost; of the suite's rows the curves and runs it is read off, and the files
    that made them."""
    shown = bar(row.scores[_board.of_study(workload)[0]])
    own = name in NAMES
    return Aside(shown, links(workload, name), files(workload, name)) if own else Aside(shown)


def aside_of(row: BoardRow, column: str) -> Aside:
    """What a cell of the board leads to: bowls, runs and files; of an entry that was sent in, its
    file, which has all three."""
    if row.source:
        return Aside(None, {}, [f"studies/transfer/entries/{row.source}"])
    study = _board.study_of(column, row.optimizer)
    return Aside(None, links(study, row.parametrization), files(study, row.parametrization))


def bar(found: Score) -> Bar | None:
    """Regret and penalty, of the gain; one part where its own optimum is not known; None where
    nothing is."""
    lost, penalty = found.lost, found.penalty
    if found.problem:
        return None
    if found.own:
        return Bar({"both": lost.value}, lost.low, lost.high)
    share = 100 / found.gain
    parts = {"regret": found.regret.value * share, "penalty": penalty.value * share}
    return Bar(parts, lost.low, lost.high)


def links(workload: str, name: str) -> dict[str, str]:
    """Words -> what a row's curves and runs are shown by."""
    figure = "transfer/sgd" if workload in WITH_SGD else "transfer/bowls"
    bowls = f"{figure}#" + urlencode({"workload": workload, _losses.NAME: name})
    return {"bowls": bowls, "runs": f"{bowls}&table=open"}


def files(workload: str, name: str) -> list[str]:
    """The files that made a row's runs."""
    rules = Path(shipped()[name]["__file__"]).relative_to(ROOT).as_posix()
    return [f"studies/transfer/{workload}.py", rules]


FIGURE = Figure(
    title="Tuned narrow, trained wide: the scores",
    outcome="muP loses {scores.median-lost} % of what width gains, in the median over workloads",
    caption=(
        "Every parametrization with an optimizer on every workload that it is defined for, at the "
        "largest width, against the workload's reference, which is fixed under a version. Slope: "
        "of log2 of the best rate against log2 of the width, 0 if it transfers. Regret: by "
        "parabolas, what retuning would win back. Penalty: the tuned loss above the "
        "reference's. Lost: both, of what the width gains; a dash is undefined, and the last "
        "column says why. Margin: octaves from the transferred rate to the first one at which a "
        "run of the largest width diverges or ends no better than chance; at least so many where "
        "none does. Wider: whether the loss at the transferred rate falls with every width. "
        "Brackets: 95 % interval of the whole chain, over the seeds that tune and those that judge."
    ),
    studies=(*_losses.STUDIES, *sgd.STUDIES),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    table=table,
    asides=asides,
)
