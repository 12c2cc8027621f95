"""A test over a reader's own population: every drawn setting a try of one seed, as it falls.

In how many settings the effect is on the expected side, and its mean, are of
`repro.verdicts.settings`: the unit is the setting, and one without an effect is counted.
"""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from repro.core import discovery
from repro.core.axes import FIRST_SEED, has
from repro.core.population import SETTING, Population, Setting, read
from repro.core.runs import SEED, Upstream
from repro.core.spec import settings
from repro.core.study import TRAINED_SCALES
from repro.core.suite import Suite
from repro.core.tried import Tried
from repro.core.upstream import UpstreamResults
from repro.errors import UserError
from repro.files import canonical_json, key_of, write_bytes
from repro.products import beside, tried
from repro.products.explain import find_test
from repro.products.tried import FOLDER, Try, planned
from repro.verdicts.answers import Measurement
from repro.verdicts.settings import Effects, draw

USUAL = 16  # settings, where nobody says how many
# What an option sets; a level of its name sets it as the option does.
OPTIONS = {"widths": "width", "rates": "lr", "steps": "steps", "optimizer": "optimizer"}
DIVERGED = "diverged"
OTHER = 100_000  # seeds from a seed to its copy


@dataclass(frozen=True)
class Ran:
    """What a setting came to. effect: NaN where it gave none; why: then why."""

    setting: Setting
    found: Try
    effect: float
    why: str = ""


def carried_out(base: Suite, word: str, file: str, dry: bool, **given: Any) -> Iterator[str]:
    """What will run over a population and its price, then, once it ran, the statement, in lines.

    file: of the population. given: fields of `Tried`; seeds: how many settings, 0: as is usual.
    """
    population = read(Path(file))
    count = given.pop("seeds", 0)
    drawn = settings_of(population, file, count, given)
    tried.enter()
    tries = planned_over(base, word, file, drawn, given)
    scale = base.config.scale
    yield f"{tries[0].settings.test}, {scale} scale, {base.label} data: {_told(tries, file, given)}"
    for name in population.choices:
        yield f"  {name}: {_counted(setting.levels[name] for setting in drawn)}"
    yield tried.cost(tries)
    if dry:
        return
    came = []
    for place, (setting, found) in enumerate(zip(drawn, tries, strict=True), 1):
        came.append((yield from _run(base, word, setting, found)))
        effect = came[-1].why or f"{came[-1].effect:.3g}"
        yield f"{place} of {len(tries)}: {in_words(setting.levels)}: {effect}"
    lines = [*statement(came, file, given)]
    yield from lines
    yield from (f"  {FOLDER / path}" for path in kept(came, file, lines))


def settings_of(
    population: Population, file: str, count: int, given: Mapping[str, Any]
) -> list[Setting]:
    """So many settings, drawn by the seeds of no record. Raises UserError where there are fewer, or
    a level sets what an option does."""
    size = math.prod(len(choice.levels) for choice in population.choices.values())
    if count > size:
        raise UserError(f"--seeds {count}: {file} has {size} settings; give fewer, or more levels")
    levels = [its for choice in population.choices.values() for its in choice.levels.values()]
    for key in dict.fromkeys(key for its in levels for key in its):
        options = {option: name for option, name in OPTIONS.items() if given.get(option)}
        both = [f"--{o}" for o, name in (options | {"seeds": SEED}).items() if _sets(key, o, name)]
        both += [f"--set {k}" for k in given["changes"] if _ends(k, key) or _ends(key, k)]
        if both:
            raise UserError(f"{both[0]}: {file} sets {key}; leave one out")
    return population.drawn(range(FIRST_SEED, FIRST_SEED + (count or min(USUAL, size))))


def _sets(key: str, *names: str) -> bool:
    return any(name in key.split(".") for name in names)


def _ends(key: str, end: str) -> bool:
    return f".{key}".endswith(f".{end}")


def planned_over(
    base: Suite, word: str, file: str, drawn: Sequence[Setting], given: Mapping[str, Any]
) -> list[Try]:
    """A try for each setting. Raises UserError, with its levels, on one that cannot be, where two
    train the same, or the test draws settings of its own."""
    find_test(word)  # an unknown one is no setting's fault
    scale, tries = base.config.scale, list[Try]()
    known: dict[str, Setting] = {}
    for place, setting in enumerate(drawn):
        try:
            found = planned(base, word, **_asked(setting, given), seeds=1, first=place)
        except UserError as error:
            what = str(error).removeprefix("--set ")
            raise UserError(f"{file}: {in_words(setting.levels)}: {what}") from None
        own = found.settings.studies(scale).values()
        if any(has(study, scale) and study.scales[scale].population for study in own):
            raise UserError(f"{word}: draws settings of its own; give a test of one setting")
        other = known.setdefault(_trained(found), setting)
        if other is not setting:
            differ = [name for name in setting.levels if setting.levels[name] != other.levels[name]]
            raise UserError(f"{file}: {', '.join(differ)}: changes nothing of {word}; leave it out")
        tries.append(found)
    return tries


def _asked(setting: Setting, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `Tried` of a setting: levels of an option's name are as the option's values,
    others as `--set` takes them."""
    own = {key: value for key, value in setting.settings.items() if key not in OPTIONS}
    found = {**given, "changes": {**given["changes"], **own}}
    for key in OPTIONS.keys() & setting.settings.keys():
        value = setting.settings[key]
        if key == "optimizer":
            found[key] = f"{value}"
            continue
        words = [f"{each}" for each in (value if isinstance(value, list) else [value])]
        numbers = tried.numbers(key, words, whole=key == "steps")
        found[key] = numbers[0] if key == "steps" else numbers
    return found


def _trained(found: Try) -> str:
    """What a try trains, whatever its seeds."""
    specs = (run.spec for cell in found.every for run in cell.runs)
    own = (
        {k: v for k, v in settings(spec) if k != SEED and not isinstance(v, Upstream)}
        for spec in specs
    )
    return key_of(sorted(canonical_json(each).decode() for each in own))


def _run(base: Suite, word: str, setting: Setting, found: Try) -> Generator[str, None, Ran]:
    """Run a setting. One whose runs cannot go on, since what they start from diverged, is kept as
    such; raises UserError on any other failure."""
    if why := stuck(found):
        return Ran(setting, found, math.nan, why)
    try:
        found, came = yield from beside.outcome(base, word, found)
    except UserError:
        if why := stuck(found):
            return Ran(setting, found, math.nan, why)
        raise
    effect = _of_one_seed(found, came.measurement)
    why = effect.problem or DIVERGED * (not math.isfinite(effect.value))
    return Ran(setting, found, math.nan if why else effect.value, why)


def _of_one_seed(found: Try, its: Measurement) -> Measurement:
    """A measurement of one seed. A test may leave one out to say how far its number reaches, and
    has none of what is left: the seed then stands for two, which have the same number."""
    if math.isfinite(its.value) and not its.problem:
        return its
    import pandas as pd

    own = {
        name: pd.concat([t, t.assign(seed=t[SEED] + OTHER)], ignore_index=True) if SEED in t else t
        for name, t in tried.tables(found).items()
    }
    try:
        return tried.measured(found, own).measurement
    except (ArithmeticError, LookupError, TypeError, ValueError, UserError):
        return its  # it takes no such table


def stuck(found: Try) -> str:
    """Why a run of a try has nothing to start from or be tuned by; "" where all can be made."""
    own = found.own
    discovery.put(found.settings.studies(own.config.scale))
    for cell in (each for each in found.every if not own.paths.cell(each).exists()):
        above = {
            run: (its, own.paths.cell(its), own.paths.checkpoints(its))
            for run, its in own.upstream(cell).items()
        }
        if not all(file.exists() for _, file, _ in above.values()):
            continue
        read = UpstreamResults(above)
        for taken in (each for run in cell.runs for each in run.upstream.values()):
            try:
                taken.choose(read)
            except UserError as error:
                if DIVERGED not in str(error):
                    raise
                return DIVERGED
    return ""


def effects(came: Sequence[Ran]) -> Effects:
    """The effect of every setting."""
    return Effects(
        {place: [each.effect] for place, each in enumerate(came)},
        {place: each.setting.levels for place, each in enumerate(came)},
    )


def statement(came: Sequence[Ran], file: str, given: Mapping[str, Any]) -> Iterator[str]:
    """In how many settings the effect is as expected, and its mean, beside what is on record."""
    found = came[0].found
    scale = found.own.config.scale
    its = effects(came)
    share = its.share(tried.bound(found.test, scale).holds)
    yield from beside.asked(found)
    yield f"  {'share':10} {beside.in_digits(share)}  as expected in {share.detail}"
    yield f"  {'mean':10} {beside.in_digits(its.mean())}  over settings, by Student's t"
    for why, number in Counter(each.why.partition(":")[0] for each in came if each.why).items():
        yield f"  {'':10} no effect in {number}: {why}"
    if scale not in TRAINED_SCALES:
        yield f"  {'':10} runs at {scale} scale are too short to tell"
    yield f"  {'':10} {_told([each.found for each in came], file, given)}"
    yield from beside.recorded(found)


def _told(tries: Sequence[Try], file: str, given: Mapping[str, Any]) -> str:
    """How many settings of which file, and what was asked for besides."""
    its = tries[0].settings
    plain = Tried(figure=its.figure, test=its.test, stages=its.stages, **given)
    own = replace(tries[0], settings=plain)
    return f"{len(tries)} settings of {file}, a seed each; else {tried.in_words(own)}"


def _counted(levels: Iterator[str | float]) -> str:
    return ", ".join(f"{level} in {number}" for level, number in Counter(levels).items())


def in_words(levels: Mapping[str, str | float]) -> str:
    """The levels of a setting."""
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def kept(came: Sequence[Ran], file: str, lines: Sequence[str]) -> list[Path]:
    """Write what came out: the statement, a picture, the settings sorted by their effect, and the
    table of all runs."""
    import pandas as pd

    from repro.verdicts import drawing

    found = came[0].found
    scale, label, test = found.own.config.scale, found.own.label, found.test
    key = key_of([each.found.settings.key for each in came])
    base = found.folder.with_name(f"{scale}-{label}-{key}") / test.id
    text, drawn, own, runs = (
        base.with_name(f"{base.name}{end}") for end in (".txt", ".png", ".settings.csv", ".csv")
    )
    rows = [
        {SETTING: place, SEED: each.setting.seed, **each.setting.levels}
        | {"effect": each.effect, "why": each.why}
        for place, each in enumerate(came)
    ]
    parts = [
        table.assign(**{SETTING: place, "stage": name})
        for place, each in enumerate(came)
        if not stuck(each.found)
        for name, table in tried.tables(each.found).items()
        if len(table)
    ]
    for path, table in (
        (own, pd.DataFrame(rows).sort_values("effect", kind="stable")),
        (runs, pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()),
    ):
        write_bytes(path, table.to_csv(index=False, lineterminator="\n").encode())
    write_bytes(text, ("\n".join(lines) + "\n").encode())
    drawing.style()
    held = tried.bound(test, scale)
    ends = {f"{end:g}": end for end in (held.low, held.high) if math.isfinite(end)}
    words = f"as expected, {held}"
    axis = "\n".join(drawing.wrapped(test.quantity, 50))
    figure = draw(effects(came), held.holds, words, axis, ends, "")
    drawing.finish(figure, test.column, (), f"{test.id}, {scale} scale, {label} data, {file}")
    drawing.save(figure, drawn)
    return [text, drawn, own, runs]
