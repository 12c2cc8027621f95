"""Verdicts: in a table, at the end of a workflow, and from one claim back to its runs."""

import csv
import io

from repro.errors import UserError, did_you_mean
from repro.files import read_json, sha256_file, write_bytes, write_json
from repro.judge.claims import interval
from repro.judge.printed import printed
from repro.judge.products import cell_ids, finished_folder, read_or_empty
from repro.suite import arithmetic, registry
from repro.suite.suite import Suite

COLUMNS = [
    "claim",
    "paper",
    "figure",
    "source",
    "expected",
    "measured",
    "low",
    "high",
    "n",
    "verdict",
    "scale",
    "data",
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
    writer.writerows(rows)
    write_bytes(suite.paths.results / "scoreboard.csv", buffer.getvalue().encode())
    title = f"scale {suite.config.scale}, data {suite.label}"
    write_bytes(suite.paths.results / "scoreboard.md", board(title, rows))
    write_json(suite.paths.results / "manifest.json", manifest)


def board(title: str, rows: list[dict]) -> bytes:
    """A Markdown page with a table of judged claims, rows as from `judging.judge_all`."""
    lines = [
        f"# Scoreboard: {title}",
        "",
        "| claim | where | quantity | expected | measured | n | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        verdict = row["verdict"] + (f" ({row['reason']})" if row["reason"] else "")
        cells = [
            f"{row['paper']}/{row['claim']}",
            row["source"],
            row["quantity"],
            row["expected"],
            interval(row),
            str(row["n"]),
            verdict,
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return ("\n".join(lines) + "\n").encode()


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
            verdict = row["verdict"] + (f" ({row['reason']})" if row["reason"] else "")
            lines.append(
                f"  {row['claim']:32} expected {row['expected']}, measured {interval(row)}, "
                f"n = {row['n']}: {verdict}"
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
    reason = f" ({row['reason']})" if row["reason"] else ""
    lines += [
        f"  expected {row['expected']}, measured {interval(row)}, n = {row['n']}",
        f"  verdict: {row['verdict']}{reason}",
    ]
    if row["detail"]:
        lines.append(f"  detail: {row['detail']}")
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
        lines.append(
            f"  noise sized by singular values: digits hold for one kind of CPU, here {cpus}"
        )
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        runs = [run for cell in study_cells for run in cell.runs]
        seeds = sorted({run.spec["seed"] for run in runs if "seed" in run.spec})
        lines.append(f"  study {study_name}: {len(runs)} runs, seeds {seeds or 'none'}")
        lines += [f"    {suite.paths.cell(cell)}" for cell in study_cells]
    return "\n".join(lines)
