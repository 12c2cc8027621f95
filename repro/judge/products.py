"""What is made of the runs: data.csv, figures, judged claims, scoreboard."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from repro.errors import UserError, did_you_mean
from repro.files import atomic_path, read_json, sha256_file, write_bytes, write_json
from repro.judge.claims import Claim, Judgement, Measurement, judge
from repro.suite import cells as cellfiles
from repro.suite import registry
from repro.suite.provenance import provenances
from repro.suite.suite import Suite


def reduce(suite: Suite, figure_name: str) -> None:
    """Check every cell of a figure and write its data.csv and provenance.json."""
    module = registry.figure(figure_name)
    contents = {}
    by_study = {}
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        paths = [suite.paths.cell(cell) for cell in study_cells]
        loaded = [
            cellfiles.read_cell(path, cell) for path, cell in zip(paths, study_cells, strict=True)
        ]
        contents |= dict(zip(paths, loaded, strict=True))
        by_study[study_name] = cellfiles.frame(loaded)
    cellfiles.check_compatible(contents)
    table = module.reduce(by_study)
    if not hasattr(table, "to_csv"):
        kind = type(table).__name__
        raise UserError(f"figures/{figure_name}.py: reduce returned a {kind}, not a DataFrame")
    folder = suite.paths.figure(figure_name)
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
            "made": provenances(list(contents.values())),
        },
    )


def judge_all(figure_name: str, table, provenance: dict) -> list[dict]:
    """Measure and judge every claim of a figure; one row per claim, JSON-ready."""
    module = registry.figure(figure_name)
    scale = provenance["scale"]
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
    drawn = module.draw(table, provenance["scale"])
    drawing.check_panels(f"figures/{figure_name}.py", drawn)
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


def publish(suite: Suite, figure_name: str) -> None:
    """Copy a figure's PDF and PNG to figures/<paper>/."""
    folder = built_folder(suite, figure_name)
    for suffix in (".pdf", ".png"):
        source = folder / f"figure{suffix}"
        if not source.exists():
            raise UserError(f"{source}: is missing; draw the figure first")
        write_bytes(Path("figures") / (figure_name + suffix), source.read_bytes())


def _made_of(provenance: Path) -> list[str] | None:
    """The cells a data.csv was made of, None where its provenance cannot be read."""
    try:
        return read_json(provenance)["cells"]
    except (UserError, KeyError, TypeError):
        return None


def built_folder(suite: Suite, figure_name: str) -> Path:
    """The folder of a figure's data; raises UserError unless made of the configured cells."""
    folder = suite.paths.figure(figure_name)
    if _made_of(folder / "provenance.json") != cell_ids(suite, figure_name):
        raise UserError(
            f"{folder}: has no data of these settings; build them first with "
            f"snakemake figures/{figure_name}.pdf"
        )
    return folder


def cell_ids(suite: Suite, figure_name: str) -> list[str]:
    """Ids of every cell behind a figure."""
    return [cell.id for found in suite.figure_cells(figure_name).values() for cell in found]


def page(name: str) -> None:
    """figures/<name>.pdf and .png: every paper's figure of that name, a page each."""
    from PIL import Image
    from pypdf import PdfReader, PdfWriter

    if name not in registry.pages():
        raise UserError(f"unknown page {name!r}: {did_you_mean(name, registry.pages())}")
    writer = PdfWriter()
    images = []
    for figure_name in registry.selected_figures(registry.pages()[name]):
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
