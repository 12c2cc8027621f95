"""Judged claims as text: counts by kind, a verdict in words, a Markdown page."""

from collections import Counter
from collections.abc import Mapping, Sequence

from repro.judge.claims import KINDS, VERDICTS, interval


def counts(rows: Sequence[Mapping]) -> list[list[str]]:
    """Kind of claim -> how many have each verdict, as the rows of a table with its head.

    Claims of a paper come first; self-checks and controls are ours and counted apart.
    """
    table = [["claims", *VERDICTS]]
    for kind in KINDS:
        found = Counter(row["verdict"] for row in rows if row["kind"] == kind)
        table.append([kind, *(str(found[verdict]) for verdict in VERDICTS)])
    return table


def in_words(row: Mapping) -> str:
    """A verdict with what it rests on: `does not bind (scale: meant for paper); seen: differs`."""
    reason = f" ({row['reason']})" if row["reason"] else ""
    seen = "" if row["binds"] or not row["seen"] else f"; seen: {row['seen']}"
    chosen = "; settings chosen after seeing results" if row["chosen_after_seeing"] else ""
    return row["verdict"] + reason + seen + chosen


def board(title: str, rows: list[dict]) -> bytes:
    """Judged claims as a Markdown page: counts by kind, then each, expected beside measured."""
    head = ["verdict", "claim", "kind", "where", "quantity", "printed", "expected", "measured", "n"]
    table = [
        [
            in_words(row),
            f"{row['paper']}/{row['claim']}",
            row["kind"],
            row["source"],
            row["quantity"],
            shortened(row["printed"]),
            row["expected"] + paper_scale(row),
            interval(row),
            str(row["n"]),
        ]
        for row in rows
    ]
    lines = [f"# Scoreboard: {title}", "", *markdown(counts(rows)), "", *markdown([head, *table])]
    return ("\n".join(lines) + "\n").encode()


def paper_scale(row: Mapping) -> str:
    """What is expected at paper scale, where that is something else."""
    other = row["expected_paper"] != row["expected"]
    return f" (paper scale: {row['expected_paper']})" if other else ""


def shortened(numbers: Sequence[str]) -> str:
    """The first of what a paper prints for a claim, and how many more there are."""
    more = f" (and {len(numbers) - 1} more)" if len(numbers) > 1 else ""
    return "".join(numbers[:1]) + more


def markdown(table: list[list[str]]) -> list[str]:
    """Lines of a Markdown table, its first row the head."""
    head, *rows = ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in table]
    return [head, "|" + "---|" * len(table[0]), *rows]
