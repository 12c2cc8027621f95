"""What the report's plot of a figure's data shows first. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class View:
    """Columns of a figure's data.csv, and which of their values.

    x: a setting. y: what was measured. only: setting -> the one value shown, or a tuple of those
    that have a line each; a reader may switch to all others.
    """

    x: str
    y: str
    only: Mapping[str, object] = field(default_factory=dict)
