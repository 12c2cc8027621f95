"""JSON values held against type hints: what is written down as a type is the schema of its file."""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

LARGEST = 2**63  # no integer of a file is beyond what numpy and pandas hold


def misfit(value: object, hint: Any, place: str = "") -> str | None:
    """Where a JSON value is not of a type, and what is there; None where it is.

    hint: str (to be printed), int, float (not infinite), bool, None, Any, list, dict, a tuple of
    one type, unions of these; a TypedDict or a dataclass, which has its keys and no others; or a
    mapping of keys to hints, which may have others.
    """
    if hint is Any or (hint in (list, dict, bool) and isinstance(value, hint)):
        return None
    if hint is str and isinstance(value, str) and value.isprintable():
        return None
    if hint in (None, NoneType) and value is None:
        return None
    if hint in (int, float) and _is_number(value, hint):
        return None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        found = [misfit(value, each, place) for each in inner]
        return None if None in found else found[0]
    if origin in (list, tuple) and isinstance(value, list):
        return _first(((each, inner[0], f"{place}[{i}]") for i, each in enumerate(value)))
    if origin is dict and isinstance(value, dict) and all(map(str.isprintable, value)):
        return _first(((each, inner[1], f"{place}[{key!r:.40}]") for key, each in value.items()))
    entries = _entries(hint)
    if entries is None or not isinstance(value, dict):
        return f"{place or 'it'} is {_shown(value)}"
    needed, optional, others = entries
    if lacking := [key for key in needed if key not in value]:
        return f"{place or 'it'} lacks {lacking[0]!r}"
    known = {**needed, **optional}
    if not others and (more := [key for key in value if key not in known]):
        return f"{place or 'it'} has {_shown(more[0])}"
    return _first(
        ((value[k], h, f"{place}[{k!r}]" if place else k) for k, h in known.items() if k in value)
    )


def _first(pairs: Any) -> str | None:
    return next((found for each in pairs if (found := misfit(*each)) is not None), None)


def _is_number(value: object, kind: type) -> bool:
    if isinstance(value, float):
        return kind is float and not math.isinf(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _entries(hint: Any) -> tuple[Mapping[str, Any], Mapping[str, Any], bool] | None:
    """Keys that must be there, those that may, and whether there may be others."""
    if isinstance(hint, Mapping):
        return hint, {}, True
    if is_typeddict(hint):
        kinds = get_type_hints(hint)
        free = kinds.keys() - hint.__required_keys__
    elif is_dataclass(hint) and isinstance(hint, type):
        kinds = get_type_hints(hint)
        free = {f.name for f in fields(hint) if not (f.default is f.default_factory is MISSING)}
    else:
        return None
    needed = {name: kind for name, kind in kinds.items() if name not in free}
    return needed, {name: kinds[name] for name in free}, False


def _shown(value: object) -> str:
    return reprlib.repr(value)
