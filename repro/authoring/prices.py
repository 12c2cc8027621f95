"""What each run of a figure's table took, of the seconds of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro.core.names import StageName
from repro.core.runs import Run
from repro.core.spec import lookup
from repro.core.suite import Suite
from repro.errors import UserError
from repro.workflow.budget import effort

if TYPE_CHECKING:
    import pandas as pd


# Of a run: positions of its rows, its seconds, and whether it is one that others start from, which
# no figure shows; the rows are then those of all that do.
Priced = tuple[np.ndarray, float, bool]


def prices(suite: Suite, figure_name: str, table: "pd.DataFrame", seconds: float) -> list[Priced]:
    """What each run of a table took. A run's rows have its settings, and words that are in its
    stage's name. seconds: of all that have rows, shared out by `effort`."""
    import pandas as pd

    numeric = [name for name in table if pd.api.types.is_numeric_dtype(table[name])]
    words = [name for name in table if name not in numeric]
    stages = {
        stage: cells
        for stage, cells in suite.figure_cells(figure_name).items()
        if not StageName.parse(stage).round
    }

    def plain(word: object) -> str:
        return str(word).lower().replace("-", "_")

    fits = {stage: np.full(len(table), True) for stage in stages}
    for name in words:
        there = {
            w: [s for s in stages if plain(w) in plain(s)] for w in table[name].dropna().unique()
        }
        for stage, rows in fits.items():
            of_stage = [word for word, its in there.items() if stage in its]
            longest = max(map(len, map(str, of_stage)), default=0)
            own = [w for w in of_stage if len(str(w)) == longest]
            if own:  # `by_lr_wide` is also in the name of what `by_lr` is in
                rows &= table[name].isin(own).to_numpy()
    found: list[Priced] = []
    of_cell = []
    for stage, cells in stages.items():
        at = np.flatnonzero(fits[stage])
        filled = table.iloc[at][numeric].notna().all()
        for cell in cells:
            keys = [n for n in numeric if filled[n] and _has(cell.runs, n)]
            places: dict[tuple, list[int]] = {}
            for place, values in zip(at, table.iloc[at][keys].to_numpy(), strict=True):
                places.setdefault(tuple(map(_short, values)), []).append(int(place))
            for run in cell.runs:
                its = places.get(tuple(_short(lookup(run.spec, n)) for n in keys)) if keys else None
                if its:
                    found.append((np.array(its), effort(run), False))
                    of_cell.append((cell, run, np.array(its)))
    if not found:
        raise UserError(f"{figure_name}: no run of its studies has a row in this table")
    each = seconds / sum(part for _, part, _ in found)
    bases: dict[str, tuple[float, list[np.ndarray]]] = {}
    shown = {run.id for _, run, _ in of_cell}
    for cell in {cell.id: cell for cell, _, _ in of_cell}.values():
        begun = [r for c in suite.with_upstream([cell]) if c.id != cell.id for r in c.runs]
        for base in begun:
            after = [where for c, r, where in of_cell if c.id == cell.id and _same_seed(r, base)]
            if after and base.id not in shown:
                bases.setdefault(base.id, (effort(base), []))[1].extend(after)
    found += [(np.concatenate(after), part, True) for part, after in bases.values()]
    return [(where, each * part, is_base) for where, part, is_base in found]


def _same_seed(run: Run, base: Run) -> bool:
    return run.spec.get("seed") == base.spec.get("seed")


def _has(runs: Sequence[Run], name: str) -> bool:
    """Whether a column is a setting of all these runs, and a number."""
    try:
        return all(isinstance(lookup(run.spec, name), int | float) for run in runs)
    except (KeyError, TypeError):
        return False


def _short(value: float) -> str:
    """A setting as a file of numbers has it."""
    return f"{value:.9g}"
