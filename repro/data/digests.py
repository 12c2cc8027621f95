"""SHA-256 of large files, computed again only when a file's size or time has changed."""

from collections.abc import Callable
from pathlib import Path

from repro.errors import UserError
from repro.files import read_sealed, sha256, sha256_file, write_sealed

LARGE = 64 * 2**20  # bytes; digests of larger files of a user's are remembered


def of_users_file(path: Path, check: Callable[[Path], None] = lambda path: None) -> str:
    """SHA-256 of a file in a user's folder, remembered under resources/ if it is large. check:
    called with the file before its digest is computed."""
    if path.stat().st_size < LARGE:
        check(path)
        return sha256_file(path)
    memory = Path("resources", "digests", f"{sha256(str(path.resolve()).encode())}.json")
    return remembered_sha256(path, memory, check)


def remembered_sha256(
    path: Path, memory: Path, check: Callable[[Path], None] = lambda path: None
) -> str:
    """SHA-256 of a file, taken from `memory` if the file's size and modification time are the same.

    memory: JSON file with the digest, size and time; rewritten when size or time differ. check:
    called with the file before its digest is computed.
    Damage that changes neither is not noticed: delete `memory` to compute the digest again.
    """
    status = path.stat()
    state = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    if memory.exists():
        try:
            known = read_sealed(memory, kind={"size": int, "mtime_ns": int, "sha256": str})
        except UserError:  # damaged or changed: computing the digest again costs only time
            known = {}
        if {key: known.get(key) for key in state} == state:
            return known["sha256"]
    check(path)
    digest = sha256_file(path)
    write_sealed(memory, state | {"sha256": digest})
    return digest
