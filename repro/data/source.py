"""Where a dataset comes from. No torch."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Where one dataset comes from: `embedded`, which is synthetic, `real`, or the user's `folder`.

    "Embedded" is how configurations and paths spell it; people read "synthetic", because the
    papers' embeddings are another thing.
    """

    kind: str
    folder: Path | None = None

    @property
    def word(self) -> str:
        """The kind as people read it."""
        return "synthetic" if self.kind == "embedded" else self.kind


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What pages list of a dataset, in Markdown; `LISTED` of its module (`repro new pages`).

    source: where the real data come from. revision: at which it is pinned. digest: what holds the
    download, and who publishes it. download: its size, once. folder: what a folder of one's own
    must hold.
    """

    source: str
    revision: str = ""
    digest: str
    download: str
    folder: str
