"""Judges and draws a figure from its table.

Everything imported here, directly or not, counts as code of every picture
(`repro.products.picture`): a change in it draws all of them anew.
"""

import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from repro.core.names import SMALL
from repro.errors import UserError
from repro.files import sha256_file
from repro.lineage import checkout
from repro.lineage.provenance import devices
from repro.verdicts import power
from repro.verdicts.claims import CONTROL, THEORY, TRAINING, Claim, Measurement
from repro.verdicts.evidence import judge, load
from repro.verdicts.figure import figure_named
from repro.verdicts.judged_claims import JudgedClaim, marks
from repro.verdicts.typeset import Table
from repro.verdicts.verdict import left_out

RUN = (TRAINING, CONTROL, THEORY)  # the kinds of claims that a study's settings decide


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
        fault = UserError(f"{place}: {function} failed: {checkout.describe_error(error)}")
        fault.trace = "".join(traceback.format_exception(error))
        raise fault from error


def judge_all(figure_name: str, table, provenance: dict) -> list[JudgedClaim]:
    """Measure and judge every claim of a figure; none of what an entry of the board ran.

    table: its data.csv. provenance: its provenance.json.
    """
    if "entry" in provenance:
        return []
    figure = figure_named(figure_name)
    scale = provenance["scale"]
    with called(figure_name, "measure"):
        measured = figure.measure(table, scale)
    check_measured(f"figures/{figure_name}.py", figure.claims, measured)
    paper = figure_name.split("/")[0]
    evidence, chosen = load(paper, figure, provenance), provenance["chosen_after_seeing"]
    rows: list[JudgedClaim] = []
    for claim in figure.claims:
        known = evidence[claim.id]
        judgement = judge(claim, measured[claim.id], known)
        measurement = judgement.measurement
        rows.append(
            {
                "claim": claim.id,
                "kind": claim.kind,
                "paper": paper,
                "figure": figure_name,
                "statement": claim.statement,
                "source": claim.source,
                "quantity": claim.quantity,
                "printed": [*map(str, known.printed)],
                "expected": str(claim.at(scale)),
                "expected_paper": str(claim.at_paper_scale()),
                "measured": _finite(measurement.value),
                "low": _finite(measurement.low),
                "high": _finite(measurement.high),
                "n": int(measurement.n),
                "seen": judgement.seen,
                "binds": judgement.binds,
                "verdict": judgement.verdict,
                "reason": judgement.reason,
                "left_out": left_out(claim.at(scale), measurement),
                "calibration": power.factor(known.trials, power.EDGE),
                "p": judgement.p,
                "detail": measurement.detail,
                "power": power.in_words(known.trials),
                "untested": judgement.binds and claim.kind == TRAINING and not known.trials,
                "never": power.never(known.trials) if judgement.binds else "",
                "second": "; ".join(map(str, known.others)),
                "chosen_after_seeing": chosen if claim.kind in RUN else "",
                "scale": scale,
                "data": provenance["label"],
            }
        )
    return rows


def check_measured(file: str, claims: Sequence[Claim], measured: object) -> None:
    """Raise UserError unless `measured` has a Measurement for each claim, and no other entry."""
    if not isinstance(measured, Mapping):
        raise UserError(f"{file}: measure returned a {type(measured).__name__}, not a mapping")
    for claim in claims:
        entry = measured.get(claim.id)
        if not isinstance(entry, Measurement):
            kind = f"a {type(entry).__name__}, not a Measurement" if entry else "nothing"
            raise UserError(f"{file}: measure returned {kind} for claim {claim.id!r}")
    for name in measured.keys() - {claim.id for claim in claims}:
        raise UserError(f"{file}: measure returned {name!r}, which is no claim of its")


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
    """The same in the one line that fits below a picture, the data by their label."""
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

    import pandas as pd

    with called(figure_name, "table"):
        shown = figure.table(pd.read_csv(data), scale)
    if not isinstance(shown, Table):
        kind = type(shown).__name__
        raise UserError(f"figures/{figure_name}.py: table returned a {kind}, not a Table")
    return shown


def render(figure_name: str, data: Path, provenance: dict, base: Path) -> list[JudgedClaim]:
    """Judge a figure's claims from its data.csv: `judge_all`'s rows; and write its picture,
    <base>.pdf and <base>.png, and <base>.small.png where it has a small one."""
    import pandas as pd

    from repro.verdicts import drawing

    figure = figure_named(figure_name)
    values, digest = pd.read_csv(data), sha256_file(data)
    rows = judge_all(figure_name, values, provenance)
    drawing.style()
    if shown := table_of(figure_name, data, provenance["scale"]):
        drawn = drawing.of_table(shown)
    else:
        assert figure.draw  # what is no table
        with called(figure_name, "draw"):
            drawn = figure.draw(values, provenance["scale"])
    file, last_line = f"figures/{figure_name}.py", source_line(figure_name, provenance, digest)
    drawing.check_panels(file, drawn)
    drawing.finish(drawn, figure.title, marks(rows), last_line)
    drawing.save(drawn, base.with_suffix(".pdf"), base.with_suffix(".png"))
    if figure.small:
        with called(figure_name, "small"):
            small = figure.small(values, provenance["scale"])
        drawing.check_panels(file, small)
        drawing.finish(small, figure.title, (), last_line.partition(" data, ")[0] + " data")
        drawing.save(small, base.with_suffix(SMALL))
    return rows
