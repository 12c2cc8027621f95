"""What git says of a checkout: its commits, its folders' trees, and where it knows nothing."""

import errno
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from repositories import forget, git

from repro.lineage import history


def commit(root, text):
    (root / "repro" / "train.py").write_text(text)
    git(root, "add", ".")
    git(root, "commit", "-qm", text)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path):
    """A checkout with two commits, and the commits."""
    root = tmp_path / "suite"
    (root / "repro").mkdir(parents=True)
    git(tmp_path, "init", "-q", str(root))
    return root, commit(root, "lr = 1\n"), commit(root, "lr = 2\n")


@pytest.fixture(autouse=True)
def _fresh():
    forget()
    yield
    forget()


def test_commits_are_those_of_the_history(checkout):
    root, first, second = checkout
    assert history.head(root) == second
    assert history.commits(root) == {first, second}


def test_a_folder_s_tree_outlives_a_rebase(checkout):
    root, _, second = checkout
    before = history.tree("repro", root)
    git(root, "commit", "--amend", "-qm", "another message")
    forget()
    assert history.head(root) != second and second not in history.commits(root)
    assert history.tree("repro", root) == before and before in history.trees("repro", root)
    assert len(history.trees("repro", root)) == 2
    assert history.trees("studies", root) == frozenset() and history.tree("studies", root) is None


def test_changes_are_those_of_the_files_asked_for(checkout):
    root, *_ = checkout
    (root / "notes.md").write_text("")
    assert not history.is_changed(["repro/train.py"], root)
    assert history.is_changed(["notes.md"], root)
    (root / "repro" / "train.py").write_text("lr = 3\n")
    assert history.is_changed(["repro/train.py"], root)


def test_nothing_is_known_without_git_or_of_a_shallow_clone(checkout, tmp_path, monkeypatch):
    root, _, second = checkout
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", str(tmp_path / "shallow"))
    assert history.head(tmp_path / "shallow") == second
    assert history.commits(tmp_path / "shallow") is None
    archive = root / "unpacked"
    shutil.copytree(root / "repro", archive / "repro")
    assert history.head(archive) is history.trees("repro", archive) is None
    assert history.is_changed(["repro"], archive)
    forget()
    monkeypatch.setenv("PATH", "")
    assert history.head(root) is history.commits(root) is None


def put_git(folder, monkeypatch, script=None, mode=0o755):
    """A git of its own in front of PATH; None: a folder of that name."""
    folder.mkdir()
    if script is None:
        (folder / "git").mkdir()
    else:
        (folder / "git").write_text(script)
        (folder / "git").chmod(mode)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("script", "mode"),
    [
        (None, 0o755),
        ("#!/bin/sh\n", 0o644),
        ("no program", 0o755),
        ("#!/no/such/shell\n", 0o755),
        ("#!/bin/sh\nexit 128\n", 0o755),
        ("#!/bin/sh\nprintf '\\377\\000\\n'\n", 0o755),
    ],
    ids=["a folder", "not executable", "no program", "no shell", "fails", "prints no text"],
)
def test_a_git_that_is_none_knows_nothing(checkout, tmp_path, monkeypatch, script, mode):
    """Found in review: "git: Permission denied; let this user read and write it"."""
    root, *_ = checkout
    put_git(tmp_path / "bin", monkeypatch, script, mode)
    assert history.head(root) is history.commits(root) is history.trees("repro", root) is None
    assert history.is_changed(["repro"], root)


def test_a_git_that_hangs_is_waited_for_once_and_leaves_nothing(checkout, tmp_path, monkeypatch):
    root, *_ = checkout
    note = f">> {tmp_path}/pids"
    script = f"#!/bin/sh\necho $$ {note}\n/bin/sleep 600 &\necho $! {note}\nwait\n"
    put_git(tmp_path / "bin", monkeypatch, script)
    monkeypatch.setattr(history, "PATIENCE", 0.3)
    begin = time.monotonic()
    assert history.head(root) is history.commits(root) is history.tree("repro", root) is None
    assert time.monotonic() - begin < 3
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2  # of one call
    time.sleep(0.1)
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        assert not stat.exists() or stat.read_text().split()[2] == "Z"


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE])
def test_where_there_is_no_room_for_a_process_nothing_is_known(checkout, monkeypatch, number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert history.head(checkout[0]) is None


def test_a_checkout_s_folder_may_have_a_name_that_is_no_text(checkout, tmp_path):
    """Latin-1's caf\xe9: a UnicodeDecodeError."""
    root, _, second = checkout
    moved = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    root.rename(moved)
    assert history.head(moved) == second and len(history.commits(moved)) == 2
    assert not history.is_changed(["repro"], moved)
