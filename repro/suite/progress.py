"""Progress of long runs: a line now and then in the log, a bar on a terminal."""

import math
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size

LINE_SECONDS = 5.0
SHOWN_SECONDS = 15.0  # a log not written to for so long is no longer shown


def duration(seconds: float) -> str:
    """`1:02:03` or `02:03`."""
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes:02}:{s:02}"


class Progress:
    """Progress of a job of several runs.

    Call it with a run's index and label for that run's callback (step, loss). Writes to
    `stream`, stderr if None: a line per LINE_SECONDS, or a bar that redraws itself where it is a
    terminal.
    """

    def __init__(self, title: str, runs: int, steps: int, stream=None):
        self.title, self.runs, self.steps = title, runs, steps
        self.stream = stream or sys.stderr
        self.begin = self.last = time.monotonic()
        self.first_index: int | None = None

    def __call__(self, index: int, label: str):
        if self.first_index is None:
            self.first_index = index
        first = self.first_index

        def report(step: int, loss: float) -> None:
            now = time.monotonic()
            terminal = self.stream.isatty()
            finished = index == self.runs - 1 and step >= self.steps
            if now - self.last < (0.2 if terminal else LINE_SECONDS) and not finished:
                return
            self.last = now
            done = index - first + step / self.steps
            left = (now - self.begin) / done * (self.runs - first - done)
            line = (
                f"{self.title} run {index + 1}/{self.runs} {label} "
                f"step {step}/{self.steps} loss {loss:.4g}, {duration(left)} left"
            )
            end = "\n" if finished or not terminal else "\r"
            self.stream.write(("\033[2K" if terminal else "") + line + end)
            self.stream.flush()

        return report


def bar(lines: list[str], columns: int) -> str:
    """Progress lines side by side in one line of a terminal, each cut at its beginning."""
    each = (columns - 1) // len(lines) - 3
    return " | ".join(line[-max(each, 1) :] for line in lines)[: columns - 1]


def states(logs: Path) -> dict[Path, tuple[int, int]]:
    """Log -> its modification time and size, which change when it is written to.

    The times are by the clock of the writing node or the file server, so they are compared only
    with each other, never with this machine's clock.
    """
    found = {}
    for path in sorted(logs.rglob("*.log")):
        with suppress(OSError):  # a log may vanish between listing and reading
            status = path.stat()
            found[path] = status.st_mtime_ns, status.st_size
    return found


class Monitor:
    """A bar on the terminal of a workflow: the latest line of every log that is being written.

    Draws nothing where the stream is no terminal; the logs then hold everything.
    """

    def __init__(self, logs: Path, stream=sys.stderr):
        self.logs, self.stream = logs, stream
        self.stopped = threading.Event()
        self.before = self.last = states(logs)
        self.written: dict[Path, float] = {}  # when it was seen to have changed
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
            lines = self.lines()
            if lines:
                self.stream.write("\033[2K" + bar(lines, get_terminal_size().columns) + "\r")
                self.stream.flush()

    def lines(self) -> list[str]:
        """Last progress line of every log seen to be written to in the last SHOWN_SECONDS."""
        now, found = time.monotonic(), states(self.logs)
        self.written |= {path: now for path in found if found[path] != self.last.get(path)}
        self.last = found
        result = []
        for path in found:
            if now - self.written.get(path, -math.inf) > SHOWN_SECONDS:
                continue
            with suppress(OSError):
                last = path.read_text(errors="replace").rstrip().rsplit("\n", 1)[-1]
                if last.endswith(" left") and not last.endswith("00:00 left"):
                    result.append(last)
        return result

    def failures(self, unfinished: Collection[Path] = ()) -> list[str]:
        """`<log>: <error>` of every log written to since the beginning that ends in an error.

        A user's mistake is its own line; anything else the last line of its traceback. The log of
        a job that is unfinished, and says nothing of why, is named as one whose job was killed.
        """
        result = []
        for path, state in states(self.logs).items():
            if state == self.before.get(path):
                continue
            lines = path.read_text(errors="replace").rstrip().splitlines()
            traced = any(line.startswith("Traceback ") for line in lines)
            if lines and (traced or lines[-1].startswith("error: ")):
                result.append(f"{path}: {lines[-1]}")
            elif path in unfinished:
                result.append(
                    f"{path}: ended without a word: stopped, killed (out of memory?) or no room on "
                    "the disk; run the same command again, finished runs are kept"
                )
        return result
