"""What a workflow says: a line a job with its study and cell, what is left, and whole errors."""

import logging
import random
import re

import pytest

from repro.core.suite import load
from repro.products import forecast
from repro.workflow import internals, pace, terminal


class Screen:
    """Snakemake's handler of the terminal, as it reaches a formatter; `said` are its lines."""

    def __init__(self, ahead):
        self.now, self.said = 0.0, []
        handler = logging.Handler()
        handler.name = internals.STREAM
        handler.setFormatter(logging.Formatter("default: %(message)s"))
        handler.emit = lambda record: self.said.append(handler.format(record))
        self.lines = internals.attach([logging.Handler(), handler], lambda: ahead)
        self.lines.clock = lambda: self.now
        self.handler = handler

    def log(self, message="", event=None, **values):
        record = logging.makeLogRecord({"msg": message, "levelno": 20, "event": event, **values})
        self.handler.handle(record)
        return self.said[-1] if self.said else None

    def start(self, job, rule, **wildcards):
        self.log(event="job_info", jobid=job, rule_name=rule, wildcards=wildcards)


@pytest.fixture
def screen():
    """Two training jobs of 10 s and two of nothing, one after another."""
    seconds = {1: 10.0, 2: 10.0, 3: 0.0, 4: 0.0}
    ahead = terminal.Ahead("4 jobs", 4, seconds, cores=1, training={1, 2})
    return Screen(ahead)


def test_a_job_s_line_names_study_and_cell_and_what_is_left_of_the_whole(screen):
    assert screen.log("Job stats", "run_info") == "4 jobs"
    screen.start(1, "train", study="paper/study/tune", cell="width=64-0123456789ab")
    screen.now = 10.0
    line = screen.log("Finished jobid: 1 (Rule: train)", "job_finished", job_id=1)
    assert re.fullmatch(
        r"1/4, \d\d:\d\d to \d\d:\d\d left  train paper/study/tune width=64, 00:10", line
    )
    screen.start(2, "train", study="paper/study/tune", cell="width=128-0123456789ab")
    screen.now = 30.0
    line = screen.log("", "job_finished", job_id=2)
    assert line == "2/4, 00:00 left  train paper/study/tune width=128, 00:20"


def test_what_is_left_follows_the_pace_so_far(screen):
    screen.log("", "run_info")
    assert screen.lines.seconds_left() == pytest.approx((20 * pace.FASTEST, 20))
    screen.start(1, "train", study="s", cell="c-0123456789ab")
    screen.now = 20.0
    screen.log("", "job_finished", job_id=1)
    low, high = screen.lines.seconds_left()
    assert low < 20 < high, "half of it took twice as long"
    screen.start(2, "train", study="s", cell="d-0123456789ab")
    screen.now = 22.0
    assert screen.lines.seconds_left() == pytest.approx((low - 2, high - 2))


@pytest.mark.parametrize("speed", [0.5, 1.0, 3.0])
def test_what_is_left_holds_and_is_known_the_better_the_more_jobs_ended(speed):
    """The records' seconds are shared out by operations: jobs take 0.4 to 2.5 times their part."""
    jobs, rng = {number: 30.0 for number in range(60)}, random.Random(0)
    true = {number: speed * 30 * 2.5 ** rng.uniform(-1, 1) for number in jobs}
    screen, widths, held = Screen(terminal.Ahead("", 60, jobs, training={*jobs})), [], 0
    screen.log("", "run_info")
    for number in range(50):
        screen.start(number, "train", study="s", cell="c-0123456789ab")
        screen.now += true[number]
        screen.log("", "job_finished", job_id=number)
        low, high = screen.lines.seconds_left()
        widths.append((high - low) / (high + low))
        held += low <= sum(true[later] for later in range(number + 1, 60)) <= high
    assert held >= 40
    assert widths[0] > widths[10] > widths[30] and widths[30] < widths[0] / 2


def test_a_job_that_prepares_data_says_nothing_of_how_fast_jobs_train():
    """Found where a dataset that took minutes to prepare made of ten minutes `2:41:01 left`."""
    screen = Screen(terminal.Ahead("", 3, {1: 4.0, 2: 300.0, 3: 300.0}, training={2, 3}))
    screen.log("", "run_info")
    screen.start(1, "fetch", dataset="text")
    screen.now = 120.0
    line = screen.log("", "job_finished", job_id=1)
    assert line == "1/3, 03:20 to 10:00 left  prepare text, 02:00"
    screen.start(2, "train", study="s", cell="c-0123456789ab")
    screen.now = 420.0
    screen.log("", "job_finished", job_id=2)
    low, high = screen.lines.seconds_left()
    assert low < 300 < high < 900


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ([], "make synthetic ccnews"),
        (["data=real"], "download ccnews"),
        (["ccnews=texts"], "read ccnews of your folder"),
    ],
)
def test_what_prepares_data_says_where_they_come_from(settings, line, monkeypatch, tmp_path):
    """`prepare ccnews` looked like a download of gigabytes, in a call that needs no network."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "train.txt").write_text("a line of text\n" * 1000)
    screen = Screen(forecast.ahead(load(settings), {1: ("fetch", None)}, cores=2))
    screen.log("", "run_info")
    screen.start(1, "fetch", dataset="ccnews")
    assert screen.log("", "job_finished", job_id=1).endswith(f" left  {line}, 00:00")


def test_what_is_left_is_no_shorter_than_its_longest_job():
    """As the call's first line says; a core that has nothing to do makes no job shorter."""
    screen = Screen(terminal.Ahead("", 2, {1: 300.0, 2: 30.0}, cores=2, training={1, 2}))
    screen.log("", "run_info")
    assert screen.lines.seconds_left() == pytest.approx((300 * pace.FASTEST, 300))


def test_nothing_is_said_of_hosts_and_of_jobs_that_take_no_time(screen):
    screen.log("", "run_info")
    screen.start(3, "code", figure="paper/fig1", code="0")
    before = list(screen.said)
    for message in terminal.LEFT_OUT:
        screen.log(message)
    for event in terminal.EVENTS_LEFT_OUT:
        screen.log("Host: somewhere", event)
    screen.log("", "job_finished", job_id=3)
    assert not any(screen.said[len(before) :])
    assert screen.log("Nothing to be done") == "default: Nothing to be done"
    assert screen.log("WorkflowError: x", "error") == "default: WorkflowError: x"


def test_a_user_s_mistake_is_a_line_and_anything_else_is_shown_whole(screen, tmp_path):
    screen.log("", "run_info")
    screen.start(1, "train", study="p/s", cell="width=64-0123456789ab")
    log = tmp_path / "job.log"
    log.write_text("step 1\nerror: text: too short\n")
    job = {"jobid": 1, "rule_name": "train", "log": [str(log)]}
    line = screen.log("Error in rule train", "job_error", **job)
    assert line == f"failed: train p/s width=64: text: too short ({log})"
    log.write_text("Traceback (most recent call last):\nKeyError: 'a'\n")
    whole = screen.log("Error in rule train", "job_error", **job)
    assert whole == "failed: train p/s width=64\ndefault: Error in rule train"
    assert screen.log("x", "job_error", **job | {"log": ["gone.log"]}).startswith("failed: train")


def test_the_job_that_has_run_for_longest_is_named_with_its_time(screen):
    screen.log("", "run_info")
    assert screen.lines.longest() == ""
    screen.start(3, "code", figure="paper/fig1", code="0")  # of which nothing is said
    screen.now = 10.0
    screen.start(1, "tokenize", dataset="text")
    screen.now = 15.0
    screen.start(2, "fetch", dataset="images")
    screen.now = 75.0
    assert screen.lines.longest() == "tokenize text, 01:05"
    screen.log("", "job_finished", job_id=1)
    assert screen.lines.longest() == "prepare images, 01:00"


def test_a_logger_of_the_user_s_own_is_left_alone():
    none = terminal.Ahead("", 0)
    assert internals.attach([logging.Handler()], lambda: none) is None


def test_what_is_ahead_is_counted_and_timed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    suite = load(["scale=smoke"])
    (cell,) = suite.cells("embedding_lr/parametrizations")
    jobs = {7: ("train", cell), 8: ("make", None), 9: ("publish", None)}
    ahead = forecast.ahead(suite, jobs, cores=2)
    assert ahead.words == (
        "3 jobs, 1 of them training: less than a minute on 2 cores, by the seconds on record"
    )
    assert ahead.seconds[7] > forecast.TRAIN_START and ahead.seconds[8] == 6.0
    elsewhere = forecast.ahead(suite, jobs, cores=None)
    assert elsewhere.words == "3 jobs, 1 of them training" and not elsewhere.seconds
