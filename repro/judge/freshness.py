"""Which existing files are not what this configuration and code would make. Changes no file."""

from pathlib import Path

from repro.judge import code
from repro.judge.products import FILES, cell_ids, published, read_or_empty
from repro.suite.suite import Suite


def stale(suite: Suite, figure_name: str) -> list[Path]:
    """The files of a figure that must be made anew, because they are missing or were made from
    other runs or by other code: data.csv, manifest.json (which stands for everything that `draw`
    writes), and those published copies that exist.

    Snakemake itself compares file times and what it remembers under .snakemake/. Neither shows that
    a data.csv is of another spec, or a published figure of another scale or source.
    """
    folder = suite.paths.figure(figure_name)
    current_code = code.digest(figure_name)
    data, manifest = folder / "data.csv", folder / "manifest.json"
    provenance, drawn = read_or_empty(folder / "provenance.json"), read_or_empty(manifest)
    result = []
    if not (
        data.exists()
        and provenance.get("cells") == cell_ids(suite, figure_name)
        and provenance.get("code") == current_code
    ):
        result.append(data)
    if not (
        all((folder / name).exists() for name in FILES)
        and drawn.get("code") == current_code
        and drawn.get("data.csv") == provenance.get("data_sha256")
    ):
        result.append(manifest)
    for target, source in published(folder, figure_name).items():
        if target.exists() and not (source.exists() and source.read_bytes() == target.read_bytes()):
            result.append(target)
    return result


def stale_board(suite: Suite, figures: list[str]) -> list[Path]:
    """[the scoreboard's manifest] if the scoreboard was made from other figures, or from older
    versions of these; else []."""
    manifest = suite.paths.results / "manifest.json"
    current = {name: read_or_empty(suite.paths.figure(name) / "manifest.json") for name in figures}
    return [] if read_or_empty(manifest) == current else [manifest]
