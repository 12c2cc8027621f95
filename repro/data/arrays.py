"""Datasets of inputs and labels: one safetensors file beside its manifest."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from repro.files import atomic_path, read_sealed, sha256_file, vouched, write_sealed

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
    write_sealed(
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

    manifest = read_sealed(manifest_path, kind={"sha256": dict[str, str]})
    path = vouched(Path(manifest_path).parent / FILE, manifest["sha256"][FILE], manifest_path)
    result: dict[str, dict[str, np.ndarray]] = {}
    for name, array in load_file(path).items():
        split, _, key = name.partition(".")
        result.setdefault(split, {})[key] = array
    return result
