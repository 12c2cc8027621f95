"""What is made of the runs: data.csv, figures, judged claims, scoreboard."""

import csv
import io
import math
import os
import time
from pathlib import Path

from repro import cells as cellfiles
from repro import registry
from repro.claims import Judgement, interval, judge
from repro.config import did_you_mean
from repro.errors import UserError
from repro.files import atomic_path, read_json, sha256_file, write_bytes, write_json
from repro.registry import ROOT, Suite

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


def reduce(suite: Suite, figure_name: str) -> None:
    """Check every cell of a figure and write its data.csv and provenance.json."""
    module = registry.figure(figure_name)
    contents = {}
    by_study = {}
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        paths = [suite.cell_path(cell) for cell in study_cells]
        loaded = [
            cellfiles.read_cell(path, cell) for path, cell in zip(paths, study_cells, strict=True)
        ]
        contents |= dict(zip(paths, loaded, strict=True))
        by_study[study_name] = cellfiles.frame(loaded)
    cellfiles.check_compatible(contents)
    table = module.reduce(by_study)
    folder = suite.figure_folder(figure_name)
    write_bytes(folder / "data.csv", table.to_csv(index=False, lineterminator="\n").encode())
    write_json(
        folder / "provenance.json",
        {
            "scale": suite.config.scale,
            "data": suite.data_words(figure_name),
            "label": suite.label,
            "embedded": suite.is_embedded(figure_name),
            "cells": cell_ids(suite, figure_name),
            "data_sha256": sha256_file(folder / "data.csv"),
            "made": cellfiles.provenances(list(contents.values())),
        },
    )


def judge_all(figure_name: str, table, provenance: dict) -> list[dict]:
    """Measure and judge every claim of a figure; one row per claim, JSON-ready."""
    module = registry.figure(figure_name)
    scale = provenance["scale"]
    measured = module.measure(table, scale)
    missing = {claim.id for claim in module.CLAIMS} ^ set(measured)
    if missing:
        raise ValueError(f"{figure_name}: claims and measurements differ in {sorted(missing)}")
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

    from repro import drawing

    module = registry.figure(figure_name)
    table = pd.read_csv(data)
    rows = judge_all(figure_name, table, provenance)
    drawing.style()
    drawn = module.draw(table, provenance["scale"])
    title = f"{module.TITLE}  [{figure_name.split('/')[0]}]"
    drawing.finish(drawn, title, module.CAPTION, rows, footer(provenance, sha256_file(data)))
    drawing.save(drawn, pdf, png)
    return rows


def draw(suite: Suite, figure_name: str) -> None:
    """Write figure.pdf, figure.png, claims.json and manifest.json beside a figure's data.csv."""
    folder = built_folder(suite, figure_name)
    pdf, png, data = folder / "figure.pdf", folder / "figure.png", folder / "data.csv"
    provenance = read_json(folder / "provenance.json")
    if sha256_file(data) != provenance["data_sha256"]:
        raise UserError(
            f"{data}: was changed after it was written; delete it and run the same command again"
        )
    rows = render(figure_name, data, provenance, pdf, png)
    write_json(folder / "claims.json", rows)
    write_json(folder / "manifest.json", {p.name: sha256_file(p) for p in (data, pdf, png)})


DRAWN = ("figure.pdf", "figure.png", "claims.json", "manifest.json")


def publish(suite: Suite, figure_name: str) -> None:
    """Copy a figure's PDF and PNG to figures/<paper>/."""
    folder = built_folder(suite, figure_name)
    for suffix in (".pdf", ".png"):
        source = folder / f"figure{suffix}"
        if not source.exists():
            raise UserError(f"{source}: is missing; draw the figure first")
        write_bytes(Path("figures") / (figure_name + suffix), source.read_bytes())


def mark_stale(suite: Suite) -> None:
    """Stamp every file that is not what this configuration would make, so that it is made again.

    Snakemake judges by file times and by what it remembers under .snakemake/; neither says that
    a data.csv is of another spec, nor that a published figure is of another scale or source.
    A stamp is an input of the rule that makes the file, with content never seen before.
    """
    for figure_name in registry.figure_names():
        folder = suite.figure_folder(figure_name)
        data, provenance = folder / "data.csv", folder / "provenance.json"
        if not (data.exists() and provenance.exists()):
            for name in DRAWN:  # Snakemake would take them for finished
                (folder / name).unlink(missing_ok=True)
        if data.exists() and _made_of(provenance) != cell_ids(suite, figure_name):
            _stamp(folder / "data.stale", data)
        for suffix in (".pdf", ".png"):
            source, target = folder / f"figure{suffix}", Path("figures") / (figure_name + suffix)
            if target.exists() and not (
                source.exists() and source.read_bytes() == target.read_bytes()
            ):
                _stamp(folder / "published.stale", target)


def _made_of(provenance: Path) -> list[str] | None:
    """The cells a data.csv was made of, None where its provenance cannot be read."""
    try:
        return read_json(provenance)["cells"]
    except (UserError, KeyError, TypeError):
        return None


def built_folder(suite: Suite, figure_name: str) -> Path:
    """The folder of a figure's data; raises UserError unless made of the configured cells."""
    folder = suite.figure_folder(figure_name)
    if _made_of(folder / "provenance.json") != cell_ids(suite, figure_name):
        raise UserError(
            f"{folder}: has no data of these settings; build them first with "
            f"snakemake figures/{figure_name}.pdf"
        )
    return folder


def _stamp(path: Path, stale: Path) -> None:
    """Write a stamp; the stale file is older, even if a clock that is ahead dated it."""
    write_bytes(path, f"{time.time_ns()}\n".encode())
    older = min(path.stat().st_mtime_ns - 1_000_000_000, stale.stat().st_mtime_ns)
    os.utime(stale, ns=(older, older))


def stamps(suite: Suite, figure_name: str, name: str) -> list[Path]:
    """The stamp `name` of a figure as an input, where `mark_stale` ever wrote it."""
    path = suite.figure_folder(figure_name) / name
    return [path] if path.exists() else []


def cell_ids(suite: Suite, figure_name: str) -> list[str]:
    """Ids of every cell behind a figure."""
    return [cell.id for found in suite.figure_cells(figure_name).values() for cell in found]


def sources(figure_name: str) -> list[str]:
    """The code that makes a figure of its runs: a change redraws it, and never retrains."""
    own = ROOT / "figures" / f"{figure_name}.py"
    library = [ROOT / "repro" / f"{name}.py" for name in ("claims", "drawing", "optimum")]
    theory = (ROOT / "repro" / "theory").glob("*.py")
    return [str(own), *map(str, sorted([*own.parent.glob("_*.py"), *library, *theory]))]


def page(name: str) -> None:
    """figures/<name>.pdf and .png: every paper's figure of that name, a page each."""
    from PIL import Image
    from pypdf import PdfReader, PdfWriter

    if name not in registry.pages():
        raise UserError(f"unknown page {name!r}: {did_you_mean(name, registry.pages())}")
    writer = PdfWriter()
    images = []
    for figure_name in registry.pages()[name]:
        for sheet in PdfReader(Path("figures") / f"{figure_name}.pdf").pages:
            writer.add_page(sheet)
        images.append(Image.open(Path("figures") / f"{figure_name}.png").convert("RGB"))
    with atomic_path(Path("figures") / f"{name}.pdf") as temporary:
        writer.write(temporary)
    sheet = Image.new("RGB", (max(i.width for i in images), sum(i.height for i in images)), "white")
    top = 0
    for image in images:
        sheet.paste(image, (0, top))
        top += image.height
    with atomic_path(Path("figures") / f"{name}.png") as temporary:
        sheet.save(temporary)


def scoreboard(suite: Suite) -> None:
    """scoreboard.csv, scoreboard.md and manifest.json of the figures the config names."""
    rows, manifest = [], {}
    for figure_name in registry.selected_figures(suite.config.figures):
        folder = built_folder(suite, figure_name)
        rows += read_json(folder / "claims.json")
        manifest[figure_name] = read_json(folder / "manifest.json")
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_bytes(suite.results / "scoreboard.csv", buffer.getvalue().encode())
    title = f"scale {suite.config.scale}, data {suite.label}"
    write_bytes(suite.results / "scoreboard.md", board(title, rows))
    write_json(suite.results / "manifest.json", manifest)


def board(title: str, rows: list[dict]) -> bytes:
    """Judged claims as a Markdown page, expected beside measured."""
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
    """What a workflow built, each claim's verdict, and the time, for the terminal.

    built: figure -> whether its files are this configuration's.
    """
    from repro.progress import duration

    lines = [f"scale {suite.config.scale}, data {suite.label}, {duration(seconds)}"]
    for figure_name, finished in sorted(built.items()):
        if not finished:
            lines.append(f"figures/{figure_name}.pdf: not built, see the errors above")
            continue
        lines.append(f"figures/{figure_name}.pdf")
        for row in read_json(suite.figure_folder(figure_name) / "claims.json"):
            verdict = row["verdict"] + (f" ({row['reason']})" if row["reason"] else "")
            lines.append(
                f"  {row['claim']:32} expected {row['expected']}, measured {interval(row)}, "
                f"n = {row['n']}: {verdict}"
            )
    return "\n".join(lines)


def explain(suite: Suite, word: str) -> str:
    """From a claim to its runs: statement, verdict, studies, seeds, data, device, commit."""
    known = {
        f"{figure_name.split('/')[0]}/{claim.id}": (figure_name, claim)
        for figure_name in registry.figure_names()
        for claim in registry.figure(figure_name).CLAIMS
    }
    matches = [key for key in known if word in (key, key.split("/", 1)[1])]
    if len(matches) != 1:
        names = matches or [*known, *(key.split("/", 1)[1] for key in known)]
        raise UserError(f"claim {word!r}: {did_you_mean(word, names)}")
    figure_name, claim = known[matches[0]]
    lines = [matches[0], f"  paper: {claim.statement} ({claim.source})"]
    lines.append(f"  quantity: {claim.quantity}")
    folder = suite.figure_folder(figure_name)
    made = _made_of(folder / "provenance.json") == cell_ids(suite, figure_name)
    if not made or not (folder / "claims.json").exists():
        lines.append(f"  not measured yet: uv run snakemake figures/{figure_name}.pdf")
        return "\n".join(lines)
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
            f"{versions}, commit {entry['commit']}"
        )
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        runs = [run for cell in study_cells for run in cell.runs]
        seeds = sorted({run.spec["seed"] for run in runs if "seed" in run.spec})
        lines.append(f"  study {study_name}: {len(runs)} runs, seeds {seeds or 'none'}")
        lines += [f"    {suite.cell_path(cell)}" for cell in study_cells]
    return "\n".join(lines)
