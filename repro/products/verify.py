"""Compares new results with records/, figure by figure. A figure is, compared with its record,

identical: data, results and picture have the same SHA-256;
equal: the table's numbers agree within TOLERANCE, and every test has the same status;
consistent: every test has the same status, and an interval that overlaps the record's;
differs: otherwise; and also where it is equal or consistent, but arithmetic and libraries are the
record's, so that it should have been identical.
"""

import math
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from repro import __version__
from repro.core import discovery
from repro.core.suite import Suite
from repro.cores import usable_cores
from repro.errors import UserError
from repro.files import read_table, sha256_file
from repro.lineage import arithmetic, history, provenance
from repro.lineage.checkout import FOLDERS
from repro.products import gate
from repro.products.built import finished, is_drawn, refuse_other_code
from repro.products.picture import folder_of
from repro.products.published import DATA
from repro.products.records import RECORDS, SUMS, describe, read_record, recorded, results_of
from repro.verdicts.results import Judged, Results, Row, Taken
from repro.verdicts.words import interval

TIERS = ("identical", "equal", "consistent", "differs")
NO_RECORD = "no record"
# Relative differences that are allowed:
TOLERANCE = 0.02  # between numbers from runs whose last digits may differ
ROUNDING = 1e-6  # between what two machines measure in the same table
LIBRARIES = ("torch", "numpy")
LOG_FORMAT = 1


class NothingVerifiedError(UserError):
    """There was no record to compare anything with; exit status 2."""

    status = 2


@dataclass(frozen=True)
class Outcome:
    """tier: one of TIERS, or NO_RECORD. reason: what was compared, and why it is no better tier."""

    figure: str
    tier: str
    reason: str

    def __str__(self) -> str:
        return f"{self.figure}: {self.tier} ({self.reason})"


def verify(suite: Suite, named: Sequence[str] = ()) -> list[Outcome]:
    """Compare figures with their records, of which the one that agrees best counts. named: which,
    as in `figures`; none for those that are configured.

    Raises UserError, saying what it would take, if a figure has not been built, or was made by
    other code than the present.
    """
    outcomes = []
    asked = [*named] or suite.config.figures
    figures = discovery.selected_figures(asked)
    refuse_other_code(suite, figures)
    if missing := [name for name in figures if not is_drawn(suite, name)]:
        raise UserError(
            f"verify: {len(missing)} of {len(figures)} figures are not built with these "
            f"settings, {missing[0]} first; build and verify with " + suite.command("verify", asked)
        )
    for name in figures:
        by_record = [Outcome(name, *compare(suite, name, base)) for base in recorded(suite, name)]
        none = Outcome(name, NO_RECORD, "nothing of this figure at this scale and data")
        best = min(by_record, key=lambda o: TIERS.index(o.tier), default=none)
        several = provenance.mixture(made_by(suite, name)["made"])
        outcomes.append(replace(best, reason=f"{best.reason}; {several}") if several else best)
    return outcomes


def made_by(suite: Suite, figure_name: str) -> dict:
    """A built figure's provenance."""
    return gate.provenance(folder_of(suite, figure_name))


def check(suite: Suite, outcomes: list[Outcome]) -> None:
    """Raise UserError unless something was verified and every figure agrees with a record; of a
    paper that is not run yet no figure has one, which is said and is no fault beside others."""
    if not any((RECORDS / suite.config.scale / suite.label).glob(f"*/{SUMS}")):
        raise NothingVerifiedError(f"verify: nothing on record for this source: {describe(suite)}")
    if not outcomes:
        raise NothingVerifiedError("verify: no figures are configured, so nothing was verified")
    verified = any(outcome.tier != NO_RECORD for outcome in outcomes)
    held = [o for o in outcomes if o.tier != NO_RECORD or not verified or _is_run(o.figure)]
    for tier, fault in (("differs", "differ from records/"), (NO_RECORD, "have no record")):
        count = sum(outcome.tier == tier for outcome in held)
        if count:
            raise UserError(f"verify: {count} of {len(outcomes)} figures {fault}; see above")


def _is_run(figure_name: str) -> bool:
    """Whether anything of a figure's paper is on record."""
    return any(RECORDS.glob(f"*/*/*/{figure_name.split('/')[0]}/*.json"))


def log(suite: Suite, outcomes: list[Outcome]) -> dict:
    """What somebody can send in who verified the suite elsewhere. Its keys:

    format: 1. suite: this suite's version.
    commit, trees, clean: the checkout's commit, git's id of each folder with code (folder -> id),
        and whether none of their files is changed; all None where there is no git.
    machine: `cpu`, its model; `cores`, those that this process may use; `system`, as
        `platform.platform()` has it.
    versions: `python`, `torch`, `numpy`, `tokenizers` -> the release, None where it is missing.
    scale, data: as in the paths under results/. arithmetic: which was asked for.
    figures: a list of `figure`; `tier`, one of TIERS or NO_RECORD; `reason`; `arithmetics` with
        which its runs were made; `unclean`, why they cannot be traced to one clean version of their
        code, else [].
    total: tier -> how many figures, every tier named.
    """
    commit = provenance.commit()
    figures = []
    for outcome in outcomes:
        made = made_by(suite, outcome.figure)
        found = {
            "arithmetics": sorted(arithmetics(made)),
            "unclean": provenance.doubts(made["made"]),
        }
        figures.append(asdict(outcome) | found)
    return {
        "format": LOG_FORMAT,
        "suite": __version__,
        "commit": commit and commit.removesuffix("+dirty"),
        "trees": {folder: history.tree(folder) for folder in FOLDERS} if commit else None,
        "clean": None if commit is None else not commit.endswith("+dirty"),
        "machine": {
            "cpu": arithmetic.cpu_model(),
            "cores": usable_cores(),
            "system": platform.platform(),
        },
        "versions": {"python": platform.python_version(), **provenance.releases()},
        "scale": suite.config.scale,
        "data": suite.label,
        "arithmetic": suite.config.arithmetic,
        "figures": figures,
        "total": {
            tier: sum(outcome.tier == tier for outcome in outcomes) for tier in (*TIERS, NO_RECORD)
        },
    }


def compare(suite: Suite, figure_name: str, base: Path) -> tuple[str, str]:
    """(tier, reason) of a built figure against one record. base: its path without suffix."""

    try:
        folder, saved = finished(suite, figure_name), read_record(base)
    except UserError as error:
        return "differs", str(error)
    data, results = folder / DATA, gate.results(folder)
    same_data = sha256_file(data) == saved["data_sha256"]
    same_results = results == results_of(saved)
    same_picture = sha256_file(folder / f"{base.name}.png") == sha256_file(base.with_suffix(".png"))
    if same_data and same_results and same_picture:
        return "identical", "data, results and picture by SHA-256"
    if other := changed(results, results_of(saved), same_data):
        return "differs", other
    tier, compared = "equal", "the same data and results, the picture drawn otherwise"
    if not same_data:
        moved = difference(read_table(data), read_table(base.with_suffix(".csv")))
        tier = "consistent" if moved else "equal"
        compared = moved or f"numbers within {TOLERANCE:.0%}"
        compared += ", the same statuses" + (", intervals overlap" if moved else "")
    elif not same_results:
        compared = "the same data, results rounded or worded otherwise"
    made = made_by(suite, figure_name)
    why = why_digits_differ(made, saved["provenance"], suite.cpu_dependent(figure_name))
    if not why:
        return (
            "differs",
            f"{compared}; arithmetic and libraries are the record's: nothing may differ",
        )
    return tier, f"{compared}; {why}"


def why_digits_differ(new: dict, old: dict, on_cpu: bool) -> str:
    """Why runs of the same specs may differ in their last digits, in words; "" if nothing is known.

    new, old: provenances of two figures' data. on_cpu: whether a task depends on the CPU's model.
    """
    kinds = [("arithmetic", arithmetics(new), arithmetics(old))]
    kinds += [(name, _versions(new, name), _versions(old, name)) for name in LIBRARIES]
    for kind, here, there in kinds:
        if here != there:
            return f"{kind} {', '.join(sorted(here))}, the record's {', '.join(sorted(there))}"
    for name in (arithmetic.UNKNOWN, "cuda"):
        if name in arithmetics(new):
            return f"arithmetic {name}"
    return "a task's results depend on the CPU's model" if on_cpu else ""


def arithmetics(provenance: dict) -> set[str]:
    """The arithmetics with which the runs behind a figure were made."""
    return set(map(arithmetic.of, provenance["made"]))


def _versions(provenance: dict, package: str) -> set[str]:
    return {str(made["versions"].get(package)) for made in provenance["made"]}


def changed(new: Results, old: Results, same_data: bool) -> str:
    """The first test or reading that changed, and how, in words; "" if none did.

    same_data: both were measured from the same table, so their numbers must agree up to ROUNDING;
    otherwise their intervals must overlap.
    """
    before, after = _by_id(old), _by_id(new)
    for name in [n for n in (*after, *before) if (n in before) != (n in after)]:
        return f"{name} is {'measured no more' if name in before else 'not of the record'}"
    for name, row in after.items():
        earlier = before[name]
        status, was = (each.get("status", "a reading") for each in (row, earlier))
        if status != was:
            return f"{name} is {status}, was {was}"
        if not (same_numbers(row, earlier) if same_data else overlap(row, earlier)):
            return f"{name} is {interval(row)}, was {interval(earlier)}"
    return ""


def _by_id(results: Results) -> dict[str, Judged | Taken]:
    tests: dict[str, Judged | Taken] = {row["test"]: row for row in results["tests"]}
    return tests | {row["reading"]: row for row in results["readings"]}


def same_numbers(new: Row, old: Row) -> bool:
    """Whether two measurements of the same table agree up to ROUNDING."""
    pairs = zip(_numbers(new), _numbers(old), strict=True)
    return all(_close(a, b, ROUNDING) for a, b in pairs)


def _numbers(row: Row) -> tuple[float | None, ...]:
    return row["measured"], row["low"], row["high"]


def overlap(new: Row, old: Row) -> bool:
    """Whether two measurements' intervals overlap, or their values agree within TOLERANCE: where
    nothing is random, an interval is a single point."""
    if None in (new["measured"], old["measured"]):  # not finite
        return new["measured"] == old["measured"]
    if _close(new["measured"], old["measured"], TOLERANCE):
        return True
    if new["low"] is None and new["high"] is None:  # one run: nothing to overlap
        return False
    # An end that is not finite reaches to infinity.
    lows = [-math.inf if low is None else low for low in (new["low"], old["low"])]
    highs = [math.inf if high is None else high for high in (new["high"], old["high"])]
    return max(lows) <= min(highs)


def _close(a: float | None, b: float | None, tolerance: float) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)


def difference(new, old, tolerance: float = TOLERANCE) -> str:
    """The first place where two tables differ by more than a tolerance, in words; "" if there is
    none. new, old: DataFrames."""
    import numpy as np

    if list(new.columns) != list(old.columns) or len(new) != len(old):
        return f"{new.shape} rows and columns against {old.shape}"
    for column in new.columns:
        a, b = new[column], old[column]
        if a.dtype.kind == "f" or b.dtype.kind == "f":
            close = np.isclose(a.astype(float), b.astype(float), rtol=tolerance, equal_nan=True)
        else:
            close = (a == b).to_numpy()
        if not close.all():
            row = int(np.flatnonzero(~close)[0])
            return f"column {column}, row {row}: {a[row]} against {b[row]}"
    return ""
