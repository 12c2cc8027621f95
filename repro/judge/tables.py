"""What figures have in common when they read a table of runs (`repro.judge.figure`).

Such a table, a DataFrame, has a row for each evaluation of each run: its axes and its record.
"""


def last_step(rows):
    """The rows of every run's last evaluation; all runs of the table have the same steps."""
    steps = rows["step"].to_numpy()
    return rows[steps == steps.max(initial=-1)]  # of an empty table too


def joined(*phrases: str) -> str:
    """The phrases that are not empty, joined by semicolons."""
    return "; ".join(filter(None, phrases))
