"""What decides a verdict besides a test's measurement: its trials. Loaded once for all tests of a
figure, and handed to `judge`. No torch.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from repro.verdicts import power
from repro.verdicts.answers import Measurement, Prediction, Test
from repro.verdicts.figure import Figure
from repro.verdicts.power import EDGE, PAPER, RIVAL, Trial
from repro.verdicts.results import AGREES, DIFFERS, OWN_TOO, RIVAL_TOO
from repro.verdicts.verdict import (
    Judgement,
    by_bound,
    doubt,
    doubted,
    off_formula,
    too_few,
    widened,
)


@dataclass(frozen=True)
class Evidence:
    """What is known of one test, for a scale and data.

    scale: of the runs. trials: how tables of each law fared.
    """

    scale: str
    trials: tuple[Trial, ...]


def load(paper: str, figure: Figure, provenance: Mapping) -> dict[str, Evidence]:
    """Test id -> its evidence, for every test of a figure. provenance: what its runs are of:
    `scale`, `label`."""
    scale, data = provenance["scale"], provenance["label"]
    trials = [t for t in power.trials(paper) if (t.scale, t.data) == (scale, data)]
    return {
        test.id: Evidence(
            scale,
            tuple(row for row in trials if row.claim == test.id),
        )
        for test in figure.tests
    }


def as_json(found: Mapping[str, Evidence]) -> dict[str, Any]:
    """The evidence of a figure as a JSON value, of which a digest tells whether it is another."""
    return {test: asdict(evidence) for test, evidence in found.items()}


def judge(
    test: Test, measurement: Measurement, evidence: Evidence, predicted: Prediction | None = None
) -> Judgement:
    """The verdict on a test that binds: what the bound says of the calibrated interval, unless
    seeds are too few, the bound is not where the paper's formula is at the design's sizes, or a
    wider interval that a rival law or the paper's own asks for says less."""
    expected, trials = test.at(evidence.scale), evidence.trials
    assert expected  # of what binds
    calibration = power.factor(trials, EDGE)
    found = by_bound(expected, widened(measurement, calibration))
    asked = {AGREES: RIVAL, DIFFERS: PAPER}.get(found.seen)
    further = max(calibration, power.factor(trials, asked)) if asked else calibration
    strict = by_bound(expected, widened(measurement, further))
    turns = doubt(RIVAL_TOO if asked == RIVAL else OWN_TOO, f"{further:.3g}")
    return doubted(
        replace(found, p=strict.p),
        *too_few(test, measurement, evidence.scale),
        *off_formula(expected, predicted),
        *[turns] * (strict.seen != found.seen),
    )
