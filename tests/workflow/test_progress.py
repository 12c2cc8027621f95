import io
import os
import time

import pytest

from repro.workflow import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_job_reports_run_step_loss_and_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = io.StringIO()
    job = progress.Progress("width=32", [200] * 4, stream=log)
    report = job(0, "lr=0.1 seed=0")
    now[0] = 110.0
    report(100, 4.25)
    assert log.getvalue() == ("width=32 run 1/4 lr=0.1 seed=0 step 100/200 loss 4.25, 01:10 left\n")


def test_runs_of_other_lengths_count_by_their_steps(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = io.StringIO()
    job = progress.Progress("cell", [10, 30], stream=log)
    for index, step, at in ((0, 10, 10.0), (1, 15, 25.0), (1, 30, 40.0)):
        now[0] = at
        job(index, "")(step, 1.0)
    assert [line.split("loss 1, ")[1] for line in log.getvalue().splitlines()] == [
        "00:30 left",
        "00:15 left",
        "00:00 left",
    ]
    assert "run 2/2  step 15/30" in log.getvalue()


def test_runs_taken_over_do_not_count_as_fast(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = io.StringIO()
    job = progress.Progress("cell", [10] * 4, stream=log)
    report = job(2, "")
    now[0] = 10.0
    report(10, 1.0)
    assert "run 3/4" in log.getvalue() and "00:10 left" in log.getvalue()


def test_lines_are_rare_in_a_log_and_the_last_is_always_there(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = io.StringIO()
    report = progress.Progress("cell", [100], stream=log)(0, "")
    for step in range(1, 101):
        now[0] += 0.1
        report(step, 1.0)
    lines = log.getvalue().splitlines()
    assert 2 <= len(lines) <= 3
    assert "step 100/100" in lines[-1]


def test_a_terminal_shows_one_line_that_redraws_itself(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    screen = Terminal()
    report = progress.Progress("cell", [4], stream=screen)(0, "")
    for step in range(1, 5):
        now[0] += 1.0
        report(step, 1.0)
    assert screen.getvalue().count("\r") == 3
    assert screen.getvalue().endswith("\n")


def test_the_monitor_shows_what_is_running_and_nothing_else(tmp_path):
    (tmp_path / "old.log").write_text("old run 1/2 step 1/9 loss 4, 00:30 left\n")
    monitor = progress.Monitor(tmp_path, stream=Terminal())
    (tmp_path / "a.log").write_text("a run 1/2 step 1/9 loss 4, 00:30 left\n")
    (tmp_path / "b.log").write_text("b step 9/9 loss 4, 00:00 left\nresumed 0 runs, trained 2\n")
    assert monitor.lines() == ["a run 1/2 step 1/9 loss 4, 00:30 left"]


def test_a_log_no_longer_written_to_is_no_longer_shown(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monitor = progress.Monitor(tmp_path, stream=Terminal())
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_text(f"{name} run 1/2 step 1/9 loss 4, 00:30 left\n")
    assert len(monitor.lines()) == 2
    now[0] = 16.0
    (tmp_path / "b.log").write_text("b run 1/2 step 2/9 loss 3.5, 00:25 left\n")
    assert monitor.lines() == ["b run 1/2 step 2/9 loss 3.5, 00:25 left"]


def test_while_no_log_is_written_the_bar_shows_the_job_that_runs(tmp_path):
    """Loading libraries and data takes a job seconds to minutes, in which something must move."""
    running = ["tokenize text, 01:05"]
    monitor = progress.Monitor(
        tmp_path, Terminal(), overall=lambda: "3/8, 02:10 left", longest=lambda: running[-1]
    )
    assert monitor.shown(80) == "3/8, 02:10 left | tokenize text, 01:05"
    (tmp_path / "a.log").write_text("a run 1/2 step 1/9 loss 4, 00:30 left\n")
    assert monitor.shown(80) == "3/8, 02:10 left | a run 1/2 step 1/9 loss 4, 00:30 left"
    (tmp_path / "a.log").unlink()
    running.append("")
    assert monitor.shown(80) == ""


def test_the_monitor_is_silent_without_a_terminal(tmp_path):
    stream = io.StringIO()
    monitor = progress.Monitor(tmp_path, stream=stream)
    monitor.start()
    monitor.stop()
    assert stream.getvalue() == ""
    assert monitor.thread is None


@pytest.mark.parametrize("skew", [-3600, 0, 3600])
def test_failures_name_the_log_and_the_last_line_whatever_the_nodes_clocks_say(tmp_path, skew):
    def write(name, text, age=0):
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (time.time() + skew - age,) * 2)

    write("old.log", "error: of yesterday\n", age=86_400)
    write("again.log", "error: disk: full\n", age=86_400)
    monitor = progress.Monitor(tmp_path)
    own = {tmp_path / f"{name}.log" for name in ("old", "again", "mistake", "bug", "never")}
    assert monitor.failures(own) == []
    write("other.log", "error: of another call in this folder\n")
    write("mistake.log", "step 1\nerror: disk: full\n")
    write("bug.log", "Traceback (most recent call last):\n  x\nKeyError: 'a'\n")
    write("again.log", "error: disk: full\n")
    assert monitor.failures(own) == [
        f"{tmp_path / 'again.log'}: error: disk: full",
        f"{tmp_path / 'bug.log'}: KeyError: 'a'",
        f"{tmp_path / 'mistake.log'}: error: disk: full",
    ]
    write("killed.log", "run 1/2 step 3/4 loss 2, 00:10 left\n")
    (said,) = monitor.failures({tmp_path / "killed.log"})
    assert said.startswith(f"{tmp_path / 'killed.log'}: ended without a word: stopped, killed")
    never = {tmp_path / name: "Slurm did not take it" for name in ("killed.log", "old.log")}
    said = monitor.failures({*never}, never)[:2]
    assert said == [
        f"{tmp_path / name}: Slurm did not take it" for name in ("killed.log", "old.log")
    ]


def test_the_bar_fits_one_line_and_keeps_what_changes():
    lines = ["width=128,hidden=0.1 run 4/18 step 98/140 loss 4.6, 02:01 left"] * 2
    shown = progress.bar(lines, 80)
    assert len(shown) < 80
    assert shown.count("loss 4.6, 02:01 left") == 2
    assert progress.bar(lines[:1], 200) == lines[0]
