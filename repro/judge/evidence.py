"""What decides a verdict besides a claim's measurement: bound, printed numbers, trials, a second
arithmetic. Loaded once for all claims of a figure, and handed to `judge`. No torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from repro.judge import power, printed, second
from repro.judge.claims import Claim, Judgement, Measurement, by_bound, doubted, too_few
from repro.judge.figure import Figure
from repro.judge.power import Trial
from repro.judge.printed import Printed
from repro.judge.second import Second


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
    others = [s for s in second.seconds(paper) if (s.scale, s.data) == (scale, data)]
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
    """The verdict on a claim: what the bound says of the measurement, unless seeds are too few,
    tables of another law would often give the same, or another arithmetic gives something else."""
    bare = by_bound(claim, measurement, evidence.scale, evidence.embedded)
    bound, seen = claim.at(evidence.scale), bare.seen
    return doubted(
        bare,
        too_few(claim, measurement, evidence.scale),
        power.false_alarm(seen, measurement.value, bound, evidence.trials),
        second.turned(seen, evidence.others),
    )
