"""What git knows of this checkout: its commits, the trees of its folders, what is changed. Changes
nothing, and says None wherever it cannot be known. No torch."""

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from repro.lineage.checkout import ROOT

PATIENCE = 60  # seconds; the state of a large checkout on a network's disk takes some


def git(*words: str, root: Path = ROOT, given: str = "") -> str | None:
    """What `git <words>` prints of this checkout. given: its standard input.

    None where it fails, where no git answers, and if `root` is not itself a git checkout: an
    unpacked archive has no history, even inside another repository or with GIT_DIR set.
    """
    return _call(root, words, given) if _is_checkout(root) else None


@cache
def _is_checkout(root: Path) -> bool:
    place = _call(root, ("rev-parse", "--show-toplevel"))
    return place is not None and Path(place).resolve() == root


def _call(root: Path, words: Iterable[str], given: str = "") -> str | None:
    """What git prints; None where it fails, cannot be started or does not end in PATIENCE: the disk
    may hang, and there may be no room for a process."""
    # Git refuses another user's checkout, whose configuration could name programs to run:
    # safe.directory permits it, and with fsmonitor off no such program is run.
    options = ["--no-optional-locks", "-c", f"safe.directory={root}", "-c", "core.fsmonitor="]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            ["git", *options, "-C", os.fspath(root), *words],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,  # what it starts ends with it
        )
    except OSError:
        return None
    try:
        printed, _ = process.communicate(os.fsencode(given), PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # which a disk that hangs holds
                process.wait(1)
        for end in (process.stdin, process.stdout):
            if end:
                end.close()
    # Names of folders are bytes, of any encoding, but for this one.
    fails = process.returncode != 0 or b"\0" in printed
    return None if fails else os.fsdecode(printed).strip()


def head(root: Path = ROOT) -> str | None:
    """The commit that is checked out."""
    return git("rev-parse", "--verify", "HEAD", root=root)


def tree(folder: str, root: Path = ROOT) -> str | None:
    """The id of a folder's tree in that commit: of its files' contents alone, so that a rebase
    keeps it."""
    return git("rev-parse", "--verify", f"HEAD:{folder}", root=root)


def is_changed(files: Iterable[str], root: Path = ROOT) -> bool:
    """Whether any of these files or folders differs from that commit or is not in it; so it is
    taken to be where git cannot say."""
    paths = (f":(literal){file}" for file in files)
    changed = git("status", "--porcelain", "--untracked-files=all", "--", *paths, root=root)
    return changed is None or bool(changed)


@cache
def commits(root: Path = ROOT) -> frozenset[str] | None:
    """Every commit of this history, HEAD and all that it comes from; None also for a shallow clone,
    which has only the newest."""
    if git("rev-parse", "--is-shallow-repository", root=root) != "false":
        return None
    listed = git("rev-list", "HEAD", root=root)
    return None if listed is None else frozenset(listed.split())


@cache
def lacks(paths: tuple[str, ...], root: Path = ROOT) -> bool:
    """Whether this is a partial clone without what files of some folders once held. Git would fetch
    it file by file, and fail where there is no network, as if the file had never been."""
    if not git("config", "--get-regexp", r"^remote\..*\.promisor$", root=root):
        return False
    listed = git("rev-list", "--objects", "--missing=print", "HEAD", "--", *paths, root=root)
    return listed is None or "\n?" in f"\n{listed}"


@cache
def trees(folder: str, root: Path = ROOT) -> frozenset[str] | None:
    """The ids that a folder's tree has had in this history."""
    known = commits(root)
    if known is None:
        return None
    names = "".join(f"{commit}:{folder}\n" for commit in sorted(known))
    listed = git("cat-file", "--batch-check=%(objectname)", root=root, given=names)
    found = (listed or "").splitlines()
    return frozenset(line for line in found if not line.endswith(" missing"))
