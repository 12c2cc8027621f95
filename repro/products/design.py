"""What a study runs at a scale, as a table of fields and values."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from repro.core import discovery
from repro.core.seeds import Seeds
from repro.core.spec import settings
from repro.core.study import Study
from repro.core.suite import Suite
from repro.lineage import checkout

MANY = 12  # seeds
FEW = 3  # several settings at once: of more rows the first and the last are shown


def lines(suite: Suite, name: str) -> Iterator[str]:
    """The table of study `<paper>/<study>` at the configured scale: the fields of its design
    (`SCALES` in its file), or of a study that has none the settings and axes of its first stage,
    and what each other stage has differently from the one above it. Last the runs of each stage.

    Raises UserError where the study lacks the scale.
    """
    scale, file = suite.config.scale, f"studies/{name}.py"
    stages = {s.split("/")[-1]: s for s in discovery.stages(name) if "+" not in s}
    runs = {short: sum(len(c.runs) for c in suite.cells(s)) for short, s in stages.items()}
    designs = getattr(checkout.load(file), "SCALES", None)  # or the names of scales, imported
    design = designs[scale] if isinstance(designs, Mapping) else None
    how = (
        ", each stage by what differs from the one above"
        if design is None and len(runs) > 1
        else ""
    )
    yield f"{name}, {scale} scale ({file}){how}"
    if design is not None:
        yield from _table(_fields(design))
    above: dict[str, str] = {}
    for short in [short for short in runs if runs[short] and design is None]:
        its = _words(_settings(discovery.study(stages[short]), scale))
        yield f"  {short}"
        changed = {key: its.get(key, "-") for key in {**above, **its}}
        yield from _table({k: v for k, v in changed.items() if above.get(k) != v}, "    ")
        above = its
    yield "  runs: " + ", ".join(f"{short} {number}" for short, number in runs.items())


def _fields(design: Any, before: str = "") -> dict[str, str]:
    """The fields of a frozen dataclass in words, those of one in it by dotted names."""
    words: dict[str, str] = {}
    for each in fields(design):
        key, value = before + each.name, getattr(design, each.name)
        parts = {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {}
        inner = {k: v for k, v in (parts or {key: value}).items() if is_dataclass(v)}
        for name, part in inner.items():
            words |= _fields(part, f"{name}.")
        words |= _words({} if inner else {key: value})
    return words


def _settings(study: Study, scale: str) -> dict[str, Any]:
    """What a stage changes at a scale, its axes, and how its runs are divided into jobs."""
    at = study.at(scale)
    jobs = f"runs along {', '.join(at.same_job)}" if at.same_job else "a run"
    own = {"rounds": at.rounds, "window": at.window, "one job": jobs}
    return {**at.spec, **study.grid, **at.grid, **own}


def _words(values: Mapping[str, Any]) -> dict[str, str]:
    """Values in words, but what is empty or 0."""
    return {key: _word(value) for key, value in values.items() if value}


def _table(words: Mapping[str, str], indent: str = "  ") -> Iterator[str]:
    width = max(map(len, words), default=0)
    yield from (f"{indent}{key:{width}}  {value}" for key, value in words.items())


def _word(value: Any) -> str:
    """A value in words; of several settings at once those that vary."""
    match value:
        case Mapping():
            return ", ".join(f"{key} {_word(each)}" for key, each in settings(value))
        case float():
            octave = round(math.log2(value), 12) if value > 0 else 0.0
            exact = (2 * octave).is_integer() and (octave <= -2 or not octave.is_integer())
            return f"2^{octave:g}" if exact else f"{value:g}"
        case [Mapping(), *_]:
            rows = [dict(settings(each)) for each in value]
            rows = [
                {k: v for k, v in row.items() if any(v != other.get(k) for other in rows)} or row
                for row in rows
            ]
            if len(rows) > FEW:
                return f"{_word(rows[0])}; to {_word(rows[-1])} ({len(rows)} values)"
            return "; ".join(map(_word, rows))
        case Seeds() if len(value) > MANY:
            return f"{_word(list(value[:MANY]))} and on: {len(value)} of arm {value.arm}"
        case [int(first), *_, int(last)] if [*value] == [*range(first, last + 1)]:
            return f"{first} to {last}"
        case list() | tuple():
            return ", ".join(map(_word, value))
    return str(value)
