"""What a workflow says: a line a job, how much of the whole is done, and whole errors."""

import logging
import re

import pytest

from repro.core import catalog
from repro.core.suite import load
from repro.files import read_json
from repro.lineage.checkout import ROOT
from repro.products import forecast
from repro.workflow import internals, terminal


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
    return Screen(terminal.Ahead("4 jobs", {1: 10.0, 2: 10.0, 3: 0.0, 4: 0.0}))


def test_a_job_s_line_names_study_and_cell_and_how_much_of_the_whole_is_done(screen):
    assert screen.log("Job stats", "run_info") == "4 jobs"
    screen.start(1, "train", study="paper/study/tune", cell="width=64-0123456789ab")
    screen.now = 20.0
    line = screen.log("Finished jobid: 1 (Rule: train)", "job_finished", job_id=1)
    assert line == (
        "1 of 4 jobs, 50 % of the work, 00:20 elapsed, about 00:20 left  "
        "train paper/study/tune width=64, 00:20"
    )
    screen.start(2, "train", study="paper/study/tune", cell="width=128-0123456789ab")
    screen.now = 30.0
    assert screen.lines.done() == 0.75, "half of the second, by the pace of the first"
    screen.now = 90.0
    assert screen.lines.done() == 0.5 + 0.95 / 2, "it takes longer, and is not done"
    line = screen.log("", "job_finished", job_id=2)
    assert line.startswith("2 of 4 jobs, 100 % of the work, 01:30 elapsed  train")


def test_before_a_third_of_the_work_nothing_is_told_of_the_rest():
    screen = Screen(terminal.Ahead("", dict.fromkeys(range(10), 30.0)))
    screen.log("", "run_info")
    for job in range(10):
        screen.start(job, "train", study="s", cell="c-0123456789ab")
        screen.now += 10.0
        line = screen.log("", "job_finished", job_id=job)
        assert ("left" in line) == (3 <= job < 9), line
        assert job != 5 or "60 % of the work, 01:00 elapsed, about 00:40 left" in line


def test_data_that_are_prepared_say_nothing_of_how_fast_jobs_train():
    """Found where a dataset that took minutes to prepare made of ten minutes `2:41:01 left`."""
    screen = Screen(terminal.Ahead("", {1: 2.0, 2: 300.0, 3: 300.0}))
    screen.log("", "run_info")
    screen.start(1, "fetch", dataset="text")
    screen.now = 120.0
    line = screen.log("", "job_finished", job_id=1)
    assert line == "1 of 3 jobs, 0 % of the work, 02:00 elapsed  prepare text, 02:00"
    screen.start(2, "train", study="s", cell="c-0123456789ab")
    screen.now = 320.0
    line = screen.log("", "job_finished", job_id=2)
    assert "50 % of the work, 05:20 elapsed, about 03:20 left" in line


def test_of_jobs_in_a_queue_only_those_that_ended_count():
    screen = Screen(terminal.Ahead("", {1: 10.0, 2: 10.0}, here=False))
    screen.log("", "run_info")
    screen.start(1, "train", study="s", cell="c-0123456789ab")
    screen.now = 9.0
    assert screen.lines.done() == 0


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
    for split in ("train", "valid"):
        (tmp_path / "texts" / f"{split}.txt").write_text(f"a line of {split}\n" * 1000)
    screen = Screen(forecast.ahead(load(settings), {1: None}, cores=2))
    screen.log("", "run_info")
    screen.start(1, "fetch", dataset="ccnews")
    assert screen.log("", "job_finished", job_id=1).endswith(f" elapsed  {line}, 00:00")


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
    assert screen.lines.told == {log}, "it is not said again at the end"
    own = job | {"rule_name": "redraw", "jobid": 9}
    assert screen.log("Error in rule redraw", "job_error", **own) == f"failed: redraw ({log})"
    for message in terminal.LEFT_OUT[-3:]:
        assert not screen.log(f"{message} of it", "error")
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
    none = terminal.Ahead("", {})
    assert internals.attach([logging.Handler()], lambda: none) is None


def test_what_is_ahead_is_counted_and_priced(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    suite = load(["scale=smoke"])
    (cell,) = suite.cells("embedding_lr/parametrizations")
    jobs = {7: cell, 8: None, 9: None}
    ahead = forecast.ahead(suite, jobs, cores=2)
    assert ahead.words == (
        "3 jobs, 1 of them training: less than a minute on 2 cores, by the seconds on record"
    )
    assert ahead.prices[7] > forecast.TRAIN_START > ahead.prices[8] == forecast.OTHER_JOB
    elsewhere = forecast.ahead(suite, jobs, cores=None)
    assert elsewhere.words == "3 jobs, 1 of them training" and not elsewhere.here
    assert forecast.ahead(suite, {8: None}, cores=2).words == "1 job"


def test_what_was_never_recorded_is_priced_by_an_h100(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    suite = load(["scale=paper"])
    cells = dict(enumerate(suite.cells("embedding_lr/pretraining/long")))
    assert [*forecast.ahead(suite, cells, None).prices.values()] == [
        3600 * suite.gpu_hours([cell]) for cell in cells.values()
    ]


def replayed(prices, seconds):
    """A call's jobs on two cores, the dearest first, each as long as it takes: what is done, said
    to be left and left, each time that it is said."""
    screen = Screen(terminal.Ahead("", prices))
    screen.log("", "run_info")
    waiting = sorted(prices, key=prices.get)
    ends = {}
    said = []
    while waiting or ends:
        while waiting and len(ends) < 2:
            job = waiting.pop()
            screen.start(job, "train", study="s", cell="c-0123456789ab")
            ends[job] = screen.now + seconds[job]
        job = min(ends, key=ends.get)
        screen.now = ends.pop(job)
        line = screen.log("", "job_finished", job_id=job)
        if told := re.search(r"about (?:(\d+):)?(\d+):(\d+) left", line):
            hours, minutes, rest = (int(each or 0) for each in told.groups())
            said.append((screen.lines.done(), screen.now, 3600 * hours + 60 * minutes + rest))
    return [(done, left, screen.now - at) for done, at, left in said if screen.now > at]


@pytest.mark.parametrize("pace", [forecast.FASTEST, 1.0, forecast.SLOWEST])
def test_what_is_left_is_right_within_a_third_in_eight_of_ten_calls(pace, tmp_path, monkeypatch):
    """Ten calls that take the seconds on record, or a third, divided among their jobs as measured
    on a core (`durations.json`: the seconds of a job's runs, or its steps by the time of some of
    them). Held where it is first said, from half of the work on and from two thirds."""
    durations = read_json(ROOT / "tests" / "workflow" / "durations.json")
    monkeypatch.chdir(tmp_path)
    suite, right = load([]), []
    for name, taken in durations.items():
        figures = catalog.pages().get(name, [name])
        shown = [c for f in figures for part in suite.figure_cells(f).values() for c in part]
        cells = [c for c in suite.with_upstream(shown) if f"{c.study}/{c.name}" in taken]
        assert len(cells) == len(taken)
        prices = forecast.ahead(suite, dict(enumerate(cells)), cores=2).prices
        start = forecast.TRAIN_START
        part = pace * (sum(prices.values()) - len(cells) * start) / sum(taken.values())
        seconds = [part * taken[f"{c.study}/{c.name}"] + start for c in cells]
        said = replayed(prices, seconds)
        for share in (1 / 3, 1 / 2, 2 / 3):
            told, true = next((each[1:] for each in said if each[0] >= share), (0, 0))
            right.append(abs(told - true) <= true / 3)
    assert len(right) == 30
    assert all(sum(right[moment::3]) >= 8 for moment in range(3))
