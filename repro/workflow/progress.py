"""Progress of long runs: a line every few seconds in a log, a bar on a terminal."""

import math
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from types import MappingProxyType

LINE_SECONDS = 5.0
NARROW = 30  # columns that a log's line needs beside what is said of the whole
SHOWN_SECONDS = 15.0  # the bar leaves out logs that were not written to for so long


def duration(seconds: float) -> str:
    """Seconds as `1:02:03` or `02:03`."""
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes:02}:{s:02}"


class Progress:
    """Progress of a job of several runs, with an estimate of the time left.

    Called with a run's index and label, it returns the run's callback(step, loss), which writes to
    `stream`: a line every LINE_SECONDS, or on a terminal one line that is written over.
    title: of the job. steps: of each run. stream: stderr if None.
    """

    def __init__(self, title: str, steps: Sequence[int], stream=None):
        self.title, self.steps = title, steps
        self.stream = stream or sys.stderr
        self.begin = self.last = time.monotonic()
        self.first_index: int | None = None  # of a run that trains: those before it were finished

    def __call__(self, index: int, label: str):
        if self.first_index is None:
            self.first_index = index
        first = self.first_index

        def report(step: int, loss: float) -> None:
            now = time.monotonic()
            terminal = self.stream.isatty()
            finished = index == len(self.steps) - 1 and step >= self.steps[index]
            if now - self.last < (0.2 if terminal else LINE_SECONDS) and not finished:
                return
            self.last = now
            done = sum(self.steps[first:index]) + step  # since `begin`
            left = (now - self.begin) / done * (sum(self.steps[first:]) - done)
            line = (
                f"{self.title} run {index + 1}/{len(self.steps)} {label} "
                f"step {step}/{self.steps[index]} loss {loss:.4g}, {duration(left)} left"
            )
            end = "\n" if finished or not terminal else "\r"
            self.stream.write(("\033[2K" if terminal else "") + line + end)
            self.stream.flush()

        return report


def bar(lines: list[str], columns: int) -> str:
    """Progress lines side by side in one line of a terminal of this many columns.

    Each line keeps its end, which says the loss and the time left.
    """
    width = (columns - 1) // len(lines) - 3  # of a line; 3 for the separator
    return " | ".join(line[-max(width, 1) :] for line in lines)[: columns - 1]


def states(logs: Path) -> dict[Path, tuple[int, int]]:
    """Log -> (modification time in ns, size in bytes), which change when it is written to.

    The times are by the clock of the writing node or the file server, so they are compared only
    with each other, never with this machine's clock.
    """
    result = {}
    for path in sorted(logs.rglob("*.log")):
        with suppress(OSError):  # a log may vanish between listing and reading
            status = path.stat()
            result[path] = status.st_mtime_ns, status.st_size
    return result


class Monitor:
    """A bar on the terminal of a workflow: the latest line of every log that is being written.

    Nothing is drawn if the stream is not a terminal; the logs hold everything.
    overall: how much of the workflow is done, which stands before them, or alone where there is no
    room for both; "" before that is known.
    longest: what is shown while none is being written, as a job loads its data.
    """

    def __init__(
        self,
        logs: Path,
        stream=None,
        overall: Callable[[], str] = str,
        longest: Callable[[], str] = str,
    ):
        self.logs, self.stream = logs, stream or sys.stderr
        self.overall, self.longest = overall, longest
        self.stopped = threading.Event()
        self.before = self.last = states(logs)
        self.written: dict[Path, float] = {}  # log -> when it was seen to have changed, our clock
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch in a thread, on a terminal only."""
        if self.stream.isatty():
            self.thread = threading.Thread(target=self._watch, daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """End the thread and clear its line."""
        self.stopped.set()
        if self.thread:
            self.thread.join()
            self.stream.write("\033[2K")
            self.stream.flush()

    def _watch(self) -> None:
        while not self.stopped.wait(1.0):
            if shown := self.shown(get_terminal_size().columns):
                self.stream.write(f"\033[2K{shown}\r")
                self.stream.flush()

    def shown(self, columns: int) -> str:
        """The bar, of at most so many columns; "" while nothing runs."""
        longest = self.longest()
        lines = self.lines() or ([longest] if longest else [])
        line = self.overall()
        if not lines or columns - len(line) < NARROW:
            return line[: columns - 1] if lines else ""
        before = f"{line} | " if line else ""
        return before + bar(lines, columns - len(before))

    def lines(self) -> list[str]:
        """Last progress line of every log seen to be written to in the last SHOWN_SECONDS."""
        now, current = time.monotonic(), states(self.logs)
        self.written |= {path: now for path in current if current[path] != self.last.get(path)}
        self.last = current
        result = []
        for path in current:
            if now - self.written.get(path, -math.inf) > SHOWN_SECONDS:
                continue
            with suppress(OSError):
                last = path.read_text(errors="replace").rstrip().rsplit("\n", 1)[-1]
                if last.endswith(" left") and not last.endswith("00:00 left"):
                    result.append(last)
        return result

    def failures(
        self,
        unfinished: Collection[Path],
        not_begun: Mapping[Path, str] = MappingProxyType({}),
    ) -> list[str]:
        """`<log>: <error>` of jobs that did not finish, by their logs, where these were written to
        since the start: a user's mistake in its own words, anything else by the last line of its
        traceback; a job whose log has neither was probably killed. Logs of another call in this
        folder are none of this one's.

        not_begun: why a job never began, by its log, which another call may have written.
        """
        never = {path: not_begun[path] for path in sorted(unfinished) if path in not_begun}
        result = [f"{path}: {why}" for path, why in never.items()]
        for path, state in states(self.logs).items():
            if path not in unfinished or path in never or state == self.before.get(path):
                continue
            lines = path.read_text(errors="replace").rstrip().splitlines()
            traced = any(line.startswith("Traceback ") for line in lines)
            if lines and (traced or lines[-1].startswith("error: ")):
                result.append(f"{path}: {lines[-1]}")
            else:
                result.append(
                    f"{path}: ended without a word: stopped, killed (out of memory?) or no room on "
                    "the disk; run the same command again, finished runs are kept"
                )
        return result
