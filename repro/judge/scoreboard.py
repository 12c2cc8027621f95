"""Verdicts: in a table, at the end of a workflow, and from one claim back to its runs."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence

from repro.errors import UserError, did_you_mean
from repro.files import read_json, sha256_file, write_bytes, write_json
from repro.judge.claims import KINDS, VERDICTS, interval
from repro.judge.printed import printed
from repro.judge.products import cell_ids, finished_folder, read_or_empty
from repro.suite import arithmetic, registry
from repro.suite.suite import Suite

COLUMNS = [
    *("claim", "kind", "paper", "figure", "statement", "source", "quantity"),
    *("printed", "expected", "expected_paper", "measured", "low", "high", "n"),
    *("seen", "binds", "verdict", "reason", "detail", "power", "second", "chosen_after_seeing"),
    *("scale", "data"),
]


def scoreboard(suite: Suite) -> None:
    """Write scoreboard.csv, scoreboard.md and manifest.json for the configured figures."""
    rows, manifest = [], {}
    for figure_name in registry.selected_figures(suite.config.figures):
        folder = finished_folder(suite, figure_name)
        rows += read_json(folder / "claims.json")
        manifest[figure_name] = read_json(folder / "manifest.json")
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row | {"printed": "; ".join(row["printed"])} for row in rows)
    write_bytes(suite.paths.results / "scoreboard.csv", buffer.getvalue().encode())
    title = f"scale {suite.config.scale}, data {suite.label}"
    write_bytes(suite.paths.results / "scoreboard.md", board(title, rows))
    write_json(suite.paths.results / "manifest.json", manifest)


def counts(rows: Sequence[Mapping]) -> list[list[str]]:
    """Kind of claim -> how many have each verdict, as the rows of a table with its head.

    Claims of a paper come first; self-checks and controls are ours and counted apart.
    """
    table = [["claims", *VERDICTS]]
    for kind in KINDS:
        found = Counter(row["verdict"] for row in rows if row["kind"] == kind)
        table.append([kind, *(str(found[verdict]) for verdict in VERDICTS)])
    return table


def in_words(row: Mapping) -> str:
    """A verdict with what it rests on: `does not bind (scale: meant for paper); seen: differs`."""
    reason = f" ({row['reason']})" if row["reason"] else ""
    seen = "" if row["binds"] or not row["seen"] else f"; seen: {row['seen']}"
    chosen = "; settings chosen after seeing results" if row["chosen_after_seeing"] else ""
    return row["verdict"] + reason + seen + chosen


def board(title: str, rows: list[dict]) -> bytes:
    """Judged claims as a Markdown page: counts by kind, then each, expected beside measured."""
    head = ["verdict", "claim", "kind", "where", "quantity", "printed", "expected", "measured", "n"]
    table = [
        [
            in_words(row),
            f"{row['paper']}/{row['claim']}",
            row["kind"],
            row["source"],
            row["quantity"],
            shortened(row["printed"]),
            row["expected"] + paper_scale(row),
            interval(row),
            str(row["n"]),
        ]
        for row in rows
    ]
    lines = [f"# Scoreboard: {title}", "", *markdown(counts(rows)), "", *markdown([head, *table])]
    return ("\n".join(lines) + "\n").encode()


def paper_scale(row: Mapping) -> str:
    """What is expected at paper scale, where that is something else."""
    other = row["expected_paper"] != row["expected"]
    return f" (paper scale: {row['expected_paper']})" if other else ""


def shortened(numbers: Sequence[str]) -> str:
    """The first of what a paper prints for a claim, and how many more there are."""
    more = f" (and {len(numbers) - 1} more)" if len(numbers) > 1 else ""
    return "".join(numbers[:1]) + more


def markdown(table: list[list[str]]) -> list[str]:
    """Lines of a Markdown table, its first row the head."""
    head, *rows = ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in table]
    return [head, "|" + "---|" * len(table[0]), *rows]


def summary(suite: Suite, built: dict[str, bool], seconds: float) -> str:
    """Text for the terminal at the end of a workflow: its figures, their verdicts, the time.

    built: figure -> whether it was built or up to date. seconds: how long the workflow took.
    """
    from repro.suite.progress import duration

    lines = [f"scale {suite.config.scale}, data {suite.label}, {duration(seconds)}"]
    for figure_name, finished in sorted(built.items()):
        if not finished:
            lines.append(f"figures/{figure_name}.pdf: not built, see the errors above")
            continue
        try:
            folder = finished_folder(suite, figure_name)
        except UserError as error:
            lines.append(f"figures/{figure_name}.pdf: {error}")
            continue
        lines.append(f"figures/{figure_name}.pdf")
        for row in read_json(folder / "claims.json"):
            lines.append(
                f"  {row['claim']:32} expected {row['expected']}, measured {interval(row)}, "
                f"n = {row['n']}: {in_words(row)}"
            )
    return "\n".join(lines)


def explain(suite: Suite, word: str) -> str:
    """Text about a claim: statement, printed numbers, verdict, data, how its runs were made,
    studies, seeds, files.

    word: the claim's id, perhaps after `<paper>/`; raises UserError unless it names exactly one.
    """
    known = {
        f"{figure_name.split('/')[0]}/{claim.id}": (figure_name, claim)
        for figure_name in suite.usable_figures()
        for claim in registry.figure(figure_name).CLAIMS
    }
    matches = [key for key in known if word in (key, key.split("/", 1)[1])]
    if len(matches) != 1:
        names = matches or [*known, *(key.split("/", 1)[1] for key in known)]
        raise UserError(f"claim {word!r}: {did_you_mean(word, names)}")
    figure_name, claim = known[matches[0]]
    lines = [matches[0], f"  paper: {claim.statement} ({claim.source})"]
    lines.append(f"  quantity: {claim.quantity}")
    paper = figure_name.split("/")[0]
    lines += [f"  printed: {row}" for row in printed(paper) if row.claim == claim.id]
    folder = suite.paths.figure(figure_name)
    made = read_or_empty(folder / "provenance.json").get("cells") == cell_ids(suite, figure_name)
    if not made or not (folder / "manifest.json").exists():
        lines.append(f"  not measured yet: {suite.command(f'figures/{figure_name}.pdf')}")
        return "\n".join(lines)
    finished_folder(suite, figure_name)
    row = next(r for r in read_json(folder / "claims.json") if r["claim"] == claim.id)
    provenance = read_json(folder / "provenance.json")
    lines += [
        f"  kind: {row['kind']}; expected {row['expected']}{paper_scale(row)}",
        f"  measured {interval(row)}, n = {row['n']}",
        f"  verdict: {in_words(row)}",
    ]
    if row["detail"]:
        lines.append(f"  detail: {row['detail']}")
    if row["power"]:
        lines.append(f"  power, share of simulated tables that agree: {row['power']}")
    if row["second"]:
        lines.append(f"  under another arithmetic, {row['second']}")
    if row["chosen_after_seeing"]:
        lines.append(f"  chosen after seeing: {row['chosen_after_seeing']}")
    lines.append(f"  scale: {provenance['scale']}; data: {provenance['data']}")
    lines.append(f"  data: {folder / 'data.csv'} sha256 {sha256_file(folder / 'data.csv')}")
    for entry in provenance["made"]:
        versions = ", ".join(f"{k} {v}" for k, v in entry["versions"].items())
        lines.append(
            f"  made by: {entry['runs']} runs, {entry['seconds']:.0f} s on {entry['device']}, "
            f"arithmetic {arithmetic.of(entry)}, {versions}, commit {entry['commit']}"
        )
    if suite.cpu_dependent(figure_name):
        cpus = ", ".join(sorted({entry["host_cpu"] for entry in provenance["made"]}))
        lines.append(f"  convolutions: digits are promised for one kind of CPU only, here {cpus}")
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        runs = [run for cell in study_cells for run in cell.runs]
        seeds = sorted({run.spec["seed"] for run in runs if "seed" in run.spec})
        lines.append(f"  study {study_name}: {len(runs)} runs, seeds {seeds or 'none'}")
        lines += [f"    {suite.paths.cell(cell)}" for cell in study_cells]
    return "\n".join(lines)
