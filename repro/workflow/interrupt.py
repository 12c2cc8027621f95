"""Ctrl-C of a workflow: one line, and two seconds later nothing of it is left at work. No torch."""

import logging
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

GRACE = 1.5  # seconds in which jobs end by themselves; a call into a library may take minutes
SAID = "interrupted: finished runs are kept, and the same command goes on where this one stopped"


class Interrupt:
    """What a call does on Ctrl-C, instead of Snakemake, which waits for every job to end and then
    reports each as failed.

    came: whether there was one.
    """

    def __init__(self) -> None:
        self.came = False
        self.works_here = False

    def listen(self) -> None:
        """Answer Ctrl-C from now on. Only a main thread can; and a call that a script starts in the
        background has it ignored, for it is another's."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._answer)

    def _answer(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends by itself, a second one has no use
        logging.disable()  # what Snakemake says after that is of no use
        self.came = True
        clear = "\r\033[2K" if sys.stderr.isatty() else ""
        print(f"{clear}{SAID}", file=sys.stderr, flush=True)
        if self.works_here:
            timer = threading.Timer(GRACE, end_jobs)
            timer.daemon = True
            timer.start()
        raise SystemExit(128 + number)


def end_jobs() -> None:
    """Kill every process that this one started, and those that these started. A job killed at any
    moment leaves no half-written file (docs/promises.md)."""
    import psutil  # Snakemake needs it too

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
