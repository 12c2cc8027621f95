"""Cell files: runs, their records and provenance, with a checksum; finished runs kept by id."""

import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repro.errors import UserError
from repro.files import canonical_json, read_json, sha256, sha256_file, write_json
from repro.study import Cell, Run
from repro.tasks import TASKS

FORMAT = 1
PACKAGES = ("torch", "numpy", "tokenizers")


def seal(content: dict) -> dict:
    """The content with its own SHA-256 under `sha256`."""
    return content | {"sha256": sha256(canonical_json(content))}


def unseal(path: Path) -> dict:
    """Read a sealed JSON file; raises UserError when it is not what was written."""
    content = read_json(path)
    found = content.pop("sha256", None) if isinstance(content, dict) else None
    expected = sha256(canonical_json(content))
    if found != expected:
        raise UserError(
            f"{path}: was changed after it was written (its checksum says {str(found)[:12]}, its "
            f"content {expected[:12]}); delete it and run the same command again"
        )
    return content


def _encode(record: Mapping) -> dict:
    """JSON has no infinity: write `"inf"`, which float() and pandas read back."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }


def run_cell(cell: Cell, path: Path, store: Path, inputs: Mapping, device: str, progress) -> int:
    """Carry out the runs of a cell and write its file; returns how many were taken over.

    store: folder of finished runs, one sealed file per run id, shared by all cells; a run found
    there is taken over, so a killed job goes on where it was. It holds no axes: two studies
    that share a run may name its point differently.
    progress: (index of the run, run) -> callback(step, loss).
    Raises UserError when a stored run was edited.
    """
    results, resumed = [], 0
    for index, run in enumerate(cell.runs):
        stored = store / f"{run.id}.json"
        if stored.exists():
            results.append(_checked(unseal(stored), run, stored) | {"axes": run.axes})
            resumed += 1
            continue
        start = time.monotonic()
        records = TASKS[run.task].run(
            run.spec,
            inputs=inputs,
            device=device,
            progress=progress(index, run),
            checkpoint=store / f"{run.id}.state",
        )
        result = {
            "id": run.id,
            "spec": run.spec,
            "datasets": run.datasets,
            "records": [_encode(record) for record in records],
            "provenance": provenance(device, inputs, time.monotonic() - start),
        }
        write_json(stored, seal(result))
        results.append(result | {"axes": run.axes})
    write_json(
        path,
        seal(
            {
                "format": FORMAT,
                "id": cell.id,
                "study": cell.study,
                "task": cell.runs[0].task,
                "task_version": cell.runs[0].task_version,
                "axes": cell.axes,
                "runs": results,
            }
        ),
    )
    return resumed


def _checked(result: dict, run: Run, path: Path) -> dict:
    if result["id"] != run.id:
        raise UserError(f"{path}: holds run {result['id'][:12]}, not {run.id[:12]}; delete it")
    return result


def read_cell(path: Path, cell: Cell) -> dict:
    """A cell's file, wherever it was computed; raises UserError unless it is exactly this cell."""
    if not path.exists():
        raise UserError(f"{path}: is missing; the grid has a hole, run the same command again")
    content = unseal(path)
    if content.get("format") != FORMAT:
        raise UserError(f"{path}: format {content.get('format')}, this suite reads {FORMAT}")
    if content["id"] != cell.id or [r["id"] for r in content["runs"]] != [r.id for r in cell.runs]:
        raise UserError(
            f"{path}: holds cell {content['id'][:12]}, not {cell.id[:12]} (another spec, scale or "
            "data source); delete it and run the same command again"
        )
    return content


def check_compatible(contents: Mapping[Path, Mapping]) -> None:
    """Raise UserError when cells of one figure come from several devices or other tokens."""
    devices: dict[str, Path] = {}
    digests: dict[str, tuple[str, Path]] = {}
    for path, content in contents.items():
        for run in content["runs"]:
            devices.setdefault(run["provenance"]["device"], path)
            for name, digest in run["provenance"]["inputs"].items():
                first = digests.setdefault(name, (digest, path))
                if first[0] != digest:
                    raise UserError(
                        f"{path}: read other {name} than {first[1]} did ({digest[:12]} against "
                        f"{first[0][:12]}); delete the one that is not to be kept"
                    )
    if len(devices) > 1:
        listed = ", ".join(f"{device} ({path})" for device, path in devices.items())
        raise UserError(
            f"one figure never mixes devices, found {listed}; delete the cells of one of them"
        )


def provenance(device: str, inputs: Mapping, seconds: float) -> dict:
    """Where and with what a run was made; no part of its id."""
    if device == "cpu":
        name = "cpu"
    else:
        import torch

        from repro.device import describe

        name = describe(torch.device(device))
    return {
        "device": name,
        "host_cpu": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "seconds": round(seconds, 3),
        "commit": commit(),
        "inputs": {
            f"{need.dataset}/{need.vocab_size}": sha256_file(path)
            for need, path in sorted(inputs.items(), key=str)
        },
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
        root = Path(__file__).resolve().parent.parent
        call = ["git", "-C", os.fspath(root)]
        head = subprocess.run([*call, "rev-parse", "HEAD"], capture_output=True, text=True)
        if head.returncode:
            return None
        clean = subprocess.run([*call, "diff", "--quiet", "HEAD"], capture_output=True)
        return head.stdout.strip() + ("+dirty" if clean.returncode else "")
    except FileNotFoundError:
        return None


def frame(contents: list[Mapping]):
    """A pandas DataFrame: one row per run and evaluation, columns the axes and the record."""
    import pandas as pd

    rows = [
        {**run["axes"], **record}
        for content in contents
        for run in content["runs"]
        for record in run["records"]
    ]
    table = pd.DataFrame(rows)
    for column in table.columns:
        if table[column].dtype == object:
            numeric = pd.to_numeric(table[column], errors="coerce")
            if numeric.notna().all():
                table[column] = numeric
    return table


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
