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
from repro.core.schedule import Cell
from repro.core.suite import Suite
from repro.errors import UserError, visible
from repro.lineage.provenance import provenances
from repro.products.records import describe, read_record, recorded
from repro.products.run_table import cell_ids
from repro.products.verify import (
    ROUNDING,
    TOLERANCE,
    NothingVerifiedError,
    difference,
    why_digits_differ,
)
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import called
from repro.verdicts.tabulate import as_csv, frame
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
    contents = _trained(suite, figure_name, cell)
    new, made = (
        _table(suite, figure_name, contents),
        [c for each in contents.values() for c in each],
    )
    here = {"made": provenances(made)}
    why = why_digits_differ(here, saved["provenance"], suite.cpu_dependent(figure_name))
    settings = {
        key for c in made for run in c["runs"] for key in run["axes"] | run.get("tuned", {})
    }
    if found := misfit(new, _parsed(base.with_suffix(".csv").read_bytes()), settings, bool(why)):
        raise UserError(f"{base}.csv: {found}" + (f"; {why}" if why else ""))
    within = f"within {TOLERANCE if why else ROUNDING:g}" + (f" ({why})" if why else "")
    return f"{base}.csv: its {len(new)} rows of {words}, are what is trained here, {within}"


def _trained(suite: Suite, figure_name: str, cell: Cell) -> Contents:
    """A cell of a figure and all it takes from, trained in a folder that goes afterwards."""
    kept = suite.paths
    with tempfile.TemporaryDirectory() as folder:
        suite.paths = replace(kept, root=Path(folder))
        try:
            train_all(suite, [cell], Place())
            wanted = {(each.study, each.name) for each in suite.with_upstream([cell])}
            return {
                stage: [
                    read_cell(suite.paths.cell(c), c) for c in cells if (c.study, c.name) in wanted
                ]
                for stage, cells in suite.figure_cells(figure_name).items()
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
    """The figure's table of some of its runs, as it is read from a file. A stage of which there are
    none has the others' columns, since a `reduce` may ask for them."""
    import pandas as pd

    frames = {stage: frame(cells) for stage, cells in contents.items()}
    lacking = pd.DataFrame(columns=[*dict.fromkeys(c for f in frames.values() for c in f)])
    figure = figure_named(figure_name)
    with called(figure_name, "reduce"):
        table = figure.reduce({s: f if len(f) else lacking for s, f in frames.items()})
    return _parsed(as_csv(entry.named(suite.config.entry, table) if suite.config.entry else table))


def _parsed(data: bytes) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(BytesIO(data))


def misfit(new, old, settings: set[str], roughly: bool) -> str:
    """What rows of some runs have that a whole table has otherwise, in words; "" where they are
    among its rows. settings: columns that are no measurements, and so are those without fractions.
    roughly: whether numbers may differ by TOLERANCE."""
    if [*new.columns] != [*old.columns]:
        return f"has columns {', '.join(old.columns)}, here {', '.join(new.columns)}"
    keys = [c for c in new.columns if c in settings or new[c].dtype.kind != "f"]

    def numbered(table):
        # As objects, of which a column of nothing fits one of texts. The n-th row of a run is
        # another than its first.
        found = table.astype(dict.fromkeys(keys, object))
        return found.assign(nth=found.groupby(keys, dropna=False).cumcount())

    by = [*keys, "nth"]
    there = numbered(new)[by].merge(numbered(old), on=by, how="left", indicator="found")
    absent = (there["found"] == "left_only").to_numpy()
    if absent.any():
        first = ", ".join(f"{key} {new[key].iloc[absent.argmax()]}" for key in keys)
        return f"lacks {absent.sum()} of {len(new)} rows, first that of {first}"
    tolerance = TOLERANCE if roughly else ROUNDING
    measured = [column for column in new.columns if column not in keys]
    return difference(new[measured].reset_index(drop=True), there[measured], tolerance)


def print_or_ask(text: str) -> None:
    """Print a text. Where it says that a file is carried out now, ask at a terminal whether to go
    on; raises UserError where the answer is no."""
    print(visible(text), flush=True)
    if "carried out now" in text.partition("\n")[0] and sys.stdin.isatty():
        with suppress(EOFError):
            if input("go on? [y/N] ").strip().lower() == "y":
                return
        raise UserError("verify: the file was not carried out")
