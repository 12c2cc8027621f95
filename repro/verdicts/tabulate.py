"""A figure's table of runs, data.csv, from its cells. No torch at import.

It and all that it imports count as code of every figure (`repro.products.picture`).
"""

from collections.abc import Mapping, Sequence

from repro.errors import UserError
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import called


def frame(contents: Sequence[Mapping]):
    """A pandas DataFrame of cells: a row for each evaluation of each run.

    Columns: the run's axes, the values tuned upstream, and the record's entries, without mappings.
    """
    import pandas as pd

    rows = [
        {
            **run["axes"],
            **run.get("tuned", {}),
            **{key: value for key, value in record.items() if not isinstance(value, Mapping)},
        }
        for content in contents
        for run in content["runs"]
        for record in run["records"]
    ]
    table = pd.DataFrame(rows)
    for column in table.columns:
        if table[column].dtype == object:
            numeric = pd.to_numeric(table[column], errors="coerce")
            if numeric.notna().all():
                table[column] = numeric
    return table


def tabulate(figure_name: str, contents: Mapping[str, Sequence[Mapping]]):
    """A figure's table, a DataFrame. contents: name of a stage -> the contents of its cells."""
    frames = {stage: frame(cells) for stage, cells in contents.items()}
    figure = figure_named(figure_name)
    with called(figure_name, "reduce"):
        table = figure.reduce(frames)
    if not hasattr(table, "to_csv"):
        kind = type(table).__name__
        raise UserError(f"figures/{figure_name}.py: reduce returned a {kind}, not a DataFrame")
    figure.check_columns(f"figures/{figure_name}.py: what reduce returns", table.columns)
    return table


def as_csv(table) -> bytes:
    """A figure's table as data.csv has it."""
    return table.to_csv(index=False, lineterminator="\n").encode()
