"""`repro try` as a reader calls it: two at once, one that is ended, and one again."""

import os
import signal
import subprocess
import sys
import time

from repro.lineage.checkout import ROOT

WORDS = ["fig3.transfer-lr-mlp", "--scale", "smoke", "--steps", "3"]


def call(work, *words):
    """A try in a work folder, begun."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "repro", "try", *WORDS, *words],
        cwd=work,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_tries_share_a_folder_and_an_ended_one_goes_on(tmp_path):
    before = subprocess.run(["git", "status", "-s"], cwd=ROOT, capture_output=True).stdout
    ended = call(tmp_path, "--seeds", "2")
    while not (tmp_path / "tried" / "logs" / "fetch").exists() and ended.poll() is None:
        time.sleep(0.1)
    ended.send_signal(signal.SIGTERM)
    said, _ = ended.communicate(timeout=120)
    assert ended.returncode == 128 + signal.SIGTERM
    assert "run the same command again to go on" in said and "Traceback" not in said
    both = [call(tmp_path, "--seeds", n) for n in ("2", "3")]
    told = [each.communicate(timeout=300)[0] for each in both]
    assert [each.returncode for each in both] == [0, 0], told
    for text, seeds in zip(told, ("9000, 9001", "9000, 9001, 9002"), strict=True):
        assert f"3 steps; seeds {seeds}\n" in text and "  on record  " in text
    again, _ = call(tmp_path, "--seeds", "2").communicate(timeout=120)
    assert "12 runs in 2 jobs, all there" in again and "Building" not in again
    assert {path.name for path in tmp_path.iterdir()} == {"tried", "resources"}
    found = tmp_path.glob("tried/upscaling/fig3.transfer-lr-mlp/*/fig3.transfer-lr-mlp.*")
    assert sorted(path.suffix for path in found) == [".csv", ".csv", ".png", ".png", ".txt", ".txt"]
    assert subprocess.run(["git", "status", "-s"], cwd=ROOT, capture_output=True).stdout == before
