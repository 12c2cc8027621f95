"""What lies in results/ that no configuration names: of old settings, code or evidence."""

import os
from collections.abc import Iterator
from pathlib import Path

from repro.core import discovery
from repro.core.suite import Suite
from repro.products.picture import folder_of


def lines(suite: Suite) -> list[str]:
    """Size and path of everything below the configured scale's results that neither a study nor a
    figure of the present checkout names, and what it comes to; nothing is deleted."""
    found = [(size(path), path) for path in sorted(unnamed(suite))]
    whole = sum(each for each, _ in found)
    told = [f"{each / 1e6:8.2f} MB  {path}" for each, path in found]
    return [*told, f"{whole / 1e6:8.2f} MB in {len(found)} files and folders that nothing names"]


def unnamed(suite: Suite) -> Iterator[Path]:
    """The files and folders; of a folder whose every file is one, the folder alone."""
    named = {*names(suite)}
    above = {parent for path in named for parent in path.parents}

    def below(folder: Path) -> Iterator[Path]:
        for path in folder.iterdir() if folder.is_dir() else ():
            if path in named or path.name.startswith("."):
                continue
            if path in above:
                yield from below(path)
            else:
                yield path

    yield from below(suite.paths.results)


def names(suite: Suite) -> Iterator[Path]:
    """Every path that studies and figures give below the configured scale's results."""
    results = suite.paths.results
    ids: set[str] = set()
    yield results / "pages"
    for stage in discovery.study_names():
        if suite.config.scale not in discovery.study(stage).scales:
            continue
        for cell in suite.cells(stage):
            yield from (suite.paths.cell(cell), suite.paths.checkpoints(cell))
            ids |= {run.id for run in cell.runs}
        yield from map(suite.paths.choice, suite.choices(stage).values())
    # Of a run, its result and what it would go on from.
    yield from (p for p in suite.paths.runs.rglob("*") if p.name.split(".")[0] in ids)
    for figure in discovery.loadable_figures():
        if not suite.fault(figure):
            yield folder_of(suite, figure)


def size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if not path.is_dir():
        return path.lstat().st_size
    inner = (Path(folder, name) for folder, _, files in os.walk(path) for name in files)
    return sum(each.lstat().st_size for each in inner)
