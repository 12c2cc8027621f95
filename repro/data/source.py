"""Where a dataset comes from. No torch."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Where one dataset comes from: `embedded`, `real`, or the user's `folder`."""

    kind: str
    folder: Path | None = None
