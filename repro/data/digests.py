"""SHA-256 of large files, taken once per state of the file."""

from pathlib import Path

from repro.errors import UserError
from repro.files import read_json, sha256_file, write_json


def remembered_sha256(path: Path, memory: Path) -> str:
    """SHA-256 of a file, from `memory` when the file has the size and time it had then.

    memory: JSON file of this one's digest, written anew when size or modification time differ.
    A damage that leaves both as they were is not seen: delete `memory` to look again.
    """
    status = path.stat()
    state = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    if memory.exists():
        try:
            known = read_json(memory)
        except UserError:  # cut short: a digest that is taken again costs time only
            known = {}
        if {key: known.get(key) for key in state} == state:
            return known["sha256"]
    digest = sha256_file(path)
    write_json(memory, state | {"sha256": digest})
    return digest
