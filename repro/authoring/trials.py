"""Puts tables drawn from laws through a figure's `measure` and the verdicts' rule, and counts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from repro.core import catalog, discovery
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_table, sha256, sha256_file
from repro.products.records import only_one, read_record, recorded
from repro.verdicts import power, words
from repro.verdicts.answers import Expectation, Measurement, Test
from repro.verdicts.figure import figure_named
from repro.verdicts.judging import called, check_measured
from repro.verdicts.power import EDGE, LOWER, PAPER, RIVAL, UPPER, Trial
from repro.verdicts.results import (
    AGREES,
    DIFFERS,
)
from repro.verdicts.verdict import by_bound, factor_for

DRAWS = 200


def tested(figure_name: str, scale: str, embedded: bool) -> list[Test]:
    """The claims of a figure whose power counts: those with laws that bind at this scale on this
    data."""
    figure = figure_named(figure_name)
    return [t for t in figure.tests if t.id in figure.laws and t.binds(scale, embedded)]


def measured(
    figure_name: str,
    law: str,
    table,
    scale: str,
    embedded: bool,
    draws: int,
    stream: int = 0,
    cut: Callable | None = None,
    copies: int = 1,
) -> dict[str, list[Measurement]]:
    """Draw tables from a law and measure each: claim id -> its measurement in every draw.

    table: the recorded data.csv. Every draw has its own random numbers, fixed by names alone.
    stream: another one gives other draws. cut: makes of so many copies, drawn alike with seeds of
    their own, the table that is measured; None: there is one, as it is.
    """
    figure = figure_named(figure_name)
    file = f"figures/{figure_name}.py"
    claims = [c for c in tested(figure_name, scale, embedded) if law in figure.laws[c.id].names]
    found: dict[str, list[Measurement]] = {claim.id: [] for claim in claims}
    before = None
    name = int(sha256(f"{figure_name} {law} {scale}".encode())[:16], 16)
    for number in range(draws):
        rng = np.random.default_rng([name, number, *([stream] if stream else [])])
        with called(figure_name, f"simulate({law!r})"):
            assert figure.simulate  # there are laws
            every = [figure.simulate(law, table.copy(), scale, rng) for _ in range(copies)]
        drawn = every[0]
        if list(getattr(drawn, "columns", [])) != list(table.columns):
            raise UserError(
                f"{file}: simulate({law!r}) did not return a table with the columns of data.csv: "
                + ",".join(table.columns)
            )
        with called(figure_name, "measure"):
            values = figure.measure(cut(every) if cut else drawn, scale)
        check_measured(file, figure.answers, values)
        for claim in claims:
            found[claim.id].append(values[claim.id])
        if number == 1 and drawn.equals(before):  # nothing in it is random: the rest is the same
            return {name: some[:1] * draws for name, some in found.items()}
        before = drawn
    return found


def at_edges(expected: Expectation, found: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    """Measurements shifted so that their mean, the truth, lies at either edge of a bound.

    Nothing where nothing is random. found: under one law. Those that are not finite stay so.
    """
    values = [m.value for m in found if np.isfinite(m.value)]
    if len(set(values)) < 2:
        return {}
    ends = {LOWER: expected.low, UPPER: expected.high}
    return {
        name: [shifted(each, end - float(np.mean(values))) for each in found]
        for name, end in ends.items()
        if np.isfinite(end)
    }


def shifted(found: Measurement, by: float) -> Measurement:
    """The measurement with its value and interval moved."""
    return replace(found, value=found.value + by, low=found.low + by, high=found.high + by)


def of_figure(suite: Suite, figure_name: str) -> list[Trial]:
    """The trials of a figure's claims, drawn from its record at the configured scale and data;
    none where none of them binds."""

    if not tested(figure_name, suite.config.scale, suite.is_embedded(figure_name)):
        return []
    bases = recorded(suite, figure_name)
    if not bases:
        raise UserError(
            f"{figure_name}: has no record of scale {suite.config.scale}, data {suite.label} to "
            f"draw from; make one: {suite.command('record')}"
        )
    read_record(bases[0])  # refuses one that was changed
    data = bases[0].with_suffix(".csv")
    return of_table(suite, figure_name, read_table(data), sha256_file(data))


def predictions(suite: Suite, figure_name: str) -> dict[str, str]:
    """Test -> what it is held against and what the paper's formula gives, of the tests on record
    for which there is one."""
    judged = read_record(recorded(suite, figure_name)[0])["tests"]
    return {
        row["test"]: f"expected {words.expectation(row['bound'])}"
        for row in judged
        if row["bound"]["formula"]
    }


def bound_of(test: Test, scale: str) -> Expectation:
    """What a test that binds is held against."""
    bound = test.at(scale)
    assert bound
    return bound


def of_table(suite: Suite, figure_name: str, table, digest: str) -> list[Trial]:
    """The trials of a figure's claims, drawn from a table. digest: of its file."""
    scale, embedded = suite.config.scale, suite.is_embedded(figure_name)
    claims = tested(figure_name, scale, embedded)
    laws = figure_named(figure_name).laws
    names = dict.fromkeys(law for claim in claims for law in laws[claim.id].names)
    found = {law: measured(figure_name, law, table, scale, embedded, DRAWS) for law in names}

    def trial(claim: Test, law: str, role: str, values: Sequence[Measurement]) -> Trial:
        bound = bound_of(claim, scale)
        seen = [by_bound(bound, each).seen for each in values]
        counted = (len(seen), seen.count(AGREES), seen.count(DIFFERS))
        false = AGREES if role == RIVAL else DIFFERS
        factor = float(f"{factor_for(bound, values, false):.4g}")
        return Trial(scale, suite.label, claim.id, law, role, *counted, factor, digest)

    trials = []
    for claim in claims:
        its = laws[claim.id]
        for law in its.names:
            role = PAPER if law == its.paper else RIVAL
            trials.append(trial(claim, law, role, found[law][claim.id]))
        edges = (
            {its.edge: found[its.edge][claim.id]}
            if its.edge
            else at_edges(bound_of(claim, scale), found[its.paper][claim.id])
        )
        trials += [trial(claim, law, EDGE, values) for law, values in edges.items()]
    return trials


def outdated(suite: Suite, selection: list[str]) -> Iterator[str]:
    """A line for each claim whose trials lack a law, or were drawn from another table than the one
    on record; a verdict counts the latter all the same, because power is of a design. What is not
    run yet has no record to draw from, and no line."""
    for figure_name in discovery.selected_figures(selection, "power"):
        paper, scale = figure_name.split("/")[0], suite.config.scale
        bases = recorded(suite, figure_name)
        if not bases:
            continue
        digest = read_record(bases[0])["data_sha256"]
        for claim in tested(figure_name, scale, suite.is_embedded(figure_name)):
            found = power.of_claim(paper, claim.id, scale, suite.label)
            names = list(figure_named(figure_name).laws[claim.id].names)
            if [t.law for t in found if t.role != EDGE] != names:
                yield f"{paper}/{claim.id}: has no trials of its laws: {power.MAKE} {figure_name}"
            elif {t.digest for t in found} != {digest}:
                yield f"{paper}/{claim.id}: was drawn from a table that is no longer on record"


def update(suite: Suite, selection: list[str]) -> Iterator[str]:
    """Make the trials of some figures anew at the configured scale and data; a line for each claim.

    What is in the file of other scales, data and figures stays; of claims without laws, goes.
    """
    every = [*selection] == ["all"]
    for figure_name in discovery.selected_figures(selection, "power"):
        if every and not recorded(suite, figure_name):
            continue  # not run yet, or not at this scale
        rows = of_figure(suite, figure_name)
        said = predictions(suite, figure_name) if rows else {}
        paper, figure = figure_name.split("/")
        figures = [name for name in catalog.figure_names() if name.startswith(f"{paper}/")]
        order = [
            claim.id
            for figure in map(figure_named, figures)
            for claim in figure.tests
            if claim.id in figure.laws
        ]
        here = (suite.config.scale, suite.label)

        def place(trial: Trial, order=order):
            return trial.scale, trial.data, order.index(trial.claim)

        with only_one():
            before = power.trials(paper)
            kept = [
                trial
                for trial in before
                if trial.claim in order
                and (trial.claim.split(".")[0] != figure or (trial.scale, trial.data) != here)
            ]
            if before or rows:
                # Sorting is stable: the laws of a claim stay as they are named.
                power.write(paper, sorted([*kept, *rows], key=place))
        for claim in dict.fromkeys(trial.claim for trial in rows):
            found = [trial for trial in rows if trial.claim == claim]
            counts = words.laws([power.as_json(trial) for trial in found])
            yield "; ".join(filter(None, [f"{paper}/{claim}: {counts}", said.get(claim)]))
