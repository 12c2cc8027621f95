"""A spec: settings in nested mappings, addressed by dotted keys such as `model.width`."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

PLAIN = (int, float, str, list, tuple, type(None))
ATOMS = frozenset((*PLAIN, bool))  # asked first, for it is quicker


def holds_settings(value: object) -> TypeGuard[Mapping]:
    """Whether a value in a spec is a mapping of further settings."""
    # A suite asks this millions of times, and an abstract class takes its time to answer.
    return not isinstance(value, PLAIN) and isinstance(value, Mapping)


def lookup(spec: Mapping[str, Any], path: str) -> Any:
    """The setting at a dotted key; raises KeyError or TypeError if there is none."""
    node: Any = spec
    for key in path.split("."):
        node = node[key]
    return node


def override(spec: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with dotted keys replaced; raises KeyError on a key that is not there.

    Mappings that no change is in are shared with `spec`, which nobody changes in place: a study has
    thousands of specs.
    """
    result = dict(spec)
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = result
        for parent in parents:
            node[parent] = node = dict(node[parent])
        if last not in node:
            raise KeyError(f"{path} is not a setting of this spec; it has {sorted(node)}")
        node[last] = value
    return result


def settings(spec: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of every setting that is not itself a mapping of settings."""
    for key, value in spec.items():
        if type(value) not in ATOMS and holds_settings(value):
            yield from settings(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
