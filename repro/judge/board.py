"""Judged claims as text: counts by kind, a verdict in words, a Markdown page."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from repro.judge.claims import (
    CONTROL,
    DOES_NOT_BIND,
    KINDS,
    SELF_CHECK,
    VERDICTS,
    JudgedClaim,
    interval,
)
from repro.judge.typeset import markdown, plain
from repro.suite.registry import ROOT

OURS = (SELF_CHECK, CONTROL)
HEAD = ("verdict", "claim", "the paper prints", "measured")  # of the table of claims
LEGEND = (
    "Each interval is of 95 % over n seeds. A claim is *reproduced* where the whole interval lies "
    "within what is expected, *not reproduced* where all of it lies outside, and it *cannot be "
    "told* otherwise, or where its test could not tell; it *does not bind* where it is meant for "
    "another scale or other data, and is *reported* where nothing is expected. The claims rest on "
    "training; on theory, held against simulation; or on the paper's own arithmetic. Self-checks "
    "(the suite is built as printed) and controls (what else might have given a result) are ours."
)


def counts(rows: Sequence[JudgedClaim]) -> list[list[str]]:
    """Kind of claim -> how many have each verdict, as the rows of a table with its head.

    Claims of a paper come first; self-checks and controls are ours and counted apart.
    """
    table = [["claims", *VERDICTS]]
    for kind in KINDS:
        found = Counter(row["verdict"] for row in rows if row["kind"] == kind)
        table.append([kind, *(str(found[verdict]) for verdict in VERDICTS)])
    return table


def headline(rows: Sequence[JudgedClaim]) -> str:
    """How many of the papers' own claims have each verdict, in a sentence."""
    own = [row for row in rows if row["kind"] not in OURS]
    found = Counter(row["verdict"] for row in own)
    words = {DOES_NOT_BIND: "do not bind here"}
    each = ", ".join(f"{found[verdict]} {words.get(verdict, verdict)}" for verdict in VERDICTS)
    return f"Of {len(own)} claims of the papers: {each}. {len(rows) - len(own)} more are ours."


def in_words(row: JudgedClaim) -> str:
    """A verdict with what it rests on: `does not bind (scale: meant for paper); seen: differs`."""
    reason = f" ({row['reason']})" if row["reason"] else ""
    return "; ".join([row["verdict"] + reason, *_besides(row)])


def _besides(row: JudgedClaim) -> list[str]:
    """What a reader must know of a verdict besides its reason."""
    seen = "" if row["binds"] or not row["seen"] else f"seen: {row['seen']}"
    chosen = "settings chosen after seeing results" if row["chosen_after_seeing"] else ""
    return [words for words in (seen, chosen) if words]


def board(
    folder: Path, title: str, rows: Sequence[JudgedClaim], pages: Mapping[str, Path]
) -> bytes:
    """Judged claims as a Markdown page: counts, then a table a paper, verdict first.

    folder: where the page will be, for its links. pages: figure -> its page, with the picture.
    """

    def link(path: Path) -> str:
        return Path(os.path.relpath(path.absolute(), folder.absolute())).as_posix()

    lines = [f"# Scoreboard: {title}", "", headline(rows), "", *markdown(counts(rows)), "", LEGEND]
    for paper in dict.fromkeys(row["paper"] for row in rows):
        page = link(ROOT / "studies" / paper / "README.md")
        lines += ["", f"## {paper}", "", f"[What its claims say, and what they do not]({page})", ""]
        own = [row for row in rows if row["paper"] == paper]
        names = (f"[`{row['claim']}`]({link(pages[row['figure']])})" for row in own)
        lines += markdown([HEAD, *map(entries, own, names)])
    return ("\n".join(lines) + "\n").encode()


def entries(row: JudgedClaim, name: str) -> list[str]:
    """A claim's line of the table under HEAD, as Markdown. name: its id, which may be a link."""
    statement, source, expected, quantity, reason, printed = map(
        plain,
        (
            *(row["statement"], row["source"], row["expected"] + paper_scale(row)),
            *(row["quantity"], row["reason"], shortened(row["printed"])),
        ),
    )
    return [
        "<br>".join([f"**{row['verdict']}**", *filter(None, [reason, *_besides(row)])]),
        f"{statement} ({source})<br>{name}, {row['kind']}",
        printed or "no number",
        f"**{interval(row)}**, n = {row['n']}; expected {expected}<br>{quantity}",
    ]


def paper_scale(row: JudgedClaim) -> str:
    """What is expected at paper scale, where that is something else."""
    other = row["expected_paper"] != row["expected"]
    return f" (paper scale: {row['expected_paper']})" if other else ""


def shortened(numbers: Sequence[str]) -> str:
    """The first of what a paper prints for a claim, and how many more there are."""
    more = f" (and {len(numbers) - 1} more)" if len(numbers) > 1 else ""
    return "".join(numbers[:1]) + more
