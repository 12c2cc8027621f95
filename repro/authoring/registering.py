"""A pilot's table, rows of the register as planned, and their seeds. No torch at import."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from repro.authoring import planning
from repro.authoring.pilot import Piloted
from repro.core import cells, discovery, rows
from repro.core import seeds as derived_seeds
from repro.core.seeds import Seeds
from repro.core.study import Proposal
from repro.core.suite import Suite
from repro.errors import UserError, did_you_mean
from repro.files import read_as, sha256_file, write_bytes, write_json
from repro.lineage.checkout import ROOT
from repro.products.explain import find_test
from repro.products.records import RECORDS, read_record
from repro.verdicts import preregistration
from repro.verdicts.figure import figure_named
from repro.verdicts.preregistration import RULE, SEARCHED, Registered
from repro.verdicts.tabulate import as_csv, tabulate
from repro.workflow import jobs

TYPED = ("why", "known")  # the columns that a person writes


def pilot(suite: Suite, figure_name: str, seeds: int | None) -> Path:
    """Carry out a figure's runs on a pilot's seeds, and write their table; returns its path. seeds:
    as of `Piloted`."""
    piloted = Piloted(suite, seeds)
    by_stage = piloted.figure_cells(figure_name)
    for found in by_stage.values():
        jobs.train_all(piloted, found, jobs.Place())
    read = {
        stage: [cells.read_cell(piloted.paths.cell(cell), cell) for cell in found]
        for stage, found in by_stage.items()
    }
    path = piloted.table(figure_name)
    write_bytes(path, as_csv(tabulate(figure_name, read)))
    every = [run for found in read.values() for cell in found for run in cell["runs"]]
    # What they took when they were made, which may have been in another call.
    took = sum(run["provenance"]["seconds"] for run in every if run["records"])
    taken = {"runs": len(every), "seconds": took}
    write_json(path.with_suffix(".json"), taken | {"sha256": sha256_file(path)})
    return path


def row(suite: Suite, word: str, typed: Mapping[str, str], arms: str = "") -> str:
    """A claim's row of the register, as CSV, by what `planning.plan` wrote. typed: `why` and
    `known`, in the words of who registers, and `window`; the row is written where the first two are
    given, and else only shown. arms: those of the claim, in place of all of the figure's.

    Raises UserError where the claim does not bind at this scale, its figure has no laws, or an arm
    has seeds already: a test is registered before anybody can run it.
    """
    name, figure_name, claim = find_test(word)
    paper, scale = name.split("/")[0], suite.config.scale
    laws = figure_named(figure_name).laws.get(claim.id)
    if laws is None:
        raise UserError(f"{name}: its figure has no laws of it, by which its power is planned")
    if not claim.binds(scale, suite.is_embedded(figure_name)):
        raise UserError(f"{name}: binds at {claim.place}, not at {scale} on {suite.label} data")
    asked = arms or asked_of(suite, figure_name)
    planned = _plan(suite, figure_name, asked)
    if claim.id not in planned["promises"]:
        again = suite.command(f"plan {figure_name}", program="python -m repro")
        raise UserError(f"{name}: is not in the plan; make it anew: {again}")
    promise = planned["promises"][claim.id]
    figures = {key: float(f"{promise[key]:.3g}") for key in ("power", "told", "error")}
    found: dict[str, Any] = {
        "scale": scale,
        "data": suite.label,
        "claim": claim.id,
        "estimator": f"{claim.quantity}; as figures/{figure_name}.py measures it",
        "bound": str(claim.at(scale)),
        "why": typed.get("why") or "?",
        "rivals": "; ".join(map(str, laws.rivals)),
        "widths": _words(_values(suite, figure_name, "width")) or "none",
        "window": typed.get("window") or "the last evaluation",
        "arms": asked,
        "grid": _grid(suite, figure_name) or "none",
        **figures,
        "seconds": float(f"{planned['seconds']:.3g}"),
        "known": f"{RULE}; {typed.get('known') or '?'}",
    }
    try:
        made = Registered(**found)
    except ValueError as error_:
        raise UserError(f"{name}: {error_}") from error_
    _refuse_known(name, paper, made)
    if all(typed.get(column) for column in TYPED):
        _append(paper, made)
        return f"{preregistration.path(paper)}: commit it before any run"
    return f"{_line(made)}\nnot written: give --why and --known"


def _line(made: Registered) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(astuple(made))
    return buffer.getvalue().rstrip()


def _append(paper: str, made: Registered) -> None:
    """Add a row; those that are there stay to the byte."""
    path = ROOT / preregistration.path(paper)
    text = path.read_text("utf-8") if path.exists() else ",".join(Registered.__annotations__) + "\n"
    write_bytes(path, f"{text.rstrip()}\n{_line(made)}\n".encode())


def _plan(suite: Suite, figure_name: str, asked: str) -> dict:
    """A figure's plan. asked: the arms with their seeds. Raises UserError on a plan that has no arm
    of so many."""
    path = planning.path(suite, figure_name)
    if not path.exists():
        made = suite.command(f"plan {figure_name}", program="python -m repro")
        raise UserError(f"{path}: is missing; make it: {made}")
    kind = {"figure": str, "scale": str, "data": str, "seeds": dict[str, int]}
    found = read_as(path, kind)
    of = {"figure": figure_name, "scale": suite.config.scale, "data": suite.label}
    if of != {key: found.get(key) for key in of}:
        raise UserError(f"{path}: is no plan of {' '.join(of.values())}")
    planned = {*found["seeds"].values()}
    numbers = [int(arm.split()[1]) for arm in asked.split("; ")]
    other = [number for number in numbers if number not in planned]
    if other and sum(other) not in planned:  # of an arm of the table that a study has in parts
        words = f"{asked!r} is asked, and the arms of the plan have {found['seeds']}"
        raise UserError(
            f"{path}: {words}: give that many to of_arm in studies/{figure_name.split('/')[0]}, or "
            "plan what it has, by --seeds"
        )
    return found


def _refuse_known(name: str, paper: str, made: Registered) -> None:
    """Raises UserError where an arm of a row has seeds already."""
    known = derived_seeds.arms(paper)
    if old := [known[arm] for arm in made.asked if arm in known]:
        raise UserError(
            f"{name}: arm {old[0].arm} has seeds already, of commit {old[0].commit[:12]}, so that "
            "its runs may be known; name a new arm in the study, and register that"
        )


def asked_of(suite: Suite, figure_name: str) -> str:
    """The arms of a figure's studies at this scale with their seeds, as a row has them.

    Raises UserError where none of its seeds are of an arm: they were picked.
    """
    found: dict[str, int] = {}
    for stage in discovery.figure_stages(figure_name):
        study = suite.study(stage)
        own = study.at(suite.config.scale).grid.get("seed", study.grid.get("seed", []))
        if isinstance(own, Seeds):
            found[own.arm] = max(found.get(own.arm, 0), len(own))
    if not found:
        raise UserError(
            f"{figure_name}: its seeds are lists in its studies; take them of an arm, by "
            "repro.core.seeds.of_arm, so that they are derived from the row"
        )
    return "; ".join(f"{arm} {number}" for arm, number in found.items())


def derive(paper: str) -> list[str]:
    """Write the seeds of every arm that a committed row of a paper's register asks for; a line for
    each that is new. An arm's seeds are of the first row that names it; more begin with the same.

    Raises UserError where a row is not committed, or a seed is on record already.
    """
    if paper not in discovery.papers():
        raise UserError(f"unknown paper {paper!a}: {did_you_mean(paper, discovery.papers())}")
    known = derived_seeds.arms(paper)
    before = _on_record(paper)
    lines = []
    for row, (commit, _) in zip(
        preregistration.registered(paper), preregistration.brought(paper), strict=True
    ):
        for arm, number in row.asked.items():
            old = known.get(arm)
            if old and len(old.numbers) >= number:
                continue
            if not commit:
                why = preregistration.unknown() or f"commit the row of {row.claim} first"
                raise UserError(f"{preregistration.path(paper)}: {why}")
            at = old.commit if old else commit
            found = derived_seeds.derived(at, arm, number)
            if clash := derived_seeds.clash(found, before):
                raise UserError(f"arm {arm}: {clash}; give the arm another name in a new row")
            known[arm] = derived_seeds.Arm(arm, at, " ".join(map(str, found)))
            lines.append(f"{arm}: {number} seeds of commit {at[:12]}")
    if lines:
        rows.write(derived_seeds.path(paper), derived_seeds.Arm, [*known.values()])
    return [
        *lines,
        f"{derived_seeds.path(paper)}: {len(known)} arms; git add and commit it, then run",
    ]


def _on_record(paper: str) -> set[int]:
    """The seeds of every run of a paper on record."""
    bases = (p.with_suffix("") for p in RECORDS.glob(f"*/*/*/{paper}/*.json"))
    return {seed for base in bases for seed in read_record(base)["provenance"].get("seeds", ())}


def _grids(suite: Suite, figure_name: str) -> Iterable[tuple[str, object]]:
    """Setting and value, of every axis of every stage."""
    for stage in discovery.figure_stages(figure_name):
        study = suite.study(stage)
        grid = {**study.grid, **study.at(suite.config.scale).grid}
        if not all(grid.values()):
            continue  # an axis without values: nothing of it is run at this scale
        for axis, values in grid.items():
            for value in values:
                yield from value.items() if isinstance(value, Mapping) else [(axis, value)]


def _values(suite: Suite, figure_name: str, word: str) -> list:
    found = (v for axis, v in _grids(suite, figure_name) if axis.split(".")[-1] == word)
    return list(dict.fromkeys(v for v in found if isinstance(v, int | float)))


def _grid(suite: Suite, figure_name: str) -> str:
    """The other axes with their values: `lr: 0.1 0.2; parametrization: muP SP`."""
    axes: dict[str, list] = {}
    for axis, value in _grids(suite, figure_name):
        if axis.split(".")[-1] not in ("width", "seed") and not isinstance(value, dict | list):
            axes.setdefault(axis, []).append(value)
    return "; ".join(f"{axis}: {_words(dict.fromkeys(values))}" for axis, values in axes.items())


def _words(values: Iterable) -> str:
    """Numbers and names in words; what a search will propose is not known yet."""
    found = (SEARCHED if isinstance(v, Proposal) else v for v in values)
    words = (f"{v:g}" if isinstance(v, int | float) else str(v) for v in found)
    return " ".join(dict.fromkeys(words))
