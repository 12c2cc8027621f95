"""A parametrization by its name, or by the path of a file of one's own. No torch.

Such a file defines `rules(family)`, which returns a `repro.parametrization.Rule` for each of KINDS
("sgd" or "adam" is the optimizer's family), and where it has them TIED and ATTENTION, each a Power
of `n_in`: the factors on the logits of a tied readout, and on attention's where head_dim grows.
"""

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from repro import parametrization
from repro.errors import UserError
from repro.parametrization import KINDS, ONE, Power, Role, Rule


@dataclass(frozen=True)
class Table:
    """rules: optimizer family -> kind -> Rule. tied: width over the base's -> factor on a tied
    readout's logits; raises UserError where there is none. attention: head_dim over the base's ->
    factor on logits head_dim^-1/2 q.k."""

    rules: Callable[[str], Mapping[str, Rule]]
    tied: Callable[[float], float]
    attention: Callable[[float], float]


def find(name: str) -> Table:
    """The table of a parametrization: a name that `repro.parametrization.table` knows, or a path
    that ends in `.py`. Raises UserError where there is none, or a file lacks what it must define.
    """
    if name.endswith(".py"):
        return _own(name)
    parametrization.table(name, "adam")  # an unknown name is refused there
    return Table(
        partial(parametrization.table, name),
        partial(parametrization.tied_multiplier, name),
        partial(parametrization.attention_multiplier, name),
    )


def names_in(path: str) -> dict[str, Any]:
    """What a Python file of a user's defines; raises UserError where it fails."""
    if not Path(path).is_file():
        raise UserError(f"{path}: there is no such file")
    try:
        return runpy.run_path(path)
    except Exception as error:
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error


def _own(path: str) -> Table:
    defined = names_in(path)
    rules = defined.get("rules")
    if not callable(rules):
        raise UserError(f"{path}: defines no rules(family)")
    for name in ("TIED", "ATTENTION"):
        if not isinstance(defined.get(name, ONE), Power):
            raise UserError(f"{path}: {name} is no Power")

    def checked(family: str) -> Mapping[str, Rule]:
        rows = rules(family)
        missing = [kind for kind in KINDS if not isinstance(rows.get(kind), Rule)]
        if missing:
            raise UserError(f"{path}: rules({family!r}) has no Rule for {', '.join(missing)}")
        return rows

    def tied(width: float) -> float:
        if "TIED" not in defined:
            raise UserError(f"{path}: defines no TIED, the factor on a tied readout's logits")
        return defined["TIED"](Role("output", width_in=width))

    def attention(head_dim: float) -> float:
        return defined.get("ATTENTION", ONE)(Role("hidden", width_in=head_dim))

    return Table(checked, tied, attention)
