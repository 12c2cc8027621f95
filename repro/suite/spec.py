"""A spec: settings in nested mappings, addressed by dotted keys such as `model.width`."""

from collections.abc import Iterator, Mapping
from typing import Any


def lookup(spec: Mapping[str, Any], path: str) -> Any:
    """The setting at a dotted key; raises KeyError or TypeError if there is none."""
    node: Any = spec
    for key in path.split("."):
        node = node[key]
    return node


def override(spec: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `spec` with dotted keys replaced; raises KeyError on a key that is not there."""
    result = _copy(spec)
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = result
        for parent in parents:
            node = node[parent]
        if last not in node:
            raise KeyError(f"{path} is not a setting of this spec; it has {sorted(node)}")
        node[last] = value
    return result


def _copy(value: Any) -> Any:
    return {k: _copy(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def settings(spec: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of every setting that is not itself a mapping of settings."""
    for key, value in spec.items():
        if isinstance(value, Mapping):
            yield from settings(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
