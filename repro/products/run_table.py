"""A figure's table of runs: data.csv and provenance.json."""

from collections.abc import Iterable
from pathlib import Path

from repro.core import discovery
from repro.core.suite import Suite
from repro.files import seal_of, sha256_file, write_bytes, write_json
from repro.lineage.provenance import REMEDIES, mixture, provenances
from repro.products.published import DATA, PROVENANCE
from repro.verdicts.tabulate import as_csv, tabulate


def made_of(suite: Suite, figure_name: str) -> dict:
    """What a figure's runs are, as its provenance.json says it."""
    file = suite.config.entry
    return ({"entry": file.as_recorded} if file else {}) | {
        "figure": figure_name,
        "scale": suite.config.scale,
        "data": suite.data_description(figure_name),
        "label": suite.label,
        "embedded": suite.is_embedded(figure_name),
        "datasets": {name: suite.identity(name) for name in suite.figure_datasets(figure_name)},
        "cells": cell_ids(suite, figure_name),
        "seeds": suite.seeds(figure_name),
        "arithmetic": suite.config.arithmetic,
        "chosen_after_seeing": chosen_after_seeing(figure_name, suite.config.scale),
    }


def chosen_after_seeing(figure_name: str, scale: str) -> str:
    """Which settings of a figure's studies were chosen after seeing what its claims measure; none
    at paper scale, whose settings are the paper's."""
    if scale == "paper":
        return ""
    studies = (discovery.study(name) for name in discovery.figure_stages(figure_name))
    return "; ".join(dict.fromkeys(filter(None, (s.chosen_after_seeing for s in studies))))


def departures(figure_names: Iterable[str], scale: str) -> list[str]:
    """How the studies of figures differ at paper scale from what is printed, a sentence each; at
    another scale they are other settings anyway."""
    if scale != "paper":
        return []
    studies = (discovery.study(s) for name in figure_names for s in discovery.figure_stages(name))
    return list(dict.fromkeys(sentence for study in studies for sentence in study.departures))


def reduce(suite: Suite, figure_name: str, folder: Path) -> None:
    """Read and check all cells of a figure; write its data.csv and provenance.json into a folder.
    Says so where its runs are of several versions of their code."""
    from repro.core import cells as cellfiles
    from repro.core import entry

    paths, by_study = cell_paths(suite, figure_name), {}
    contents: dict[Path, dict] = {}
    for study_name, study_cells in suite.figure_cells(figure_name).items():
        by_path = {suite.paths.cell(cell): cell for cell in study_cells}
        read = {path: cellfiles.read_cell(path, cell) for path, cell in by_path.items()}
        contents |= read
        by_study[study_name] = [*read.values()]
    cellfiles.check_compatible(contents)
    made = provenances(list(contents.values()))
    if several := mixture(made):
        print(f"{figure_name}: {several}; {REMEDIES}", flush=True)
    table = tabulate(figure_name, by_study)
    data = as_csv(entry.named(suite.config.entry, table) if suite.config.entry else table)
    write_bytes(folder / DATA, data)
    of_runs = {
        "files": [seal_of(path) for path in paths],
        "data_sha256": sha256_file(folder / DATA),
        "made": made,
    }
    write_json(folder / PROVENANCE, made_of(suite, figure_name) | of_runs)


def cell_ids(suite: Suite, figure_name: str) -> list[str]:
    """Ids of all cells behind a figure, in the order of its stages."""
    return [cell.id for cells in suite.figure_cells(figure_name).values() for cell in cells]


def cell_paths(suite: Suite, figure_name: str) -> list[Path]:
    """The files of all cells behind a figure, in the order of its stages."""
    by_stage = suite.figure_cells(figure_name).values()
    return [suite.paths.cell(cell) for stage in by_stage for cell in stage]
