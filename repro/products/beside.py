"""What `repro try` says and leaves: what a try came to beside what is on record."""

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from repro.core.schedule import Cell
from repro.core.study import SCALES
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import write_bytes
from repro.products import alone, records
from repro.products.claims_json import FiledTest
from repro.products.status import by_test
from repro.products.tried import (
    FOLDER,
    Came,
    Try,
    ahead,
    bound,
    enter,
    few,
    in_words,
    measured,
    planned,
    planned_of,
    run,
    tables,
    word_of,
)
from repro.verdicts.answers import Measurement, number
from repro.verdicts.words import OUTSIDE

NO_VERDICT = "a try says whether runs of your settings agree; a verdict is what is registered"


def carried_out(base: Suite, word: str, dry: bool = False, **given: Any) -> Iterator[str]:
    """What will run and its price, then, once it ran, the statement, in lines."""
    enter()
    found = planned(base, word, **given)
    yield from ahead(found)
    if dry:
        return
    found, came = yield from outcome(base, word, found)
    lines = [*statement(found, came)]
    yield from lines
    yield from (f"  {FOLDER / path}" for path in kept(found, came, lines))


def outcome(base: Suite, word: str, found: Try) -> Generator[str, None, tuple[Try, Came]]:
    """Run a try, with the stages that its test turns out to hang on too; returns it and what it
    came to. Raises UserError where not all runs were made."""
    while True:
        if status := run(found):
            raise UserError(
                f"{found.settings.test}: not all runs were made (Snakemake ended with {status}); "
                "what was is kept, and the same command again goes on"
            )
        try:
            return found, measured(found)
        except alone.NeedsMore as more:  # as the runs of the way that came out best
            yield f"{more}"
            every = (*found.settings.stages, *more.stages)
            found = planned_of(base, word, replace(found.settings, stages=every))
            yield from ahead(found)


def statement(found: Try, came: Came) -> Iterator[str]:
    """What came out beside what is on record, in lines."""
    yield from asked(found)
    yield f"  {'yours':10} {in_digits(came.measurement)}  {words_of(came)}"
    seeds = sorted({r.spec["seed"] for c in _flat(found) for r in c.runs if "seed" in r.spec})
    yield f"  {'':10} {in_words(found)}; seeds {few([str(seed) for seed in seeds])}"
    for broken in came.broken:
        yield f"  {'':10} {OUTSIDE}: {broken}"
    yield from recorded(found)


def asked(found: Try) -> Iterator[str]:
    """The test, and what is expected of it, in lines."""
    test, scale = found.test, found.own.config.scale
    yield f"{word_of(found)}: {test.column}"
    where = "" if test.at(scale) else f", as at {min(test.bounds, key=SCALES.index)} scale"
    yield f"  {test.quantity}; expected {bound(test, scale)}{where}"


def recorded(found: Try) -> Iterator[str]:
    """What is on record of the test, in lines, and that a try is no verdict."""
    for row in on_record(found):
        its, where = in_digits(of_record(row)), f"({row['scale']}, {row['data']})"
        yield f"  {'on record':10} {its}  {row['status']} {where}"
    yield f"  {NO_VERDICT}"


def words_of(came: Came) -> str:
    """Agrees, differs or open, and why it is open."""
    return f"{came.seen}: {came.why}" if came.why else came.seen


def on_record(found: Try) -> list[FiledTest]:
    """The test's rows of all records, the strongest first."""
    figure = found.settings.figure
    rows = [row for base in records.bases(figure) for row in records.part(base).tests]
    return by_test(rows).get((figure.split("/")[0], found.test.id), [])


def _flat(found: Try) -> list[Cell]:
    return [cell for cells in found.cells.values() for cell in cells]


def of_record(row: FiledTest) -> Measurement:
    """What a record measured."""
    ends = (math.nan if end is None else end for end in (row["low"], row["high"]))
    value = math.nan if row["measured"] is None else row["measured"]
    low, high = ends
    return Measurement(value, low, high, row["n"])


def in_digits(its: Measurement) -> str:
    """A measurement in words, its interval and how many seeds."""
    if not math.isfinite(its.value):
        return f"no number, n = {its.n}"
    told = math.isfinite(its.low) and its.low != its.high
    ends = f" [{number(its.low, '.3g')}, {number(its.high, '.3g')}]" if told else ""
    return f"{number(its.value, '.3g')}{ends}, n = {its.n}"


def kept(found: Try, came: Came, lines: Sequence[str]) -> list[Path]:
    """Write what came out: the statement, a picture of it and the table of its runs."""
    import pandas as pd

    text, csv, drawn = (found.folder / f"{found.test.id}{s}" for s in (".txt", ".csv", ".png"))
    own = {n: t for n, t in tables(found).items() if len(t)}
    table = pd.concat([t.assign(stage=name) for name, t in own.items()], ignore_index=True)
    write_bytes(csv, table.to_csv(index=False, lineterminator="\n").encode())
    write_bytes(text, ("\n".join(lines) + "\n").encode())
    draw(found, came, drawn)
    return [text, drawn, csv]


def draw(found: Try, came: Came, file: Path) -> None:
    """Yours beside what is on record, over the bound."""
    from repro.verdicts import drawing

    drawing.style()
    figure, ((panel,),) = drawing.panels(1, height=2.4)
    held = bound(found.test, found.own.config.scale)
    rows = [("yours", came.measurement, "C0")]
    for row in on_record(found):
        its = of_record(row)
        rows.append((f"on record, {row['scale']}", its, "0.3"))
    told = [(y, row) for y, row in enumerate(rows) if math.isfinite(row[1].value)]
    for y, (_, its, color) in told:
        reach = [[its.value - its.low], [its.high - its.value]]
        spread = reach if math.isfinite(its.low) else None
        panel.errorbar([its.value], [y], xerr=spread, fmt="o", color=color, capsize=3)
    low, high = panel.get_xlim()
    ends = max(held.low, low - (high - low)), min(held.high, high + (high - low))
    panel.axvspan(*ends, color="C2", alpha=0.15, lw=0, label=f"expected {held}")
    panel.set_yticks(range(len(rows)), [name for name, *_ in rows])
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_xlabel("\n".join(drawing.wrapped(found.test.quantity, 60)))
    drawing.legend_above(panel, 1)
    scale, label = found.own.config.scale, found.own.label
    last = f"{found.test.id}, {scale} scale, {label} data, {found.settings.key}"
    drawing.finish(figure, f"{found.test.column}: {came.seen}", (), last)
    drawing.save(figure, file)
