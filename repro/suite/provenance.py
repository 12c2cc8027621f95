"""Where and with what a run was made; no part of its id."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repro.files import canonical_json, json_bytes, read_sealed, sha256, sha256_file
from repro.suite.arithmetic import cpu_model
from repro.suite.registry import ROOT

PACKAGES = ("torch", "numpy", "tokenizers")
CODE = ("repro", "studies", "data")  # what a run executes; figures only read it


def device_name(device: str) -> str:
    """`cpu`, or the GPU's own name."""
    if device == "cpu":
        return "cpu"
    import torch

    from repro.training.device import describe, select

    return describe(select(device, torch.get_num_threads()))


def input_digests(inputs: Mapping) -> dict[str, str]:
    """SHA-256 of what every input's manifest says, which holds its files' digests.

    Without its seal: runs made before manifests were sealed read the same, and are taken over.
    """
    return {
        need.name: sha256(json_bytes(read_sealed(path)))
        for need, path in sorted(inputs.items(), key=str)
    }


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
        "code": code_digest(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def commit(root: Path = ROOT) -> str | None:
    """The suite's commit, `+dirty` where the code that runs differs from it, files git does not
    know included.

    None where `root` is no git checkout of its own: an unpacked archive has no commit, whatever
    repository lies around it or GIT_DIR names; `code_digest` says what ran all the same.
    """
    # A shared checkout belongs to somebody else; asking for its commit runs nothing of theirs.
    call = ["git", "-c", f"safe.directory={root}", "-c", "core.fsmonitor=", "-C", os.fspath(root)]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}

    def git(*words: str) -> str | None:
        done = subprocess.run([*call, *words], capture_output=True, text=True, env=env)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        top, head = git("rev-parse", "--show-toplevel"), git("rev-parse", "HEAD")
    except FileNotFoundError:  # no git on this machine
        return None
    if head is None or top is None or Path(top).resolve() != root:
        return None
    changed = git("status", "--porcelain", "--untracked-files=all", "--", *CODE)
    return head + ("+dirty" if changed or changed is None else "")


@cache
def code_digest(root: Path = ROOT) -> str:
    """SHA-256 over the names and contents of every .py file a run may execute."""
    files = sorted(path for folder in CODE for path in (root / folder).rglob("*.py"))
    found = {path.relative_to(root).as_posix(): sha256_file(path) for path in files}
    return sha256(canonical_json(found))


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
