"""Finished cells in an archive, to carry them from one machine to another."""

import json
import tarfile
from pathlib import Path

from repro.errors import UserError
from repro.files import atomic_path, write_bytes
from repro.suite import cells as cellfiles
from repro.suite import registry
from repro.suite.suite import Suite


def pack(suite: Suite, archive: Path) -> int:
    """Write every finished cell of the configured figures to a .tar.gz; returns how many.

    Of a stage that others start from the folder of checkpoints goes along empty: what started from
    it is packed too, and nothing of it is trained again.
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
            cellfiles.unseal(path)
            tar.add(path, arcname=path.as_posix())
            checkpoints = path.with_suffix(".checkpoints")
            if checkpoints.exists():
                tar.add(checkpoints, arcname=checkpoints.as_posix(), recursive=False)
    return len(finished)


def unpack(archive: Path) -> int:
    """Put packed cells under results/; returns how many were new.

    Raises UserError on anything that is not a sealed cell of this suite's format; a cell that is
    there already is kept.
    """
    if not archive.exists():
        raise UserError(f"{archive}: does not exist")
    try:
        with tarfile.open(archive) as tar:
            members = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
            folders = [m.name for m in tar.getmembers() if m.isdir()]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{archive}: is not a readable pack ({error}); copy it again") from None
    for name, suffix in [*((n, ".json") for n in members), *((n, ".checkpoints") for n in folders)]:
        parts = Path(name).parts
        if parts[0] != "results" or ".." in parts or not name.endswith(suffix):
            raise UserError(f"{archive}: {name} is no cell; nothing was unpacked")
    for name, content in members.items():
        place, remedy = f"{archive}: {name}", "nothing was unpacked; copy or pack it again"
        try:
            cell = cellfiles.check_seal(json.loads(content), place, remedy)
        except ValueError:
            raise UserError(f"{place}: is not JSON; {remedy}") from None
        cellfiles.check_format(cell, place, remedy)
    new = [name for name in members if not Path(name).exists()]
    for name in folders:
        Path(name).mkdir(parents=True, exist_ok=True)
    for name in new:
        write_bytes(name, members[name])
    return len(new)
