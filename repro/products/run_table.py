"""A figure's table of runs: data.csv and provenance.json, in a folder whose name is their key.

The key is a digest of what the table is made of, so that a table is never out of date: that of
other settings or code has another folder.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from repro.core import cells as cellfiles
from repro.core import discovery, entry
from repro.core.locks import only_writer
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import key_of, seal_of, sha256_file, write_bytes, write_json
from repro.lineage.code import NOT_SHOWN
from repro.lineage.definitions import given, reached
from repro.lineage.provenance import REMEDIES, mixture, provenances
from repro.products.published import DATA, PROVENANCE, read_or_empty
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import called

# How runs become rows, and rows a file, beside what the figure's own `reduce` reaches.
TABULATED = (("repro/core/cells.py", "frame"), ("repro/products/run_table.py", "as_csv"))


def table_folder(suite: Suite, figure_name: str) -> Path:
    """Where a figure's table is, `<figure>/<table key>`."""
    return suite.paths.figure(figure_name) / table_key(suite, figure_name)


def table_key(suite: Suite, figure_name: str) -> str:
    """The key of a figure's table: its runs, by the ids of their cells, what is said of them
    (`made_of`), and the code that makes rows of them: every definition that `reduce` reaches. A
    reworded caption or another drawing is not among it, nor is the training code: its results reach
    a figure as cells, whose ids contain the task's version."""
    if figure_name not in suite.table_keys:
        made = [made_of(suite, figure_name), code_of_table(figure_name)]
        suite.table_keys[figure_name] = key_of(made)
    return suite.table_keys[figure_name]


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


@cache
def code_of_table(figure_name: str) -> Mapping[str, str]:
    """Definition -> digest, of all that makes a figure's table; libraries: uv.lock fixes them."""
    own = given(f"figures/{figure_name}.py", "FIGURE", "reduce")
    return reached([*TABULATED, *own], NOT_SHOWN)


def reduce(suite: Suite, figure_name: str, key: str = "") -> Path:
    """Read and check all cells of a figure; write its data.csv and provenance.json. Says so where
    its runs are of several versions of their code. Returns their folder.

    key: the one that was planned with; raises UserError where code or settings make another now.
    """
    folder = table_folder(suite, figure_name)
    if key not in ("", folder.name):
        raise UserError(
            f"{figure_name}: its code or settings were changed since this was planned; run the "
            "same command again"
        )
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
    with only_writer(folder):
        write_bytes(folder / DATA, data)
        of_runs = {
            "files": [seal_of(path) for path in paths],
            "data_sha256": sha256_file(folder / DATA),
            "made": made,
        }
        write_json(folder / PROVENANCE, made_of(suite, figure_name) | of_runs)
    return folder


def as_csv(table) -> bytes:
    """A figure's table as data.csv has it."""
    return table.to_csv(index=False, lineterminator="\n").encode()


def cell_ids(suite: Suite, figure_name: str) -> list[str]:
    """Ids of all cells behind a figure, in the order of its stages."""
    return [cell.id for cells in suite.figure_cells(figure_name).values() for cell in cells]


def cell_paths(suite: Suite, figure_name: str) -> list[Path]:
    """The files of all cells behind a figure, in the order of its stages."""
    by_stage = suite.figure_cells(figure_name).values()
    return [suite.paths.cell(cell) for stage in by_stage for cell in stage]


def tabulate(figure_name: str, contents: Mapping[str, Sequence[Mapping]]):
    """A figure's table, a DataFrame. contents: name of a stage -> the contents of its cells."""
    frames = {stage: cellfiles.frame(cells) for stage, cells in contents.items()}
    figure = figure_named(figure_name)
    with called(figure_name, "reduce"):
        table = figure.reduce(frames)
    if not hasattr(table, "to_csv"):
        kind = type(table).__name__
        raise UserError(f"figures/{figure_name}.py: reduce returned a {kind}, not a DataFrame")
    return table


def is_of_other_cells(suite: Suite, figure_name: str) -> bool:
    """Whether there is a table that is not of the cells that are there: some were made anew, or
    came from another device."""
    made = table_folder(suite, figure_name) / PROVENANCE
    if not made.exists():
        return False
    here = [seal_of(p) if p.exists() else "" for p in cell_paths(suite, figure_name)]
    return read_or_empty(made).get("files") != here
