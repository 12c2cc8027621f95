"""What the report shows first: findings, registered verdicts, and each claim wherever it is judged.

A negative result is a result: claims that are not reproduced stand first everywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from repro.core import discovery
from repro.core.papers import is_a_paper
from repro.core.study import SCALES
from repro.report.model import ClaimView, FigureView, Site
from repro.verdicts import badge as badges
from repro.verdicts.claims import KINDS, OF_A_PAPER
from repro.verdicts.judged_claims import decided_by, told_first
from repro.verdicts.words import tally

SMOKE = SCALES[0]


@dataclass(frozen=True)
class Stated:
    """One claim, wherever it is judged. views: at each scale and on all data, where it was
    registered before its runs first, then as configured, then the largest scale."""

    views: list[ClaimView]

    @property
    def first(self) -> ClaimView:
        """Where it is shown from."""
        return self.views[0]

    @property
    def name(self) -> str:
        """`<paper>/<claim>`."""
        return self.first.name

    @property
    def judged(self) -> list[ClaimView]:
        """Where it is judged, but for smoke, which proves the pipeline and no claim."""
        return [claim for claim in self.views if claim.row["scale"] != SMOKE]

    @property
    def page(self) -> str:
        """Its page, which has one address whatever is configured, from the site's root."""
        return self.first.address


@dataclass(frozen=True)
class Finding:
    """A question, the figure that answers it, and the claims that decide, wherever judged. figure:
    where these were registered before their runs, if they were; else as configured."""

    question: str
    figure: FigureView
    claims: list[Stated]

    @property
    def registered(self) -> bool:
        """Whether what decides was registered before its runs."""
        own = (claim for claim in self.figure.claims if claim.name in {c.name for c in self.claims})
        return any(claim.badge.word == badges.BEFORE for claim in own)


@dataclass(frozen=True)
class Group:
    """Claims of one paper that rest on the same kind of evidence."""

    paper: str
    kind: str
    claims: list[ClaimView]

    @property
    def is_ours(self) -> bool:
        """Whether they are no claims of a paper."""
        return not is_a_paper(self.paper) or self.kind not in OF_A_PAPER

    def tally(self, scale: str, data: str) -> dict[str, int]:
        """Verdict -> how many have it at a scale and on its data."""
        rows = [claim.row for claim in self.claims]
        return tally(r["verdict"] for r in rows if (r["scale"], r["data"]) == (scale, data))


def stated(site: Site) -> dict[str, Stated]:
    """`<paper>/<claim>` -> the claim, in the order of the papers and figures."""
    found: dict[str, list[ClaimView]] = {}
    for claim in site.claims:
        found.setdefault(claim.name, []).append(claim)
    for views in found.values():
        views.sort(key=lambda claim: claim.badge.word != badges.BEFORE)
    return {name: Stated(views) for name, views in found.items()}


def findings(site: Site, claims: dict[str, Stated]) -> list[Finding]:
    """The questions whose figures the site shows, each with what decides it."""
    found = []
    for paper in discovery.papers().values():
        name = f"{paper.slug}/{paper.answer}"
        views = [figure for figure in site.figures if figure.name == name]
        if any(view.suite is site.suite for view in views):
            decisive = [claims[f"{paper.slug}/{claim}"] for claim in decided_by(name)]
            every = [Finding(paper.question, view, decisive) for view in views]
            found.append(next((each for each in every if each.registered), every[0]))
    return found


def registered(site: Site) -> list[ClaimView]:
    """The claims that were registered before the runs that judge them, not reproduced first."""
    return by_verdict(c for c in site.claims if c.badge.word == badges.BEFORE)


def by_verdict(claims: Iterable[ClaimView]) -> list[ClaimView]:
    """Claims by verdict, refuted ones first; else in the order they have."""
    return sorted(claims, key=lambda claim: told_first(claim.row))


def groups(site: Site) -> list[Group]:
    """All claims by paper, ours last, and by kind, training first; not reproduced first in each."""
    papers: Sequence[str] = sorted((p.slug for p in site.papers), key=lambda p: not is_a_paper(p))
    found = [
        Group(paper, kind, by_verdict(own))
        for paper in papers
        for kind in KINDS
        if (own := [c for c in site.claims if (c.row["paper"], c.row["kind"]) == (paper, kind)])
    ]
    return sorted(found, key=lambda group: group.is_ours)
