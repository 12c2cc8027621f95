"""Lock files of downloads whose digests nobody publishes: the first download is the reference.

A lock file lies beside its dataset's module, data/<dataset>.lock.json, and is to be committed: what
one machine trusted on first use then holds for every other, and for itself after its resources/
were cleared. Until then the code counts as changed (`+dirty`), rightly: the file decides what may
be read, and the commit does not have it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from repro.errors import UserError
from repro.files import read_as, write_json


class Lock(TypedDict, total=False):
    """What a lock file says. splits: split -> what is known of it, its digest among it; sha256:
    split -> digest, as it was once."""

    first_download: str
    revision: str | None
    splits: dict[str, dict[str, str | float]] | None
    sha256: dict[str, str] | None


def read(lock: Path) -> dict[str, Any]:
    """What a lock file says, nothing where there is none; raises UserError when it is damaged."""
    if not lock.exists():
        return {}
    return read_as(lock, Lock, "restore it as committed, or delete it to trust the next download")


def write(dataset: str, lock: Path, **said: object) -> None:
    """Add to a lock file, which has the date of the first download; print a line about it."""
    today = datetime.now(UTC).date().isoformat()
    write_json(lock, {"first_download": today, **read(lock), **said})
    print(f"{dataset}: first download, noted in {lock}; commit that file", flush=True)


def check(dataset: str, lock: Path, revision: str, found: Mapping[str, Mapping]) -> None:
    """Hold what was downloaded against the lock file, or note it there if it is the first.

    found: split -> what is known of it, its digest among it.
    Raises UserError naming the split that differs.
    """
    said = read(lock)
    # Texts were once locked by digests alone, without a date.
    digests = said.get("sha256") or {}
    locked = said.get("splits") or {split: {"text_sha256": d} for split, d in digests.items()}
    if not locked:
        write(dataset, lock, revision=revision, splits=found)
    elif locked != found:
        split = next(s for s in {**found, **locked} if found.get(s) != locked.get(s))
        raise UserError(
            f"{dataset}: split {split} has {_words(found.get(split))}, {lock.name} says "
            f"{_words(locked.get(split))}; the download is truncated or another dataset"
        )


def _words(state: Mapping | None) -> str:
    return ", ".join(f"{key} {value}" for key, value in (state or {}).items()) or "nothing"
