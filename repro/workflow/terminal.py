"""What a workflow says on a terminal: how much it will do, then a line a job with what is left.

It takes the place of Snakemake's own formatter of the terminal's lines; the log under .snakemake/
keeps all of Snakemake's. No torch, and nothing of Snakemake's is imported.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro.workflow.pace import Pace, wall
from repro.workflow.progress import duration

# Of no use to who asked for a figure: which shell, which profile, which host.
EVENTS_LEFT_OUT = {
    *("workflow_started", "resources_info", "job_started", "progress", "group_info", "shellcmd"),
    *("rulegraph",),
}
LEFT_OUT = (
    *("Config file ", "Assuming unrestricted shared filesystem", "Building DAG of jobs"),
    *("Using shell: ", "Select jobs to execute", "Group jobs: inactive", "Elapsed time: "),
)
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
SHORTEST = 0.01  # seconds of a job, for a clock may not have moved


@dataclass(frozen=True)
class Ahead:
    """What a call will do. words: for its first line. seconds: job -> how long it should take by
    the seconds on record, empty where nobody knows. cores: how many jobs work side by side.
    training: the jobs that train, by which all are scaled; each has its seconds.
    data: dataset -> what is done to prepare it, `make synthetic text`."""

    words: str
    jobs: int
    seconds: Mapping[int, float] = field(default_factory=dict)
    cores: int = 1
    training: Collection[int] = ()
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
        self.pace = Pace()

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
        quiet = event is None and str(record.msg).startswith(LEFT_OUT)
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

    def _finish(self, job: int) -> str:
        begin = self.started.pop(job, None)
        self.finished.append(job)
        name = self.names.get(job)
        if begin is not None and self.plan and job in self.plan.training:
            taken = max(self.clock() - begin, SHORTEST)
            self.pace.ended.append((self.plan.seconds[job], taken))
        if begin is None or not name:
            return ""
        return f"{self.whole()}  {name}, {duration(self.clock() - begin)}"

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
                return f"failed: {name}: {last.removeprefix('error: ')} ({log})"
        return f"failed: {name}\n{self.default.format(record)}"

    def whole(self) -> str:
        """Jobs done of all, and the time left: ` 3/38, 02:10 to 03:40 left`; "" before they are
        known."""
        if self.plan is None:
            return ""
        count = f"{len(self.finished):{len(str(self.plan.jobs))}}/{self.plan.jobs}"
        ends = self.seconds_left()
        return f"{count}, {' to '.join(dict.fromkeys(map(duration, ends)))} left" if ends else count

    def longest(self) -> str:
        """The job that has run for longest of those that run, and for how long; "" without one."""
        running = [(begin, self.names[job]) for job, begin in [*self.started.items()]]
        begin, name = min((each for each in running if each[1]), default=(0.0, ""))
        return name and f"{name}, {duration(self.clock() - begin)}"

    def seconds_left(self) -> tuple[float, ...]:
        """What is left, at least and at most, of what was forecast; () where nothing was."""
        if self.plan is None or not self.plan.seconds:
            return ()
        now, done, cores = self.clock(), {*self.finished}, self.plan.cores
        begun = {job: now - begin for job, begin in [*self.started.items()]}
        left = {job: each for job, each in self.plan.seconds.items() if job not in done}

        def at(pace: float) -> float:
            each = [
                max(pace * expected - begun.get(job, 0.0), 0.05 * pace * expected)
                for job, expected in left.items()
            ]
            return wall(each, cores)

        return tuple(map(at, self.pace.ends([each for each in left.values() if each])))
