"""The verdicts of the claims that were registered, for README and docs/verdicts.md. No torch at
import."""

from collections.abc import Iterator
from pathlib import Path

from repro.judge import badge as badges
from repro.judge import earlier, register
from repro.judge.board import JudgedClaim, families, interval, survivors
from repro.judge.claims import (
    INCONCLUSIVE,
    NEEDS_MORE,
    NO_BOUND,
    NOT_REPRODUCED,
    REPRODUCED,
)
from repro.judge.records import read_record, recorded_at
from repro.judge.typeset import markdown
from repro.suite import catalog

PAGE = "registered --page"
# A negative result is a result: it stands first.
VERDICTS_FIRST = (NOT_REPRODUCED, INCONCLUSIVE, REPRODUCED, NEEDS_MORE, NO_BOUND)


def counted() -> list[JudgedClaim]:
    """The judged claims on record that were registered before their runs."""
    return [claim for claim, _, badge in _registered() if badge.word == badges.BEFORE]


def lines() -> list[str]:
    """The registered claims that have runs, a line each, refuted ones first; lines of Markdown.

    Beside the verdict: what the same claim is at reduced scale, whether it stands when all of its
    paper's random claims at its scale are taken together, and the badge, as git has it now.
    """
    head = ["claim", "expected", "measured", "n", "p", "Holm", "verdict", "reduced", "registered"]
    found = [_line(*each) for each in _registered()]
    found.sort(key=lambda line: VERDICTS_FIRST.index(line[6].partition(";")[0]))
    rows = [(paper, row) for paper in _papers() for row in register.registered(paper)]
    designs = [_design(*each) for each in rows]
    head_of_designs = ["claim", "scale", "arms and seeds", "window", "power", "told", "error", "s"]
    head_of_designs.append("known when it was written")
    table = ["", "The designs:", "", *markdown([head_of_designs, *designs])] if designs else []
    return [*markdown([head, *found]), *table]


def _design(paper: str, row: register.Registered) -> list[str]:
    numbers = (row.power, row.told, row.error, row.seconds)
    name = f"`{paper}` {row.claim}"
    return [name, row.scale, row.arms, row.window, *(f"{n:g}" for n in numbers), row.known]


def _papers() -> list[str]:
    return [*dict.fromkeys(name.split("/")[0] for name in catalog.figure_names())]


def _registered() -> Iterator[tuple[JudgedClaim, bool | None, badges.Badge]]:
    """The judged claims on record that the register has a row of: each with whether it stands by
    Holm's method, None where it is none of those that are counted, and its badge."""
    for paper in _papers():
        tests = {row.key for row in register.registered(paper)}
        tests |= {(e.claim, e.scale, e.data) for e in earlier.of_paper(paper)}
        for scale, data in sorted({(scale, data) for _, scale, data in tests}):
            saved = [read_record(base) for base in _bases_of(paper, scale, data)]
            of = [(claim, each["provenance"]) for each in saved for claim in each["claims"]]
            standing = survivors([claim for claim, _ in of])
            family = families([claim for claim, _ in of]).get(paper, ())
            counted = {claim["claim"] for claim in family}
            for claim, provenance in of:
                if (claim["claim"], scale, data) in tests:
                    name = claim["claim"]
                    stands = (paper, name) in standing if name in counted else None
                    yield claim, stands, badges.badge(claim, provenance)


def _line(claim: JudgedClaim, stands: bool | None, badge: badges.Badge) -> list[str]:
    p = "-" if claim["p"] is None else f"{claim['p']:.2g}"
    name = f"`{claim['paper']}` {claim['claim']}: {claim['statement']}"
    holm = {None: "-", True: "stands", False: "falls"}[stands]
    reduced = _verdicts(claim["paper"], "reduced", claim["data"]).get(claim["claim"], "-")
    measured = [claim["expected"], interval(claim), str(claim["n"]), p, holm]
    lacking = f"; {claim['never']} could hardly come out" if claim["never"] else ""
    return [name, *measured, claim["verdict"] + lacking, reduced, str(badge)]


def _bases_of(paper: str, scale: str, data: str) -> list[Path]:
    names = (name for name in catalog.figure_names() if name.startswith(f"{paper}/"))
    return [base for name in names for base in recorded_at(scale, data, name)[:1]]


def _verdicts(paper: str, scale: str, data: str) -> dict[str, str]:
    """Claim -> its verdict on record at a scale."""
    saved = (read_record(base) for base in _bases_of(paper, scale, data))
    return {claim["claim"]: claim["verdict"] for each in saved for claim in each["claims"]}
