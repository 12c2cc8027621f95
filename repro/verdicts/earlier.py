"""The tests that were registered by an older rule, with what came out of them: data, written once.

Their runs, seeds and rows are those of `studies/<paper>/registered_verdicts.csv`; each row stood in
the register at the commits that the runs name. The rule of then withheld a verdict where tables at
the bound's edge differed too often, whatever the distance. What today's rule says of the same runs
stands beside it. No torch.
"""

from dataclasses import dataclass

from repro.core import rows
from repro.verdicts.claims import number
from repro.verdicts.judged_claims import JudgedClaim
from repro.verdicts.words import INCONCLUSIVE


@dataclass(frozen=True)
class Earlier:
    """A row of the register of then, and its verdict. The fields are the file's columns.

    The first fifteen are the row. introduced: the commit that brought it. measured to reason: as
    judged then. badge: whether it was registered before its runs.
    """

    scale: str
    data: str
    claim: str
    estimator: str
    bound: str
    why: str
    rivals: str
    widths: str
    seeds: str
    extension: str
    grid: str
    power: str
    error: str
    hours: str
    known: str
    introduced: str
    measured: str
    low: str
    high: str
    n: str
    p: str
    verdict: str
    reason: str
    badge: str

    def badge_of(self, row: JudgedClaim) -> tuple[str, str]:
        """The word of its badge, and how it was judged then where it is judged otherwise now. The
        badge is of the runs of then: other numbers have none."""
        if row["measured"] is None or f"{row['measured']!r}" != self.measured:
            return "not registered", "it was registered with another estimator, window or runs"
        word, _, reason = self.badge.partition(": ")
        other = "" if row["verdict"] == self.status else f"by the rule of then {self.status}"
        return word, "; ".join(filter(None, [reason, other]))

    @property
    def key(self) -> tuple[str, str, str]:
        """What names its test."""
        return self.claim, self.scale, self.data

    @property
    def interval(self) -> str:
        """What was measured, in words."""
        if not self.measured:
            return "nothing finite"
        ends = (number(float(end), ".3g") for end in (self.low, self.high) if end)
        return f"{number(float(self.measured), '.3g')} [{', '.join(ends)}]"

    @property
    def status(self) -> str:
        """Its verdict in today's words."""
        return {"cannot be told": INCONCLUSIVE}.get(self.verdict, self.verdict)


def path(paper: str) -> str:
    """Where a paper's are, relative to the checkout."""
    return f"studies/{paper}/registered_verdicts.csv"


def of_paper(paper: str) -> list[Earlier]:
    """All of a paper's, in the register's order; none where there is no such file."""
    return [row for _, row in rows.read(path(paper), Earlier)]


def of_claim(paper: str, claim: str, scale: str, data: str) -> Earlier | None:
    """That of one claim's test; None where it has none."""
    found = (row for row in of_paper(paper) if row.key == (claim, scale, data))
    return next(found, None)
