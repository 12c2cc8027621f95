"""Carries out a job: its runs one after another, unless finished before. No torch at import."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from repro.core.cells import FINISHED, FORMAT, check_result, encode_record
from repro.core.code_of_run import code_of
from repro.core.locks import locked
from repro.core.names import StageName
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.core.study import Proposal
from repro.core.upstream import UpstreamResults
from repro.cost import Cost, Layout
from repro.errors import UserError
from repro.files import (
    CELL_SEAL,
    atomic_path,
    canonical_json,
    read_as,
    read_sealed,
    remove_temporaries,
    sha256,
    sha256_file,
    write_json,
    write_sealed,
)
from repro.lineage import arithmetic, foreign
from repro.lineage.provenance import (
    alike,
    code_versions,
    input_digests,
    listed,
    machine,
    of_gpu,
    provenance,
    stopwatch,
)
from repro.tasks import TASKS
from repro.training import ranks

# What is noted beside a state of the GPUs that trained it.
BEGUN = {"capability": str, "devices": list[str]}


def run_cell(
    cell: Cell,
    path: Path,
    store: Path,
    inputs: Mapping,
    device: str,
    progress,
    *,
    read: UpstreamResults | None = None,
    checkpoints: Path | None = None,
    widen: bool = True,
    layout: Callable[[Cost], Layout] = lambda cost: Layout(),
) -> int:
    """Carry out the runs of a cell and write its file; returns how many were finished before.

    A cell is the runs of one job. If several ranks share it (`repro.training.ranks`), only
    rank 0 writes files and takes locks.

    store: folder of finished runs (`homes`), one sealed file per run id, shared by all cells. It
    holds no axes, because two studies that share a run may name its point differently. A run found
    there is reused, so that a killed job continues where it stopped. If it was made on another
    device, with another arithmetic or from other tokens, it is made again, and the job says so;
    GPUs of one compute capability are no other device, those of another end the job.
    A run finished by another version of its code is kept, for its id says that it is the same, and
    the job names it; one that was interrupted under another version begins anew.
    While another job trains a run, this one waits for it.
    inputs: need -> path of its manifest. device: "cpu" or "cuda".
    progress: (index of the run, run) -> callback(step, loss).
    read: what the runs take from upstream.
    checkpoints: folder for the runs' final checkpoints; None if no later stage needs them.
    widen: whether a search may grow past its grid.
    layout: a run's cost -> how it uses its GPUs.
    Raises UserError when a stored run was edited, when a run was begun or finished on a GPU of
    another compute capability, or a search would grow although it may not.
    """
    read = UpstreamResults({}) if read is None else read
    main = ranks.is_main()
    results: list[dict] = []
    reused: list[dict] = []
    if checkpoints:
        checkpoints.mkdir(parents=True, exist_ok=True)
    here = _deciding(cell, read) or ranks.broadcast_from_rank0(partial(machine, device))
    digests = input_digests(inputs)
    places = ranks.broadcast_from_rank0(partial(homes, store, cell.runs))
    for index, run in enumerate(cell.runs):
        home = places[run.id]
        # A finished run is reused only if it was made with the same setup. Its id names its
        # upstream runs; that these were made again, with other results, only their records show.
        setup = here | {"inputs": digests | read.digests(run)}
        final = home / f"{run.id}.safetensors" if checkpoints else None
        with locked(home / f"{run.id}.lock") if main else nullcontext():
            if main:
                remove_temporaries(home, f".{run.id}*")
            stored = partial(_stored, home / f"{run.id}.json", run, setup, final)
            # Rank 0 looks for all, because either all ranks must train or none.
            result = ranks.broadcast_from_rank0(stored)
            if result is not None:
                reused.append(result)
            else:
                spec, tuned = run.resolve(read.choose)
                made_by = code_of(run.task, spec)
                unfinished = Unfinished(run, spec, tuned, setup, made_by, final)
                began_on: list[str] = []
                if main:
                    tell_of_other_state(unfinished, home)
                    began_on = unfinished.note_device(home)
                if not widen:
                    refuse_growth(unfinished, str(StageName.parse(cell.study).at_round(0)))
                seconds = stopwatch(device)
                report = progress(index, run) if main else lambda step, loss: None
                context = {"inputs": inputs, "device": device, "progress": report}
                records, used = _train(cell, unfinished, home, layout, context)
                if not main:
                    continue
                used = {**used, **({"began_on": began_on} if began_on else {})}
                made = provenance(setup, made_by, ranks.count(), seconds(), used)
                result = unfinished.result(records, made)
                write_sealed(home / f"{run.id}.json", result, CELL_SEAL)
            results.append(result)
            if main:
                # Only after the result is on disk: a job killed before that needs the state.
                for pattern in ("state", "devices"):
                    for left in home.glob(f"{run.id}*.{pattern}"):
                        left.unlink(missing_ok=True)
                if final and checkpoints and result["records"]:
                    link(final, checkpoints / final.name)
    if main:
        with locked(path.with_suffix(".lock")):
            remove_temporaries(path.parent, f".{path.stem}-*")
            write_sealed(path, _content(cell, results), CELL_SEAL)
        tell_of_other_code(cell.runs[0].task, reused)
    return len(reused)


def homes(store: Path, runs: Sequence[Run]) -> dict[str, Path]:
    """Run id -> the folder of all its files: one of 256, because what lies beside a run is looked
    through several times. A run that has files in `store` itself, of before there were 256, is read
    and finished there; one look finds them for all of these runs."""
    names = os.listdir(store) if store.is_dir() else []
    flat = {name.lstrip(".")[:64] for name in names}  # an id is a SHA-256
    return {run.id: store if run.id in flat else store / run.id[:2] for run in runs}


def _content(cell: Cell, results: Sequence[Mapping]) -> dict:
    """What a cell's file holds. results: of its runs, in their order."""
    return {
        "format": FORMAT,
        "id": cell.id,
        "study": cell.study,
        "task": cell.runs[0].task,
        "task_version": cell.runs[0].task_version,
        "axes": cell.axes,
        "runs": [
            {**result, "axes": run.axes} for result, run in zip(results, cell.runs, strict=True)
        ],
    }


def _deciding(cell: Cell, read: UpstreamResults) -> dict[str, str | None]:
    """Device and arithmetic of the runs by which a search decided that it needs none of a cell's;
    {} if it needs one. So a job that trains nothing has no torch to load, which most of its time
    would go to, and nearly every second job of a search is one."""
    made: dict[str, str | None] = {}
    for run in cell.runs:
        proposed = [each for each in run.upstream.values() if isinstance(each.reference, Proposal)]
        if not proposed or None not in run.resolve(read.choose)[1].values():
            return {}
        made = read.made(proposed[0])
    return made


@dataclass(frozen=True)
class Unfinished:
    """A run that is to be carried out.

    spec, tuned: see `Run.resolve`. setup: device, arithmetic and inputs that it is made with.
    made_by: its `code_of_run.code_of`. final: where its final checkpoint goes, if anywhere.
    """

    run: Run
    spec: Mapping
    tuned: Mapping
    setup: Mapping
    made_by: Mapping
    final: Path | None

    @property
    def is_skipped(self) -> bool:
        """Whether it is a proposal without a value, one that the search did not need. It is
        recorded as such, since the workflow expects a result of every job."""
        return None in self.tuned.values()

    def state(self, store: Path) -> Path:
        """The state to resume from. It is named by what must be `alike` and by the code, so that a
        run never goes on on another device, arithmetic or input, or by other code, than it began
        with."""
        return store / f"{self._began}-{self.made_by['code_sha256'][:12]}.state"

    def other_states(self, store: Path) -> list[Path]:
        """Those that the run left behind when it was interrupted with anything else."""
        return sorted({*store.glob(f"{self.run.id}-*.state")} - {self.state(store)})

    def is_of_other_code(self, state: Path) -> bool:
        """Whether one of these differs in its code alone."""
        return state.name.startswith(self._began)

    def note_device(self, store: Path) -> list[str]:
        """Note beside its state which GPU trains it; returns the others that did so before."""
        if "capability" not in self.setup or self.is_skipped:
            return []
        state, here = self.state(store), self.setup["device"]
        note = state.with_suffix(".devices")
        before = read_as(note, BEGUN)["devices"] if state.exists() and note.exists() else []
        others = [name for name in before if name != here]
        words = {"capability": self.setup["capability"], "devices": [*others, here]}
        write_json(note, words)
        if others:
            print(
                f"run {self.run.id[:12]} began on {', '.join(others)} and goes on here, on {here} "
                "of the same compute capability",
                flush=True,
            )
        return others

    @property
    def _began(self) -> str:
        """How the names of all states begin that are of the same but for their code."""
        return f"{self.run.id}-{sha256(canonical_json(alike(self.setup)))[:12]}"

    def result(self, records: list[dict], made: Mapping) -> dict:
        """What its file holds. made: its provenance. Raises UserError where its task records what
        could not be read back (`foreign.check_record`)."""
        encoded = [encode_record(record) for record in records]
        name, remedy = f"task {self.run.task}", "record numbers and plain words"
        for record in encoded:
            foreign.check_record(record, name, remedy)
        declared = TASKS[self.run.task].records
        if encoded and (wrong := declared.misfit(encoded, self.spec)):
            raise UserError(f"{name} {wrong}; its `records` in repro/tasks say what it records")
        return {
            "id": self.run.id,
            "spec": self.spec,
            **({"tuned": self.tuned} if self.run.upstream else {}),
            **({"sha256_checkpoint": sha256_file(self.final)} if self.final and records else {}),
            "datasets": self.run.datasets,
            "records": encoded,
            "provenance": made,
        }


def _train(
    cell: Cell,
    unfinished: Unfinished,
    store: Path,
    layout: Callable[[Cost], Layout],
    context: Mapping,
) -> tuple[list[dict], Mapping]:
    """Train a run and return its records, and how it used its GPUs (`of_gpu`); a UserError from
    the task gets the run's axes added."""
    if unfinished.is_skipped:
        return [], {}
    if context["device"] == "cpu":  # where nothing is compiled
        from repro.training import late_compiler

        late_compiler.load_late()
    task, spec, axes = TASKS[unfinished.run.task], unfinished.spec, unfinished.run.axes
    final: dict = {"final": unfinished.final} if unfinished.final else {}
    try:
        arithmetic.refuse_half(spec.get("precision", ""), unfinished.setup["arithmetic"])
        cost = task.cost(spec)
        with ranks.laid_out(chosen := layout(cost)):
            records = task.run(spec, **context, checkpoint=unfinished.state(store), **final)
        return records, of_gpu(context["device"], chosen, cost)
    except UserError as error:
        point = ", ".join([cell.study, *(f"{k} {v}" for k, v in axes.items())])
        raise UserError(f"{point}: {error}") from error


def refuse_growth(one: Unfinished, search: str) -> None:
    """Raise UserError if a search proposed the run, which then lies past the edge of its grid.
    search: its name."""
    proposed = {
        key: one.tuned[key]
        for key, upstream in one.run.upstream.items()
        if isinstance(upstream.reference, Proposal)
    }
    if proposed and not one.is_skipped:
        point = ", ".join(f"{key} = {value:.4g}" for key, value in proposed.items())
        raise UserError(
            f"{search}: the best run lies at the edge of its grid, next would be {point}; "
            "extend the study's grid, or let it grow with --config at_edge=widen"
        )


def tell_of_other_state(one: Unfinished, store: Path) -> None:
    """Print a line if a run begins anew because it was interrupted under other code, or with
    anything else. Raises UserError where that was a GPU of another compute capability."""
    others = one.other_states(store)
    if not others or one.state(store).exists():
        return
    begun = [read_as(n, BEGUN) for n in (s.with_suffix(".devices") for s in others) if n.exists()]
    for note in begun:
        refuse_capability(
            one.run, one.setup, note["capability"], ", ".join(note["devices"]), "begun"
        )
    if any(map(one.is_of_other_code, others)):
        print(
            f"run {one.run.id[:12]} was interrupted under other code than the present "
            f"({one.made_by['code_sha256'][:12]}): begins anew; under that code it would go on",
            flush=True,
        )
    else:
        print(
            f"run {one.run.id[:12]} was interrupted on another device, or with another arithmetic "
            "or other data: begins anew",
            flush=True,
        )


def refuse_capability(run: Run, setup: Mapping, made: object, names: str, what: str) -> None:
    """Raise UserError where a run's work on GPUs would be lost on one of another compute
    capability. made: that of the work. names: of its GPUs. what: "begun" or "finished"."""
    here = setup.get("capability")
    if here is None or made is None or made == here:
        return
    raise UserError(
        f"run {run.id[:12]} was {what} on {names}, of compute capability {made}, and this is "
        f"{setup['device']}, of {here}, where it would be trained from step 0: keep its jobs on "
        "one kind of GPU (site.yaml: gpu_model, or extra: --constraint=FEATURE), or remove its "
        f"files below runs/ ({run.id[:12]}*) to train it here"
    )


def tell_of_other_code(task: str, reused: Sequence[Mapping]) -> None:
    """Print a line if some of these finished runs were made by other code than the present."""
    present = [code_of(task, result["spec"])["code_sha256"] for result in reused]
    made = [result["provenance"] for result in reused]
    others = [m for m, now in zip(made, present, strict=True) if m.get("code_sha256") != now]
    if others:
        now = ", ".join(sorted({digest[:12] for digest in present}))
        print(
            f"{len(others)} of {len(made)} finished runs are of other code than the present "
            f"({now}), and were kept: {listed(code_versions(others))}",
            flush=True,
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


def _stored(path: Path, run: Run, setup: Mapping, final: Path | None) -> dict | None:
    """The finished run in this file; None if there is none that was made with this setup.

    setup: device, arithmetic, digests of inputs. final: where its checkpoint must be, undamaged.
    """
    if not path.exists():
        return None
    result = read_sealed(path, CELL_SEAL, kind=FINISHED)
    check_result(result, run, path)
    expected = result.get("sha256_checkpoint")
    if final and result["records"] and not (final.exists() and expected == sha256_file(final)):
        return None
    made = result["provenance"] | {"arithmetic": arithmetic.of(result["provenance"])}
    changed = [key for key in alike(setup) if made.get(key) != setup[key]]
    if not changed:
        return result
    refuse_capability(run, setup, made.get("capability"), made["device"], "finished")
    named = (f"{k} {made[k]}" if isinstance(made.get(k), str) else f"other {k}" for k in changed)
    print(f"run {run.id[:12]} was finished with {', '.join(named)}: made again", flush=True)
    return None
