"""Rows of a figure's results by name, for tests of what its code judges."""

import math

from repro.core import catalog
from repro.verdicts import judging, words
from repro.verdicts.answers import Measurement
from repro.verdicts.results import PROBLEM
from repro.verdicts.verdict import by_bound

READ = "read, not tested"


def by_name(results):
    """A test's or a reading's name -> its row, with why it tells nothing or what is beside it; a
    reading has a status that says so."""
    tests = {row["test"]: row | {"reason": words.why(row)} for row in results["tests"]}
    read = {r["reading"]: r | {"status": READ, "reason": r["problem"]} for r in results["readings"]}
    return tests | read


def judge(figure, data, scale="reduced", embedded=False):
    """What a figure's code judges of made-up data: the rows `by_name`."""
    provenance = {
        "scale": scale,
        "embedded": embedded,
        "label": "embedded",
        "chosen_after_seeing": "",
    }
    return by_name(judging.judge_all(figure, data, provenance))


def of_figure(figure, data, *arguments):
    """The same, by names without the figure's."""
    found = judge(figure, data, *arguments)
    return {name.partition(".")[2]: row for name, row in found.items()}


def statuses(rows):
    """A test's name -> its status; readings have none."""
    return {name: row["status"] for name, row in rows.items() if row["status"] != READ}


def seen(figure, row, scale="paper"):
    """What a row's interval and the bound of its test say where that binds: a scale alone says
    whether there is a status."""
    name = row.get("test") or row["reading"]
    (test,) = (each for each in catalog.figure(figure).tests if each.id == name)
    value, low, high = (math.nan if row[k] is None else row[k] for k in ("measured", "low", "high"))
    of = [row["problem"]] if "problem" in row else []
    of += [doubt["of"] for doubt in row.get("doubts", ()) if doubt["code"] == PROBLEM]
    return by_bound(test.at(scale), Measurement(value, low, high, row["n"], "; ".join(of))).seen
