"""Where and with what a run was made; not part of its id."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repro.files import canonical_json, json_bytes, read_sealed, sha256, sha256_file
from repro.suite.arithmetic import cpu_model
from repro.suite.registry import ROOT

PACKAGES = ("torch", "numpy", "tokenizers")
# Folders with the code of a run; figures only read its result.
CODE = ("repro", "widthwise", "studies", "data")


def device_name(device: str) -> str:
    """The device by the name that provenance has for it: `cpu`, or the GPU's model."""
    if device == "cpu":
        return "cpu"
    import torch

    from repro.training.device import describe, select

    return describe(select(device, torch.get_num_threads()))


def input_digests(inputs: Mapping) -> dict[str, str]:
    """Name of an input -> SHA-256 of its manifest, which holds its files' digests.

    Without the manifest's own checksum (seal), so that runs older than these seals are reused.
    inputs: need -> path of its manifest.
    """
    return {
        need.name: sha256(json_bytes(read_sealed(path)))
        for need, path in sorted(inputs.items(), key=str)
    }


def stopwatch(device: str) -> Callable[[], float]:
    """A function that says how many seconds the work since now has taken: on a CPU no more than
    this process computed, so that what else the machine did meanwhile is no part of a run's price.
    device: "cpu" or "cuda"."""
    begin, computed = time.monotonic(), time.process_time()

    def seconds() -> float:
        passed = time.monotonic() - begin
        return passed if device == "cuda" else min(passed, time.process_time() - computed)

    return seconds


def provenance(setup: Mapping, ranks: int, seconds: float, stacked: int = 1) -> dict:
    """A run's provenance. setup: its "device", "arithmetic" and digests of "inputs", which must be
    the same wherever the run is reused. ranks: number of processes that trained it. stacked:
    how many runs were trained as one with it, itself included, which share the seconds."""
    return {
        **setup,
        "ranks": ranks,
        **({"stacked": stacked} if stacked > 1 else {}),
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
    """The suite's commit, followed by `+dirty` if files of CODE differ from it or are untracked.

    None if `root` is not itself a git checkout: an unpacked archive has no commit, even inside
    another repository or with GIT_DIR set. `code_digest` identifies the code there too.
    """
    # Git refuses another user's checkout, whose configuration could name programs to run:
    # safe.directory permits it, and with fsmonitor off no such program is run.
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
    """SHA-256 over the names and contents of every .py file that a run may execute."""
    files = sorted(path for folder in CODE for path in (root / folder).rglob("*.py"))
    digests = {path.relative_to(root).as_posix(): sha256_file(path) for path in files}
    return sha256(canonical_json(digests))


def provenances(contents: list[Mapping]) -> list[dict]:
    """The distinct provenances of the runs in some cells' contents, each with the number of its
    runs and their total seconds; without the digests of inputs."""
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
