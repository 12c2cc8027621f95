"""Checksums, seals, and writes that leave either the whole file or nothing."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.errors import UserError
from widthwise.files import atomic_path as atomic_path
from widthwise.files import disk_fault as disk_fault
from widthwise.files import open_file as open_file
from widthwise.hints import misfit

REMEDY = "delete it and run the same command again"
# Where a file holds its own checksum. A cell's lies under "sha256", which in what is prepared under
# resources/ already names the digests of the files beside it.
CELL_SEAL, SEAL = "sha256", "seal"


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path | str) -> str:
    """Hexadecimal SHA-256 of a file; raises UserError as `open_file`."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: object, default: Callable[[Any], object] | None = None) -> bytes:
    """The one byte string of a JSON value: sorted keys, no spaces, no NaN. default: what stands for
    a value that is of none of JSON's types."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=default
    )
    return text.encode()


def remove_temporaries(folder: Path, pattern: str = ".*") -> None:
    """Remove what killed processes left in a folder while they wrote; call it only where nobody
    else is writing what the pattern names."""
    for left in folder.glob(pattern):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def write_bytes(path: Path | str, data: bytes, durable: bool = True) -> None:
    """Write a whole file or nothing. durable: as of `atomic_path`."""
    with atomic_path(path, durable) as temporary:
        temporary.write_bytes(data)


def key_of(value: object) -> str:
    """The name of a folder that holds what is made of a JSON value: the first 12 characters of its
    digest."""
    return sha256(canonical_json(value))[:12]


def json_bytes(value: object) -> bytes:
    """A JSON value as files hold it, indented; raises ValueError on NaN and infinity."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def write_json(path: Path | str, value: object) -> None:
    """Write `json_bytes`, the whole file or nothing."""
    write_bytes(path, json_bytes(value))


def read_as(path: Path | str, kind: Any, remedy: str = REMEDY) -> Any:
    """A JSON file's value, of a type as `hints.misfit` has them: how the suite reads whatever
    somebody else may have written. Raises UserError, naming it, where it is of another."""
    found = read_json(path, remedy)
    check_keys(found, kind, path, remedy)
    return found


def check_keys(content: object, kind: Any, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming the file, unless its content is of a type, as `hints.misfit` has
    them."""
    if wrong := misfit(content, kind):
        raise UserError(f"{name}: was not written by this suite, {wrong}; {remedy}")


def read_table(path: Path | str, remedy: str = REMEDY) -> Any:
    """A data.csv, as a pandas DataFrame. Raises UserError, naming it, where it is no table."""
    import pandas as pd

    try:
        with open_file(path) as file:
            return pd.read_csv(file)
    except ValueError as error:  # pandas' own are such, too
        words = str(error).strip().partition("\n")[0]
        raise UserError(f"{path}: is no table ({words:.200}); {remedy}") from None


def read_json(path: Path | str, remedy: str = REMEDY) -> Any:
    """Read a JSON file; raises UserError when it is missing, no file or not JSON."""
    try:
        with open_file(path) as file:
            data = file.read()
    except FileNotFoundError:
        raise UserError(f"{path}: is missing; build it again with snakemake") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder where a file should be; remove it") from None
    return parse_json(data, path, remedy)


def parse_json(data: bytes, name: object, remedy: str) -> Any:
    """The value of JSON bytes, without NaN and infinity, which `write_json` never writes.

    Raises UserError, naming where they are from and the way out.
    """

    def refuse(constant: str):
        raise ValueError(f"{constant} is no number of JSON")

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: is not valid JSON ({error}); {remedy}") from None


def seal(content: dict, key: str = CELL_SEAL) -> dict:
    """The content with its own SHA-256 under `key`.

    It shows that a file was changed, not by whom: whoever can write the file can seal it again.
    """
    return content | {key: sha256(canonical_json(content))}


def check_seal(content: Any, name: object, remedy: str = REMEDY, key: str = CELL_SEAL) -> dict:
    """A sealed JSON value without its checksum; raises UserError naming it when they differ."""
    if not isinstance(content, dict) or key not in content:
        raise UserError(
            f"{name}: holds no checksum of its own: it was changed, or written before such files "
            f"were sealed; {remedy}"
        )
    rest = {name: value for name, value in content.items() if name != key}
    try:
        found, expected = content[key], sha256(canonical_json(rest))
    except (ValueError, RecursionError):  # 1e999 is read as infinity
        raise UserError(f"{name}: holds what JSON cannot; {remedy}") from None
    if found != expected:
        raise UserError(
            f"{name}: was changed after it was written (its checksum says {str(found)[:12]}, its "
            f"content {expected[:12]}); {remedy}"
        )
    return rest


def write_sealed(path: Path | str, content: dict, key: str = SEAL) -> None:
    """Write JSON with its own checksum, the whole file or nothing."""
    write_json(path, seal(content, key))


def seal_of(path: Path | str, key: str = CELL_SEAL) -> str:
    """The checksum that a sealed file ends with, without a look at the rest; "" where there is
    none. Whoever uses the content reads it by `read_sealed`."""
    with open_file(path) as file:
        file.seek(max(0, os.path.getsize(path) - 200))
        found = re.search(rb'"%b": "([0-9a-f]{64})"\s*}\s*$' % key.encode(), file.read())
    return found[1].decode() if found else ""


def read_sealed(path: Path | str, key: str = SEAL, remedy: str = REMEDY, kind: Any = dict) -> dict:
    """What `write_sealed` wrote, of a type as `hints.misfit` has them; raises UserError naming the
    file when it is anything else."""
    found = check_seal(read_json(path, remedy), path, remedy, key)
    check_keys(found, kind, path, remedy)
    return found


def vouched(path: Path, digest: str, manifest_path: Path | str) -> Path:
    """The path of a file, whole: of the SHA-256 that its manifest says; else raises UserError."""
    if not path.is_file() or sha256_file(path) != digest:
        raise UserError(
            f"{path}: is missing or changed since it was written; delete {manifest_path} and "
            "run the same command again"
        )
    return path
