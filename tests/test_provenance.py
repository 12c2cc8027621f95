"""What is written down of the code a run came from."""

import os
import subprocess
import time

import pytest

from repro.suite.provenance import code_digest, commit, stopwatch


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    call = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A checkout of a suite of one file, with the caches of `commit` and `code_digest` empty."""
    root = tmp_path / "suite"
    (root / "repro").mkdir(parents=True)
    (root / "repro" / "train.py").write_text("lr = 1\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    yield root
    commit.cache_clear()
    code_digest.cache_clear()


def found(root):
    commit.cache_clear()
    code_digest.cache_clear()
    return commit(root), code_digest(root)


def test_a_clean_checkout_has_its_commit(checkout):
    assert found(checkout)[0] == git(checkout, "rev-parse", "HEAD")
    (checkout / "results").mkdir()
    (checkout / "results" / "cell.json").write_text("{}")
    assert not found(checkout)[0].endswith("+dirty"), "what is no code makes nothing dirty"


@pytest.mark.parametrize("name", ["repro/train.py", "widthwise/rules.py", "studies/mine.py"])
def test_changed_and_untracked_code_is_dirty_and_has_another_digest(checkout, name):
    before = found(checkout)
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).write_text("lr = 2\n")
    after = found(checkout)
    assert after[0] == before[0] + "+dirty" and after[1] != before[1]


def test_a_repository_around_the_suite_is_not_the_suite_s(checkout, monkeypatch):
    """Found in review: an unpacked archive had the commit of whatever lay around it."""
    inside = checkout / "unpacked" / "suite"
    (inside / "repro").mkdir(parents=True)
    (inside / "repro" / "train.py").write_text("lr = 1\n")
    assert found(inside) == (None, found(checkout)[1])
    monkeypatch.setenv("GIT_DIR", str(checkout / ".git"))
    assert found(inside)[0] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another owner")
def test_another_owner_s_checkout_has_its_commit(checkout):
    subprocess.run(["chown", "-R", "65534", str(checkout)], check=True)
    assert found(checkout)[0] is not None


def test_without_git_the_digest_remains(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert found(checkout)[0] is None
    assert len(found(checkout)[1]) == 64


def test_what_a_machine_does_beside_a_run_is_no_part_of_its_seconds():
    """Asleep stands for waiting for a core that another process has."""
    on_cpu, on_gpu = stopwatch("cpu"), stopwatch("cuda")
    time.sleep(0.2)
    assert on_cpu() < 0.1 < 0.2 <= on_gpu()
    begin = time.process_time()
    while time.process_time() - begin < 0.1:
        pass
    assert on_cpu() >= 0.1
