"""Whether a claim was registered before its runs, as git and digests have it. No torch.

It is asked whenever it is shown, and is no part of a record. What git cannot say stays on trust:
docs/verdicts.md names it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from repro.core import seeds
from repro.lineage import history
from repro.lineage.checkout import ROOT
from repro.lineage.provenance import mixture
from repro.verdicts import preregistration
from repro.verdicts.preregistration import Registered, at_commit, rows_of, unknown
from repro.verdicts.results import Judged, paper_of
from repro.verdicts.words import interval

BEFORE = "registered before"
WAITING = "registered, runs not yet made"
NOT_BEFORE = "not registered before"
NOT = "not registered"
UNKNOWN = "unknown here"


@dataclass(frozen=True)
class Badge:
    """Whether a claim was registered before its runs. word: one of those above. reason: why, or
    what else there is to know; may be ""."""

    word: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def badge(row: Judged, provenance: Mapping) -> Badge:
    """The badge of a judged claim. provenance: of the figure it was judged on.

    It was registered before if every run is of a commit of this history, with that commit's code,
    at which the register had a row of the claim that it still has; if all are of one version of
    their code; and if bound and seeds are those of that row.
    """
    paper, test = paper_of(row), row["test"]
    now = rows_of(paper, test, row["scale"], row["data"])
    if not now:
        return Badge(NOT)
    if reason := unknown():
        return Badge(UNKNOWN, reason)
    counting, reason = _row_before(paper, now, provenance["made"])
    if counting is None:
        return Badge(NOT_BEFORE, reason)
    bound = row["bound"]["text"]
    if counting.bound != bound:
        reason = f"it was registered as {counting.bound!r}, and judged by {bound!r}"
    made = provenance["made"]
    reason = reason or mixture(made) or _other_code(made)
    if reason := reason or _other_seeds(paper, counting, provenance):
        return Badge(NOT_BEFORE, reason)
    several = f"the claim has {len(now)} rows; number {now.index(counting) + 1} was there"
    again = _judged_anew(row, provenance.get("data_sha256", ""))
    return Badge(BEFORE, "; ".join(filter(None, [several if len(now) > 1 else "", again])))


def waiting(paper: str, row: Registered, expected: str) -> Badge:
    """The badge of a claim whose runs are not made. row: the last of its rows. expected: the bound
    that the claim has today."""
    if row.bound != expected:
        return Badge(WAITING, f"the claim expects {expected!r} today; that needs a new row")
    if not unknown() and row not in at_commit(paper, "HEAD"):
        return Badge(WAITING, "the row is not committed; commit it before any run")
    known = seeds.arms(paper)
    if lacking := [arm for arm in row.asked if arm not in known]:
        return Badge(WAITING, f"arm {lacking[0]} has no seeds yet; python -m repro seeds {paper}")
    return Badge(WAITING)


def _row_before(
    paper: str, now: Sequence[Registered], made: Sequence[Mapping]
) -> tuple[Registered | None, str]:
    """The row that counts for runs, or None and the reason why none does."""
    if not made:
        return None, "nothing was run for it, so that no commit says when it was judged"
    found = set()
    for made_at in dict.fromkeys(str(entry["commit"] or "") for entry in made):
        commit, _, dirty = made_at.partition("+")
        name = commit[:12]
        if not commit:
            return None, "runs name no commit"
        if dirty:
            return None, f"runs are of commit {name} with changed files"
        if commit not in (history.commits(ROOT) or ()):
            return None, f"runs are of commit {name}, which this history does not have"
        then = [row for row in at_commit(paper, commit) if row.key == now[0].key]
        if not then:
            return None, f"the row is younger than runs of commit {name}"
        if then[-1] not in now:
            return None, f"the row was edited after runs of commit {name}"
        found.add(then[-1])
    if len(found) > 1:
        return None, "a new row was added between its runs"
    return found.pop(), ""


def _other_code(made: Sequence[Mapping]) -> str:
    """That runs are not of the code of the commit they name, in words; "" if they are."""
    for entry in made:
        for folder, tree in entry.get("trees", {}).items():
            if tree != _tree(entry["commit"], folder):
                return f"runs are not of the code of commit {entry['commit'][:12]}"
    return ""


@cache
def _tree(commit: str, folder: str) -> str | None:
    return history.git("rev-parse", "--verify", f"{commit}:{folder}", root=ROOT)


def _other_seeds(paper: str, row: Registered, provenance: Mapping) -> str:
    """How the seeds of a figure's runs are not those of a row's arms, in words; "" if they are. A
    figure has the arms of other claims too, which this one does not ask for."""
    if "seeds" not in provenance:
        return "its data do not say of which seeds they are"
    made = {int(seed) for seed in provenance["seeds"]}
    for commit in dict.fromkeys(entry["commit"] for entry in provenance["made"]):
        known = preregistration.arms_at(paper, commit)
        for name, number in row.asked.items():
            arm = known.get(name)
            if arm is None:
                return f"the seeds of arm {name} are younger than runs of commit {commit[:12]}"
            if row not in at_commit(paper, arm.commit):
                return f"the seeds of arm {name} are of a commit without its row"
            if missing := {*arm.numbers[:number]} - made:
                return f"seeds of arm {name} that were not run: {listed(missing)}"
    return ""


def listed(found: set[int]) -> str:
    """Seeds as text: `2008, 2009`."""
    return ", ".join(map(str, sorted(found)))


def _judged_anew(row: Judged, digest: str) -> str:
    """What the first record of the same data said of a claim, where it was something else.

    Compared are the verdict and what was measured. By how much an interval is calibrated is not:
    trials are drawn of a recorded table, so after its first record.
    """
    first = _first(f"records/{row['scale']}/{row['data']}", row["figure"], digest)
    then: Any = first.get(row["test"])
    if not then:
        return ""
    status = then.get("status") or then["verdict"]
    if status == row["status"] and _as_measured(then) == _as_measured(row):
        return ""
    return f"judged anew: it was {status}, {interval(then)}"


def _as_measured(claim: Mapping) -> list[str]:
    """Value, n and interval of a claim, the interval without its calibration."""
    value, factor = claim["measured"], claim.get("calibration") or 1
    found = [value, claim["n"]]
    for end in (claim["low"], claim["high"]):
        found.append(end if end is None else value + (end - value) / factor)
    return [f"{number:.9g}" if isinstance(number, float) else str(number) for number in found]


@cache
def _first(folder: str, figure: str, digest: str) -> dict[str, Mapping]:
    """Test -> how it was judged in the first commit that has a figure's record of these data, in
    the form that the record had."""
    place = f":(glob){folder}/*/{figure}.json"
    words = ("log", "--reverse", "--format=%H", "--name-only", "--", place)
    commit = ""
    for line in (history.git(*words, root=ROOT) or "").split():
        if len(line) == 40 and "/" not in line:
            commit = line
            continue
        saved = json.loads(history.git("show", f"{commit}:{line}", root=ROOT) or "{}")
        if saved.get("data_sha256") == digest:
            tests = saved["tests"] if "tests" in saved else saved["claims"]  # of before
            return {test["test" if "test" in test else "claim"]: test for test in tests}
    return {}
