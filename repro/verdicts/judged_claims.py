"""Judged claims, as JSON has them and as text: counts, a verdict in words, a sentence, a page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from repro.core.names import CLAIM_IN_TEXT
from repro.core.papers import is_a_paper
from repro.lineage.checkout import ROOT
from repro.statistics import holm
from repro.verdicts.claims import KINDS, OF_A_PAPER, TRAINING, number
from repro.verdicts.figure import figure_named
from repro.verdicts.typeset import markdown, plain
from repro.verdicts.words import (
    NO_BOUND,
    REPRODUCED,
    STATUSES,
    TOLD,
    TOLD_FIRST,
    VERDICTS,
    behind,
    counted,
    tally,
)

HEAD = ("verdict", "claim", "the paper prints", "measured")  # of the claims of one figure
BOARD = ("verdict", "claim", "measured", "to be known")  # of a scoreboard
LEGEND = (
    "Each interval is of 95 % over n seeds, calibrated on simulated tables. A claim of a paper "
    "rests on training; on theory, held against simulation; or on the paper's own arithmetic. "
    "Self-checks (the suite is built as printed), controls (what else might have given a result) "
    "and the suite's own benchmark are ours. A row leads to the page that has what the paper "
    "prints, the quantity, n and p."
)
EACH_TAIL = 0.025  # of a 95 % interval: the chance of a false verdict with the truth at the edge
CHOSEN = "settings chosen after seeing results"
NOT_AFTER_HOLM = "not after Holm"
NOT_RUN = "not run here"


class JudgedClaim(TypedDict):
    """A judged claim as JSON has it: a row of claims.json, of a record and of the scoreboard.

    A number that is not finite is None.
    """

    claim: str  # its id, `<figure>.<name>`
    kind: str  # what it rests on: training, theory, arithmetic, or a check of ours
    paper: str  # slug of the paper that makes it: the folder of its study and figure
    figure: str  # `<paper>/<figure>`, whose table it is measured on
    statement: str  # what the paper says, in our words
    source: str  # where the paper says it
    quantity: str  # what is measured, in words
    printed: list[str]  # what the paper prints for it, each number with its place, in words
    expected: str  # the bound it was held against, in words
    expected_paper: str  # the bound at paper scale, in words
    measured: float | None  # the measured value
    low: float | None  # lower end of the 95 % interval; None also of one run
    high: float | None  # its upper end
    n: int  # seeds behind the interval
    seen: str  # what was seen, whether or not it binds; "" where there is no bound
    binds: bool  # whether it is meant to hold at this scale and on this data
    verdict: str  # what was seen where it binds; else that it does not, or has no bound
    reason: str  # why it is not plainly reproduced or not; "" where it is
    left_out: str  # that the printed value is outside of an interval within its tolerance; or ""
    calibration: float  # how many times as wide as its estimator's the interval was made
    p: float | None  # chance of a value this far from the bound's edge, were the truth there
    detail: str  # what a reader wants beside the value; may be ""
    power: str  # how simulated tables fared, by law; "" without trials
    untested: bool  # a training claim that binds, of which no such table was tried
    never: str  # the verdict that can hardly come out of its design; "" where both can
    second: str  # what was measured under other arithmetics; "" where nothing was
    chosen_after_seeing: str  # settings chosen after seeing results; "" where none were
    scale: str  # of its runs
    data: str  # of its runs: `embedded` (synthetic), `real`; what differs from that, by dataset


def interval(row: JudgedClaim) -> str:
    """`value [low, high]`, or the value alone where nothing is random or it is of one run; None is
    not finite, or was not run at this scale."""
    if row["measured"] is None:
        return "nothing finite" if row["n"] else NOT_RUN
    value, low, high = (
        "not finite" if end is None else number(end, ".3g")
        for end in (row["measured"], row["low"], row["high"])
    )
    return value if row["low"] == row["high"] else f"{value} [{low}, {high}]"


def of_a_paper(row: JudgedClaim) -> bool:
    """Whether a judged claim is one of a paper; else it is ours."""
    return row["kind"] in OF_A_PAPER and is_a_paper(row["paper"])


def _counted(rows: Sequence[JudgedClaim]) -> list[str]:
    """How many have each verdict."""
    found = tally(row["verdict"] for row in rows)
    return [str(found.get(verdict, 0)) for verdict in VERDICTS]


def counts(rows: Sequence[JudgedClaim]) -> list[list[str]]:
    """How many claims have each verdict, as the rows of a table with its head: the papers', those
    about training first and split by whether their settings were chosen after seeing results; then
    ours, of other kinds and of studies that are of no paper."""
    own, ours = _apart(rows)
    trained = [row for row in own if row["kind"] == TRAINING]
    chosen = [row for row in trained if row["chosen_after_seeing"]]
    table = [["claims", *VERDICTS], ["of the papers, about training", *_counted(trained)]]
    table += [[f"of these, with {CHOSEN}", *_counted(chosen)]] if chosen else []
    for kind in OF_A_PAPER[1:]:
        some = [row for row in own if row["kind"] == kind]
        table += [[f"of the papers, {kind}", *_counted(some)]] if some else []
    for paper, kind in dict.fromkeys((_whose(row), row["kind"]) for row in ours):
        some = [row for row in ours if (_whose(row), row["kind"]) == (paper, kind)]
        table.append([f"ours, {paper}{kind}", *_counted(some)])
    return table


def counts_by_paper(
    rows: Sequence[JudgedClaim], registered: Sequence[JudgedClaim]
) -> list[list[str]]:
    """The papers' claims, a line a paper and what they rest on: about training first, all of them
    together last. The first cell is Markdown with a link to the paper's page from the checkout.
    registered: those that were registered before their runs, the first line; what is the
    suite's own is not counted."""
    own, _ = _apart(rows)
    table = [["claims of", "rest on", *VERDICTS]]
    of_papers = [r for r in registered if r["kind"] == TRAINING and of_a_paper(r)]
    table.append(["**registered before their runs**", TRAINING, *_counted(of_papers)])
    for on in ((TRAINING,), tuple(kind for kind in OF_A_PAPER if kind != TRAINING)):
        some = [row for row in own if row["kind"] in on]
        words = " and ".join(on)
        for paper in dict.fromkeys(row["paper"] for row in some):
            link = f"[`{paper}`](studies/{paper}/README.md)"
            table.append([link, words, *_counted([r for r in some if r["paper"] == paper])])
        table.append(["**all papers**" if len(on) == 1 else "all papers", words, *_counted(some)])
        chosen = [row for row in some if row["chosen_after_seeing"]]
        if on == (TRAINING,):
            table.append([f"of these, {CHOSEN}", words, *_counted(chosen)])
    return table


def _apart(rows: Sequence[JudgedClaim]) -> tuple[list[JudgedClaim], list[JudgedClaim]]:
    """The papers' claims and ours, the latter by kind, those of other studies last."""
    ours = [row for row in rows if not of_a_paper(row)]
    ours.sort(key=lambda row: (not is_a_paper(row["paper"]), KINDS.index(row["kind"])))
    return [row for row in rows if of_a_paper(row)], ours


def _whose(row: JudgedClaim) -> str:
    """`transfer: ` of a claim in studies that are of no paper."""
    return "" if is_a_paper(row["paper"]) else f"{row['paper']}: "


def headline(rows: Sequence[JudgedClaim]) -> str:
    """How many of the papers' claims have each verdict, in sentences."""
    own, ours = _apart(rows)
    lines = []
    for on, what in (((TRAINING,), "about training"), (OF_A_PAPER[1:], "of theory and arithmetic")):
        some = [row for row in own if row["kind"] in on]
        if some:
            found = tally(row["verdict"] for row in some)
            each = ", ".join(counted(verdict, found.get(verdict, 0)) for verdict in VERDICTS)
            lines.append(f"Of the papers' {len(some)} claims {what}: {each}.")
        chosen = sum(bool(r["chosen_after_seeing"]) for r in some if r["verdict"] == REPRODUCED)
        if chosen:
            lines.append(f"Of those {REPRODUCED}, {chosen} have {CHOSEN}.")
    return " ".join([*lines, f"{len(ours)} more are ours."])


def in_family(row: JudgedClaim) -> bool:
    """Whether a claim is one of a paper's judged random ones."""
    return of_a_paper(row) and row["p"] is not None


def families(rows: Sequence[JudgedClaim]) -> dict[str, list[JudgedClaim]]:
    """Paper -> its judged random claims of one scale and data: the tests that chance has a try
    at."""
    own = [row for row in rows if in_family(row)]
    return {p: [r for r in own if r["paper"] == p] for p in dict.fromkeys(r["paper"] for r in own)}


def survivors(rows: Sequence[JudgedClaim]) -> set[tuple[str, str]]:
    """(paper, claim) of the random claims that stand when a paper's are taken together, by Holm's
    method at 5 %."""
    return {
        (paper, row["claim"])
        for paper, family in families(rows).items()
        for row, stands in zip(family, holm([row["p"] or 0.0 for row in family]), strict=True)
        if stands
    }


def many_claims(rows: Sequence[JudgedClaim]) -> list[str]:
    """What the number of tests means for their verdicts, a sentence or two a paper."""
    standing, lines = survivors(rows), []
    for paper, family in families(rows).items():
        told = [row for row in family if row["verdict"] in TOLD]
        held = [row for row in told if (paper, row["claim"]) in standing]
        lines.append(
            f"`{paper}`: {len(family)} judged random claims, of which {len(told)} are told; "
            f"{len(held)} of these survive Holm's method at 5 % over all {len(family)}. With every "
            f"truth at the edge of its bound {EACH_TAIL * len(family):.1f} false verdicts would be "
            "expected."
        )
    return lines


def told(row: JudgedClaim) -> str:
    """A verdict, and in the same breath where the printed value lies outside of the interval."""
    return ", ".join(filter(None, [row["verdict"], row["left_out"]]))


def told_first(row: JudgedClaim) -> tuple[bool, int]:
    """What orders claims wherever they are listed: by verdict, what was not run here last."""
    return interval(row) == NOT_RUN, TOLD_FIRST.index(row["verdict"])


def in_words(row: JudgedClaim) -> str:
    """A verdict with what it rests on: `needs a larger scale (meant for paper); seen: differs`."""
    reason = f" ({row['reason']})" if row["reason"] else ""
    return "; ".join([row["verdict"] + reason, *_besides(row)])


def _besides(row: JudgedClaim) -> list[str]:
    """What a reader must know of a verdict besides its reason."""
    seen = "" if row["binds"] or not row["seen"] else f"seen: {row['seen']}"
    outside = row["left_out"]
    untested = "untested: no table of a rival law was tried" if row["untested"] else ""
    never = f"by its design it can hardly come out as {row['never']}" if row["never"] else ""
    chosen = CHOSEN if row["chosen_after_seeing"] else ""
    return [words for words in (outside, seen, untested, never, chosen) if words]


def scoreboard_page(
    folder: Path, title: str, rows: Sequence[JudgedClaim], pages: Mapping[str, Path]
) -> bytes:
    """Judged claims as a Markdown page: counts, then a table a paper, a row a claim, what is told
    first; then what is ours, folded.

    folder: where the page will be, for its links. pages: figure -> its page, with the picture.
    """

    def link(path: Path) -> str:
        return Path(os.path.relpath(path.absolute(), folder.absolute())).as_posix()

    def table(some: Sequence[JudgedClaim]) -> list[str]:
        ordered = sorted(some, key=told_first)
        names = (f"[`{row['claim']}`]({link(pages[row['figure']])})" for row in ordered)
        alone = (not in_family(r) or (r["paper"], r["claim"]) in standing for r in ordered)
        return markdown([BOARD, *map(_board_line, ordered, names, alone)])

    lines = [f"# Scoreboard: {title}", "", headline(rows), "", *markdown(counts(rows)), "", LEGEND]
    lines += ["", *(f"- *{each.word}*: {each.meaning}" for each in STATUSES.values())]
    if many := many_claims(rows):
        lines += ["", *(f"- {line}" for line in many)]
    standing = survivors(rows)
    own, ours = _apart(rows)
    for paper in dict.fromkeys(row["paper"] for row in own):
        page = link(ROOT / "studies" / paper / "README.md")
        lines += ["", f"## {paper}", "", f"[What its claims say, and what they do not]({page})", ""]
        lines += table([row for row in own if row["paper"] == paper])
    lines += ["", "## Ours", ""] if ours else []
    for paper in dict.fromkeys(row["paper"] for row in ours):
        some = [row for row in ours if row["paper"] == paper]
        page = link(ROOT / "studies" / paper / "README.md")
        what = f"{paper}: {len(some)} claim{'s' * (len(some) > 1)}, {fared(some)}"
        lines += [f"<details><summary>{what}</summary>", "", f"[What they say]({page})", ""]
        lines += [*table(some), "", "</details>", ""]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _board_line(row: JudgedClaim, name: str, stands: bool) -> list[str]:
    """A claim's line of the table under BOARD; as `table_line`."""
    bound = plain(row["expected"] if row["verdict"] == NO_BOUND else f"expected {row['expected']}")
    beside = [row["reason"], *_besides(row), *[NOT_AFTER_HOLM] * (not stands)]
    return [
        f"**{row['verdict']}**",
        f"{name} {plain(row['statement'])}",
        f"{interval(row)}; {bound}",
        plain("; ".join(filter(None, beside))),
    ]


def table_line(row: JudgedClaim, name: str, stands: bool = True) -> list[str]:
    """A claim's line of the table under HEAD, as Markdown. name: its id, which may be a link.
    stands: False where it does not survive beside the paper's other claims."""
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
        f"**{interval(row)}**, n = {row['n']}{chance(row['p'], stands)}; expected {expected}<br>"
        + quantity,
    ]


def chance(p: float | None, stands: bool = True) -> str:
    """`, p = 0.003` of a claim that is random and judged, "" of others. stands: as in `entries`."""
    alone = "" if stands else f" ({NOT_AFTER_HOLM})"
    return "" if p is None else f", p {'< 0.0001' if p < 1e-4 else f'= {p:.2g}'}{alone}"


def paper_scale(row: JudgedClaim) -> str:
    """What is expected at paper scale, where that is something else."""
    other = row["expected_paper"] != row["expected"]
    return f" (paper scale: {row['expected_paper']})" if other else ""


def shortened(numbers: Sequence[str]) -> str:
    """The first of what a paper prints for a claim, and how many more there are."""
    more = f" (and {len(numbers) - 1} more)" if len(numbers) > 1 else ""
    return "".join(numbers[:1]) + more


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
    judged = [row for row in shown if row["verdict"] != NO_BOUND]
    chosen = any(r["chosen_after_seeing"] for r in judged if r["verdict"] == REPRODUCED)
    outside = dict.fromkeys(
        r["left_out"] for r in judged if r["left_out"] and r["verdict"] == REPRODUCED
    )
    fate = ", ".join([fared(judged), *outside])
    return ", ".join([": ".join(filter(None, [text, fate])), *[CHOSEN] * chosen])


def marks(rows: Sequence[JudgedClaim]) -> list[tuple[str, str]]:
    """What a picture says of its claims, each in its verdict's colour: the word of one, how many of
    more. The papers' claims, or ours where there is none of theirs."""
    some = [row for row in rows if of_a_paper(row)] or list(rows)
    having = tally(row["verdict"] for row in some).items()
    return [(v if len(some) == 1 else counted(v, number), v) for v, number in having]


def decided_by(figure_name: str) -> list[str]:
    """The claims that a figure's sentence names, each once, in its order."""
    stated = figure_named(figure_name).outcome
    return list(dict.fromkeys(CLAIM_IN_TEXT.findall(stated)))


def fared(rows: Sequence[JudgedClaim]) -> str:
    """How claims fared: `reproduced` of one, `2 of 3 claims reproduced, 1 not reproduced` of more,
    "" of none."""
    counts = tally(row["verdict"] for row in rows)
    parts = [counted(verdict, number) for verdict, number in counts.items()]
    if len(counts) > 1:
        first, *others = parts
        return ", ".join([first.replace(" ", f" of {len(rows)} claims ", 1), *others])
    every = {0: "", 1: "", 2: "both claims "}.get(len(rows), f"all {len(rows)} claims ")
    return every + "".join(map(behind, counts))
