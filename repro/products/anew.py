"""One cell of a figure, drawn by chance, trained anew and held against the record.

It takes minutes where the figure takes hours, and whoever made the record could not know which cell
it would be.
"""

import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from repro.core import entry
from repro.core.cells import read_cell
from repro.core.discovery import selected_figures
from repro.core.suite import Suite
from repro.errors import UserError, visible
from repro.lineage.provenance import provenances
from repro.products.records import describe, read_record, recorded
from repro.products.run_table import as_csv, cell_ids, tabulate
from repro.products.verify import (
    ROUNDING,
    TOLERANCE,
    NothingVerifiedError,
    difference,
    why_digits_differ,
)
from repro.workflow.jobs import Place, train_all

if TYPE_CHECKING:
    import pandas as pd

Contents = dict[str, list[Mapping]]  # name of a stage -> its cells' contents


def verify_cell(suite: Suite, named: Sequence[str], show: Callable[[str], None]) -> str:
    """Train a random cell of a recorded figure anew, after the cells it takes from, without what is
    in results/; returns what was held against what. An entry's file is carried out: `show` gets its
    text first. named: figures, as in `figures`; none for those that are configured.

    Raises UserError where the record is of other runs, lacks one of these or has another number.
    """
    bases = {
        name: base
        for name in selected_figures([*named] or suite.config.figures)
        for base in recorded(suite, name)[:1]
    }
    if not bases:
        raise NothingVerifiedError(f"verify: nothing on record for this source: {describe(suite)}")
    chance = random.SystemRandom()
    figure_name = chance.choice([*bases])
    base, saved = bases[figure_name], read_record(bases[figure_name])
    if file := suite.config.entry:
        show(f"{file.given}: the file, which is carried out now:\n{file.text}")
    if cell_ids(suite, figure_name) != saved["provenance"]["cells"]:
        raise UserError(f"{base}.json: is of other runs than {figure_name} has here and today")
    every = [cell for cells in suite.figure_cells(figure_name).values() for cell in cells]
    cell = chance.choice(every)
    words = f"{cell.study}, {cell.name.rpartition('-')[0]}, and what it takes from"
    show(f"drawn by chance: {words}")
    contents = _trained(suite, figure_name, cell.id)
    new, made = (
        _table(suite, figure_name, contents),
        [c for each in contents.values() for c in each],
    )
    here = {"made": provenances(made)}
    why = why_digits_differ(here, saved["provenance"], suite.cpu_dependent(figure_name))
    settings = {
        key for c in made for run in c["runs"] for key in run["axes"] | run.get("tuned", {})
    }
    if found := misfit(new, _read(base.with_suffix(".csv").read_bytes()), settings, bool(why)):
        raise UserError(f"{base}.csv: {found}" + (f"; {why}" if why else ""))
    within = f"within {TOLERANCE if why else ROUNDING:g}" + (f" ({why})" if why else "")
    return f"{base}.csv: its {len(new)} rows of {words}, are what is trained here, {within}"


def _trained(suite: Suite, figure_name: str, cell_id: str) -> Contents:
    """A cell of a figure and all it takes from, trained in a folder that goes afterwards."""
    kept = suite.paths
    with tempfile.TemporaryDirectory() as folder:
        suite.paths = replace(kept, root=Path(folder))
        try:
            by_stage = suite.figure_cells(figure_name)
            drawn = [c for cells in by_stage.values() for c in cells if c.id == cell_id]
            train_all(suite, drawn, Place())
            wanted = {cell.id for cell in suite.with_upstream(drawn)}
            return {
                stage: [read_cell(suite.paths.cell(c), c) for c in cells if c.id in wanted]
                for stage, cells in by_stage.items()
            }
        finally:
            suite.paths = kept


def _table(suite: Suite, figure_name: str, contents: Contents) -> "pd.DataFrame":
    """The figure's rows of some of its cells, as they are read from a file. Raises UserError where
    data.csv has no rows of a run alone, so that some cells have none."""
    import pandas as pd

    by_run = [
        {s: [{"runs": [run]}] if s == stage else [] for s in contents}
        for stage, cells in contents.items()
        for cell in cells
        for run in cell["runs"]
        if run["records"]
    ]
    try:
        found = _rows(suite, figure_name, contents)
        alone = pd.concat([_rows(suite, figure_name, each) for each in by_run])
        one, other = (t.sort_values([*found.columns], ignore_index=True) for t in (found, alone))
        together = bool(difference(one, other, tolerance=0))
    except UserError:  # of a `reduce` that asks for every stage
        together = True
    if together:
        raise UserError(
            f"{figure_name}: its data.csv is made of its runs together, so that a cell alone is "
            f"not held against it; verify it whole: {suite.command('verify', [figure_name])}"
        )
    return found


def _rows(suite: Suite, figure_name: str, contents: Mapping[str, Sequence[Mapping]]):
    table = tabulate(figure_name, contents)
    return _read(as_csv(entry.named(suite.config.entry, table) if suite.config.entry else table))


def _read(data: bytes) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(BytesIO(data))


def misfit(new, old, settings: set[str], roughly: bool) -> str:
    """What rows of some runs have that a whole table has otherwise, in words; "" where they are
    among its rows. settings: columns that are no measurements, and so are those without fractions.
    roughly: whether numbers may differ by TOLERANCE."""
    if [*new.columns] != [*old.columns]:
        return f"has columns {', '.join(old.columns)}, here {', '.join(new.columns)}"
    keys = [c for c in new.columns if c in settings or new[c].dtype.kind != "f"]
    there = new[keys].merge(old.drop_duplicates(keys), on=keys, how="left", indicator="found")
    if lacking := [*(there["found"] == "left_only")].count(True):
        first = new[keys][(there["found"] == "left_only").to_numpy()].iloc[0].to_dict()
        return f"lacks {lacking} of {len(new)} runs' rows, first {first}"
    tolerance = TOLERANCE if roughly else ROUNDING
    return difference(new.reset_index(drop=True), there[[*new.columns]], tolerance)


def shown(text: str) -> None:
    """Print a text; at a terminal ask whether to go on where it is a file's."""
    print(visible(text), flush=True)
    if "carried out now" in text.partition("\n")[0] and sys.stdin.isatty():
        with suppress(EOFError):
            if input("go on? [y/N] ").strip().lower() == "y":
                return
        raise UserError("verify: the file was not carried out")
