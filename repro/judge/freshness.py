"""Whether existing files are what this configuration and code would make. Reads only."""

from pathlib import Path

from repro.judge import code
from repro.judge.products import FILES, cell_ids, read_or_empty
from repro.suite.suite import Suite


def stale(suite: Suite, figure_name: str) -> list[Path]:
    """Those of a figure's files that are to be made anew: they are made of other runs or by other
    code, or are missing, though what is made of them may lie there.

    Named are data.csv, manifest.json for all that is drawn, and published copies that lie there.

    Snakemake judges by file times and by what it remembers under .snakemake/; neither says that
    a data.csv is of another spec, nor that a published figure is of another scale or source.
    """
    folder = suite.paths.figure(figure_name)
    wanted = code.digest(figure_name)
    made, drawn = read_or_empty(folder / "provenance.json"), read_or_empty(folder / "manifest.json")
    data, manifest = folder / "data.csv", folder / "manifest.json"
    found = []
    if not (
        data.exists()
        and made.get("cells") == cell_ids(suite, figure_name)
        and made.get("code") == wanted
    ):
        found.append(data)
    if not (
        all((folder / name).exists() for name in FILES)
        and drawn.get("code") == wanted
        and drawn.get("data.csv") == made.get("data_sha256")
    ):
        found.append(manifest)
    for suffix in (".pdf", ".png"):
        source, target = folder / f"figure{suffix}", Path("figures") / (figure_name + suffix)
        if target.exists() and not (source.exists() and source.read_bytes() == target.read_bytes()):
            found.append(target)
    return found


def stale_board(suite: Suite, figures: list[str]) -> list[Path]:
    """The scoreboard's manifest where the scoreboard is not of these figures as they lie there."""
    board = suite.paths.results / "manifest.json"
    now = {name: read_or_empty(suite.paths.figure(name) / "manifest.json") for name in figures}
    return [] if read_or_empty(board) == now else [board]
