"""The words of verdicts: what each status is called, what it means, and how it is shown.

Terminal, pages, pictures, records and claims.json take them from here. No torch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# What was seen, whether or not it binds.
AGREES = "agrees"
DIFFERS = "differs"
UNCLEAR = "inconclusive"
NOTHING = ""  # there is no bound to agree with
SEEN = (AGREES, DIFFERS, UNCLEAR)


@dataclass(frozen=True)
class Status:
    """What a claim's verdict is called.

    word: the same everywhere. meaning: one sentence. look: the class of its colours and mark in
    report.css. color: in pictures. behind: what stands behind a number of claims, if not the word.
    """

    word: str
    meaning: str
    look: str
    color: str
    behind: str = ""


REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
INCONCLUSIVE = UNCLEAR
NEEDS_MORE = "needs a larger scale"
NO_BOUND = "no bound"
STATUSES: Mapping[str, Status] = {
    status.word: status
    for status in (
        Status(
            REPRODUCED,
            "The claim binds, and the whole interval lies within the bound, also when it is "
            "widened until each rival law's tables seldom agree.",
            "good",
            "#148a53",
        ),
        Status(
            NOT_REPRODUCED,
            "The claim binds, and the whole interval lies outside the bound, also when it is "
            "widened until the paper's own tables seldom differ.",
            "bad",
            "#c0262b",
        ),
        Status(
            INCONCLUSIVE,
            "The claim binds, and its runs do not tell: the interval crosses the bound, or would "
            "once widened, or something else stands in the way, which is named.",
            "open",
            "#7d8896",
        ),
        Status(
            NEEDS_MORE,
            "The claim is meant for a larger scale, or for real data; what was seen here is shown.",
            "away",
            "#b06a12",
            "for a larger scale",
        ),
        Status(
            NO_BOUND,
            "There is nothing to hold the value against: none is printed, or ours was set when the "
            "number was known.",
            "told",
            "#3f74bd",
            "with no bound",
        ),
    )
}
VERDICTS = (*STATUSES,)
TOLD = (REPRODUCED, NOT_REPRODUCED)
# A negative result is a result: it stands first. What tells nothing of a claim here is last.
TOLD_FIRST = (NOT_REPRODUCED, REPRODUCED, INCONCLUSIVE, NO_BOUND, NEEDS_MORE)


def behind(verdict: str) -> str:
    """What stands behind a number of claims that have a verdict."""
    return STATUSES[verdict].behind or verdict


def counted(verdict: str, number: int) -> str:
    """How many claims have a verdict: `3 reproduced`, `2 with no bound`."""
    return f"{number} {behind(verdict)}"


def tally(verdicts: Iterable[str]) -> dict[str, int]:
    """Verdict -> how many there are of it, without those of which there is none."""
    found = Counter(verdicts)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}
