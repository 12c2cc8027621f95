"""Ctrl-C of a workflow on a terminal."""

import logging
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import psutil
import pytest
from workflow import SMOKE, command

from repro.lineage.checkout import ROOT
from repro.workflow import interrupt


def wait_for(path: Path) -> str:
    """The text of a file, once it is there."""
    for _ in range(600):
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.1)
    raise AssertionError(f"{path} never came")


@pytest.mark.usefixtures("children_hear_ctrl_c")
def test_ctrl_c_is_one_line_and_ends_jobs_that_do_not_end_by_themselves(tmp_path):
    """Every process of the terminal gets the signal; the job's is in a library and does not see
    it."""
    deaf = tmp_path / "bin" / "python"
    deaf.parent.mkdir()
    deaf.write_text(f"#!/bin/sh\ntrap '' INT\necho $$ > {tmp_path}/job\nexec sleep 600\n")
    deaf.chmod(0o755)
    # Jobs run the `python` beside the one that runs Snakemake.
    (beside := deaf.with_name("python3")).symlink_to(sys.executable)
    _, *words = command("figures/embedding_lr/table2.pdf", *SMOKE, directory=tmp_path / "work")
    call = subprocess.Popen(
        [str(beside), *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    job = int(wait_for(tmp_path / "job"))
    os.killpg(call.pid, signal.SIGINT)
    begin = time.monotonic()
    said = call.communicate(timeout=60)[1].splitlines()
    assert interrupt.GRACE < 2
    assert time.monotonic() - begin < 20  # a busy machine; by themselves they would take minutes
    assert call.returncode != 0
    at = said.index(interrupt.SAID)
    assert not any("rror" in line for line in said[:at]) and said[at + 1 :] == []
    assert not psutil.pid_exists(job) or psutil.Process(job).status() == psutil.STATUS_ZOMBIE
    assert not list((tmp_path / "work" / ".snakemake").glob("locks/*"))
    assert not list((tmp_path / "work" / ".snakemake").glob("calls/*.json"))


@pytest.mark.usefixtures("children_hear_ctrl_c")
def test_after_ctrl_c_nothing_is_said_of_what_it_ended(capsys, caplog):
    """Found where asyncio was interrupted in the middle, and Snakemake, whose handlers were closed
    by then, said so in 50 lines."""
    call, before = interrupt.Interrupt(), signal.getsignal(signal.SIGINT)
    call.listen()
    try:
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGINT)
        logger = logging.Logger("no handler is left")
        logger.manager = logging.root.manager
        logging.getLogger("snakemake").error("RuntimeError: Cannot close a running event loop")
    finally:
        logging.disable(logging.NOTSET)
        signal.signal(signal.SIGINT, before)
    assert call.came and capsys.readouterr().err == f"{interrupt.SAID}\n" and not caplog.records


def test_a_call_in_the_background_of_a_script_leaves_ctrl_c_to_others(capsys):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    call = interrupt.Interrupt()
    try:
        call.listen()
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not call.came and not capsys.readouterr().err
