"""SHA-256 of large files, computed again only when a file's size or time has changed."""

from pathlib import Path

from repro.errors import UserError
from repro.files import read_sealed, sha256_file, write_sealed


def remembered_sha256(path: Path, memory: Path) -> str:
    """SHA-256 of a file, taken from `memory` if the file's size and modification time are the same.

    memory: JSON file with the digest, size and time; rewritten when size or time differ.
    Damage that changes neither is not noticed: delete `memory` to compute the digest again.
    """
    status = path.stat()
    state = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    if memory.exists():
        try:
            known = read_sealed(memory)
        except UserError:  # damaged or changed: computing the digest again costs only time
            known = {}
        if {key: known.get(key) for key in state} == state:
            return known["sha256"]
    digest = sha256_file(path)
    write_sealed(memory, state | {"sha256": digest})
    return digest
