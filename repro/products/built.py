"""Where a figure's files are under the present settings, code and evidence, and whether they are
there: the one place that report, explain, record, verify and the workflow ask."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from repro.core import catalog, discovery
from repro.core.locks import beside, only_writer
from repro.core.suite import Suite
from repro.errors import UserError, did_you_mean
from repro.files import atomic_path, seal_of, sha256_file, write_json
from repro.products.picture import folder_of
from repro.products.published import (
    MANIFEST,
    PROVENANCE,
    Manifest,
    checked_manifest,
    files,
    note_of,
    read_or_empty,
    small_of,
)
from repro.products.run_table import cell_ids, cell_paths


def finished(suite: Suite, figure_name: str) -> Path:
    """The folder of a figure's picture as the present settings, code and evidence make it. Raises
    UserError, with the command that makes it, where there is none, and as `checked_manifest`."""
    refuse_other_code(suite, [figure_name])
    folder = folder_of(suite, figure_name)
    if not is_drawn(suite, figure_name):
        raise UserError(
            f"{suite.paths.figure(figure_name)}: has no picture of these settings; make it with "
            + suite.command(f"figures/{figure_name}.pdf")
        )
    checked_manifest(folder)
    return folder


def is_drawn(suite: Suite, figure_name: str) -> bool:
    """Whether there is a picture of a figure of the present settings, code and evidence; these are
    looked up where there is a picture at all."""
    return (
        any(_manifests(suite, figure_name)) and (folder_of(suite, figure_name) / MANIFEST).exists()
    )


def _manifests(suite: Suite, figure_name: str) -> Iterator[Path]:
    """The manifests of a figure's pictures, by whatever settings, code and evidence."""
    return suite.paths.figure(figure_name).glob(f"*/{MANIFEST}")


def refuse_other_code(suite: Suite, figures: Iterable[str]) -> None:
    """Raise UserError, with the command that makes them anew, if some of these figures were drawn
    of the present runs, but by other code or on other evidence than the present, and not since."""
    other = [name for name in figures if not is_drawn(suite, name) and _was_drawn(suite, name)]
    if other:
        more = f" and {len(other) - 1} more were" if len(other) > 1 else " was"
        raise UserError(
            f"figures/{other[0]}.pdf{more} made by other code than the present; make anew with "
            + suite.command(" ".join(f"figures/{name}.pdf" for name in other))
        )


def _was_drawn(suite: Suite, figure_name: str) -> bool:
    """Whether a figure was drawn of the configured cells, by whatever code."""
    said = [
        read_or_empty(path.with_name(PROVENANCE), {"cells": list[str]}).get("cells")
        for path in _manifests(suite, figure_name)
    ]
    return bool(said) and cell_ids(suite, figure_name) in said


def outdated(suite: Suite, figure_name: str) -> list[Path]:
    """The manifest of a figure that must be made anew although it is there: a file of it is gone,
    cells are others than it lists (made anew, or of another device), or code or evidence was
    changed while it was made. Snakemake passes over a file that is gone while another is there."""
    folder, small = folder_of(suite, figure_name), small_of(figure_name)
    manifest = folder / MANIFEST
    if not manifest.exists():
        return []
    said = read_or_empty(manifest, Manifest)
    listed = [*files(figure_name), *([small] if small in said.get("files", ()) else [])]
    cells = [seal_of(p) if p.exists() else "" for p in cell_paths(suite, figure_name)]
    is_present = (
        all((folder / name).exists() for name in listed)
        and said.get("key", folder.name) == folder.name
        and read_or_empty(folder / PROVENANCE, {"files": list[str]}).get("files") == cells
    )
    return [] if is_present else [manifest]


def page(suite: Suite, name: str) -> None:
    """Write figures/<name>.pdf and .png: every paper's figure of that name, a page each in the PDF,
    one below the other in the PNG."""
    from PIL import Image
    from pypdf import PdfReader, PdfWriter

    if name not in catalog.pages():
        raise UserError(f"unknown page {name!r}: {did_you_mean(name, catalog.pages())}")
    writer = PdfWriter()
    images = []
    for figure_name in discovery.selected_figures(catalog.pages()[name]):
        if not Path("figures", f"{figure_name}.pdf").exists():
            raise UserError(
                f"figures/{figure_name}.pdf: is not built yet; build the page with "
                + suite.command(f"figures/{name}.pdf")
            )
        for sheet in PdfReader(Path("figures") / f"{figure_name}.pdf").pages:
            writer.add_page(sheet)
        images.append(Image.open(Path("figures") / f"{figure_name}.png").convert("RGB"))
    pdf, png = made = page_files(name)
    stack = Image.new("RGB", (max(i.width for i in images), sum(i.height for i in images)), "white")
    top = 0
    for image in images:
        stack.paste(image, (0, top))
        top += image.height
    with only_writer(pdf.parent, f".{name}.lock", beside(name)):
        with atomic_path(pdf) as temporary:
            writer.write(temporary)
        with atomic_path(png) as temporary:
            stack.save(temporary)
    write_json(page_note(suite, name), note_of(made, page_of(name)))


def page_files(name: str) -> tuple[Path, Path]:
    """The files of a page of that name."""
    return Path("figures") / f"{name}.pdf", Path("figures") / f"{name}.png"


def page_of(name: str) -> dict[str, str]:
    """What a page of that name is made of: path -> digest of each figure's PDF that is there."""
    pdfs = (Path("figures", f"{figure}.pdf") for figure in catalog.pages()[name])
    return {pdf.as_posix(): sha256_file(pdf) for pdf in pdfs if pdf.exists()}


def page_note(suite: Suite, name: str) -> Path:
    """Where what a page was made of is noted."""
    return suite.paths.results / "pages" / f"{name}.json"
