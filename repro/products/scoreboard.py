"""All verdicts in one table, and those of a workflow at its end."""

from pathlib import Path

from repro.core import discovery
from repro.core.study import SCALES
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_json, write_bytes, write_json
from repro.lineage.provenance import REMEDIES, mixture
from repro.products import preregistered_table, status
from repro.products.built import finished
from repro.products.claims_json import read_rows
from repro.products.known import find_all, origin
from repro.products.published import CLAIMS, PROVENANCE, note_of
from repro.products.records import describe, every_claim
from repro.products.run_table import departures
from repro.verdicts.judged_claims import (
    JudgedClaim,
    counts_by_paper,
    interval,
    of_a_paper,
    scoreboard_page,
)
from repro.verdicts.typeset import markdown
from repro.verdicts.words import INCONCLUSIVE, NEEDS_MORE, NOT_REPRODUCED, TOLD_FIRST
from repro.workflow.progress import duration

PAGE = "scoreboard --page"
SMOKE = SCALES[0]


def scoreboard(suite: Suite) -> str:
    """Write scoreboard.md and manifest.json for the configured figures; returns where they are and
    where their verdicts come from, in words.

    Raises UserError if a figure was neither built nor recorded.
    """
    every = [*suite.config.figures] == ["all"]
    found = find_all(suite, discovery.selected_figures(suite.config.figures), asked=not every)
    if not found:
        raise UserError(f"scoreboard: no results and no records for {describe(suite)}")
    rows = [row for known in found for row in known.claims]
    page = files(suite)[0]
    title = f"scale {suite.config.scale}, data {suite.label}"
    departs = departures([e.figure for e in found], suite.config.scale)
    heading = ["", "## Departures from print", ""] if departs else []
    end = "".join(f"{line}\n" for line in [*heading, *(f"- {each}" for each in departs)])
    shown = scoreboard_page(page.parent, title, rows, {e.figure: e.page for e in found})
    write_bytes(page, shown + end.encode())
    made_of = {known.figure: known.picture.as_posix() for known in found}
    write_json(suite.paths.results / "manifest.json", note_of([page], made_of))
    return f"{page}: {len(rows)} claims, {origin(found)}"


def files(suite: Suite) -> list[Path]:
    """The files of the scoreboard, manifest.json aside."""
    return [suite.paths.results / "scoreboard.md"]


def counts_on_record(suite: Suite) -> list[str]:
    """The table of the papers' claims by status, from records alone, those registered before their
    runs first and apart; lines of Markdown."""
    every = every_claim()
    tried, stand = status.tried_again(every)
    rows = status.statuses(every)
    again = f"A stronger record tried {tried} decided claims again; {stand} kept their status."
    return [*markdown(counts_by_paper(rows, preregistered_table.counted())), "", again]


def summary(suite: Suite, built: dict[str, bool], seconds: float) -> str:
    """Text for the terminal at the end of a workflow: its figures, claims by verdict, what to call
    next.

    built: figure -> whether it was built or up to date. seconds: how long the workflow took.
    """
    lines = [f"scale {suite.config.scale}, data {suite.label}, {duration(seconds)}"]
    if suite.config.scale == SMOKE:
        lines.insert(0, "smoke proves the pipeline only: its runs are too short for any claim")
    rows: list[JudgedClaim] = []
    for figure_name, is_built in sorted(built.items()):
        file = f"figures/{figure_name}.pdf"
        try:
            if is_built:
                folder = finished(suite, figure_name)
                rows += read_rows(folder / CLAIMS)
                several = mixture(read_json(folder / PROVENANCE)["made"])
                lines += [f"{file}: {several}; {REMEDIES}"] if several else []
            lines.append(file if is_built else f"{file}: not built, see the errors above")
        except UserError as error:
            lines.append(f"{file}: {error}")
    for verdict in TOLD_FIRST:
        having = [row for row in rows if row["verdict"] == verdict]
        if having and verdict == NEEDS_MORE:
            names = ", ".join(row["claim"] for row in having)
            lines.append(f"{verdict}, or real data: {len(having)} ({names})")
            continue
        having = [row for row in having if row["n"]]  # what was not run here is no result
        lines += [f"{verdict}: {len(having)}"] if having else []
        for row in having:
            beside = "; ".join(filter(None, [row["left_out"], row["reason"]]))
            why = f": {beside}" if beside else ""
            lines.append(f"  {row['claim']}  {row['statement']}")
            lines.append(
                f"    expected {row['expected']}, measured {interval(row)}, n = {row['n']}{why}"
            )
    if rows:
        # What a reader asks about first.
        doubtful = [NOT_REPRODUCED, INCONCLUSIVE]
        first = max(
            rows, key=lambda row: (row["verdict"] in doubtful, row["binds"], of_a_paper(row))
        )
        claim = f"{first['paper']}/{first['claim']}"
        lines.append(f"next: {suite.command(f'explain {claim}', program='python -m repro')}")
    return "\n".join(lines)
