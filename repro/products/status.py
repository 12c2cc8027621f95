"""One status a claim: that of its strongest record. No torch.

Of several records on one kind of data the strongest counts: where the claim is meant to hold before
others, registered before its runs before others, then the larger scale. Data of the printed kind
(real text, real rows) count where they tell, else synthetic ones.
"""

from collections.abc import Iterable, Sequence

from repro.core.study import SCALES
from repro.products.claims_json import FiledClaim
from repro.verdicts import badge
from repro.verdicts.judged_claims import told
from repro.verdicts.words import TOLD

SYNTHETIC = "embedded"


def strength(row: FiledClaim) -> tuple[bool, bool, int]:
    """What orders a claim's records."""
    return row["binds"], row["registered"] == badge.BEFORE, SCALES.index(row["scale"])


def by_claim(rows: Iterable[FiledClaim]) -> dict[tuple[str, str], list[FiledClaim]]:
    """(paper, claim) -> its rows of all records, the one whose verdict is its status first."""
    found: dict[tuple[str, str], list[FiledClaim]] = {}
    for row in rows:
        found.setdefault((row["paper"], row["claim"]), []).append(row)
    return {key: _ordered(own) for key, own in found.items()}


def _ordered(rows: Sequence[FiledClaim]) -> list[FiledClaim]:
    ordered = sorted(rows, key=strength, reverse=True)
    synthetic = [row for row in ordered if row["data"] == SYNTHETIC]
    real = [row for row in ordered if row["data"] != SYNTHETIC]
    if real and real[0]["verdict"] in TOLD and real[0]["binds"]:
        return [*real, *synthetic]
    return [*synthetic, *real]


def statuses(rows: Iterable[FiledClaim]) -> list[FiledClaim]:
    """A row a claim: that which gives it its status."""
    return [own[0] for own in by_claim(rows).values()]


def tried_again(rows: Iterable[FiledClaim]) -> tuple[int, int]:
    """How many claims about training were told by a record and then measured by a stronger one on
    the same kind of data; and how many of them came out alike."""
    tried = stand = 0
    for own in by_claim(rows).values():
        same = [row for row in own if row["data"] == own[0]["data"] and row["binds"]]
        if len(same) > 1 and own[0]["kind"] == "training" and same[-1]["verdict"] in TOLD:
            tried += 1
            stand += same[0]["verdict"] == same[-1]["verdict"]
    return tried, stand


def in_words(rows: Sequence[FiledClaim]) -> list[str]:
    """A claim's records, strongest first, a line each."""
    return [
        f"{told(row)}, {row['scale']} scale, {row['data']} data, {row['registered']}"
        for row in rows
    ]
