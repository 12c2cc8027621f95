"""Whether what lies there is what this configuration and this code would make."""

import os
import time
from pathlib import Path

from repro.files import write_bytes
from repro.judge.products import _made_of, cell_ids
from repro.suite.registry import ROOT
from repro.suite.suite import Suite

DRAWN = ("figure.pdf", "figure.png", "claims.json", "manifest.json")


def mark_stale(suite: Suite) -> None:
    """Stamp every file that is not what this configuration would make, so that it is made again.

    Snakemake judges by file times and by what it remembers under .snakemake/; neither says that
    a data.csv is of another spec, nor that a published figure is of another scale or source.
    A stamp is an input of the rule that makes the file, with content never seen before.
    """
    for figure_name in suite.usable_figures():
        folder = suite.paths.figure(figure_name)
        data, provenance = folder / "data.csv", folder / "provenance.json"
        if not (data.exists() and provenance.exists()):
            for name in DRAWN:  # Snakemake would take them for finished
                (folder / name).unlink(missing_ok=True)
        if data.exists() and _made_of(provenance) != cell_ids(suite, figure_name):
            _stamp(folder / "data.stale", data)
        for suffix in (".pdf", ".png"):
            source, target = folder / f"figure{suffix}", Path("figures") / (figure_name + suffix)
            if target.exists() and not (
                source.exists() and source.read_bytes() == target.read_bytes()
            ):
                _stamp(folder / "published.stale", target)


def _stamp(path: Path, stale: Path) -> None:
    """Write a stamp; the stale file is older, even if a clock that is ahead dated it."""
    write_bytes(path, f"{time.time_ns()}\n".encode())
    older = min(path.stat().st_mtime_ns - 1_000_000_000, stale.stat().st_mtime_ns)
    os.utime(stale, ns=(older, older))


def stamps(suite: Suite, figure_name: str, name: str) -> list[Path]:
    """The stamp `name` of a figure as an input, where `mark_stale` ever wrote it."""
    path = suite.paths.figure(figure_name) / name
    return [path] if path.exists() else []


def sources(figure_name: str) -> list[str]:
    """The code that makes a figure of its runs: a change redraws it, and never retrains."""
    own = ROOT / "figures" / f"{figure_name}.py"
    library = (ROOT / "repro" / "judge").glob("*.py")
    theory = (ROOT / "repro" / "theory").glob("*.py")
    return [str(own), *map(str, sorted([*own.parent.glob("_*.py"), *library, *theory]))]
