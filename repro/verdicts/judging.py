"""Judges and draws a figure from its table.

Everything imported here, directly or not, counts as code of every picture
(`repro.products.picture`): a change in it draws all of them anew.
"""

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from repro.core.names import CLAIM_IN_TEXT, SMALL
from repro.errors import UserError, did_you_mean
from repro.files import read_table, sha256_file
from repro.lineage import checkout
from repro.lineage.provenance import devices
from repro.verdicts import power, printed, statements, words
from repro.verdicts.answers import Answer, Expectation, Measurement, Reading, Test
from repro.verdicts.evidence import judge, load
from repro.verdicts.figure import Data, figure_named
from repro.verdicts.results import (
    INCONCLUSIVE,
    REPRODUCED,
    Bound,
    Judged,
    Results,
    Row,
    Taken,
    of_a_paper,
)
from repro.verdicts.typeset import Table
from repro.verdicts.verdict import by_bound


@contextmanager
def called(figure_name: str, function: str) -> Iterator[None]:
    """Turn an exception in a function of a figure's file into a UserError of one line, which names
    that file's line and has the traceback, for the log, as `trace`."""
    try:
        yield
    except (UserError, ModuleNotFoundError):
        raise
    except Exception as error:
        file = f"figures/{figure_name}.py"
        place = checkout.place_of(error, ("figures",)) or file
        columns = figure_named(figure_name).columns
        unknown = error.args[0] if isinstance(error, KeyError) and error.args else ""
        hint = f"; {did_you_mean(str(unknown), columns)}" if unknown and columns else ""
        fault = UserError(f"{place}: {function} failed: {checkout.describe_error(error)}{hint}")
        fault.trace = "".join(traceback.format_exception(error))
        raise fault from error


def read(figure_name: str, data: Path) -> Data:
    """A figure's data.csv. Raises UserError where it has other columns than the figure says."""
    values = read_table(data)
    figure_named(figure_name).check_columns(str(data), values.columns)
    return values


def judge_all(figure_name: str, table, provenance: Mapping) -> Results:
    """Judge every test of a figure that binds, and read what else it measures; nothing of what an
    entry of the board ran.

    table: its data.csv. provenance: its provenance.json.
    """
    if "entry" in provenance:
        return {"tests": [], "readings": []}
    figure = figure_named(figure_name)
    statements.check(figure_name, figure)
    scale, embedded = provenance["scale"], provenance["embedded"]
    with called(figure_name, "measure"):
        measured = figure.measure(table, scale)
    check_measured(f"figures/{figure_name}.py", figure.answers, measured)
    paper = figure_name.split("/")[0]
    with called(figure_name, "predict"):
        predicted = figure.predict(table, scale) if figure.predict else {}
    evidence, prints = load(paper, figure, provenance), printed.rows_of(paper)

    def bound(test: Test, expected: Expectation) -> Bound:
        formula = predicted.get(test.id)
        broken = ((each, each.broken(table, scale)) for each in test.conditions)
        return {
            "text": expected.text,
            "low": _finite(expected.low),
            "high": _finite(expected.high),
            "strict": expected.strict,
            "basis": expected.basis,
            "why": expected.why,
            "formula": formula.formula if formula else "",
            "predicted": [formula.low, formula.high] if formula else [],
            "limit": formula.limit if formula else None,
            "outside": "; ".join(f"{how}, asked: {each.asked}" for each, how in broken if how),
        }

    def row(name: str, quantity: str, measurement: Measurement) -> Row:
        return {
            "figure": figure_name,
            "scale": scale,
            "data": provenance["label"],
            "quantity": quantity,
            "measured": _finite(measurement.value),
            "low": _finite(measurement.low),
            "high": _finite(measurement.high),
            "n": int(measurement.n),
            "printed": [printed.as_json(each) for each in prints if each.claim == name],
            "detail": measurement.detail,
        }

    tests: list[Judged] = []
    readings: list[Taken] = []
    for each in figure.answers:
        found = measured[each.id]
        expected = each.at(scale) if isinstance(each, Test) else None
        if isinstance(each, Test) and expected and each.binds(scale, embedded):
            known = evidence[each.id]
            judgement = judge(each, found, known, predicted.get(each.id))
            tests.append(
                {
                    "test": each.id,
                    "statement": each.statement,
                    "column": each.column,
                    "kind": each.kind,
                    **row(each.id, each.quantity, judgement.measurement),
                    "bound": bound(each, expected),
                    "status": judgement.status,
                    "doubts": [*judgement.doubts],
                    "p": judgement.p,
                    "calibration": power.factor(known.trials, power.EDGE),
                    "laws": [power.as_json(trial) for trial in known.trials],
                }
            )
        elif found.n:  # what a scale leaves out is no reading
            quantity, beside, its, seen = _of_reading(each, scale, found)
            readings.append(
                {
                    "reading": each.id,
                    "beside": beside,
                    "bound": bound(each, its) if isinstance(each, Test) and its else None,
                    "seen": seen,
                    "problem": found.problem,
                    **row(each.id, quantity, found),
                }
            )
    return {"tests": tests, "readings": readings}


def _of_reading(
    each: Answer, scale: str, found: Measurement
) -> tuple[str, str, Expectation | None, str]:
    """What is measured, and what it may be held against; of a test elsewhere its bound there, and
    on which side of that the number lies. A number of the printed sizes has no side at others."""
    if isinstance(each, Reading):
        return each.words, each.beside, None, ""
    assert isinstance(each, Test)
    its = None if each.published else each.at(scale) or each.smallest
    seen = by_bound(its, found).seen if its else ""
    return each.quantity, f"a test at {each.place}", its, seen


def check_measured(file: str, answers: Sequence[Answer], measured: object) -> None:
    """Raise UserError unless `measured` has a Measurement for each test and reading, and no other
    entry."""
    if not isinstance(measured, Mapping):
        raise UserError(f"{file}: measure returned a {type(measured).__name__}, not a mapping")
    for each in answers:
        entry = measured.get(each.id)
        if not isinstance(entry, Measurement):
            kind = f"a {type(entry).__name__}, not a Measurement" if entry else "nothing"
            raise UserError(f"{file}: measure returned {kind} for {each.id!r}")
    for name in measured.keys() - {each.id for each in answers}:
        raise UserError(f"{file}: measure returned {name!r}, which is no test or reading of its")


def _finite(value: float) -> float | None:
    """The value, or None if it is infinite or nan, for which JSON has no number."""
    return float(value) if math.isfinite(value) else None


def footer(figure_name: str, provenance: Mapping, data_digest: str) -> str:
    """What a figure was made of: its name, scale, data, device, the digest of its data.csv."""
    return (
        f"{figure_name}; scale: {provenance['scale']}; data: {provenance['data']}; device: "
        f"{_devices(provenance)}; data.csv sha256 {data_digest[:16]}"
    )


def source_line(figure_name: str, provenance: Mapping, data_digest: str) -> str:
    """What `footer` says, in one line that fits below a picture; the data by their label."""
    return (
        f"{figure_name}, {provenance['scale']} scale, {provenance['label']} data, "
        f"{_devices(provenance)}, data.csv {data_digest[:12]}"
    )


def _devices(provenance: Mapping) -> str:
    return ", ".join(devices(provenance["made"])) or "nothing run"


def table_of(figure_name: str, data: Path, scale: str) -> Table | None:
    """The table that a figure is; None where it is a plot. data: its data.csv."""
    figure = figure_named(figure_name)
    if figure.table is None:
        return None
    values = read(figure_name, data)
    with called(figure_name, "table"):
        shown = figure.table(values, scale)
    if not isinstance(shown, Table):
        kind = type(shown).__name__
        raise UserError(f"figures/{figure_name}.py: table returned a {kind}, not a Table")
    return shown


def outcome(figure_name: str, results: Results) -> str:
    """What came out of a figure: its sentence with what was measured, and how the tests fared that
    it names. How all of its tests fared, where `measured` is ""; "" where it has no tests."""
    text = measured(figure_name, results)
    if not text:
        fared = words.counts(results["tests"])
        return f"{fared[:1].upper()}{fared[1:]}"
    tests = {row["test"]: row for row in results["tests"]}
    judged = [tests[name] for name in decided_by(figure_name) if name in tests]
    beside = [words.outside(row) for row in judged if row["status"] == REPRODUCED]
    beside += [words.broken(row) for row in judged]
    fate = ", ".join(filter(None, [words.counts(judged), *dict.fromkeys(beside)]))
    return ": ".join(filter(None, [text, fate]))


def measured(
    figure_name: str, results: Results, said: Callable[[Row], str] = words.interval
) -> str:
    """A figure's sentence with what was measured; "" where it has none or a value is not finite.

    said: of a row, what stands for its id.
    """
    tests: dict[str, Row] = {row["test"]: row for row in results["tests"]}
    known = tests | {row["reading"]: row for row in results["readings"]}
    named = decided_by(figure_name)
    if any(name not in known or known[name]["measured"] is None for name in named):
        return ""
    return CLAIM_IN_TEXT.sub(lambda found: said(known[found[1]]), figure_named(figure_name).outcome)


def decided_by(figure_name: str) -> list[str]:
    """What a figure's sentence names, each once, in its order."""
    return list(dict.fromkeys(CLAIM_IN_TEXT.findall(figure_named(figure_name).outcome)))


def marks(results: Results) -> list[tuple[str, str]]:
    """What a picture says of its tests, each in its status' colour: the word of one, how many of
    more, printed values that were left out, and of how many of these the design is outside the
    paper's conditions. The papers' tests, or ours where there is none of theirs."""
    some = [row for row in results["tests"] if of_a_paper(row)] or results["tests"]
    found = [(s if len(some) == 1 else f"{n} {s}", s) for s, n in words.tally(some).items()]
    printed = [row for row in some if row["status"] == REPRODUCED]
    beside = [f"{value} outside" for value in map(words.left_out, printed) if value]
    broken = sum(bool(row["bound"]["outside"]) for row in some)
    which = "" if len(some) == 1 else "all " if broken == len(some) else f"{broken} of these "
    beside += [f"{which}{words.OUTSIDE}"] * bool(broken)
    return found + [(each, INCONCLUSIVE) for each in dict.fromkeys(beside)]


def render(figure_name: str, data: Path, provenance: dict, base: Path) -> Results:
    """Judge a figure from its data.csv, as `judge_all`; and write its picture, <base>.pdf and
    <base>.png, and <base>.small.png where it has a small one."""
    from repro.verdicts import drawing

    figure = figure_named(figure_name)
    values, digest = read(figure_name, data), sha256_file(data)
    found = judge_all(figure_name, values, provenance)
    drawing.style()
    if shown := table_of(figure_name, data, provenance["scale"]):
        drawn = drawing.of_table(shown)
    else:
        assert figure.draw  # what is no table
        with called(figure_name, "draw"):
            drawn = figure.draw(values, provenance["scale"])
    file, last_line = f"figures/{figure_name}.py", source_line(figure_name, provenance, digest)
    drawing.check_panels(file, drawn)
    with called(figure_name, "draw"):
        drawing.finish(drawn, figure.title, marks(found), last_line)
        drawing.save(drawn, base.with_suffix(".pdf"), base.with_suffix(".png"))
    if figure.small:
        with called(figure_name, "small"):
            small = figure.small(values, provenance["scale"])
        drawing.check_panels(file, small)
        short = measured(figure_name, found, lambda row: f"{row['measured']:.2g}")
        drawing.finish(
            small,
            short.partition(";")[0] or figure.title,
            (),
            last_line.partition(" data, ")[0] + " data",
        )
        drawing.save(small, base.with_suffix(SMALL))
    return found
