"""Where and with what a run was made; no part of its id."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repro.files import sha256_file
from repro.suite.arithmetic import cpu_model

PACKAGES = ("torch", "numpy", "tokenizers")


def device_name(device: str) -> str:
    """`cpu`, or the GPU's own name."""
    if device == "cpu":
        return "cpu"
    import torch

    from repro.training.device import describe, select

    return describe(select(device, torch.get_num_threads()))


def input_digests(inputs: Mapping) -> dict[str, str]:
    """SHA-256 of every input's manifest, which holds its files' digests."""
    return {need.name: sha256_file(path) for need, path in sorted(inputs.items(), key=str)}


def provenance(here: Mapping, ranks: int, seconds: float) -> dict:
    """Where and with what a run was made; no part of its id."""
    return {
        **here,
        "ranks": ranks,
        "host_cpu": cpu_model(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "seconds": round(seconds, 3),
        "commit": commit(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def commit() -> str | None:
    """The commit of the suite, `+dirty` when tracked files differ from it; None without git."""
    try:
        root = Path(__file__).resolve().parents[2]
        call = ["git", "-C", os.fspath(root)]
        head = subprocess.run([*call, "rev-parse", "HEAD"], capture_output=True, text=True)
        if head.returncode:
            return None
        clean = subprocess.run([*call, "diff", "--quiet", "HEAD"], capture_output=True)
        return head.stdout.strip() + ("+dirty" if clean.returncode else "")
    except FileNotFoundError:
        return None


def provenances(contents: list[Mapping]) -> list[dict]:
    """The distinct provenances of some cells, seconds added up, as short as can be."""
    merged: dict[str, dict] = {}
    for content in contents:
        for run in content["runs"]:
            entry = dict(run["provenance"])
            seconds, _ = entry.pop("seconds"), entry.pop("inputs")
            key = json.dumps(entry, sort_keys=True)
            total = merged.setdefault(key, entry | {"runs": 0, "seconds": 0.0})
            total["runs"] += 1
            total["seconds"] = round(total["seconds"] + seconds, 1)
    return list(merged.values())
