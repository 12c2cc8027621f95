"""New results held against records/, figure by figure.

identical: data, claims and picture, by SHA-256.
equal: numbers of the table within TOLERANCE, every claim the same verdict.
consistent: every claim the same verdict, and an interval that overlaps the record's.
differs: anything else; also what is only equal or consistent, where nothing is known that makes
the last digits differ.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UserError
from repro.files import read_json, sha256_file
from repro.judge.claims import interval
from repro.judge.products import built_folder, finished_folder
from repro.judge.records import RECORDS, SUMS, label, read_record, recorded
from repro.suite import arithmetic, registry
from repro.suite.suite import Suite

TIERS = ("identical", "equal", "consistent", "differs")
NO_RECORD = "no record"
# Relative differences allowed: of numbers from runs whose last digits may differ, and of what two
# machines measure in one and the same table.
TOLERANCE = 0.02
ROUNDING = 1e-6
LIBRARIES = ("torch", "numpy")


class NothingVerifiedError(UserError):
    """There was no record to hold anything against."""

    status = 2


@dataclass(frozen=True)
class Outcome:
    """tier: one of TIERS, or NO_RECORD. reason: why not a better one, or what was compared."""

    figure: str
    tier: str
    reason: str

    def __str__(self) -> str:
        return f"{self.figure}: {self.tier} ({self.reason})"


def verify(suite: Suite) -> list[Outcome]:
    """Hold every configured figure against its records, the best of several devices.

    Raises UserError when a figure has not been built.
    """
    outcomes = []
    for name in registry.selected_figures(suite.config.figures):
        built_folder(suite, name)
        found = [Outcome(name, *compare(suite, name, base)) for base in recorded(suite, name)]
        found.sort(key=lambda outcome: TIERS.index(outcome.tier))
        none = Outcome(name, NO_RECORD, "nothing of this figure at this scale and data")
        outcomes.append([*found, none][0])
    return outcomes


def check(suite: Suite, outcomes: list[Outcome]) -> None:
    """Raise UserError unless something was verified and all of it agrees with the records."""
    if not any((RECORDS / suite.config.scale / suite.label).glob(f"*/{SUMS}")):
        raise NothingVerifiedError(f"verify: nothing on record for this source: {label(suite)}")
    if not outcomes:
        raise NothingVerifiedError("verify: no figures are configured, so nothing was verified")
    for tier, words in (("differs", "differ from records/"), (NO_RECORD, "have no record")):
        count = sum(outcome.tier == tier for outcome in outcomes)
        if count:
            raise UserError(f"verify: {count} of {len(outcomes)} figures {words}; see above")


def compare(suite: Suite, figure_name: str, base: Path) -> tuple[str, str]:
    """A built figure against one record: (tier, reason)."""
    import pandas as pd

    try:
        folder, saved = finished_folder(suite, figure_name), read_record(base)
    except UserError as error:
        return "differs", str(error)
    data, claims = folder / "data.csv", read_json(folder / "claims.json")
    same_data = sha256_file(data) == saved["data_sha256"]
    same_claims = claims == saved["claims"]
    same_picture = sha256_file(folder / "figure.png") == sha256_file(base.with_suffix(".png"))
    if same_data and same_claims and same_picture:
        return "identical", "data, claims and picture by SHA-256"
    changed = changed_claim(claims, saved["claims"], same_data)
    if changed:
        return "differs", changed
    tier, words = "equal", "the same data and claims, the picture drawn otherwise"
    if not same_data:
        moved = difference(pd.read_csv(data), pd.read_csv(base.with_suffix(".csv")))
        tier = "consistent" if moved else "equal"
        words = moved or f"numbers within {TOLERANCE:.0%}"
        words += ", the same verdicts" + (", intervals overlap" if moved else "")
    elif not same_claims:
        words = "the same data, claims rounded or worded otherwise"
    provenance = read_json(folder / "provenance.json")
    why = why_digits_differ(provenance, saved["provenance"], suite.cpu_dependent(figure_name))
    if not why:
        return "differs", f"{words}; arithmetic and libraries are the record's: nothing may differ"
    return tier, f"{words}; {why}"


def why_digits_differ(new: dict, old: dict, on_cpu: bool) -> str:
    """What makes runs of the same specs differ in their last digits, in words; else empty.

    new, old: provenances of two figures' data. on_cpu: whether a task depends on the CPU's model.
    """
    kinds = [("arithmetic", arithmetics(new), arithmetics(old))]
    kinds += [(each, _versions(new, each), _versions(old, each)) for each in LIBRARIES]
    for kind, here, there in kinds:
        if here != there:
            return f"{kind} {', '.join(sorted(here))}, the record's {', '.join(sorted(there))}"
    for name in (arithmetic.UNKNOWN, "cuda"):
        if name in arithmetics(new):
            return f"arithmetic {name}"
    return "a task's results depend on the CPU's model" if on_cpu else ""


def arithmetics(provenance: dict) -> set[str]:
    """The arithmetics that the runs behind a figure were made with."""
    return set(map(arithmetic.of, provenance["made"]))


def _versions(provenance: dict, package: str) -> set[str]:
    return {str(made["versions"].get(package)) for made in provenance["made"]}


def changed_claim(new: list[dict], old: list[dict], same_data: bool) -> str:
    """The first claim that says something else, in words; empty when none does.

    same_data: claims are measured from one table, so that their numbers agree but for rounding.
    """
    before, after = ({row["claim"]: row for row in rows} for rows in (old, new))
    for name in before.keys() ^ after.keys():
        return f"{name} is {'no claim any more' if name in before else 'no claim of the record'}"
    for name, row in after.items():
        was = before[name]
        if row["verdict"] != was["verdict"]:
            return f"{name} is {row['verdict']}, was {was['verdict']}"
        if not (same_numbers(row, was) if same_data else overlap(row, was)):
            return f"{name} is {interval(row)}, was {interval(was)}"
    return ""


def same_numbers(new: dict, old: dict) -> bool:
    """Whether two measurements of one table are the same but for rounding."""
    return all(_close(new[key], old[key], ROUNDING) for key in ("measured", "low", "high"))


def overlap(new: dict, old: dict) -> bool:
    """Whether two measurements' intervals overlap, or their values are within TOLERANCE, as where
    nothing is random."""
    if None in (new["measured"], old["measured"]):  # not finite
        return new["measured"] == old["measured"]
    if _close(new["measured"], old["measured"], TOLERANCE):
        return True
    low, high = (
        [bound if row[key] is None else row[key] for row in (new, old)]
        for key, bound in (("low", -math.inf), ("high", math.inf))
    )
    return max(low) <= min(high)


def _close(a: float | None, b: float | None, tolerance: float) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)


def difference(new, old) -> str:
    """Where two tables differ by more than TOLERANCE; empty when they do not."""
    import numpy as np

    if list(new.columns) != list(old.columns) or len(new) != len(old):
        return f"{new.shape} rows and columns against {old.shape}"
    for column in new.columns:
        a, b = new[column], old[column]
        if a.dtype.kind == "f" or b.dtype.kind == "f":
            close = np.isclose(a.astype(float), b.astype(float), rtol=TOLERANCE, equal_nan=True)
        else:
            close = (a == b).to_numpy()
        if not close.all():
            row = int(np.flatnonzero(~close)[0])
            return f"column {column}, row {row}: {a[row]} against {b[row]}"
    return ""
