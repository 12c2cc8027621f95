"""Where and with what a run was made; not part of its id."""

import json
import math
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

from repro.cost import Cost, Layout
from repro.files import json_bytes, read_sealed, sha256
from repro.lineage import arithmetic, history
from repro.lineage.arithmetic import cpu_model
from repro.lineage.checkout import FOLDERS, ROOT

NO_GPU: Mapping = MappingProxyType({})
PACKAGES = ("torch", "numpy", "tokenizers")
EVERY_FILE = "every file"  # what the digest of runs is of that were made before they named modules


def device_name(device: str) -> str:
    """The device by the name that provenance has for it: `cpu`, or the GPU's model."""
    if device == "cpu":
        return "cpu"
    import torch

    from repro.backend import describe, select

    return describe(select(device, torch.get_num_threads()))


def machine(device: str) -> dict[str, str | None]:
    """What a run is made with: "device" and "arithmetic"; of a GPU also its "capability"."""
    made: dict[str, str | None] = {"device": device_name(device)}
    made["arithmetic"] = arithmetic.in_force(device)
    if device != "cpu":
        from repro.backend import capability

        made["capability"] = capability(device)
    return made


def alike(made: Mapping) -> dict:
    """What must be equal where a run goes on from another's state, or is shown beside it: of a GPU
    its compute capability, and not its model."""
    return {key: v for key, v in made.items() if key != "device" or "capability" not in made}


def kind(made: Mapping) -> str:
    """The kind of device in words: `cpu`, or a GPU's compute capability."""
    found = made.get("capability")
    return f"compute capability {found}" if found else made["device"]


def devices(made: Iterable[Mapping]) -> list[str]:
    """The names of all devices that runs were made on, those among them on which one began."""
    return sorted(
        {name for entry in made for name in [entry["device"], *entry.get("began_on", ())]}
    )


def input_digests(inputs: Mapping) -> dict[str, str]:
    """Name of an input -> SHA-256 of its manifest, which holds its files' digests.

    Without the manifest's own checksum (seal), so that runs older than these seals are reused.
    inputs: need -> path of its manifest.
    """
    return {
        need.name: sha256(json_bytes(read_sealed(path, kind=dict)))
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


def provenance(
    setup: Mapping, made_by: Mapping, ranks: int, seconds: float, gpu: Mapping = NO_GPU
) -> dict:
    """A run's provenance. setup: its `machine` and digests of "inputs", which must be `alike`
    wherever the run is reused. made_by: `code_of_run.code_of` the run. ranks: number of processes
    that trained it. gpu: see `of_gpu`."""
    return {
        **setup,
        **gpu,
        "ranks": ranks,
        "host_cpu": cpu_model(),
        "python": platform.python_version(),
        "versions": releases(),
        "seconds": round(seconds, 3),
        **made_by,
    }


def of_gpu(device: str, chosen: Layout, cost: Cost) -> dict:
    """What a GPU's numbers hang on besides, in their last digits. "layout": how the run used its
    GPUs, "microbatches" of a step included. "gpu": driver, CUDA, cuDNN, Triton. {} on a CPU.

    cost: the run's, with the microbatches that it says itself.
    """
    if device == "cpu":
        return {}
    from repro.backend import software

    microbatches = math.lcm(chosen.microbatches or cost.microbatches, chosen.gpus)
    return {
        "layout": asdict(chosen) | {"microbatches": microbatches},
        "gpu": software(device),
    }


def releases() -> dict[str, str | None]:
    """The release of each of PACKAGES, None where it is not installed."""
    return {package: _version(package) for package in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit(files: Iterable[str] = FOLDERS, root: Path = ROOT) -> str | None:
    """The suite's commit, followed by `+dirty` if one of these files or folders differs from it or
    is not in it. None where git knows no commit (`history.git`): digests identify the code there
    too."""
    head = history.head(root)
    return head and head + ("+dirty" if history.is_changed(files, root) else "")


def code_versions(made: Iterable[Mapping]) -> dict[str, Counter[str]]:
    """Where the code of runs begins -> its digest -> how many runs are of it.

    made: provenances, each of one run, or of so many as its "runs" says. Those of before runs named
    the code they depend on have the digest of every file; they are under EVERY_FILE.
    """
    found: dict[str, Counter[str]] = {}
    for entry in made:
        begin = " ".join(entry.get("modules") or [EVERY_FILE])
        digest = str(entry.get("code_sha256") or entry.get("code"))
        found.setdefault(begin, Counter())[digest] += entry.get("runs", 1)
    return found


def mixture(made: Iterable[Mapping]) -> str:
    """The digests, each with its runs, if runs are of several versions of their code; else ""."""
    found = code_versions(made)
    several = {begin: counts for begin, counts in found.items() if len(counts) > 1}
    if EVERY_FILE in found and len(found) > 1:  # which of them are the same cannot be known
        several = found
    if not several:
        return ""
    return f"runs of several versions of their code: {listed(several)}"


# What is done about a mixture.
REMEDIES = (
    "delete the older runs' files in results/ and run again, or raise the task's version in "
    "repro/tasks/__init__.py, which makes all of them anew"
)


def listed(found: Mapping[str, Mapping[str, int]]) -> str:
    """`code_versions` in a line: `repro.tasks.transfer 3f2a9c51d0e4 (2 runs), ...`."""
    return "; ".join(
        f"{begin} " + ", ".join(f"{d[:12]} ({n} run{'s' * (n > 1)})" for d, n in counts.items())
        for begin, counts in found.items()
    )


def doubts(made: Sequence[Mapping]) -> list[str]:
    """Why what was made by these runs cannot be traced to one clean version of their code."""
    total = sum(entry["runs"] for entry in made)
    dirty = sum(entry["runs"] for entry in made if str(entry["commit"]).endswith("+dirty"))
    unknown = sum(entry["runs"] for entry in made if entry["commit"] is None)
    found = [mixture(made)]
    found += [f"{dirty} of {total} runs of a commit with changed files (+dirty)"] if dirty else []
    found += [f"{unknown} of {total} runs of no commit, made without git"] if unknown else []
    return [line for line in found if line]


def unclean(provenance: Mapping) -> str:
    """The mark of a record whose runs cannot be traced to one clean version of their code, as a
    sentence; "" for all others."""
    why = "; ".join(provenance.get("unclean", ()))
    return f"Recorded as it is: {why}." if why else ""


def standing(made: Iterable[Mapping], root: Path = ROOT) -> str:
    """How the commits that runs name stand in the history of this checkout, in words; "unknown"
    where there is none. A run is in it by its commit, or by the trees of its code's folders."""
    known = history.commits(root)
    if known is None:
        return "unknown"
    total = outside = dirty = 0
    for entry in made:
        name, _, changed = str(entry["commit"]).partition("+")
        trees = entry.get("trees") or {}
        kept = trees and all(id in (history.trees(f, root) or ()) for f, id in trees.items())
        total += entry["runs"]
        outside += entry["runs"] if name not in known and not kept else 0
        dirty += entry["runs"] if changed else 0
    return f"commits not in this history: {outside} of {total} runs; dirty: {dirty}"


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
