"""The configuration: scale, data sources, figures; validated alike for Snakemake and the CLI."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.core.study import SCALES
from repro.data.source import Source
from repro.errors import UserError, did_you_mean
from repro.files import canonical_json, open_file, sha256
from repro.lineage import arithmetic
from repro.lineage.checkout import ROOT, modules

if TYPE_CHECKING:
    from repro.core.entry import EntryFile
    from repro.core.tried import Tried

SOURCES = ("embedded", "real")
AT_EDGE = ("widen", "stop")
QUOTED = re.compile("'.*'|\".*\"", re.DOTALL)
FOLDER_LABEL = re.compile("folder-[0-9a-f]{8}")  # of `data_label`, of a user's folder


@dataclass(frozen=True)
class Config:
    """A validated configuration.

    data: the default source, one of SOURCES. sources: dataset -> source, where it is another.
    figures: what to build and judge, as in `catalog.matching_figures`.
    max_gpu_hours: the most that a scale for GPUs may cost; None: not allowed at all.
    max_days: the most that one job may take on the GPUs it asks for; None: `cluster.MOST_DAYS`.
    at_edge: what happens when the best run of a sweep lies at the edge of its grid: "widen" extends
        the grid in rounds, "stop" ends in an error before anything is trained with that value.
    arithmetic: which instructions CPU runs use, a name in `arithmetic.SETTINGS`.
    entry: a file in the place of the parametrizations of the board of transfer, alone in `figures`.
    tried: a try in the place of the studies that it changes, of which there are no figures, and its
        file.
    """

    scale: str
    data: str
    sources: Mapping[str, Source]
    figures: tuple[str, ...]
    max_gpu_hours: float | None
    max_days: float | None = None
    at_edge: str = "widen"
    arithmetic: str = arithmetic.DEFAULT
    entry: EntryFile | None = None
    tried: Tried | None = None
    tried_file: str = ""

    def source(self, dataset: str) -> Source:
        """The source of one dataset."""
        return self.sources.get(dataset, Source(self.data))

    def arguments(self) -> list[str]:
        """`key=value` words from which `parse` makes it again; without `figures`,
        `max_gpu_hours` and `max_days`, which change no result."""
        values = [f"scale={self.scale}", f"data={self.data}"]
        values += [f"{name}={s.folder or s.kind}" for name, s in sorted(self.sources.items())]
        values += [f"at_edge={self.at_edge}"] if self.at_edge != "widen" else []
        values += [f"entry={self.entry.copy}"] if self.entry else []
        values += [f"tried={self.tried_file}"] if self.tried else []
        # Written even if it is the default: results from before this setting are made anew.
        return [*values, f"arithmetic={self.arithmetic}"]


def configuration(words: Iterable[str]) -> Config:
    """What config/config.yaml says, changed by `key=value` words as in snakemake --config.

    Values are taken as they are, not as YAML, so that a folder may have any name; only `figures`
    may be a YAML list. Raises UserError on a word without `=` and on an invalid configuration.
    """
    path = ROOT / "config" / "config.yaml"
    values, given = dict(defaults(path, path.read_text())), dict[str, str]()
    for word in words:
        key, separator, value = word.partition("=")
        if not separator:
            raise UserError(f"--config {word!r}: give key=value")
        if given.setdefault(key, value) != value:
            raise UserError(f"--config {key}: is {given[key]!r} and {value!r}; leave one of them")
        is_list = key == "figures" and value.startswith("[")
        name = f"config key figures: {reprlib.repr(value)}"
        values[key] = from_yaml(value, name, scalars=False) if is_list else value
    return parse(values, modules("data"))


def parse(values: Mapping[str, object], datasets: Iterable[str]) -> Config:
    """Validate a configuration, in which names of datasets are keys too; raises UserError naming
    the key."""
    datasets = sorted(datasets)
    limits = ("max_gpu_hours", "max_days")
    known = {
        "scale",
        "data",
        "figures",
        *limits,
        "at_edge",
        "arithmetic",
        "entry",
        "tried",
        *datasets,
    }
    for key in values:
        if key not in known:
            raise UserError(
                f"unknown config key {key!r}: {did_you_mean(str(key), known)} "
                "(other settings are a study's: docs/own-settings.md)"
            )
        value = values[key]
        if value in ([], ()) or (isinstance(value, str) and not value.replace(",", " ").split()):
            raise UserError(
                f"config key {key}: {value!r} is empty; give a value (is a variable of the shell "
                "not set?), or leave the key out"
            )
    scale = _choice("scale", values.get("scale", "reduced"), SCALES)
    data = _choice("data", values.get("data", "embedded"), SOURCES)
    sources = {}
    for name in datasets:
        if name in values:
            source = _source(name, values[name])
            if source != Source(data):
                sources[name] = source
    figures = values.get("figures", "all")
    if isinstance(figures, str):
        figures = figures.replace(",", " ").split()
    if not isinstance(figures, (list, tuple)) or not all(isinstance(f, str) for f in figures):
        raise UserError(
            f"config key figures: {reprlib.repr(figures)} is not a list of names; use [paper/fig2]"
        )
    hours, days = (_limit(key, values.get(key)) for key in limits)
    at_edge = _choice("at_edge", values.get("at_edge", "widen"), AT_EDGE)
    chosen = values.get("arithmetic", arithmetic.DEFAULT)
    chosen = _choice("arithmetic", chosen, tuple(arithmetic.SETTINGS))
    entered = None
    if "entry" in values:
        from repro.core import entry

        if not {*figures} <= {"all", entry.FIGURE}:
            raise UserError(f"config key entry: its runs are those of {entry.FIGURE}; no figures=")
        entered, figures = entry.load(str(values["entry"])).keep(), [entry.FIGURE]
    file = str(values.get("tried", ""))
    own = None
    if file:
        from repro.core import tried

        own = tried.load(Path(file))
    limited = (hours, days, at_edge, chosen, entered)
    return Config(scale, data, sources, tuple(figures), *limited, own, file)


def in_folders(chosen: Config, datasets: Iterable[str], folder: Path) -> Config:
    """A configuration with some datasets in a folder, which need not be there."""
    moved = dict.fromkeys(datasets, Source("folder", folder))
    return replace(chosen, sources={**chosen.sources, **moved})


def _choice(key: str, value: object, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise UserError(
            f"config key {key}: {reprlib.repr(value)} is unknown, "
            f"{did_you_mean(value if isinstance(value, str) else '', choices)}"
        )
    return value


def _limit(key: str, value: Any) -> float | None:
    """A limit in hours or days. nan is refused: no cost would compare as larger than it."""
    if value is None:
        return None
    try:
        limit = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        limit = math.nan
    if not 0 <= limit < math.inf:
        unit = key.rpartition("_")[2]
        raise UserError(
            f"config key {key}: {reprlib.repr(value)} is not a number of {unit}, 0 or more"
        )
    return limit


def _source(dataset: str, value: object) -> Source:
    if not isinstance(value, str):  # of a file, where YAML makes a number of a folder named 007
        raise UserError(
            f"{dataset}: {reprlib.repr(value)} is what YAML makes of the folder given; "
            f'put it in quotes: {dataset}: "FOLDER"'
        )
    if value in SOURCES:
        return Source(value)
    try:
        folder = Path(value).expanduser()
    except RuntimeError:  # `~name` of an unknown user
        folder = Path(value)
    if not folder.is_dir():
        raise UserError(
            f"{dataset}: folder {value!r} does not exist ({str(folder.absolute())!r}); "
            "give a folder, 'embedded' (synthetic) or 'real'"
        )
    return Source("folder", folder.resolve())


def as_typed(words: Iterable[str], datasets: Iterable[str]) -> dict[str, str]:
    """The paths among the words of --config, by key, as they were typed: Snakemake reads them as
    YAML, where `wikitext2=a #1` is folder `a` and a comment, and `123_456` a number.

    Quotes around a path are not of it, unless there is one that has them.
    """
    paths = {*datasets, "entry", "tried"}
    typed = (word.partition("=")[::2] for word in words)
    return {
        key: value[1:-1] if QUOTED.fullmatch(value) and not Path(value).exists() else value
        for key, value in typed
        if key in paths
    }


def from_yaml(text: str, name: object, scalars: bool = True) -> Any:
    """What a YAML text says. scalars: take `007`, `no` and `12:30` for what YAML makes of them;
    False: for texts. Raises UserError, naming it, where it is no YAML."""
    import yaml

    try:
        return yaml.load(text, yaml.SafeLoader if scalars else yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        why = " ".join(str(error).split()) or "it is empty"
        raise UserError(f"{name}: is no YAML that can be read ({why}); mend it") from None


def check_keys_once(path: Path) -> None:
    """Raise UserError, naming key and lines, where a configuration file says a key twice: of two
    values YAML takes the last."""
    import yaml

    with open_file(path) as file:
        root = yaml.compose(file, yaml.SafeLoader)
    seen: dict[str, int] = {}
    for key, _ in root.value if isinstance(root, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if key.value in seen:
            raise UserError(
                f"{path}, line {line}: {key.value} stands in line {seen[key.value]} too; "
                "leave one of them"
            )
        seen[key.value] = line


def is_data_label(label: str, datasets: Collection[str]) -> bool:
    """Whether `data_label` writes such a label for some configuration and these datasets."""
    data, *parts = label.split("+")
    names = [part.partition("=")[0] for part in parts]
    kinds = (part.partition("=")[2] for part in parts)
    known = all(
        (kind in SOURCES and kind != data) or FOLDER_LABEL.fullmatch(kind) for kind in kinds
    )
    ordered = names == sorted({*names}) and {*names} <= {*datasets}
    return data in SOURCES and known and ordered


def data_label(config: Config, identities: Mapping[str, Mapping]) -> str:
    """The data part of every path under results/ and records/: the default source, then every
    dataset that has another one; a folder by a digest, so that two folders of one dataset never
    mix; last, whose entry of the board it is.

    identities: dataset -> identity, at least for every dataset in `config.sources`.
    """
    parts = [config.data]
    for name, source in sorted(config.sources.items()):
        kind = source.kind
        if kind == "folder":
            kind += "-" + sha256(canonical_json(identities[name]))[:8]
        parts.append(f"{name}={kind}")
    parts += [f"entry={config.entry.stem}"] if config.entry else []
    return "+".join(parts)


@cache
def defaults(path: Path, text: str) -> Mapping:
    """What config.yaml says. Read once: a report loads the configuration for every command."""
    values = from_yaml(text, path) or {}
    if not isinstance(values, Mapping):
        raise UserError(f"{path}: holds no `key: value`; mend it")
    return values
