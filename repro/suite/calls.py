"""Calls of Snakemake in a work folder, noted so that the lock of a killed one can be removed.

Snakemake locks the folder by files that outlive it, and say nothing of who made them. No torch.
"""

import os
import platform
from pathlib import Path

from repro.files import read_json, write_json
from repro.suite.locks import locked

STATE = Path(".snakemake")


def note(executor: str, state: Path = STATE) -> None:
    """Write down that this process works here; once Snakemake has locked the folder."""
    call = {"process": os.getpid(), "machine": _machine(), "executor": executor}
    write_json(_note(state), call)


def forget(state: Path = STATE) -> None:
    """The call has come to its end."""
    _note(state).unlink(missing_ok=True)


def unlock_if_killed(state: Path = STATE) -> str | None:
    """Remove the lock of calls that were killed; returns a line about it, None where all is well.

    Only where it is certain that nobody works here: every call that was noted ran its jobs on this
    machine, since it was last started, and is gone; no lock is younger than they are, as that of a
    call which has just begun is; and none of their jobs is alive. Otherwise Snakemake itself says
    what to do.
    """
    if not list((state / "locks").glob("*.lock")):
        return None
    with locked(state / "calls.lock"):  # of two that come now, the second sees the first one's
        locks, notes = (list(state.glob(p)) for p in ("locks/*.lock", "calls/*.json"))
        times = [path.stat().st_mtime_ns for path in notes]
        if not notes or not all(_is_gone(read_json(path)) for path in notes):
            return None
        if any(lock.stat().st_mtime_ns > max(times) for lock in locks):
            return None
        if jobs := _jobs():
            return (
                f"warning: jobs of a call that was killed still work here (processes {jobs}); wait "
                "for them or end them, then run the same command again"
            )
        for path in (*locks, *notes):
            path.unlink(missing_ok=True)
    return "an earlier call was killed: its lock is removed, its finished runs are kept"


def _note(state: Path) -> Path:
    return state / "calls" / f"{platform.node()}-{os.getpid()}.json"


def _machine() -> str | None:
    """This machine, since it was started, as far as process numbers mean the same; None where that
    cannot be told."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{platform.node()} {started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # no Linux
        return None


def _is_gone(call: dict) -> bool:
    """Whether a call is certain to have ended, and its jobs to have been processes of this
    machine."""
    machine = _machine()
    if machine is None or call["machine"] != machine or call["executor"] != "local":
        return False
    try:
        os.kill(call["process"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    return False


def _jobs() -> str:
    """Numbers of the processes of this folder that carry out a command of the suite."""
    here, found = os.getcwd(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"repro" in words and os.readlink(process / "cwd") == here:
                found.append(process.name)
        except OSError:  # another user's, or it has just ended
            continue
    return ", ".join(sorted(found, key=int))
