"""Jobs run the code of the workflow's own checkout, whatever lies in the folder they work in."""

import os
import shutil
import subprocess
import sys

import pytest
from parameters import kept
from test_workflow import FIGURE
from workflow import SMOKE, build

from repro.lineage.checkout import ROOT

TRAP = "raise SystemExit('code of the work folder ran')\n"


def by_hand(*words, folder, flags=(), **environment):
    """`python -m repro`, without Snakemake."""
    return subprocess.run(
        [sys.executable, *flags, "-m", "repro", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_code_beside_the_results_is_not_imported(tmp_path, text_folder):
    work = tmp_path / "work"
    for trap in ("data.py", "studies/__init__.py", "figures/__init__.py"):
        (work / trap).parent.mkdir(parents=True, exist_ok=True)
        (work / trap).write_text(TRAP)
    words = ("figures/embedding_lr/fig2.pdf", *SMOKE, f"wikitext2={text_folder}")
    build(*words, directory=work)


@pytest.mark.slow
def test_an_old_checkout_as_work_folder_trains_with_the_workflow_s_code(clone):
    for trap in ("repro/__main__.py", "repro/core/execute.py", "studies/__init__.py"):
        (clone / trap).write_text(TRAP)
    build(FIGURE, *SMOKE, directory=clone)


@pytest.mark.slow
def test_braces_in_a_path_are_no_names_of_snakemake(clone, text_folder, tmp_path):
    """In the checkout's, the text's and the work folder's."""
    root, text = clone.rename(tmp_path / "{checkout}"), tmp_path / "{text} {0}"
    text_folder.rename(text)
    words = ("figures/embedding_lr/fig2.pdf", *SMOKE, f"wikitext2={text}")
    build(*words, root=root, directory=tmp_path / "{w}")


@pytest.mark.slow
def test_jobs_run_under_the_python_of_the_call(tmp_path, monkeypatch):
    """As in `.venv/bin/snakemake`, where another Python is the first on the PATH."""
    (trap := tmp_path / "bin" / "python").parent.mkdir()
    trap.write_text("#!/bin/sh\necho another python ran; exit 1\n")
    trap.chmod(0o755)
    monkeypatch.setenv("PATH", f"{trap.parent}:{os.environ['PATH']}")
    build("figures/embedding_lr/table3.pdf", *SMOKE, directory=tmp_path / "work")


@pytest.mark.slow
def test_only_targets_are_taken_for_figures(clone):
    words = ("figures/embedding_lr/table2.pdf", *SMOKE)
    (clone / "figures/out/figures").mkdir(parents=True)
    build(*words, "--directory", "figures/out", root=clone)
    build(*words, "--directory", "figures/out", "--report", "figures/report.html", root=clone)


@pytest.mark.parametrize("name", kept(["figures", "data", "studies"], first=1))
def test_by_hand_code_of_another_folder_is_refused_in_one_line(tmp_path, name):
    (tmp_path / f"{name}.py").write_text(TRAP)
    done = by_hand("show", folder=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"error: {name}: would be imported from {tmp_path}" in done.stderr
    assert f"not from {ROOT / name}" in done.stderr
    assert by_hand("show", folder=tmp_path, flags=["-P"]).returncode == 0


def test_another_copy_of_the_library_is_refused_in_one_line(tmp_path):
    """As one that pip installed, or an older one beside the results."""
    shutil.copytree(ROOT / "widthwise", tmp_path / "widthwise")
    done = by_hand("show", folder=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"error: widthwise: would be imported from {tmp_path}" in done.stderr


def test_another_checkout_than_the_workflow_s_is_refused_in_one_line(tmp_path):
    done = by_hand("show", folder=tmp_path, REPRO_CHECKOUT=str(tmp_path))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"repro: would run from {ROOT}, the workflow is that of {tmp_path}" in done.stderr
    assert by_hand("show", folder=tmp_path, REPRO_CHECKOUT=str(ROOT)).returncode == 0


@pytest.mark.slow
def test_bare_sh_runs_its_own_code(tmp_path):
    (tmp_path / "data.py").write_text(TRAP)
    shutil.copytree(ROOT / "repro" / "core", tmp_path / "repro" / "core")
    (tmp_path / "repro" / "__main__.py").write_text(TRAP)
    done = subprocess.run(
        ["bash", ROOT / "profiles/gpu/bare.sh", "run", "cells.tar.gz", "embedding_lr/table2",
         "scale=smoke"],
        cwd=tmp_path,
        env=os.environ
        | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cells.tar.gz: the cells of" in done.stdout
