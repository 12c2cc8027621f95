"""Archives of finished cells, to carry them from one machine to another."""

import lzma
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from repro.errors import UserError
from repro.files import CELL_SEAL, atomic_path, check_seal, parse_json, read_sealed, write_bytes
from repro.suite import cells as cellfiles
from repro.suite import registry
from repro.suite.plan import Cell
from repro.suite.suite import Suite

MAX_BYTES = 256 * 2**20  # of one cell's file; the largest at paper scale has a few million
MAX_HEADERS = 2**20  # of what an archive says of one cell: its name, owner, times
UNREADABLE = (tarfile.TarError, zlib.error, lzma.LZMAError)
MAX_NAME = 255  # bytes that a file's name may have on most disks


@dataclass(frozen=True)
class Unpacked:
    """What became of an archive's cells.

    asked: what was asked for, in words. new: how many were put here. same: how many are here
    already, with the same results. differing: files here that have others, and were kept.
    left_out: names of those that nobody asked for.
    """

    asked: str
    new: int
    same: int
    differing: Sequence[str]
    left_out: Sequence[str]

    def __str__(self) -> str:
        lines = [f"unpacked {self.new} new cells"]
        lines += [f"{self.same} are here already, with the same results"] if self.same else []
        lines += [f"{name}: has other results than in the archive; kept" for name in self.differing]
        if self.left_out:
            first = f"not of {self.asked}, {self.left_out[0]} first"
            lines.append(f"{len(self.left_out)} were left out, {first}")
        return "\n".join(lines)


def pack(suite: Suite, archive: Path) -> int:
    """Write every finished cell of the configured figures to a .tar.gz; returns how many.

    Checkpoints are not packed, but the folder that would hold them is, empty: Snakemake wants to
    see it. The runs that started from a checkpoint are packed, so that nothing is trained again.
    Raises UserError if no cell is finished, or one was edited.
    """
    finished = sorted(path for path in map(Path, _asked_for(suite)) if path.exists())
    if not finished:
        raise UserError(f"nothing to pack: no finished cell under {suite.paths.results}")
    return write(finished, archive)


def write(finished: Sequence[Path], archive: Path) -> int:
    """Write the files of finished cells to a .tar.gz; returns how many. Raises UserError if one was
    edited."""
    with atomic_path(archive) as temporary, tarfile.open(temporary, "w:gz") as tar:
        for path in finished:
            read_sealed(path, CELL_SEAL)
            tar.add(path, arcname=path.as_posix())
            checkpoints = path.with_suffix(".checkpoints")
            if checkpoints.exists():
                tar.add(checkpoints, arcname=checkpoints.as_posix(), recursive=False)
    return len(finished)


def unpack(suite: Suite, archive: Path) -> Unpacked:
    """Put the packed cells of the configured figures under results/.

    The whole archive is checked before anything is written; a cell that already exists is kept.
    A cell is held against its id, and everything else in it by its form (`cells.check_cell`).
    A seal (checksum) detects accidents, not forgery: whoever can write a cell can seal it.
    Raises UserError if the archive cannot be read, or has no cell that was asked for; if a member
    is too large, is no sealed cell of this suite's format, or has another cell's name; and if a
    file is where a folder is needed.
    """
    if not archive.is_file():
        raise UserError(f"{archive}: does not exist, or is no file")
    asked_for = _asked_for(suite)
    cells, folders, left_out = set(), set(), []
    new, differing = set(), []
    for name, content in _members(archive):
        if content is None:
            folders.add(name)
            continue
        packed = _check_member(archive, name, content, asked_for.get(name))
        cells.add(name)
        if name not in asked_for:
            left_out.append(name)
        elif not Path(name).exists():
            new.add(name)
        elif _results(cellfiles.read_cell(Path(name), asked_for[name])) != _results(packed):
            differing.append(name)
    wanted = cells - {*left_out}
    asked = f"scale {suite.config.scale}, data {suite.label}, figures " + ", ".join(
        suite.config.figures
    )
    if left_out and not wanted:
        raise UserError(
            f"{archive}: none of its {len(left_out)} cells is of {asked}, {left_out[0]} first; "
            "give the configuration that they were packed with"
        )
    by_folder = {PurePosixPath(name).with_suffix(".checkpoints").as_posix(): name for name in cells}
    foreign = sorted(folders - by_folder.keys())
    if foreign:
        raise UserError(f"{archive}: {foreign[0]} is no cell; nothing was unpacked")
    if not cells:
        raise UserError(f"{archive}: holds no cell; copy or pack it again")
    folders = {folder for folder in folders if by_folder[folder] in wanted}
    for parent in {parent for name in (*new, *folders) for parent in Path(name).parents}:
        if parent.exists() and not parent.is_dir():
            raise UserError(f"{parent}: is a file where a folder should be; nothing was unpacked")
    for name in folders:
        Path(name).mkdir(parents=True, exist_ok=True)
    for name, content in _members(archive):
        if name in new and content is not None:
            write_bytes(name, content)
    same = len(wanted) - len(new) - len(differing)
    return Unpacked(asked, len(new), same, sorted(differing), sorted(left_out))


def _asked_for(suite: Suite) -> dict[str, Cell]:
    """File of a cell -> the cell, for all of the configured figures."""
    return {
        suite.paths.cell(cell).as_posix(): cell
        for figure_name in registry.selected_figures(suite.config.figures)
        for study_cells in suite.figure_cells(figure_name).values()
        for cell in study_cells
    }


def _results(content: Mapping) -> list:
    """What a cell's runs recorded, without where and when."""
    return [run["records"] for run in content["runs"]]


class _Counted:
    """An archive, unpacked as it is read, of which only so much is read as a cell or what is said
    of one may have: tarfile reads a name of a gigabyte whole before the cell is known."""

    def __init__(self, file: IO[bytes], name: object):
        self.file, self.name, self.left = file, name, MAX_HEADERS
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size: int = -1) -> bytes:
        """So many bytes; raises UserError where there may not be as many."""
        if not 0 <= size <= self.left:
            raise UserError(
                f"{self.name}: says more of a cell than {MAX_HEADERS:,} bytes; nothing was unpacked"
            )
        self.left -= size
        return self.file.read(size)


class _Pack(tarfile.TarFile):
    """An archive that is `_Counted`, however it is compressed."""

    def __init__(self, name: Any, mode: str = "r", fileobj: Any = None, **options: Any):
        file = fileobj or open(name, "rb")  # noqa: SIM115
        super().__init__(name, mode, _Counted(file, name), **options)  # type: ignore[arg-type]
        self._extfileobj = False  # it is closed with this


def _members(archive: Path) -> Iterator[tuple[str, bytes | None]]:
    """(name, content) of each cell in an archive, one in memory at a time, and (name, None) of each
    folder of checkpoints."""
    try:
        with _Pack.open(archive) as tar:
            counted: _Counted = tar.fileobj  # type: ignore[assignment]
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined]  # there may be millions
                counted.left = MAX_HEADERS
                name = PurePosixPath(member.name).as_posix()  # `tar -C folder .` says ./results/...
                if member.isdir() and not name.endswith(".checkpoints"):
                    continue  # other folders are made when a cell is written into them
                name = _checked(archive, name)
                if member.isdir():
                    yield name, None
                    continue
                is_cell = name.endswith(".json") and member.isfile()
                content = tar.extractfile(member) if is_cell else None
                if content is None:
                    raise UserError(f"{archive}: {name} is no cell; nothing was unpacked")
                if member.size > MAX_BYTES:
                    raise UserError(
                        f"{archive}: {name} has {member.size:,} bytes, more than a cell may "
                        f"({MAX_BYTES:,}); nothing was unpacked"
                    )
                counted.left = member.size
                yield name, content.read()
                counted.left = MAX_HEADERS
    except (*UNREADABLE, OSError, EOFError, ValueError, RecursionError) as error:
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


def _check_member(archive: Path, name: str, content: bytes, expected: Cell | None) -> dict:
    """A member's content. Raises UserError unless it is a sealed cell whose name is that of its
    study and id; and, where it was asked for, as `cells.check_cell`."""
    place, remedy = f"{archive}: {name}", "nothing was unpacked; copy or pack it again"
    cell = check_seal(parse_json(content, place, remedy), place, remedy)
    cellfiles.check_format(cell, place, remedy)
    path = PurePosixPath(name)
    study = "/".join(path.parent.parts[3:])  # after results/<scale>/<data>/
    if cell["study"] != study or not path.stem.endswith(f"-{cell['id'][:12]}"):
        raise UserError(
            f"{place}: is the name of another cell than {cell['id'][:12]!a} of "
            f"{cell['study']!a}; {remedy}"
        )
    if expected:
        cellfiles.check_cell(cell, expected, place, remedy)
    return cell
