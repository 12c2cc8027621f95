"""A job hands itself over to its call's worker (`repro.workflow.worker`). Loads next to nothing."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESS = "REPRO_WORKER"  # environment variable of jobs: the path of the worker's socket
# Command of a job that is handed over -> what takes it long to import.
LIBRARIES = {
    "fetch": (  # of a table as `make`
        *("numpy", "pandas", "scipy.stats", "filelock", "yaml"),
        *("safetensors.numpy", "tokenizers"),
    ),
    "train": ("torch", "safetensors.torch", "filelock", "yaml"),
    "make": (
        *("pandas", "scipy.stats", "seaborn", "matplotlib.pyplot", "filelock", "yaml"),
        *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"),
    ),
    "publish": (),
}
# Variables by which Snakemake tells libraries a job's number of threads.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGTSTP)


def hand_over(words: list[str]) -> None:
    """End this process as the worker's child ends that carries out a command in its place; return
    where there is no worker for it, or no longer."""
    address = os.environ.pop(ADDRESS, None)
    if not address or not words or words[0] not in LIBRARIES or "--ranks" in words:
        return
    if any(os.environ.get(name) != "1" for name in THREADS):
        return
    job = json.dumps([words, os.getcwd(), {**os.environ}]).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as worker, passed_on(worker):
        try:
            worker.connect(address)
            socket.send_fds(worker, [job], [0, 1, 2])
            status = worker.recv(1)
        except OSError:
            return
    if status:
        os._exit(status[0])


@contextmanager
def passed_on(worker: socket.socket) -> Iterator[None]:
    """Pass signals on to the child; SIGTSTP, Ctrl-Z, stops this process too."""

    def pass_on(number: int, frame: object) -> None:
        if number != signal.SIGTSTP:
            worker.send(bytes([number]))
            return
        worker.send(bytes([signal.SIGSTOP]))
        os.kill(os.getpid(), signal.SIGSTOP)
        worker.send(bytes([signal.SIGCONT]))

    heeded = [each for each in PASSED_ON if signal.getsignal(each) != signal.SIG_IGN]
    before = {each: signal.signal(each, pass_on) for each in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
