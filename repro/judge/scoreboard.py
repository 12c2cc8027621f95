"""All verdicts in one table, and those of a workflow at its end."""

import csv
import io
from collections.abc import Iterable

from repro.errors import UserError
from repro.files import read_json, sha256_file, write_bytes, write_json
from repro.judge import confirmed
from repro.judge.board import board, counts_by_paper, of_a_paper
from repro.judge.claims import (
    CANNOT_BE_TOLD,
    DOES_NOT_BIND,
    NOT_REPRODUCED,
    REPORTED,
    REPRODUCED,
)
from repro.judge.judged import JudgedClaim, interval
from repro.judge.known import Known, find_all, origin
from repro.judge.products import digests, finished_folder
from repro.judge.records import on_record
from repro.judge.typeset import markdown, no_formula
from repro.suite import registry
from repro.suite.progress import duration
from repro.suite.provenance import mixture
from repro.suite.study import SCALES
from repro.suite.suite import Suite

PAGE = "scoreboard --page"
COLUMNS = [*JudgedClaim.__annotations__]
SMOKE = SCALES[0]
TOLD_FIRST = (NOT_REPRODUCED, REPRODUCED, CANNOT_BE_TOLD, REPORTED, DOES_NOT_BIND)


def scoreboard(suite: Suite) -> str:
    """Write scoreboard.csv, scoreboard.md and manifest.json for the configured figures; returns
    where they are and where their verdicts come from, in words.

    Raises UserError if a figure was neither built nor recorded.
    """
    found = find_all(suite, registry.selected_figures(suite.config.figures))
    rows = [row for known in found for row in known.claims]
    csv_file, page = (suite.paths.results / f"scoreboard.{suffix}" for suffix in ("csv", "md"))
    write_bytes(csv_file, table(rows))
    title = f"scale {suite.config.scale}, data {suite.label}"
    write_bytes(page, board(page.parent, title, rows, {e.figure: e.page for e in found}))
    made = {"figures": {e.figure: _made_from(e) for e in found}, "files": digests([csv_file, page])}
    write_json(suite.paths.results / "manifest.json", made)
    return f"{page}, {csv_file.name}: {len(rows)} claims, {origin(found)}"


def counts_on_record(suite: Suite) -> list[str]:
    """The table of the papers' claims by verdict, from records alone, those registered before their
    runs first and apart, at whatever scale; lines of Markdown."""
    return markdown(counts_by_paper(on_record(suite), confirmed.counted()))


def table(rows: Iterable[JudgedClaim]) -> bytes:
    """Judged claims as CSV, what the paper prints in one cell."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {**row, "printed": "; ".join(row["printed"])}
        writer.writerow({k: no_formula(v) if isinstance(v, str) else v for k, v in cells.items()})
    return buffer.getvalue().encode()


def _made_from(known: Known) -> dict:
    """What a figure's verdicts were taken from, for `freshness.stale_board` to see whether it is
    still there: its manifest, or the record's data, which no results/ holds."""
    if known.recorded:
        return {known.place: sha256_file(known.data)}
    return read_json(known.data.with_name("manifest.json"))


def summary(suite: Suite, built: dict[str, bool], seconds: float) -> str:
    """Text for the terminal at the end of a workflow: its figures, claims by verdict, what to call
    next.

    built: figure -> whether it was built or up to date. seconds: how long the workflow took.
    """
    lines = [f"scale {suite.config.scale}, data {suite.label}, {duration(seconds)}"]
    if suite.config.scale == SMOKE:
        lines.insert(0, "smoke proves the pipeline only: its runs are too short for any claim")
    rows: list[JudgedClaim] = []
    for figure_name, finished in sorted(built.items()):
        file = f"figures/{figure_name}.pdf"
        try:
            if finished:
                folder = finished_folder(suite, figure_name)
                rows += read_json(folder / "claims.json")
                several = mixture(read_json(folder / "provenance.json")["made"])
                lines += [f"{file}: {several}"] if several else []
            lines.append(file if finished else f"{file}: not built, see the errors above")
        except UserError as error:
            lines.append(f"{file}: {error}")
    for verdict in TOLD_FIRST:
        having = [row for row in rows if row["verdict"] == verdict]
        if having and verdict == DOES_NOT_BIND:
            names = ", ".join(row["claim"] for row in having)
            lines.append(f"{verdict} at this scale or on these data: {len(having)} ({names})")
            continue
        lines += [f"{verdict}: {len(having)}"] if having else []
        for row in having:
            why = f": {row['reason']}" if row["reason"] else ""
            lines.append(f"  {row['claim']}  {row['statement']}")
            lines.append(
                f"    expected {row['expected']}, measured {interval(row)}, n = {row['n']}{why}"
            )
    if rows:
        # What a reader asks about first.
        doubtful = [NOT_REPRODUCED, CANNOT_BE_TOLD]
        first = max(rows, key=lambda row: (row["verdict"] in doubtful, of_a_paper(row)))
        claim = f"{first['paper']}/{first['claim']}"
        lines.append(f"next: {suite.command(f'explain {claim}', program='python -m repro')}")
    return "\n".join(lines)
