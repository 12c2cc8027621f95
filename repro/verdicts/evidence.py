"""What decides a verdict besides a claim's measurement: bound, printed numbers, trials, a second
arithmetic. Loaded once for all claims of a figure, and handed to `judge`. No torch.

A second arithmetic: does a verdict hang on how a last digit is rounded? Figures are built again
with `arithmetic=nudged` or `portable`, and `repro record` then keeps what their claims about
training measured in `studies/<paper>/second.csv`, beside the records of the default arithmetic. A
verdict that turns there is none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from repro.core import rows
from repro.verdicts import power, printed
from repro.verdicts.claims import TRAINING, Claim, Measurement
from repro.verdicts.figure import Figure
from repro.verdicts.judged_claims import JudgedClaim
from repro.verdicts.power import EDGE, PAPER, RIVAL, Trial
from repro.verdicts.printed import Printed
from repro.verdicts.verdict import Judgement, by_bound, doubted, too_few, widened
from repro.verdicts.words import AGREES, DIFFERS


@dataclass(frozen=True)
class Second:
    """What a claim measured under another arithmetic. The fields are the file's columns.

    scale, data, arithmetic: of the runs. measured, low, high, n, seen: as in a record, a number's
    text empty where there is none. digest: SHA-256 of the data.csv they were measured on.
    """

    scale: str
    data: str
    claim: str
    arithmetic: str
    measured: str
    low: str
    high: str
    n: str
    seen: str
    digest: str

    def __post_init__(self) -> None:
        for column in ("measured", "low", "high", "n"):
            cell = getattr(self, column)
            if cell and not (rows.NUMBER.fullmatch(cell) and math.isfinite(float(cell))):
                raise ValueError(f"{column} {cell!r:.40} is no number, nor empty")
        if (self.low == "") != (self.high == ""):
            raise ValueError("has one end of an interval")

    def __str__(self) -> str:
        interval = f" [{float(self.low):.3g}, {float(self.high):.3g}]" if self.low else ""
        value = f", {float(self.measured):.3g}{interval}" if self.measured else ""
        return f"{self.arithmetic}: {self.seen}{value}"


@dataclass(frozen=True)
class Evidence:
    """What is known of one claim's test, for a scale and data.

    scale: of the runs. embedded: whether the suite made any of their data. printed: what the paper
    prints for it. trials: how tables of each law fared. others: what was measured under other
    arithmetics.
    """

    scale: str
    embedded: bool
    printed: tuple[Printed, ...]
    trials: tuple[Trial, ...]
    others: tuple[Second, ...]


def load(paper: str, figure: Figure, provenance: Mapping) -> dict[str, Evidence]:
    """Claim id -> its evidence, for every claim of a figure. provenance: what its runs are of:
    `scale`, `embedded`, `label`."""
    scale, data = provenance["scale"], provenance["label"]
    prints = printed.rows_of(paper)
    trials = [t for t in power.trials(paper) if (t.scale, t.data) == (scale, data)]
    others = [s for s in seconds(paper) if (s.scale, s.data) == (scale, data)]
    return {
        claim.id: Evidence(
            scale,
            provenance["embedded"],
            tuple(row for row in prints if row.claim == claim.id),
            tuple(row for row in trials if row.claim == claim.id),
            tuple(row for row in others if row.claim == claim.id),
        )
        for claim in figure.claims
    }


def as_json(found: Mapping[str, Evidence]) -> dict[str, Any]:
    """The evidence of a figure as a JSON value, of which a digest tells whether it is another."""
    return {claim: asdict(evidence) for claim, evidence in found.items()}


def judge(claim: Claim, measurement: Measurement, evidence: Evidence) -> Judgement:
    """The verdict on a claim: what the bound says of the calibrated interval, unless seeds are too
    few, a wider interval that a rival law or the paper's own asks for says less, or another
    arithmetic gives something else."""
    scale, embedded, trials = evidence.scale, evidence.embedded, evidence.trials
    calibration = power.factor(trials, EDGE)
    found = by_bound(claim, widened(measurement, calibration), scale, embedded)
    asked = {AGREES: RIVAL, DIFFERS: PAPER}.get(found.seen)
    further = max(calibration, power.factor(trials, asked)) if asked else calibration
    strict = by_bound(claim, widened(measurement, further), scale, embedded)
    law = "a rival law's tables seldom agree" if asked == RIVAL else "the paper's seldom differ"
    doubt = f"not where the interval is {further:.3g} times as wide, so that {law}"
    return doubted(
        replace(found, p=strict.p),
        too_few(claim, measurement, scale),
        doubt if strict.seen != found.seen else "",
        turned(found.seen, evidence.others),
    )


def second_path(paper: str) -> str:
    """Where a paper's second measurements are, relative to the checkout."""
    return f"studies/{paper}/second.csv"


def seconds(paper: str) -> list[Second]:
    """All of a paper's second measurements; none where there is no such file.

    Raises UserError, naming the line, on one that `keep` would not have written.
    """
    return [row for _, row in rows.read(second_path(paper), Second)]


def of_claim(paper: str, claim: str, scale: str, data: str) -> list[Second]:
    """What one claim measured under other arithmetics."""
    return [s for s in seconds(paper) if (s.claim, s.scale, s.data) == (claim, scale, data)]


def keep(paper: str, claims: Sequence[JudgedClaim], arithmetic: str, digest: str) -> None:
    """Write what a figure's claims measured under an arithmetic, in place of what they did before.

    claims: of claims.json; kept are those about training that have a bound. digest: of data.csv.
    """

    kept = [
        Second(
            claim["scale"],
            claim["data"],
            claim["claim"],
            arithmetic,
            _text(claim["measured"]),
            _text(claim["low"]),
            _text(claim["high"]),
            _text(claim["n"]),
            claim["seen"],
            digest,
        )
        for claim in claims
        if claim["kind"] == TRAINING and claim["seen"]
    ]
    new = {(each.scale, each.data, each.claim, each.arithmetic): each for each in kept}
    old = {(each.scale, each.data, each.claim, each.arithmetic): each for each in seconds(paper)}
    if old | new:
        rows.write(second_path(paper), Second, [each for _, each in sorted((old | new).items())])


def _text(value: float | None) -> str:
    return "" if value is None else repr(value)


def turned(seen: str, others: Sequence[Second]) -> str:
    """Why nothing can be told from what was seen, in words, where another arithmetic saw something
    else; "" where none did, or nothing was told in the first place."""
    told = seen in (AGREES, DIFFERS)
    against = [str(other) for other in others if told and other.seen != seen]
    return f"turns with the arithmetic, {'; '.join(against)}" if against else ""
