"""Settings that nobody chose: drawn from levels that were declared before anything was run.

Seeds say how far a result goes in one setting; in how many settings it holds, settings must say. A
seed draws a setting as it draws initial values: by its hash, so that the commit from which a test's
seeds are derived (`repro.core.seeds`) decides which settings are run. No torch.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

from repro.errors import UserError
from repro.files import sha256
from widthwise.hints import misfit

SETTING = "setting"  # the column of a table that numbers its settings
NAME = re.compile(r"[A-Za-z][\w.]*")  # of a choice: it is in names of files and columns


@dataclass(frozen=True)
class Choice:
    """What a paper leaves open, or who uses it would vary.

    levels: each as likely; what it is called in tables and pictures -> settings of a spec, dotted
    key -> value. why: why these.
    """

    levels: Mapping[str | float, Mapping[str, Any]]
    why: str

    def __post_init__(self) -> None:
        if len(self.levels) < 2:
            raise UserError(f"levels {[*self.levels]}: give two or more")
        if not self.why.strip():
            raise UserError(f"levels {[*self.levels]}: say in `why` why these")


def each(key: str, *values: Any) -> dict[Any, dict[str, Any]]:
    """Levels that are the values of one setting."""
    return {value: {key: value} for value in values}


@dataclass(frozen=True)
class Setting:
    """A drawn setting. seed: that which drew it, or of a second run. levels: choice -> level.
    settings: dotted key -> value."""

    seed: int
    levels: Mapping[str, str | float]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Population:
    """The settings that a study draws from, one by a seed. Stages whose populations have the same
    choices and levels draw the same, also where a level sets other things in each.

    choices: name -> its levels. twice: how many settings, the first, are run on two seeds, to tell
    noise from settings.
    """

    choices: Mapping[str, Choice]
    twice: int = 8

    def __post_init__(self) -> None:
        for name in self.choices:
            if not NAME.fullmatch(name) or name == SETTING:
                raise UserError(f"choice {name!r}: give a name of letters, digits, dots and _")

    def drawn(self, seeds: Sequence[int]) -> list[Setting]:
        """The setting of every seed: of the first `twice` settings two seeds after one another, of
        each further one. No setting is drawn a second time.

        Raises UserError where there are fewer settings than are asked for.
        """
        known: set[tuple] = set()
        found: list[Setting] = []
        size = prod(len(choice.levels) for choice in self.choices.values())
        for place, seed in enumerate(seeds):
            if place < 2 * self.twice and place % 2:
                found.append(Setting(seed, found[-1].levels, found[-1].settings))
                continue
            if len(known) == size:
                raise UserError(f"a population of {size} settings has no more to draw")
            drawn = (self._levels(f"{seed} {attempt}") for attempt in count())
            levels = next(each for each in drawn if tuple(each.values()) not in known)
            known.add(tuple(levels.values()))
            settings: dict[str, Any] = {}
            for name, level in levels.items():
                settings |= self.choices[name].levels[level]
            found.append(Setting(seed, levels, settings))
        return found

    def _levels(self, word: str) -> dict[str, str | float]:
        found = {}
        for name, choice in self.choices.items():
            levels = [*choice.levels]
            found[name] = levels[int(sha256(f"{word} {name}".encode())[:16], 16) % len(levels)]
        return found


FORM = {"levels": list[str | float] | dict[str, dict], "why": str}  # of a choice in a file


def read(path: Path) -> Population:
    """A population of one's own, from a TOML file: a table a choice, with its `levels` and `why`.
    Levels are a list, of the setting that the table is called by, as `["model.depth"]`; or a table,
    level -> settings. Every setting has one seed.

    Raises UserError, naming the file, on what is none.
    """
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{path}: is missing; write a table a choice, with levels and why"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: is no TOML file: {error}") from None
    choices = {}
    for name, table in found.items():
        try:
            if wrong := misfit(table, FORM):
                raise UserError(f"{wrong}; a choice has levels and why")
            levels = table["levels"]
            own = each(name, *levels) if isinstance(levels, list) else levels
            choices[name] = Choice(own, table["why"])
        except UserError as error:
            raise UserError(f"{path}: [{name}]: {error}") from None
    if not choices:
        raise UserError(f"{path}: has no choice; write a table for each, with levels and why")
    try:
        return Population(choices, twice=0)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
