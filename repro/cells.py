"""Cell files: runs, their records and provenance, with a checksum; finished runs kept by id."""

import fcntl
import json
import math
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repro.cost import Cost, Layout
from repro.errors import UserError
from repro.files import atomic_path, canonical_json, read_json, sha256, sha256_file, write_json
from repro.study import Cell, Neighbour, Run
from repro.tasks import TASKS

FORMAT = 1
PACKAGES = ("torch", "numpy", "tokenizers")


def seal(content: dict) -> dict:
    """The content with its own SHA-256 under `sha256`."""
    return content | {"sha256": sha256(canonical_json(content))}


def unseal(path: Path) -> dict:
    """Read a sealed JSON file; raises UserError when it is not what was written."""
    return check_seal(read_json(path), path)


REMEDY = "delete it and run the same command again"


def check_seal(content: dict, name: object, remedy: str = REMEDY) -> dict:
    """A sealed JSON value without its checksum; raises UserError naming it when they differ."""
    found = content.pop("sha256", None) if isinstance(content, dict) else None
    expected = sha256(canonical_json(content))
    if found != expected:
        raise UserError(
            f"{name}: was changed after it was written (its checksum says {str(found)[:12]}, its "
            f"content {expected[:12]}); {remedy}"
        )
    return content


def check_format(content: Mapping, name: object, remedy: str = REMEDY) -> None:
    """Raise UserError, naming it, unless a cell is of the format this suite reads."""
    if content.get("format") != FORMAT:
        raise UserError(
            f"{name}: is no cell of this suite's format {FORMAT} (format {content.get('format')}); "
            + remedy
        )


def _encode(record: Mapping) -> dict:
    """JSON has no infinity: write `"inf"`, which float() and pandas read back."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }


def run_cell(
    cell: Cell,
    path: Path,
    store: Path,
    inputs: Mapping,
    device: str,
    progress,
    *,
    read: Callable[[Run], Mapping] | None = None,
    checkpoints: Path | None = None,
    widen: bool = True,
    layout: Callable[[Cost], Layout] = lambda cost: Layout(),
) -> int:
    """Carry out the runs of a cell and write its file; returns how many were taken over.

    Where several ranks do so together (`repro.distributed`), rank 0 alone writes and takes locks.

    store: folder of finished runs, one sealed file per run id, shared by all cells; a run found
    there is taken over, so a killed job goes on where it was, unless it was made on another
    device or read other tokens. It holds no axes: two studies that share a run may name its
    point differently; a job that finds a run in another job's hands waits for it.
    progress: (index of the run, run) -> callback(step, loss).
    read: run of an earlier stage -> its result (`Earlier`), where runs take from one.
    checkpoints: folder to put the runs' final checkpoints in, None where no later stage needs them.
    widen: whether a search may grow past its grid.
    layout: a run's cost -> how it lies on its GPUs.
    Raises UserError when a stored run was edited, and where a search may not grow and would.
    """
    from repro import distributed

    main = distributed.is_main()
    results, resumed = [], 0
    if checkpoints:
        checkpoints.mkdir(parents=True, exist_ok=True)
    device_used, digests = device_name(device), input_digests(inputs)
    for index, run in enumerate(cell.runs):
        stored = store / f"{run.id}.json"
        final = store / f"{run.id}.safetensors" if checkpoints else None
        taken = {
            f"run {u.id[:12]}": sha256(canonical_json(read(u)["records"]))
            for each in run.takes.values()
            for u in each.runs
        }
        here = {"device": device_used, "inputs": digests | taken}
        with locked(store / f"{run.id}.lock") if main else nullcontext():
            for left in store.glob(f".{run.id}-*") if main else ():
                left.unlink(missing_ok=True)  # by a job killed while it wrote
            result = distributed.from_main(lambda: _stored(stored, run, here, final))  # noqa: B023
            resumed += result is not None
            if result is None:
                start = time.monotonic()
                spec, tuned = run.resolve(read)
                made = None not in tuned.values()
                if made and not widen:
                    refuse_growth(run, tuned)
                task = TASKS[run.task]
                context = {
                    "inputs": inputs,
                    "device": device,
                    "progress": progress(index, run) if main else lambda step, loss: None,
                    "checkpoint": store / f"{run.id}.state",
                    **({"final": final} if final else {}),
                }
                try:
                    with distributed.laid_out(layout(task.cost(spec)) if made else Layout()):
                        records = task.run(spec, **context) if made else []
                except UserError as error:
                    where = ", ".join([cell.study, *(f"{k} {v}" for k, v in run.axes.items())])
                    raise UserError(f"{where}: {error}") from error
                if not main:
                    continue
                result = {
                    "id": run.id,
                    "spec": spec,
                    **({"tuned": tuned} if run.takes else {}),
                    **({"sha256_checkpoint": sha256_file(final)} if final and made else {}),
                    "datasets": run.datasets,
                    "records": [_encode(record) for record in records],
                    "provenance": provenance(here, distributed.ranks(), time.monotonic() - start),
                }
                write_json(stored, seal(result))
                context["checkpoint"].unlink(missing_ok=True)
            if main and final and result["records"]:
                link(final, checkpoints / final.name)
        results.append(result | {"axes": run.axes})
    if main:
        content = {
            "format": FORMAT,
            "id": cell.id,
            "study": cell.study,
            "task": cell.runs[0].task,
            "task_version": cell.runs[0].task_version,
            "axes": cell.axes,
            "runs": results,
        }
        write_json(path, seal(content))
    return resumed


def refuse_growth(run: Run, tuned: Mapping) -> None:
    """Raise UserError when a run is one a search asks for past the edge of its grid."""
    asked = {
        key: tuned[key]
        for key, taken in run.takes.items()
        if isinstance(taken.reference, Neighbour)
    }
    if asked:
        stage = run.takes[next(iter(asked))].reference.stage
        words = ", ".join(f"{key} = {value:.4g}" for key, value in asked.items())
        raise UserError(
            f"stage {stage}: the best run lies at the edge of its grid, next would be {words}; "
            "extend the study's grid, or let it grow with --config at_edge=widen"
        )


def link(source: Path, target: Path) -> None:
    """The same file at another path, a copy where the disk has no hard links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)


class Earlier:
    """Reads results of earlier stages: run -> result with "file", its checkpoint's path.

    cells: run id -> (cell, its file, its folder of checkpoints).
    Raises UserError when a cell is missing or was changed.
    """

    def __init__(self, cells: Mapping[str, tuple[Cell, Path, Path]]):
        self.cells = cells
        self.contents: dict[Path, dict[str, dict]] = {}

    def __call__(self, run: Run) -> dict:
        cell, path, folder = self.cells[run.id]
        if path not in self.contents:
            runs = read_cell(path, cell)["runs"]
            self.contents[path] = {result["id"]: result for result in runs}
        result = self.contents[path][run.id]
        file = os.fspath(folder / f"{run.id}.safetensors")
        return result | {"file": file, "sha256": result.get("sha256_checkpoint")}


def _stored(path: Path, run: Run, here: Mapping, final: Path | None) -> dict | None:
    """A finished run made with the device and inputs at hand, None where there is none.

    final: its checkpoint must be there as well, whole.
    """
    if not path.exists():
        return None
    result = unseal(path)
    if result["id"] != run.id:
        raise UserError(f"{path}: holds run {result['id'][:12]}, not {run.id[:12]}; delete it")
    made = {key: result["provenance"][key] for key in here}
    expected = result.get("sha256_checkpoint")
    if final and result["records"] and not (final.exists() and expected == sha256_file(final)):
        return None
    return result if made == here else None


@contextmanager
def locked(path: Path):
    """Hold a file lock; a process that dies lets it go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(file, path):  # the holder before removed it: others lock a new one
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(file, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def read_cell(path: Path, cell: Cell) -> dict:
    """A cell's file, wherever it was computed; raises UserError unless it is exactly this cell."""
    if not path.exists():
        raise UserError(f"{path}: is missing; the grid has a hole, run the same command again")
    content = unseal(path)
    check_format(content, path)
    if content["id"] != cell.id or [r["id"] for r in content["runs"]] != [r.id for r in cell.runs]:
        raise UserError(
            f"{path}: holds cell {content['id'][:12]}, not {cell.id[:12]} (another spec, scale or "
            f"data source); {REMEDY}"
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


def device_name(device: str) -> str:
    """`cpu`, or the GPU's own name."""
    if device == "cpu":
        return "cpu"
    import torch

    from repro.device import describe, select

    return describe(select(device, torch.get_num_threads()))


def input_digests(inputs: Mapping) -> dict[str, str]:
    """SHA-256 of every input's manifest, which holds its files' digests."""
    return {need.name: sha256_file(path) for need, path in sorted(inputs.items(), key=str)}


def provenance(here: Mapping, ranks: int, seconds: float) -> dict:
    """Where and with what a run was made; no part of its id."""
    return {
        **here,
        "ranks": ranks,
        "host_cpu": platform.processor() or platform.machine(),
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
        {
            **run["axes"],
            **run.get("tuned", {}),
            **{key: value for key, value in record.items() if not isinstance(value, Mapping)},
        }
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
