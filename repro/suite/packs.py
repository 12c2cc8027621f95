"""Archives of finished cells, to carry them from one machine to another."""

import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from repro.errors import UserError
from repro.files import CELL_SEAL, atomic_path, check_seal, parse_json, read_sealed, write_bytes
from repro.suite import cells as cellfiles
from repro.suite import registry
from repro.suite.suite import Suite

MAX_BYTES = 256 * 2**20  # of one cell's file; the largest at paper scale has a few million
MAX_NAME = 255  # bytes that a file's name may have on most disks


def pack(suite: Suite, archive: Path) -> int:
    """Write every finished cell of the configured figures to a .tar.gz; returns how many.

    Checkpoints are not packed, but the folder that would hold them is, empty: Snakemake wants to
    see it. The runs that started from a checkpoint are packed, so that nothing is trained again.
    Raises UserError if no cell is finished, or one was edited.
    """
    paths = {
        suite.paths.cell(cell)
        for figure_name in registry.selected_figures(suite.config.figures)
        for study_cells in suite.figure_cells(figure_name).values()
        for cell in study_cells
    }
    finished = sorted(path for path in paths if path.exists())
    if not finished:
        raise UserError(f"nothing to pack: no finished cell under {suite.paths.results}")
    with atomic_path(archive) as temporary, tarfile.open(temporary, "w:gz") as tar:
        for path in finished:
            read_sealed(path, CELL_SEAL)
            tar.add(path, arcname=path.as_posix())
            checkpoints = path.with_suffix(".checkpoints")
            if checkpoints.exists():
                tar.add(checkpoints, arcname=checkpoints.as_posix(), recursive=False)
    return len(finished)


def unpack(archive: Path) -> int:
    """Put packed cells under results/; returns how many were new.

    The whole archive is checked before anything is written; a cell that already exists is kept.
    A seal (checksum) detects accidents, not forgery: whoever can write a cell can seal it.
    Raises UserError if the archive cannot be read; if a member is too large, is no sealed cell of
    this suite's format, or has another cell's name; and if a file is where a folder is needed.
    """
    if not archive.is_file():
        raise UserError(f"{archive}: does not exist, or is no file")
    cells, folders = [], set()
    for name, content in _members(archive):
        if content is None:
            folders.add(name)
        else:
            _check_member(archive, name, content)
            cells.append(name)
    packed = {PurePosixPath(name).with_suffix(".checkpoints") for name in cells}
    foreign = sorted(str(name) for name in folders if PurePosixPath(name) not in packed)
    if foreign:
        raise UserError(f"{archive}: {foreign[0]} is no cell; nothing was unpacked")
    new = {name for name in cells if not Path(name).exists()}
    for parent in {parent for name in (*new, *folders) for parent in Path(name).parents}:
        if parent.as_posix() in cells or (parent.exists() and not parent.is_dir()):
            raise UserError(f"{parent}: is a file where a folder should be; nothing was unpacked")
    for name in folders:
        Path(name).mkdir(parents=True, exist_ok=True)
    for name, content in _members(archive):
        if name in new and content is not None:
            write_bytes(name, content)
    return len(new)


def _members(archive: Path) -> Iterator[tuple[str, bytes | None]]:
    """(name, content) of each cell in an archive, one in memory at a time, and (name, None) of each
    folder of checkpoints."""
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = PurePosixPath(member.name).as_posix()  # `tar -C folder .` says ./results/...
                if member.isdir():
                    if name.endswith(".checkpoints"):
                        yield _checked(archive, name), None
                    continue  # other folders are made when a cell is written into them
                is_cell = name.endswith(".json") and member.isfile()
                content = tar.extractfile(member) if is_cell else None
                if content is None:
                    raise UserError(f"{archive}: {name} is no cell; nothing was unpacked")
                if member.size > MAX_BYTES:
                    raise UserError(
                        f"{archive}: {name} has {member.size:,} bytes, more than a cell may "
                        f"({MAX_BYTES:,}); nothing was unpacked"
                    )
                yield _checked(archive, name), content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{archive}: is not a readable pack ({reason}); copy it again") from None


def _checked(archive: Path, name: str) -> str:
    """A member's name; raises UserError if it is not a path that a cell can have: below results/,
    printable, and not too long for a disk."""
    parts = PurePosixPath(name).parts
    fits = name.isprintable() and all(len(part.encode()) <= MAX_NAME for part in parts)
    if len(parts) < 5 or parts[0] != "results" or ".." in parts or not fits:
        raise UserError(f"{archive}: {name!r} is no cell; nothing was unpacked")
    return name


def _check_member(archive: Path, name: str, content: bytes) -> None:
    """Raise UserError unless a member is a sealed cell whose name is that of its study and id."""
    place, remedy = f"{archive}: {name}", "nothing was unpacked; copy or pack it again"
    cell = check_seal(parse_json(content, place, remedy), place, remedy)
    cellfiles.check_format(cell, place, remedy)
    path = PurePosixPath(name)
    study = "/".join(path.parent.parts[3:])  # after results/<scale>/<data>/
    if cell["study"] != study or not path.stem.endswith(f"-{cell['id'][:12]}"):
        raise UserError(
            f"{place}: is the name of another cell than {cell['id'][:12]} of {cell['study']}; "
            + remedy
        )
