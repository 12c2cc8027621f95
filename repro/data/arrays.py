"""Datasets of inputs and labels: one safetensors file beside its manifest."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from repro.errors import UserError
from repro.files import atomic_path, read_json, sha256_file, write_json

FILE = "arrays.safetensors"


def write_arrays(
    arrays: Mapping[str, Mapping[str, np.ndarray]], identity: Mapping, destination: Path
) -> None:
    """Write arrays (split -> name -> array) to one file, then its manifest with a digest.

    identity: what the data are, kept in the manifest. destination: path of the manifest.
    Raises UserError when the disk is full; no file is left half-written.
    """
    from safetensors.numpy import save_file

    flat = {
        f"{split}.{name}": np.ascontiguousarray(array)
        for split, entry in arrays.items()
        for name, array in entry.items()
    }
    with atomic_path(destination.parent / FILE) as temporary:
        save_file(flat, temporary)
    write_json(
        destination,
        {
            "dataset": dict(identity),
            "arrays": {
                name: {"shape": list(array.shape), "dtype": str(array.dtype)}
                for name, array in flat.items()
            },
            "sha256": {FILE: sha256_file(destination.parent / FILE)},
        },
    )


def load_arrays(manifest_path: Path) -> dict[str, dict[str, np.ndarray]]:
    """Split -> name -> array, as written: {"train": {"inputs": (rows, ...), "labels": (rows,)}}.

    Raises UserError when the file is missing or its digest is not the manifest's.
    """
    from safetensors.numpy import load_file

    manifest = read_json(manifest_path)
    path = Path(manifest_path).parent / FILE
    if not path.exists() or sha256_file(path) != manifest["sha256"][FILE]:
        raise UserError(
            f"{path}: is missing or changed since it was written; delete {manifest_path} and "
            "run the same command again"
        )
    result: dict[str, dict[str, np.ndarray]] = {}
    for name, array in load_file(path).items():
        split, _, key = name.partition(".")
        result.setdefault(split, {})[key] = array
    return result
