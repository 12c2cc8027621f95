"""Snakemake as a person calls it, for the tests."""

import subprocess
import sys

from repro.lineage.checkout import ROOT

SMOKE = ("--config", "scale=smoke")


def command(*words, root=ROOT, directory=None, profile="default"):
    """The call, in a work folder (`directory`) or in a clone (`root`)."""
    where = ["--directory", str(directory)] if directory else []
    return [
        sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"),
        "--workflow-profile", str(root / "profiles" / profile), "--cores", "2", *where, *words,
    ]  # fmt: skip


def snakemake(*words, **where):
    """Run Snakemake; returns the finished process with its output as text."""
    return subprocess.run(
        command(*words, **where),
        cwd=where.get("root", ROOT),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def build(*words, **where):
    """Run Snakemake, which must succeed; its output."""
    done = snakemake(*words, **where)
    assert done.returncode == 0, done.stdout
    return done.stdout


def table_of(work, name):
    """The one data.csv of a figure at smoke scale in a work folder."""
    (found,) = work.glob(f"results/smoke/*/{name}/*/data.csv")
    return found


def runs_apart(root):
    """Have every run of `upscaling` in a clone be a job of its own at smoke scale."""
    file = root / "studies" / "upscaling" / "_protocol.py"
    text, together = file.read_text(), '"stage": tuple(grid)'
    assert text.count(together) == 1
    file.write_text(text.replace(together, '"stage": ()'))
