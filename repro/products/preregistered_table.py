"""The verdicts of the claims that were registered, for README and docs/verdicts.md. No torch at
import."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from repro.core import catalog
from repro.products.records import read_record, recorded_at
from repro.verdicts import badge as badges
from repro.verdicts import earlier, preregistration
from repro.verdicts.judged_claims import (
    JudgedClaim,
    families,
    interval,
    survivors,
    told,
    told_first,
)
from repro.verdicts.typeset import markdown
from repro.verdicts.words import TOLD_FIRST

PAGE = "registered --page"


def counted() -> list[JudgedClaim]:
    """The judged claims on record that were registered before their runs."""
    return [claim for claim, _, badge in _registered() if badge.word == badges.BEFORE]


def lines() -> list[str]:
    """The registered claims that have runs, refuted ones first, then their designs, then the tests
    of an older rule as they were judged then; lines of Markdown.

    Beside the verdict: what the same claim is at reduced scale, whether it stands when all of its
    paper's random claims at its scale are taken together, and the badge, as git has it now.
    """
    head = ["claim", "expected", "measured", "n", "p", "Holm", "verdict", "reduced", "registered"]
    tests = {(paper, row.key) for paper in _papers() for row in preregistration.registered(paper)}
    every = [*_registered()]
    own = [each for each in every if (each[0]["paper"], _key(each[0])) in tests]
    places = {(claim["paper"], claim["data"]) for claim, _, _ in own}
    reduced = {place: _verdicts(place[0], "reduced", place[1]) for place in places}
    found = [
        _line(claim, stands, badge, reduced[claim["paper"], claim["data"]])
        for claim, stands, badge in sorted(own, key=lambda each: told_first(each[0]))
    ]
    rows = [(paper, row) for paper in _papers() for row in preregistration.registered(paper)]
    designs = [_design(*each) for each in rows]
    head_of_designs = ["claim", "scale", "arms and seeds", "window", "power", "told", "error", "s"]
    head_of_designs.append("known when it was written")
    today = {(claim["paper"], _key(claim)): claim for claim, _, _ in every}
    old = [(paper, row) for paper in _papers() for row in earlier.of_paper(paper)]
    then = [_then(paper, row, today.get((paper, row.key))) for paper, row in old]
    then.sort(key=lambda line: TOLD_FIRST.index(line[4]))
    head_of_old = ["claim", "expected", "measured then", "n", "then", "by today's rule"]
    return [
        *markdown([head, *found]),
        *["", "The designs:", "", *markdown([head_of_designs, *designs])],
        *["", "Of scale overnight, by the rule of then:", "", *markdown([head_of_old, *then])],
    ]


def _key(claim: JudgedClaim) -> tuple[str, str, str]:
    return claim["claim"], claim["scale"], claim["data"]


def _then(paper: str, row: earlier.Earlier, now: JudgedClaim | None) -> list[str]:
    """A test of the older rule, with what today's says of the same runs: where it measures them by
    another window or estimator, with what that gives."""
    alone = f"{now['verdict']}, {interval(now)}" if now else "no record"
    same = now and repr(now["measured"]) == row.measured
    return [
        f"`{paper}` {row.claim}",
        row.bound,
        row.interval,
        row.n,
        row.status,
        now["verdict"] if now and same else f"measured otherwise: {alone}",
    ]


def _design(paper: str, row: preregistration.Registered) -> list[str]:
    numbers = (row.power, row.told, row.error, row.seconds)
    name = f"`{paper}` {row.claim}"
    return [name, row.scale, row.arms, row.window, *(f"{n:g}" for n in numbers), row.known]


def _papers() -> list[str]:
    return [*dict.fromkeys(name.split("/")[0] for name in catalog.figure_names())]


def _registered() -> Iterator[tuple[JudgedClaim, bool | None, badges.Badge]]:
    """The judged claims on record that the register has a row of: each with whether it stands by
    Holm's method, None where it is none of those that are counted, and its badge."""
    for paper in _papers():
        tests = {row.key for row in preregistration.registered(paper)}
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


def _line(
    claim: JudgedClaim, stands: bool | None, badge: badges.Badge, reduced: Mapping[str, str]
) -> list[str]:
    """reduced: claim -> its verdict at that scale."""
    p = "-" if claim["p"] is None else f"{claim['p']:.2g}"
    name = f"`{claim['paper']}` {claim['claim']}: {claim['statement']}"
    holm = {None: "-", True: "stands", False: "falls"}[stands]
    measured = [claim["expected"], interval(claim), str(claim["n"]), p, holm]
    lacking = f"; {claim['never']} could hardly come out" if claim["never"] else ""
    return [name, *measured, told(claim) + lacking, reduced.get(claim["claim"], "-"), str(badge)]


def _bases_of(paper: str, scale: str, data: str) -> list[Path]:
    names = (name for name in catalog.figure_names() if name.startswith(f"{paper}/"))
    return [base for name in names for base in recorded_at(scale, data, name)[:1]]


def _verdicts(paper: str, scale: str, data: str) -> dict[str, str]:
    """Claim -> its verdict on record at a scale."""
    saved = (read_record(base) for base in _bases_of(paper, scale, data))
    return {claim["claim"]: claim["verdict"] for each in saved for claim in each["claims"]}
