"""A figure from its runs: their table, the claims judged, the picture.

All that is imported here and by a figure's own file is the code the figure is made by
(`repro.judge.code`): a change in it makes the figure anew. What finds the runs and writes the
files is in `products`.
"""

import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from repro.errors import UserError
from repro.files import sha256_file
from repro.judge.claims import Claim, Judgement, Measurement, judge
from repro.suite import registry
from repro.suite.cells import frame


@contextmanager
def called(figure_name: str, function: str) -> Iterator[None]:
    """Call a function of a figure's file; its exception becomes a UserError that names the line.

    Whoever runs the suite did not write that file, and whoever did finds the rest in the log.
    """
    try:
        yield
    except (UserError, ModuleNotFoundError):
        raise
    except Exception as error:
        file = f"figures/{figure_name}.py"
        place = registry.place_of(error, ("figures",)) or file
        fault = UserError(f"{place}: {function} failed: {registry.describe_error(error)}")
        fault.trace = "".join(traceback.format_exception(error))
        raise fault from error


def tabulate(figure_name: str, contents: Mapping[str, Sequence[Mapping]]):
    """A figure's table, a DataFrame, from the contents of the cells of each of its studies."""
    frames = {study: frame(cells) for study, cells in contents.items()}
    module = registry.figure(figure_name)
    with called(figure_name, "reduce"):
        table = module.reduce(frames)
    if not hasattr(table, "to_csv"):
        kind = type(table).__name__
        raise UserError(f"figures/{figure_name}.py: reduce returned a {kind}, not a DataFrame")
    return table


def judge_all(figure_name: str, table, provenance: dict) -> list[dict]:
    """Measure and judge every claim of a figure; one row per claim, JSON-ready."""
    module = registry.figure(figure_name)
    scale = provenance["scale"]
    with called(figure_name, "measure"):
        measured = module.measure(table, scale)
    _check_measured(f"figures/{figure_name}.py", module.CLAIMS, measured)
    rows = []
    for claim in module.CLAIMS:
        verdict: Judgement = judge(claim, measured[claim.id], scale, provenance["embedded"])
        found = verdict.measurement
        rows.append(
            {
                "claim": claim.id,
                "paper": figure_name.split("/")[0],
                "figure": figure_name,
                "statement": claim.statement,
                "source": claim.source,
                "quantity": claim.quantity,
                "expected": verdict.expected,
                "measured": _finite(found.value),
                "low": _finite(found.low),
                "high": _finite(found.high),
                "n": int(found.n),
                "verdict": verdict.verdict,
                "reason": verdict.reason,
                "detail": found.detail,
                "scale": scale,
                "data": provenance["label"],
            }
        )
    return rows


def _check_measured(file: str, claims: Sequence[Claim], measured: object) -> None:
    """Raise UserError unless there is a Measurement for each claim, and no other."""
    if not isinstance(measured, Mapping):
        raise UserError(f"{file}: measure returned a {type(measured).__name__}, not a mapping")
    for claim in claims:
        found = measured.get(claim.id)
        if not isinstance(found, Measurement):
            words = f"a {type(found).__name__}, not a Measurement" if found else "nothing"
            raise UserError(f"{file}: measure returned {words} for claim {claim.id!r}")
    for name in measured.keys() - {claim.id for claim in claims}:
        raise UserError(f"{file}: measure returned {name!r}, which is no claim of CLAIMS")


def _finite(value: float) -> float | None:
    """The value, or None where JSON has no number for it."""
    return float(value) if math.isfinite(value) else None


def footer(provenance: dict, data_digest: str) -> str:
    """Scale, data, device and digest, in one line."""
    devices = ", ".join(sorted({entry["device"] for entry in provenance["made"]}))
    return (
        f"scale: {provenance['scale']}; data: {provenance['data']}; device: {devices}; "
        f"data.csv sha256 {data_digest[:16]}"
    )


def render(figure_name: str, data: Path, provenance: dict, pdf: Path, png: Path) -> list[dict]:
    """Draw a figure with its claims from a data.csv; returns the judged claims."""
    import pandas as pd

    from repro.judge import drawing

    module = registry.figure(figure_name)
    table = pd.read_csv(data)
    rows = judge_all(figure_name, table, provenance)
    drawing.style()
    with called(figure_name, "draw"):
        drawn = module.draw(table, provenance["scale"])
    drawing.check_panels(f"figures/{figure_name}.py", drawn)
    title = f"{module.TITLE}  [{figure_name.split('/')[0]}]"
    drawing.finish(drawn, title, module.CAPTION, rows, footer(provenance, sha256_file(data)))
    drawing.save(drawn, pdf, png)
    return rows
