"""Parametrizations by name: files of `tables/`, found by listing that folder. No torch.

Such a file, or one of a user's own whose path is given in a name's place, defines `rules(family)`,
which returns a `Rule` for each of KINDS ("sgd" or "adam" is the optimizer's
family), and where it has them TIED and ATTENTION, each a Power of `n_in`: the factors on the logits
of a tied readout, and on attention's where head_dim grows. A file here has its NAME too.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from widthwise.errors import UserError, did_you_mean
from widthwise.files import calling, names_in
from widthwise.parametrization import tables
from widthwise.parametrization.rules import KINDS, ONE, Power, Rule
from widthwise.parametrization.tables import _s_family

FOLDER = "widthwise/parametrization/tables"
LARGEST = 64  # an exponent beyond which a factor is no number at widths that there are
S_FAMILY = re.compile(r"(?P<name>[a-z-]+|s=(?P<s>-?[0-9.]+))(?P<expansion>, M)?")


@dataclass(frozen=True)
class Parametrization:
    """rules: optimizer family -> kind -> Rule. tied: of `n_in`, the factor on a tied readout's
    logits; None where there is none. attention: of `n_in`, head_dim over the base's, the factor on
    logits head_dim^-1/2 q.k."""

    rules: Callable[[str], Mapping[str, Rule]]
    tied: Power | None
    attention: Power


def shipped() -> dict[str, Mapping[str, Any]]:
    """Name -> what its file defines, of the tables that can be read."""
    return _read()[0]


@cache
def _read() -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """(`shipped`, why each of the other files is not among them): one that is broken must not take
    the others with it."""
    found: dict[str, Mapping[str, Any]] = {}
    broken: list[str] = []
    for stem in sorted(path.stem for path in Path(tables.__path__[0]).glob("[!_]*.py")):
        try:
            defined = vars(import_module(f"{tables.__name__}.{stem}"))
            found[defined["NAME"]] = defined
        except KeyError:
            broken.append(f"{FOLDER}/{stem}.py defines no NAME")
        except Exception as error:
            broken.append(f"{FOLDER}/{stem}.py: {type(error).__name__}: {error}")
    return found, broken


def find(name: str) -> Parametrization:
    """A parametrization: one of `shipped`, `s=0.25` for another member of the s-family (`, M` after
    one of the latter keeps the factor M), or the path of a file that ends in `.py`.

    Raises UserError where there is none, or a file lacks what it must define.
    """
    if name.endswith(".py"):
        return _made(name, names_in(name))
    if name in shipped():
        return _made(name, shipped()[name])
    match, member = S_FAMILY.fullmatch(name), s_of(name)
    if match is None or member is None:
        raise UserError(
            f"unknown parametrization {name!r}: {did_you_mean(name, shipped())}; or s=<number>, or "
            "the path of a file of your own" + "".join(f"; {why}" for why in _read()[1])
        )
    rules = partial(_s_family.rules, member, expansion=bool(match["expansion"]))
    return _made(name, {"rules": rules, "TIED": _s_family.tied(member)})


def s_of(name: str) -> float | None:
    """s of a member of the s-family by name (`hybrid`, `s=0.25`, `hybrid, M`), None for others."""
    match = S_FAMILY.fullmatch(name)
    if match is None:
        return None
    return float(match["s"]) if match["s"] else shipped().get(match["name"], {}).get("S")


def _made(name: str, defined: Mapping[str, Any]) -> Parametrization:
    """What a file defines, checked."""
    file = name
    if not name.endswith(".py") and "__file__" in defined:
        file = f"{FOLDER}/{Path(defined['__file__']).name}"
    rules = defined.get("rules")
    if not callable(rules):
        raise UserError(f"{file}: defines no rules(family)")
    for factor in ("TIED", "ATTENTION"):
        if not _is_power(defined.get(factor, ONE)):
            raise UserError(f"{file}: {factor} is no Power of finite exponents")

    def checked(family: str) -> Mapping[str, Rule]:
        rows = _called(file, rules, family)
        if odd := set(rows) - set(KINDS):
            raise UserError(f"{file}: rules({family!r}): {odd.pop()!r}: choose from {KINDS}")
        missing = [kind for kind in KINDS if not isinstance(rows.get(kind), Rule)]
        if missing:
            raise UserError(f"{file}: rules({family!r}) has no Rule for {', '.join(missing)}")
        for kind, rule in rows.items():
            for column, power in vars(rule).items():
                if not _is_power(power) and (column, power) != ("init", None):
                    raise UserError(f"{file}: {column} of {kind} is no Power of finite exponents")
        return rows

    return Parametrization(checked, defined.get("TIED"), defined.get("ATTENTION", ONE))


def _called(file: str, rules: Callable, family: str) -> Mapping[str, Any]:
    """What the rules of a file return; UserError where they fail."""
    rows = calling(f"{file}: rules({family!r})", rules, family)
    if not isinstance(rows, Mapping):
        raise UserError(f"{file}: rules({family!r}) returned no mapping of kinds to Rules")
    return rows


def _is_power(power: object) -> bool:
    return isinstance(power, Power) and all(
        isinstance(n, int | float) and math.isfinite(n) and abs(n) <= LARGEST
        for n in vars(power).values()
    )


def table(name: str, family: str) -> Mapping[str, Rule]:
    """The rows of a parametrization for an optimizer family ("sgd", "adam", or "muon").

    name: as `find` takes it. Muon: Adam's, but for matrices between two widths, the size of whose
    updates is what Muon's own adjustment says.
    Raises UserError on an unknown one, or a family the paper does not define.
    """
    if family == "muon":
        return {**find(name).rules("adam"), "hidden": matrices(find(name).rules("adam"), 0.0)}
    return find(name).rules(family)


def matrices(rows: Mapping[str, Rule], exponent: float) -> Rule:
    """The row of matrices that have an update of their own (`Update.matrix_lr`)."""
    hidden = rows["hidden"]
    lr = Power(n_in=exponent) if hidden.lr != ONE else ONE
    return replace(hidden, lr=lr, weight_decay=lr.inverse)
