"""Which existing files are not what this configuration and code would make. Changes no file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from repro.files import sha256_file
from repro.judge import code
from repro.judge.products import (
    FILES,
    PUBLISHED,
    cell_ids,
    digests,
    page_files,
    page_note,
    published_files,
    read_or_empty,
)
from repro.suite.suite import Suite


def stale(suite: Suite, figure_name: str) -> list[Path]:
    """The files of a figure that must be made anew, because they are missing, were made from other
    runs or by other code, or are not what was made: the listing of its code, data.csv,
    manifest.json (which stands for everything that `draw` writes), and those published files that
    exist.

    Snakemake itself compares file times and what it remembers under .snakemake/. Neither shows that
    a data.csv is of another spec, or a published figure of another scale or source.
    """
    folder = suite.paths.figure(figure_name)
    current_code = code.digest(figure_name)
    data, manifest = folder / "data.csv", folder / "manifest.json"
    provenance, drawn = read_or_empty(folder / "provenance.json"), read_or_empty(manifest)
    here = digests(folder / name for name in FILES)
    listing = code.path(folder, current_code)
    result = [listing] if listing.exists() and sha256_file(listing) != current_code else []
    if not (
        here.get(data.as_posix(), "missing") == provenance.get("data_sha256")
        and provenance.get("cells") == cell_ids(suite, figure_name)
        and provenance.get("code") == current_code
    ):
        result.append(data)
    if not (
        all(here.get((folder / name).as_posix(), "missing") == drawn.get(name) for name in FILES)
        and drawn.get("code") == current_code
    ):
        result.append(manifest)
    noted = read_or_empty(folder / PUBLISHED)
    return result + _others(published_files(figure_name), noted, [manifest])


def stale_board(suite: Suite, figures: list[str]) -> list[Path]:
    """[the scoreboard's manifest] if the scoreboard was made from other figures, from older
    versions of these, or is not what was made; else []."""
    manifest = suite.paths.results / "manifest.json"
    current = {name: read_or_empty(suite.paths.figure(name) / "manifest.json") for name in figures}
    made = read_or_empty(manifest)
    files = [suite.paths.results / f"scoreboard.{suffix}" for suffix in ("csv", "md")]
    whole = made.get("figures") == current and made.get("files") == digests(files)
    return [] if whole else [manifest]


def stale_page(suite: Suite, name: str) -> list[Path]:
    """The files of a page of that name that exist and are not what was made."""
    return _others(page_files(name), read_or_empty(page_note(suite, name)))


def _others(targets: Sequence[Path], noted: Mapping, made_by: Sequence[Path] = ()) -> list[Path]:
    """Those of the targets that exist and whose digests are not those noted; all that exist where
    the files that they were made by are not those noted."""
    by, here = digests(made_by), digests(targets)
    same = all(noted.get(path) == digest for path, digest in by.items())
    return [
        path
        for path in targets
        if path.exists() and not (same and here.get(path.as_posix()) == noted.get(path.as_posix()))
    ]
