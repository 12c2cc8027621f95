"""A figure's finished files: held against their manifest, and copied to figures/."""

import filecmp
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from repro.core.catalog import figure_names
from repro.core.locks import beside, only_writer
from repro.core.names import SMALL
from repro.errors import UserError, did_you_mean
from repro.files import open_file, read_as, sha256_file, write_bytes

DATA, PROVENANCE = "data.csv", "provenance.json"
RESULTS, MANIFEST = "results.json", "manifest.json"
AGAIN = "run the same command again with snakemake"
BEGINS = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-"}
SUFFIXES = (".pdf", ".png", ".md", ".csv")  # of what is copied: picture, its text, what it shows


class Manifest(TypedDict):
    """manifest.json of a picture's folder."""

    figure: str
    key: str
    files: dict[str, str]  # name -> SHA-256


def files(figure_name: str) -> list[str]:
    """The names of every figure's files, its manifest aside."""
    shown = (figure_name.split("/")[1] + suffix for suffix in SUFFIXES)
    return [DATA, PROVENANCE, *shown, RESULTS]


def small_of(figure_name: str) -> str:
    """The name of a small picture, which some figures have; only their folder, the record and the
    pages have it."""
    return figure_name.split("/")[1] + SMALL


def manifest_of(folder: Path, figure_name: str, key: str) -> dict:
    """What manifest.json says of a picture's folder. key: of what it was really made of, which is
    another than the folder's name where code or evidence was changed meanwhile."""
    small = small_of(figure_name)
    names = [*files(figure_name), *([small] if (folder / small).exists() else [])]
    digests = {name: sha256_file(folder / name) for name in names}
    return {"figure": figure_name, "key": key, "files": digests}


def checked_manifest(folder: Path) -> dict:
    """The manifest of a finished picture's folder. Raises UserError, naming the file, if one is
    missing or is not the one that the manifest lists."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        raise UserError(f"{manifest}: is missing; run the same command again with snakemake")
    said = read_or_empty(manifest, Manifest)
    name, listed = "/".join(folder.absolute().parts[-3:-1]), said.get("files", {})
    if name not in figure_names():
        raise UserError(
            f"{folder}: is the folder of no figure: {did_you_mean(name, figure_names())}"
        )
    if said.get("figure", name) != name:
        raise UserError(f"{manifest}: is of another figure than {name}; delete it and {AGAIN}")
    if {*listed} - {small_of(name)} != {*files(name)}:
        raise UserError(f"{manifest}: was emptied or changed; delete it and {AGAIN}")
    for each, expected in listed.items():
        path = folder / each
        if path.is_symlink():
            raise UserError(
                f"{path}: is a link, which this suite never writes; delete it and {AGAIN}"
            )
        digest = sha256_file(path) if path.exists() else "missing"
        if digest != expected:
            raise UserError(
                f"{path}: is not what {MANIFEST} says (SHA-256 {str(expected)[:12]}, found "
                f"{digest[:12]}); delete it and {AGAIN}"
            )
    if said["key"] != folder.name:
        raise UserError(
            f"{folder}: its code or evidence was changed while it was made; run the same command "
            "again with snakemake"
        )
    check_table(folder / DATA, f"delete {folder} and {AGAIN}")
    for path in folder.glob("*.p[dn][fg]"):
        check_picture(path, f"delete {folder} and {AGAIN}")
    return said


def check_picture(path: Path, remedy: str) -> None:
    """Raise UserError unless a file begins as the PNG or PDF that its name says."""
    with open_file(path) as file:
        if not file.read(8).startswith(BEGINS[path.suffix]):
            raise UserError(f"{path}: is no picture; {remedy}")


def check_table(path: Path, remedy: str) -> None:
    """Raise UserError unless a file is a table of a line of names and of rows."""
    with open_file(path) as file:
        if not (file.readline().strip() and file.readline().strip()):
            raise UserError(f"{path}: is a table without rows; {remedy}")


def publish(folder: Path) -> None:
    """Copy a finished picture and its text to figures/<paper>/, whose names its folder has; raises
    UserError as `checked_manifest`."""
    put(folder, checked_manifest(folder)["figure"])


def put(folder: Path, figure_name: str) -> list[Path]:
    """Copy a figure's files from a folder to figures/<paper>/, and return them there."""
    targets = in_figures(figure_name)
    name = targets[0].stem
    with only_writer(targets[0].parent, f".{name}.lock", beside(name)):
        for target in targets:
            write_bytes(target, (folder / target.name).read_bytes())
    return targets


def in_figures(figure_name: str) -> list[Path]:
    """The files under figures/ that are a figure's."""
    return [Path("figures", f"{figure_name}{suffix}") for suffix in SUFFIXES]


def others(folder: Path, figure_name: str) -> list[Path]:
    """The files under figures/ that are there but are not those of a picture's folder, byte for
    byte: of another scale, of other code, edited, or of a picture that is still to be drawn. Their
    age says nothing of that."""
    return [path for path in in_figures(figure_name) if path.exists() and _is_other(path, folder)]


def _is_other(path: Path, folder: Path) -> bool:
    source = folder / path.name
    return not source.exists() or not filecmp.cmp(path, source, shallow=False)


def read_or_empty(path: Path, kind: Any) -> dict:
    """What is in a JSON file; {} if it is missing, or not of the type."""
    try:
        return read_as(path, kind)
    except UserError:
        return {}


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Path -> SHA-256 of each of these files that exists."""
    return {path.as_posix(): sha256_file(path) for path in paths if path.is_file()}


def is_noted(note: Path, made: Iterable[Path], of: object) -> bool:
    """Whether what is made of several figures is there as it was noted (`note_of`)."""
    return read_or_empty(note, {"files": dict[str, str]}) == note_of(made, of)


def note_of(made: Iterable[Path], of: object) -> Mapping:
    """What is noted of files that are made of several figures. of: those figures, as JSON."""
    return {"files": digests(made), "of": of}
