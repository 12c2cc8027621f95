"""One status a test on a kind of data: that of its strongest record. No torch.

The strongest is registered before its runs before others, then tried on rivals' tables before
others, then of the larger scale. Data of the printed kind (real text, real rows) stand beside
synthetic ones, neither above the other: where the two differ, both are said and counted.
"""

from collections.abc import Iterable, Sequence

from repro.core.study import SCALES
from repro.products.claims_json import FiledTest
from repro.verdicts import badge
from repro.verdicts.results import TOLD, paper_of
from repro.verdicts.words import cell

SYNTHETIC = "embedded"


def strength(row: FiledTest) -> tuple[bool, bool, int]:
    """What orders a test's records on one kind of data."""
    return row["registered"] == badge.BEFORE, bool(row["laws"]), SCALES.index(row["scale"])


WHY = ("registered before its runs", "tried on tables of rival laws", "of the larger scale")


def why_stronger(row: FiledTest, other: FiledTest) -> str:
    """By what a test's record is stronger than another of it, the first thing that decides."""
    pairs = zip(strength(row), strength(other), WHY, strict=True)
    return next(why for own, its, why in pairs if own != its)


def by_test(rows: Iterable[FiledTest]) -> dict[tuple[str, str], list[FiledTest]]:
    """(paper, test) -> its rows of all records: the strongest first, of synthetic data before those
    of others."""
    found: dict[tuple[str, str], list[FiledTest]] = {}
    for row in rows:
        found.setdefault((paper_of(row), row["test"]), []).append(row)
    return {key: _ordered(own) for key, own in found.items()}


def _ordered(rows: Iterable[FiledTest]) -> list[FiledTest]:
    own = sorted(rows, key=strength, reverse=True)
    return sorted(own, key=lambda row: row["data"] != SYNTHETIC)


def counting(own: Iterable[FiledTest]) -> list[FiledTest]:
    """Of one test's rows, as of `by_test`, those that give it its status: the strongest, and that
    of the other kind of data where it says something else."""
    kinds: dict[bool, FiledTest] = {}
    for row in own:
        kinds.setdefault(row["data"] == SYNTHETIC, row)
    first, *others = kinds.values()
    return [first, *(row for row in others if row["status"] != first["status"])]


def strongest(rows: Iterable[FiledTest]) -> list[FiledTest]:
    """A row a test, or two where kinds of data differ: what gives it its status."""
    return [row for own in by_test(rows).values() for row in counting(own)]


def tried_again(rows: Iterable[FiledTest]) -> tuple[int, int]:
    """How many tests about training were told by a record and then measured by a stronger one on
    the same kind of data; and how many of them came out alike."""
    tried = stand = 0
    for own in by_test(rows).values():
        same = [row for row in own if row["data"] == own[0]["data"]]
        if len(same) > 1 and own[0]["kind"] == "training" and same[-1]["status"] in TOLD:
            tried += 1
            stand += same[0]["status"] == same[-1]["status"]
    return tried, stand


def in_words(rows: Sequence[FiledTest]) -> list[str]:
    """A test's records, strongest first, a line each."""
    return [
        f"{cell(row)}, {row['scale']} scale, {row['data']} data, {row['registered']}"
        for row in rows
    ]
