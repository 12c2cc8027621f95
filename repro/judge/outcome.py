"""What came out of a figure, in a sentence: the title of its picture. No torch."""

from collections.abc import Sequence

from repro.judge.board import CHOSEN
from repro.judge.claims import DOES_NOT_BIND, REPORTED, REPRODUCED, VERDICTS
from repro.judge.figure import figure_named
from repro.judge.judged import JudgedClaim, interval
from repro.suite.names import CLAIM_IN_TEXT

WORDS = {DOES_NOT_BIND: "not judged at this scale or on these data"}


def outcome(figure_name: str, rows: Sequence[JudgedClaim]) -> str:
    """What came out of a figure: its sentence with what was measured, and the verdict of the claims
    that this names. How all of its claims fared, where it has none or a value is not finite; ""
    where it has no claims. rows: its judged claims."""
    stated = figure_named(figure_name).outcome
    found = {row["claim"]: row for row in rows}
    shown = [found[claim] for claim in decided_by(figure_name) if claim in found]
    known = {row["claim"]: interval(row) for row in shown if row["measured"] is not None}
    if not {*CLAIM_IN_TEXT.findall(stated)} <= {*known} or not stated:
        return f"{fared(rows)[:1].upper()}{fared(rows)[1:]}"
    text = CLAIM_IN_TEXT.sub(lambda claim: known[claim[1]], stated)
    judged = [row for row in shown if row["verdict"] != REPORTED]
    chosen = any(r["chosen_after_seeing"] for r in judged if r["verdict"] == REPRODUCED)
    return ", ".join([": ".join(filter(None, [text, fared(judged)])), *[CHOSEN] * chosen])


def decided_by(figure_name: str) -> list[str]:
    """The claims that a figure's sentence names, each once, in its order."""
    stated = figure_named(figure_name).outcome
    return list(dict.fromkeys(CLAIM_IN_TEXT.findall(stated)))


def fared(rows: Sequence[JudgedClaim]) -> str:
    """How claims fared: `reproduced` of one, `2 of 3 claims reproduced, 1 not reproduced` of more,
    "" of none."""
    verdicts = [row["verdict"] for row in rows]
    counts = {v: verdicts.count(v) for v in VERDICTS if v in verdicts}
    parts = [f"{count} {WORDS.get(verdict, verdict)}" for verdict, count in counts.items()]
    if len(counts) > 1:
        first, *others = parts
        return ", ".join([first.replace(" ", f" of {len(rows)} claims ", 1), *others])
    every = {0: "", 1: "", 2: "both claims "}.get(len(rows), f"all {len(rows)} claims ")
    return every + "".join(WORDS.get(verdict, verdict) for verdict in counts)
