"""What git says of a checkout: its commits, its folders' trees, and where it knows nothing."""

import shutil
import subprocess

import pytest

from repro.suite import history


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    call = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


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


def forget():
    for function in (history._is_checkout, history.commits, history.trees):
        function.cache_clear()


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
