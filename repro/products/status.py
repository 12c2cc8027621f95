"""One status a test: that of its strongest record. No torch.

Of several records on one kind of data the strongest counts: registered before its runs before
others, then the larger scale. Data of the printed kind (real text, real rows) count where they
tell, else synthetic ones.
"""

from collections.abc import Iterable, Sequence

from repro.core.study import SCALES
from repro.products.claims_json import FiledTest
from repro.verdicts import badge
from repro.verdicts.results import TOLD, paper_of
from repro.verdicts.words import cell

SYNTHETIC = "embedded"


def strength(row: FiledTest) -> tuple[bool, int]:
    """What orders a test's records."""
    return row["registered"] == badge.BEFORE, SCALES.index(row["scale"])


def by_test(rows: Iterable[FiledTest]) -> dict[tuple[str, str], list[FiledTest]]:
    """(paper, test) -> its rows of all records, the one whose status counts first."""
    found: dict[tuple[str, str], list[FiledTest]] = {}
    for row in rows:
        found.setdefault((paper_of(row), row["test"]), []).append(row)
    return {key: _ordered(own) for key, own in found.items()}


def _ordered(rows: Sequence[FiledTest]) -> list[FiledTest]:
    ordered = sorted(rows, key=strength, reverse=True)
    synthetic = [row for row in ordered if row["data"] == SYNTHETIC]
    real = [row for row in ordered if row["data"] != SYNTHETIC]
    if real and real[0]["status"] in TOLD:
        return [*real, *synthetic]
    return [*synthetic, *real]


def strongest(rows: Iterable[FiledTest]) -> list[FiledTest]:
    """A row a test: that which gives it its status."""
    return [own[0] for own in by_test(rows).values()]


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
