"""A figure's files: data.csv, picture, claims, and a manifest with the digests of all of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from repro.errors import UserError, did_you_mean
from repro.files import atomic_path, read_json, sha256_file, write_bytes, write_json
from repro.judge import code
from repro.judge.judged import JudgedClaim
from repro.judge.judging import render, tabulate
from repro.judge.page import cells, write_page
from repro.suite import cells as cellfiles
from repro.suite import registry
from repro.suite.locks import only_writer
from repro.suite.provenance import mixture, provenances
from repro.suite.suite import Suite

PUBLISHED = "published.json"  # of what `publish` made, and of the manifest it was made by
# The files whose digests are in manifest.json, beside that of the code that made them.
FILES = (
    *("data.csv", "provenance.json"),
    *("figure.pdf", "figure.png", "figure.md", "sheet.pdf", "claims.json"),
)


def reduce(suite: Suite, figure_name: str) -> None:
    """Read and check all cells of a figure; write its data.csv and provenance.json. Says so where
    its runs are of several versions of their code."""
    contents: dict[Path, dict] = {}
    by_study = {}
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        paths = [suite.paths.cell(cell) for cell in study_cells]
        loaded = [
            cellfiles.read_cell(path, cell) for path, cell in zip(paths, study_cells, strict=True)
        ]
        contents |= dict(zip(paths, loaded, strict=True))
        by_study[study_name] = loaded
    cellfiles.check_compatible(contents)
    made = provenances(list(contents.values()))
    if several := mixture(made):
        print(f"{figure_name}: {several}", flush=True)
    table = tabulate(figure_name, by_study)
    folder = suite.paths.figure(figure_name)
    with only_writer(folder):
        write_bytes(folder / "data.csv", table.to_csv(index=False, lineterminator="\n").encode())
        write_json(
            folder / "provenance.json",
            {
                "scale": suite.config.scale,
                "data": suite.data_description(figure_name),
                "label": suite.label,
                "embedded": suite.is_embedded(figure_name),
                "datasets": {n: suite.identity(n) for n in suite.figure_datasets(figure_name)},
                "cells": cell_ids(suite, figure_name),
                "seeds": suite.seeds(figure_name),
                "code": code.keep(folder, figure_name),
                "data_sha256": sha256_file(folder / "data.csv"),
                "made": made,
            },
        )


def draw(suite: Suite, figure_name: str) -> None:
    """Judge and draw a figure: figure.pdf and figure.png, the picture; figure.md, its text;
    sheet.pdf, both; claims.json; and manifest.json, the digests of them all."""
    folder = built_folder(suite, figure_name)
    data = folder / "data.csv"
    provenance = read_json(folder / "provenance.json")
    if sha256_file(data) != provenance["data_sha256"]:
        raise UserError(
            f"{data}: was changed after it was written; delete it and run the same command again"
        )
    with only_writer(folder):
        rows = render(figure_name, data, provenance, folder)
        write_page(folder / "figure", figure_name, data, rows, provenance)
        write_json(folder / "claims.json", rows)
        made = {name: sha256_file(folder / name) for name in FILES}
        write_json(folder / "manifest.json", {"code": code.keep(folder, figure_name), **made})


def publish(suite: Suite, figure_name: str) -> None:
    """Put a figure into figures/, as `put` does, and note what was put there; raises UserError as
    `finished_folder`."""
    folder = finished_folder(suite, figure_name)
    claims, provenance = (read_json(folder / f"{n}.json") for n in ("claims", "provenance"))
    files = put(folder, figure_name, folder / "data.csv", claims, provenance)
    write_json(folder / PUBLISHED, digests([folder / "manifest.json", *files]))


def put(
    folder: Path, figure_name: str, data: Path, claims: Sequence[JudgedClaim], provenance: Mapping
) -> list[Path]:
    """Write a figure's published files, and return them: figures/<paper>/<figure>.pdf and .png, the
    picture; figures/sheets/<paper>/<figure>.pdf; .md, its text; and .csv, what it shows.

    folder: where `judging.render` has drawn it. data: its data.csv.
    """
    pdf, png, sheet, text, table = files = published_files(figure_name)
    for target, source in ((pdf, "figure.pdf"), (png, "figure.png"), (sheet, "sheet.pdf")):
        write_bytes(target, (folder / source).read_bytes())
    write_page(text.with_suffix(""), figure_name, data, claims, provenance)
    write_bytes(table, cells(figure_name, data, provenance["scale"]))
    return files


def published_files(figure_name: str) -> list[Path]:
    """The files under figures/ that `put` writes of a figure."""
    base = Path("figures") / figure_name
    pdf, png, text, table = (base.with_suffix(suffix) for suffix in (".pdf", ".png", ".md", ".csv"))
    return [pdf, png, Path("figures", "sheets", f"{figure_name}.pdf"), text, table]


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Path -> SHA-256 of each of these files that exists."""
    return {path.as_posix(): sha256_file(path) for path in paths if path.is_file()}


def read_or_empty(path: Path) -> dict:
    """What is in a provenance.json or manifest.json; {} if it is missing or cannot be read."""
    try:
        content = read_json(path)
    except UserError:
        return {}
    return content if isinstance(content, dict) else {}


def is_built(suite: Suite, figure_name: str) -> bool:
    """Whether there is a data.csv of a figure from the configured cells."""
    made = read_or_empty(suite.paths.figure(figure_name) / "provenance.json").get("cells")
    return made == cell_ids(suite, figure_name)


def built_folder(suite: Suite, figure_name: str) -> Path:
    """The folder of a figure; raises UserError unless its data.csv is from the configured cells."""
    folder = suite.paths.figure(figure_name)
    if not is_built(suite, figure_name):
        raise UserError(
            f"{folder}: has no data of these settings; build them first with "
            + suite.command(f"figures/{figure_name}.pdf")
        )
    return folder


def finished_folder(suite: Suite, figure_name: str) -> Path:
    """The folder of a figure that is drawn. Raises UserError, naming the file, as `built_folder`
    does, if a file there is missing or is not the one its manifest lists, and as
    `refuse_other_code` does."""
    folder = built_folder(suite, figure_name)
    manifest = folder / "manifest.json"
    if not manifest.exists():
        raise UserError(f"{manifest}: is missing; draw the figure first")
    expected = read_or_empty(manifest)
    if lacking := [name for name in FILES if not isinstance(expected.get(name), str)]:
        raise UserError(
            f"{manifest}: was emptied or changed, it has no digest of {lacking[0]}; delete it and "
            "run the same command again with snakemake"
        )
    for path in (folder / name for name in FILES):
        digest = sha256_file(path) if path.exists() else "missing"
        if digest != expected.get(path.name):
            raise UserError(
                f"{path}: is not what {manifest.name} beside it says (SHA-256 "
                f"{str(expected.get(path.name))[:12]}, found {digest[:12]}); delete it and run "
                "the same command again with snakemake"
            )
    refuse_other_code(suite, [figure_name])
    return folder


def refuse_other_code(suite: Suite, figures: Iterable[str]) -> None:
    """Raise UserError, with the command that makes them anew, if some of these figures are built
    and what they show is of other code of theirs than the present."""
    other = [name for name in figures if is_built(suite, name) and _by_other_code(suite, name)]
    if other:
        more = f" and {len(other) - 1} more were" if len(other) > 1 else " was"
        raise UserError(
            f"figures/{other[0]}.pdf{more} made by other code than the present; make anew with "
            + suite.command(" ".join(f"figures/{name}.pdf" for name in other))
        )


def _by_other_code(suite: Suite, figure_name: str) -> bool:
    """Whether a figure's table or picture is of other code than the present."""
    folder, current = suite.paths.figure(figure_name), code.digest(figure_name)
    parts = (folder / f"{name}.json" for name in ("provenance", "manifest"))
    return any(path.exists() and read_or_empty(path).get("code") != current for path in parts)


def cell_ids(suite: Suite, figure_name: str) -> list[str]:
    """Ids of all cells behind a figure, in the order of its stages."""
    return [cell.id for cells in suite.figure_cells(figure_name).values() for cell in cells]


def page(suite: Suite, name: str) -> None:
    """Write figures/<name>.pdf and .png: every paper's figure of that name, a page each in the PDF,
    one below the other in the PNG."""
    from PIL import Image
    from pypdf import PdfReader, PdfWriter

    if name not in registry.pages():
        raise UserError(f"unknown page {name!r}: {did_you_mean(name, registry.pages())}")
    writer = PdfWriter()
    images = []
    for figure_name in registry.selected_figures(registry.pages()[name]):
        if not Path("figures", f"{figure_name}.pdf").exists():
            raise UserError(
                f"figures/{figure_name}.pdf: is not built yet; build the page with "
                + suite.command(f"figures/{name}.pdf")
            )
        for sheet in PdfReader(Path("figures") / f"{figure_name}.pdf").pages:
            writer.add_page(sheet)
        images.append(Image.open(Path("figures") / f"{figure_name}.png").convert("RGB"))
    pdf, png = made = page_files(name)
    with atomic_path(pdf) as temporary:
        writer.write(temporary)
    stack = Image.new("RGB", (max(i.width for i in images), sum(i.height for i in images)), "white")
    top = 0
    for image in images:
        stack.paste(image, (0, top))
        top += image.height
    with atomic_path(png) as temporary:
        stack.save(temporary)
    write_json(page_note(suite, name), digests(made))


def page_files(name: str) -> tuple[Path, Path]:
    """The files of a page of that name."""
    return Path("figures") / f"{name}.pdf", Path("figures") / f"{name}.png"


def page_note(suite: Suite, name: str) -> Path:
    """Where their digests are noted."""
    return suite.paths.results / "pages" / f"{name}.json"
