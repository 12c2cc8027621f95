"""Carries out a job: its runs one after another, unless finished before. No torch at import."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

from repro.cost import Cost, Layout
from repro.errors import UserError
from repro.files import (
    CELL_SEAL,
    atomic_path,
    canonical_json,
    read_sealed,
    remove_temporaries,
    sha256,
    sha256_file,
    write_sealed,
)
from repro.suite import arithmetic
from repro.suite.cells import FINISHED, FORMAT, check_keys, encode_record, read_cell
from repro.suite.locks import locked
from repro.suite.plan import Cell, Run
from repro.suite.provenance import device_name, input_digests, provenance, stopwatch
from repro.suite.study import Proposal
from repro.tasks import TASKS


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
    """Carry out the runs of a cell and write its file; returns how many were finished before.

    A cell is the runs of one job. If several ranks share it (`repro.training.distributed`), only
    rank 0 writes files and takes locks.

    store: folder of finished runs, one sealed file per run id, shared by all cells. It holds no
    axes, because two studies that share a run may name its point differently. A run found
    there is reused, so that a killed job continues where it stopped. If it was made on another
    device, with another arithmetic or from other tokens, it is made again, and the job says so.
    While another job trains a run, this one waits for it.
    inputs: need -> path of its manifest. device: "cpu" or "cuda".
    progress: (index of the run, run) -> callback(step, loss).
    read: upstream run (one whose result this cell uses) -> its result (`UpstreamResults`).
    checkpoints: folder for the runs' final checkpoints; None if no later stage needs them.
    widen: whether a search may grow past its grid.
    layout: a run's cost -> how it uses its GPUs.
    Raises UserError when a stored run was edited, or a search would grow although it may not.
    """
    from repro.training import distributed

    read = UpstreamResults({}) if read is None else read
    main = distributed.is_main()
    results, resumed = [], 0
    if checkpoints:
        checkpoints.mkdir(parents=True, exist_ok=True)
    machine = {
        "device": distributed.broadcast_from_rank0(lambda: device_name(device)),
        "arithmetic": arithmetic.in_force(device),
    }
    digests = input_digests(inputs)
    for index, run in enumerate(cell.runs):
        stored = store / f"{run.id}.json"
        final = store / f"{run.id}.safetensors" if checkpoints else None
        # A finished run is reused only if it was made with the same setup. Its id names its
        # upstream runs; that these were made again, with other results, only their records show.
        setup = machine | {"inputs": digests | _upstream_digests(run, read)}
        with locked(store / f"{run.id}.lock") if main else nullcontext():
            if main:
                remove_temporaries(store, f".{run.id}*")
            # Rank 0 looks for all, because either all ranks must train or none.
            result = distributed.broadcast_from_rank0(lambda: _stored(stored, run, setup, final))  # noqa: B023
            resumed += result is not None
            if result is None:
                seconds = stopwatch(device)
                spec, tuned = run.resolve(read)
                # A proposal without a value is one the search did not need: skipped, and recorded
                # as such, since the workflow expects a result of every job.
                skipped = None in tuned.values()
                if not skipped and not widen:
                    refuse_growth(run, tuned)
                context = {
                    "inputs": inputs,
                    "device": device,
                    "progress": progress(index, run) if main else lambda step, loss: None,
                    # The state to resume from is named by its setup, so that a run never
                    # continues on another device, arithmetic or input than it began with.
                    "checkpoint": store / f"{run.id}-{sha256(canonical_json(setup))[:12]}.state",
                    **({"final": final} if final else {}),
                }
                records = [] if skipped else _train(cell, run, spec, layout, context)
                if not main:
                    continue
                result = {
                    "id": run.id,
                    "spec": spec,
                    **({"tuned": tuned} if run.upstream else {}),
                    **({"sha256_checkpoint": sha256_file(final)} if final and not skipped else {}),
                    "datasets": run.datasets,
                    "records": [encode_record(record) for record in records],
                    "provenance": provenance(setup, distributed.ranks(), seconds()),
                }
                write_sealed(stored, result, CELL_SEAL)
            # Only after the result is on disk: a job killed before that needs the state.
            for state in store.glob(f"{run.id}*.state") if main else ():
                state.unlink(missing_ok=True)
            if main and checkpoints and final and result["records"]:
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
        with locked(path.with_suffix(".lock")):
            remove_temporaries(path.parent, f".{path.stem}-*")
            write_sealed(path, content, CELL_SEAL)
    return resumed


def _upstream_digests(run: Run, read: Callable[[Run], Mapping]) -> dict[str, str]:
    """`run <id>` -> digest of its records, for each upstream run whose result this run may use."""
    return {
        f"run {candidate.id[:12]}": sha256(canonical_json(read(candidate)["records"]))
        for upstream in run.upstream.values()
        for candidate in upstream.runs
    }


def _train(
    cell: Cell, run: Run, spec: Mapping, layout: Callable[[Cost], Layout], context: Mapping
) -> list[dict]:
    """Train a run and return its records; a UserError from the task gets the run's axes added."""
    from repro.training import distributed

    task = TASKS[run.task]
    try:
        with distributed.laid_out(layout(task.cost(spec))):
            return task.run(spec, **context)
    except UserError as error:
        point = ", ".join([cell.study, *(f"{k} {v}" for k, v in run.axes.items())])
        raise UserError(f"{point}: {error}") from error


def refuse_growth(run: Run, tuned: Mapping) -> None:
    """Raise UserError if a search proposed the run, which then lies past the edge of its grid."""
    proposed = {
        key: tuned[key]
        for key, upstream in run.upstream.items()
        if isinstance(upstream.reference, Proposal)
    }
    if proposed:
        stage = run.upstream[next(iter(proposed))].reference.stage
        point = ", ".join(f"{key} = {value:.4g}" for key, value in proposed.items())
        raise UserError(
            f"stage {stage}: the best run lies at the edge of its grid, next would be {point}; "
            "extend the study's grid, or let it grow with --config at_edge=widen"
        )


def link(source: Path, target: Path) -> None:
    """Make the file available at another path too: a hard link, or a copy if the disk has none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)


class UpstreamResults:
    """Called with an upstream run, reads its entry in its cell's file; with "file" and "sha256" of
    its final checkpoint, if it has one.

    cells: run id -> (cell, its file, its folder of checkpoints).
    Raises UserError if a cell is missing or was edited.
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


def _stored(path: Path, run: Run, setup: Mapping, final: Path | None) -> dict | None:
    """The finished run in this file; None if there is none that was made with this setup.

    setup: device, arithmetic, digests of inputs. final: where its checkpoint must be, undamaged.
    """
    if not path.exists():
        return None
    result = read_sealed(path, CELL_SEAL)
    check_keys(result, FINISHED, path)
    if result["id"] != run.id:
        raise UserError(f"{path}: holds run {result['id'][:12]}, not {run.id[:12]}; delete it")
    expected = result.get("sha256_checkpoint")
    if final and result["records"] and not (final.exists() and expected == sha256_file(final)):
        return None
    made = result["provenance"] | {"arithmetic": arithmetic.of(result["provenance"])}
    changed = [key for key in setup if made.get(key) != setup[key]]
    if not changed:
        return result
    named = (f"{k} {made[k]}" if isinstance(made.get(k), str) else f"other {k}" for k in changed)
    print(f"run {run.id[:12]} was finished with {', '.join(named)}: made again", flush=True)
    return None
