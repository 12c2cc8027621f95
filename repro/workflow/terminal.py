"""What a workflow says on a terminal: how much it will do, then a line a job with what is done.

It takes the place of Snakemake's own formatter of the terminal's lines; the log under .snakemake/
keeps all of Snakemake's. No torch, and nothing of Snakemake's is imported.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro.workflow.progress import duration

# Of no use to who asked for a figure: which shell, which profile, which host.
EVENTS_LEFT_OUT = {
    *("workflow_started", "resources_info", "job_started", "progress", "group_info", "shellcmd"),
    *("rulegraph",),
}
LEFT_OUT = (
    *("Config file ", "Assuming unrestricted shared filesystem", "Building DAG of jobs"),
    *("Using shell: ", "Select jobs to execute", "Group jobs: inactive", "Elapsed time: "),
    # A job that failed has a line of its own.
    *("RuleException:\nCalledProcessError", "Exiting because a job execution failed"),
    "WorkflowError:\nAt least one job did not complete successfully",
)
# Rules whose jobs write on the terminal too.
SAY_THEMSELVES = ("record", "redraw", "report", "verify")
# Rule -> what a job of it does, in its wildcards; of other rules nothing is said but an error.
JOBS = {
    "fetch": "{prepare}",
    "tokenize": "tokenize {dataset}",
    "train": "train {study} {cell}",
    "train_base": "train {study} {cell}",
    "make": "draw {paper}/{name}",
}
ID = 13  # characters of an id at the end of a cell's name, with the hyphen before it
CLEAR = "\033[2K"
TOLD = 1 / 3  # of the work, from which on it tells how long the rest will take
TRAIN_START = 4.0  # seconds, part of the price of a job that trains: importing torch
NOT_DONE = 0.05  # of a job, at least, while it runs


@dataclass(frozen=True)
class Ahead:
    """What a call will do. words: for its first line. prices: job -> its share of the work, in
    seconds or whatever is known of all. here: whether a job that has begun also works.
    data: dataset -> what is done to prepare it, `make synthetic text`."""

    words: str
    prices: Mapping[int, float]
    here: bool = True
    data: Mapping[str, str] = field(default_factory=dict)


class Lines(logging.Formatter):
    """Snakemake's records as lines for a person; what says nothing becomes "", which is not shown.

    default: the formatter of everything else, errors among it. ahead: called once the jobs are
    known. on_terminal: whether a bar that is drawn below must be cleared first. clock: in seconds.
    """

    def __init__(
        self,
        default: logging.Formatter,
        ahead: Callable[[], Ahead],
        on_terminal: bool,
        clock: Callable[[], float] = time.monotonic,
    ):
        super().__init__()
        self.default, self.ahead, self.clock = default, ahead, clock
        self.clear = CLEAR if on_terminal else ""
        self.plan: Ahead | None = None
        self.begin = 0.0
        self.names: dict[int, str] = {}
        self.started: dict[int, float] = {}  # jobs that run
        self.finished: list[int] = []
        self.told: set[Path] = set()  # logs whose error was shown
        # Preparing data tells nothing of how fast jobs train: of these alone, when the first began,
        # and of those that ended how long they took and their price.
        self.training: set[int] = set()
        self.since: float | None = None
        self.taken = self.paid = 0.0
        self.shortest, self.most = TRAIN_START, 1  # time of one of them; how many ran at once

    def format(self, record: logging.LogRecord) -> str:
        text = self._line(record)
        return self.clear + text if text else ""

    def _line(self, record: logging.LogRecord) -> str:
        event = getattr(record, "event", None)
        if event == "run_info":
            return self._begin(record)
        if event == "job_finished":
            return self._finish(vars(record)["job_id"])
        if event == "job_error":
            return self._fail(record)
        quiet = event in (None, "error") and str(record.msg).startswith(LEFT_OUT)
        return "" if quiet or event in EVENTS_LEFT_OUT else self.default.format(record)

    def _begin(self, record: logging.LogRecord) -> str:
        """The first line. Snakemake's table of jobs by rule follows in a dry run alone, once: it
        comes a second time at its end."""
        if self.plan:
            return self.default.format(record)
        self.plan, self.begin = self.ahead(), self.clock()
        return self.plan.words

    def filter(self, record: logging.LogRecord) -> bool:
        """Take note of a job that begins; its record goes no further, for Snakemake's handler would
        write an empty line before it."""
        begins = getattr(record, "event", None) == "job_info"
        if begins:
            self._start(vars(record))
        return not begins

    def _start(self, job: Mapping) -> None:
        pattern = JOBS.get(job["rule_name"], "")
        wildcards = dict(job["wildcards"])
        if "cell" in wildcards:
            wildcards["cell"] = wildcards["cell"][:-ID]
        if dataset := wildcards.get("dataset"):
            known = self.plan.data if self.plan else {}
            wildcards["prepare"] = known.get(dataset, f"prepare {dataset}")
        self.names[job["jobid"]] = pattern.format(**wildcards)
        self.started[job["jobid"]] = self.clock()
        if job["rule_name"].startswith("train"):
            self.training.add(job["jobid"])
            self.since = self.clock() if self.since is None else self.since
            self.most = max(self.most, len(self.training & self.started.keys()))

    def _finish(self, job: int) -> str:
        taken = self.clock() - self.started.pop(job, self.clock())
        self.finished.append(job)
        if self.plan and job in self.training:
            self.taken, self.paid = self.taken + taken, self.paid + self.plan.prices.get(job, 0.0)
            self.shortest = min(self.shortest, taken)
        name = self.names.get(job)
        return f"{self.progress_line()}  {name}, {duration(taken)}" if name else ""

    def _fail(self, record: logging.LogRecord) -> str:
        """A user's mistake in its own words; of anything else all that Snakemake and the job's log
        say."""
        job = vars(record)
        self.started.pop(job["jobid"], None)
        name = self.names.get(job["jobid"]) or job["rule_name"]
        for log in map(Path, job["log"] or ()):
            last = (
                log.read_text(errors="replace").rstrip().rpartition("\n")[2] if log.exists() else ""
            )
            if last.startswith("error: "):
                self.told.add(log)
                if job["rule_name"] in SAY_THEMSELVES:
                    return f"failed: {name} ({log})"
                return f"failed: {name}: {last.removeprefix('error: ')} ({log})"
        return f"failed: {name}\n{self.default.format(record)}"

    def progress_line(self) -> str:
        """`12 of 38 jobs, 41 % of the work, 03:10 elapsed, about 04:30 left`, the last once it can
        be told; "" before the jobs are known."""
        if self.plan is None:
            return ""
        done, now = self.done(), self.clock()
        words = f"{len(self.finished)} of {len(self.plan.prices)} jobs, {done:.0%} of the work, "
        words = f"{words.replace('%', ' %')}{duration(now - self.begin)} elapsed"
        if not TOLD <= done < 1:
            return words
        return f"{words}, about {duration(self.seconds_left(self.plan, done))} left"

    def seconds_left(self, plan: Ahead, done: float) -> float:
        """Seconds until all is done: what the other jobs take at the pace of those that trained,
        shared among as many as ran at once. A start is no part of the pace: it is at most as long
        as the shortest job. Elsewhere, or where prices are no seconds: the time so far, by `done`.
        """
        now, since = self.clock(), self.begin if self.since is None else self.since
        ended = len(self.training & {*self.finished})
        paid = self.paid - TRAIN_START * ended
        known = plan.here and paid > 0
        start, free = (self.shortest, TRAIN_START) if known else (0.0, 0.0)
        pace = (
            (self.taken - start * ended) / paid if known else self.taken / (self.paid or 1) or 1.0
        )

        def takes(job: int) -> float:
            price = plan.prices.get(job, 0.0)
            return start + pace * (price - free) if price >= free else price

        running = [takes(job) - (now - begin) for job, begin in self.started.items()]
        waiting = plan.prices.keys() - {*self.started, *self.finished}
        work = sum(map(takes, waiting)) + sum(max(0.0, each) for each in running)
        whole = work / self.most if known else (now - since) * (1 - done) / done
        return max(whole, *running, 0.0)  # one job has but one core

    def done(self) -> float:
        """The share of the work that is done, by price; of jobs that run by what others of their
        price took here, which before one has ended is what it took on record."""
        if self.plan is None or not (whole := sum(self.plan.prices.values())):
            return 0.0
        prices, now = self.plan.prices, self.clock()
        work = sum(prices.get(job, 0.0) for job in [*self.finished])
        for job, begin in [*self.started.items()] if self.plan.here else ():
            like = (now - begin) * (self.paid / self.taken if self.taken else 1.0)
            work += min(like, (1 - NOT_DONE) * prices.get(job, 0.0))
        return work / whole

    def longest(self) -> str:
        """The job that has run for longest of those that run, and for how long; "" without one."""
        running = [(begin, self.names[job]) for job, begin in [*self.started.items()]]
        begin, name = min((each for each in running if each[1]), default=(0.0, ""))
        return name and f"{name}, {duration(self.clock() - begin)}"
