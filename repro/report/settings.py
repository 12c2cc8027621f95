"""The settings of a figure's runs, here and in the paper, read off its studies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from repro.core import config, discovery
from repro.core.names import StageName
from repro.core.population import SETTING
from repro.core.spec import settings
from repro.core.study import Best, Checkpoint, Study
from repro.core.suite import Suite
from repro.verdicts.answers import number

PAPER = "paper"
NONE = "-"


@dataclass(frozen=True)
class Setting:
    """One setting. name: its dotted key. here, paper: its values in words. runs: the studies or
    stages it is of, all of the figure's if empty."""

    name: str
    here: str
    paper: str
    runs: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether it is another one in the paper."""
        return self.here != self.paper


def side_by_side(suite: Suite, figure_name: str) -> list[Setting]:
    """All settings of a figure's runs, each once for the runs that agree in it."""
    stages = [s for s in suite.figure_cells(figure_name) if not StageName.parse(s).round]
    found: dict[tuple[str, str, str], list[str]] = {}
    having: dict[str, int] = {}
    for stage in stages:
        study = discovery.study(stage)
        here, paper = (resolved(study, scale) for scale in (suite.config.scale, PAPER))
        for key in dict.fromkeys([*paper, *here]):
            having[key] = having.get(key, 0) + 1
            pair = key, here.get(key, NONE), paper.get(key, NONE)
            found.setdefault(pair, []).append(stage.split("/", 1)[1])
    keys = {key: place for place, key in enumerate(having)}
    rows = [
        Setting(key, here, paper, () if len(runs) == having[key] else tuple(runs))
        for (key, here, paper), runs in sorted(found.items(), key=lambda pair: keys[pair[0][0]])
    ]
    return [*data_settings(suite, figure_name), *rows]


def data_settings(suite: Suite, figure_name: str) -> list[Setting]:
    """A figure's datasets, here and in the paper."""
    real = Suite(config.parse({"scale": PAPER, "data": "real"}, discovery.dataset_names()))
    pairs = {
        pair: None
        for stage in discovery.figure_stages(figure_name)
        for pair in zip(suite.stage_datasets(stage), real.stage_datasets(stage), strict=True)
    }

    return [Setting(here, suite.described(here), real.described(there)) for here, there in pairs]


def axes(figure_name: str) -> set[str]:
    """Dotted keys of everything that a figure's studies vary, and what their populations choose."""
    names: set[str] = set()
    for stage in discovery.figure_stages(figure_name):
        study = discovery.study(stage)
        for scale in study.scales.values():
            names |= {SETTING, *scale.population.choices} if scale.population else set()
        for grid in (study.grid, *(scale.grid for scale in study.scales.values())):
            for axis, values in grid.items():
                names |= {axis, *(key for v in values if isinstance(v, Mapping) for key in v)}
    return names


def resolved(study: Study, scale: str) -> dict[str, str]:
    """Dotted key -> its value or values at a scale, in words."""
    found = {key: [value] for key, value in settings(study.settings(scale))}
    for axis, values in {**study.grid, **study.scales[scale].grid}.items():
        if any(isinstance(value, Mapping) for value in values):
            for key in dict.fromkeys(key for value in values for key in value):
                found[key] = [value[key] for value in values if key in value]
        else:
            found[axis] = list(values)
    return {key: in_words(values) for key, values in found.items()}


def in_words(values: Sequence) -> str:
    """The values of a setting, each once; a long row of numbers by its ends."""
    words = list(dict.fromkeys(map(word, values)))
    if len(words) > 6 and all(isinstance(value, int | float) for value in values):
        return f"{words[0]} to {words[-1]} ({len(words)} values)"
    return ", ".join(words)


def word(value: object) -> str:
    """One value in words."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float() | int():
            return of_number(value)
        case Best():
            return f"tuned in {value.stage}"
        case Checkpoint():
            return f"from a checkpoint of {value.stage}"
        case Mapping():
            return ", ".join(f"{key} {word(each)}" for key, each in value.items())
        case list() | tuple():
            return "(" + ", ".join(map(word, value)) + ")"
    return str(value)


def of_number(value: float) -> str:
    """A number; a power of two that is no whole number as 2^-5."""
    if 0 < value < 1:
        mantissa, exponent = value.hex().split("p")
        if mantissa == "0x1.0000000000000":
            return f"2^{int(exponent)}"
    return number(value)
