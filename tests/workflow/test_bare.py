"""A figure's runs on a machine without Snakemake and network, held against the records at home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repro.lineage.checkout import ROOT

SCRIPT = ROOT / "profiles" / "gpu" / "bare.sh"
FIGURE = "upscaling/fig7"  # of five stages: what one tunes the next take
BARE = """
import socket, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "snakemake":
            raise ImportError("this machine has no " + name)

sys.meta_path.insert(0, Refuse())
socket.socket.connect = None
"""


def bare(*words, folder):
    """Call the script in a folder of its own, with a Python that has neither; its output."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(BARE)
    done = subprocess.run(
        ["bash", SCRIPT, *map(str, words)],
        cwd=folder,
        env=os.environ
        | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        | {"PYTHONPATH": str(folder), "DEVICE": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_runs_of_other_arithmetic_are_brought_home_and_agree_with_the_records(tmp_path):
    """The arithmetic of any x86-64 CPU rounds otherwise, as a GPU does."""
    archive, config = tmp_path / "cells.tar.gz", ("scale=smoke", "data=embedded")
    other = (*config, "arithmetic=portable")
    code, said = bare("run", archive, FIGURE, *other, folder=tmp_path / "there")
    assert code == 0 and f"cells.tar.gz: the cells of {FIGURE}" in said, said
    code, said = bare("verify", archive, FIGURE, *config, folder=tmp_path / "here")
    assert code == 0, said
    last = said.splitlines()[-1]
    assert last.startswith(f"{FIGURE}: equal (numbers within 2%, the same statuses; "), said


def test_an_archive_is_unpacked_in_an_empty_folder_alone(tmp_path):
    (tmp_path / "results").mkdir()
    code, said = bare("verify", "cells.tar.gz", FIGURE, folder=tmp_path)
    assert code == 2 and said == "error: results is there: give the call in an empty folder\n"


def test_a_call_without_words_says_how(tmp_path):
    code, said = bare(folder=tmp_path)
    assert code == 2 and "bare.sh run cells.tar.gz embedding_lr/fig3" in said
