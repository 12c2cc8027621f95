"""Finished cells in an archive, to carry them from one machine to another."""

import json
import tarfile
from pathlib import Path

from repro import cells as cellfiles
from repro import registry
from repro.errors import UserError
from repro.files import atomic_path, write_bytes
from repro.registry import Suite


def pack(suite: Suite, archive: Path) -> int:
    """Write every finished cell of the configured figures to a .tar.gz; returns how many."""
    paths = {
        suite.cell_path(cell)
        for figure_name in registry.selected_figures(suite.config.figures)
        for study_cells in suite.figure_cells(figure_name).values()
        for cell in study_cells
    }
    finished = sorted(path for path in paths if path.exists())
    if not finished:
        raise UserError(f"nothing to pack: no finished cell under {suite.results}")
    with atomic_path(archive) as temporary, tarfile.open(temporary, "w:gz") as tar:
        for path in finished:
            cellfiles.unseal(path)
            tar.add(path, arcname=path.as_posix())
    return len(finished)


def unpack(archive: Path) -> int:
    """Put packed cells under results/; returns how many were new.

    Raises UserError on anything that is not a sealed cell; a cell that is there already is kept.
    """
    if not archive.exists():
        raise UserError(f"{archive}: does not exist")
    try:
        with tarfile.open(archive) as tar:
            members = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{archive}: is not a readable pack ({error}); copy it again") from None
    for name in members:
        parts = Path(name).parts
        if parts[0] != "results" or ".." in parts or not name.endswith(".json"):
            raise UserError(f"{archive}: {name} is no cell; nothing was unpacked")
        try:
            cellfiles.check_seal(json.loads(members[name]), f"{archive}: {name}")
        except ValueError:
            raise UserError(f"{archive}: {name} is not JSON; nothing was unpacked") from None
    new = [name for name in members if not Path(name).exists()]
    for name in new:
        write_bytes(name, members[name])
    return len(new)
