"""A note of each running Snakemake call, so that the lock of a killed one can be removed. No torch.

Snakemake locks a work folder with files that remain if it is killed and do not say whose they are.
"""

import os
import platform
import subprocess
from pathlib import Path

from repro.core.locks import locked
from repro.errors import UserError
from repro.files import read_as, write_json

STATE = Path(".snakemake")
SLURM = "slurm"  # the plugin's name for itself


def note(executor: str, state: Path = STATE) -> None:
    """Note that this process works here, after Snakemake has locked the folder: a lock younger than
    all notes is that of a call which has just begun. executor: "local", or a cluster's."""
    call = {"process": os.getpid(), "machine": _machine(), "executor": executor}
    write_json(_note(state), call)


def forget(state: Path = STATE) -> None:
    """Remove this process's note, when the call ends."""
    _note(state).unlink(missing_ok=True)


def unlock_if_killed(state: Path = STATE) -> str | None:
    """Remove the lock if the call that made it was killed; returns a line for the user, or None.

    Only if certainly nothing works here: every noted call was one of this machine, and has ended;
    no lock is younger than the notes; and no job is still alive, here or in Slurm's queue.
    Otherwise the lock stays, and Snakemake itself tells the user what to do.
    """
    if not list((state / "locks").glob("*.lock")):
        return None
    with locked(state / "calls.lock"):  # two calls starting now: one after the other
        locks, notes = (list(state.glob(p)) for p in ("locks/*.lock", "calls/*.json"))
        times = [path.stat().st_mtime_ns for path in notes]
        try:
            noted = [_read(path) for path in notes]
            if not notes or not all(map(_is_gone, noted)):
                return None
        except UserError as error:
            return f"warning: {error}"
        if any(lock.stat().st_mtime_ns > max(times) for lock in locks):
            return None
        if jobs := _jobs():
            return (
                f"warning: jobs of a call that was killed still work here (processes {jobs}); wait "
                "for them or end them, then run the same command again"
            )
        if any(call["executor"] == SLURM for call in noted):
            queued = _queued()
            if queued is None:
                return None
            if queued:
                return (
                    "warning: jobs of a call that was killed are still in Slurm's queue "
                    f"({', '.join(queued)}); wait for them or scancel them, then run the same "
                    "command again"
                )
        for path in (*locks, *notes):
            path.unlink(missing_ok=True)
    return "an earlier call was killed: its lock is removed, its finished runs are kept"


def _note(state: Path) -> Path:
    return state / "calls" / f"{platform.node()}-{os.getpid()}.json"


def _read(path: Path) -> dict:
    """A note; raises UserError naming one that is damaged: whose it was nobody knows."""
    try:
        return read_as(path, {"process": int, "machine": str | None, "executor": str})
    except UserError:
        raise UserError(
            f"{path}: is no whole note of a call; if no other call works in this folder, delete it"
        ) from None


def _machine() -> str | None:
    """A name for all processes among which a process id is unique: machine, boot and PID namespace.
    None where the system does not tell them."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{platform.node()} {started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # no Linux
        return None


def _is_gone(call: dict) -> bool:
    """Whether a call has certainly ended, and its jobs were processes of this machine, or are of
    Slurm, where no two machines have one name: of a call before the last start nothing is left."""
    machine = _machine()
    if machine is None or call["executor"] not in ("local", SLURM):
        return False
    if call["machine"] != machine:
        node, started = machine.split()[:2]
        of_node, of_start = (str(call["machine"]).split() + [""] * 2)[:2]
        return call["executor"] == SLURM and node == of_node and started != of_start
    try:
        os.kill(call["process"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    return False


def _queued() -> list[str] | None:
    """Ids of the user's jobs in Slurm's queue that work in this folder; None where it does not say.
    A job's folder is that of its call."""
    try:
        words = ["squeue", "--me", "--noheader", "--format=%i %Z"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    jobs = [line.split(None, 1) for line in said.stdout.splitlines()]
    return [name for name, *folder in jobs if folder == [os.getcwd()]]


def _jobs() -> str:
    """Ids of the processes that run a command of the suite in this folder, as text."""
    here, ids = os.getcwd(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if (
                any(word.partition(b".")[0] == b"repro" for word in words)
                and os.readlink(process / "cwd") == here
            ):
                ids.append(process.name)
        except OSError:  # another user's, or it has just ended
            continue
    return ", ".join(sorted(ids, key=int))
