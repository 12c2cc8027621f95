"""Repositories of git that a test makes."""

import subprocess

from repro.lineage import history


def git(folder, *words):
    """What git prints in a folder, in the name of somebody."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    call = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


def forget(*more):
    """What was asked of git, and of functions that remember it."""
    asked = (history._is_checkout, history.commits, history.lacks, history.trees)
    for function in (*asked, *more):
        function.cache_clear()
