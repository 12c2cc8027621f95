"""A process of each call of Snakemake, from which its jobs are forked. No torch at import.

A job takes two seconds of a core to import libraries; many a cell is trained in a tenth of one. So
the worker imports them once, before the first job that needs them, and a job hands itself over
(`repro.workflow.handover`): its process, `python -m repro train ...`, waits for a child of the
worker that does the same, in the same folder, with the same environment and log, and ends with the
child's status. Signals are passed on, and what kills the one kills the other. No module of the
suite is kept from job to job: a job runs the code that is on the disk when it begins.

On a GPU likewise: the worker has imported torch, but never used CUDA, which a forked process could
not go on with; each job starts CUDA anew, on the GPU that it was given.

A job that cannot be handed over is carried out where it is, as without a worker: with several
threads or ranks, in a container, on a cluster, and where the worker was killed. Linux only.
"""

import ctypes
import gc
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

from repro.lineage import arithmetic
from repro.workflow import bytecode
from repro.workflow.handover import ADDRESS, LIBRARIES, THREADS

# A child has only the thread that forked it, so there must be no other: of a library's products, or
# of pyarrow's memory, which pandas imports.
ONE_THREAD = dict.fromkeys(THREADS, "1") | {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
OURS = ("repro", "widthwise")
LONGEST = 1 << 20  # bytes of a job
PATIENCE = 1.0  # seconds
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl


class Worker:
    """The worker of this process's call, which ends as this process does, however that ends."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None

    def start(self, asked: str, prefix: str = "") -> None:
        """Start it, and have jobs find it. asked: the arithmetic. prefix: what the shell of a job
        does first."""
        if sys.platform != "linux":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="repro-worker-")
        address = str(Path(self.folder.name) / "socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            try:
                listener.bind(address)
            except OSError:  # the path is too long
                return
            listener.listen(128)
            module = f"exec python -P -m repro.workflow.worker {listener.fileno()} {asked}"
            environment = os.environ | ONE_THREAD
            if bytecode.libraries_have_it():  # its children look elsewhere for the suite's alone
                environment.pop(bytecode.PREFIX, None)
            self.process = subprocess.Popen(
                ["bash", "-c", prefix + module],
                stdin=subprocess.PIPE,  # whose end is that of this process
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=[listener.fileno()],
                start_new_session=True,  # Ctrl-C reaches the jobs, which pass it on
            )
        os.environ[ADDRESS] = address

    def stop(self) -> None:
        """End it and what it still does."""
        if self.process and self.process.stdin:
            os.environ.pop(ADDRESS, None)
            self.process.stdin.close()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:  # it imports something
                self.process.kill()
                self.process.wait()
            self.folder.cleanup()


class Server:
    """What the worker does: a child for each job, until the call ends.

    listener: the socket at ADDRESS. call: a file that ends when the call does.
    """

    def __init__(self, listener: socket.socket, call: int):
        self.listener, self.selector = listener, DefaultSelector()
        self.children: set = set()
        self.selector.register(listener, EVENT_READ, self._accept)
        self.selector.register(call, EVENT_READ, partial(self._stop, call))

    def serve(self) -> None:
        """Returns once the call has ended."""
        while self.children or self.listener.fileno() >= 0:
            (key, _), *_ = self.selector.select()  # one at a time: it may end others
            key.data()

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        self.selector.register(connection, EVENT_READ, partial(self._begin, connection))

    def _begin(self, connection: socket.socket) -> None:
        """Fork the child of a job. Without an answer its process carries it out: where its child
        would not be sound, because a library is missing or has started a thread."""
        self.selector.unregister(connection)
        content, files, *_ = socket.recv_fds(connection, LONGEST, 3)
        try:
            words, folder, environment = json.loads(content)
            for library in LIBRARIES[words[0]]:
                import_module(library)
            gc.freeze()  # or the child's collections would copy all that was imported
            if len(os.listdir("/proc/self/task")) > 1:
                raise RuntimeError("a library has started a thread")
            job = partial(self._carry_out, words, folder, environment, files, os.getpid())
            child = get_context("fork").Process(target=job, name=" ".join(words))
            child.start()
        except (ValueError, ImportError, OSError, RuntimeError):
            connection.close()
            return
        finally:
            for file in files:
                os.close(file)
        self.children.add(child)
        self.selector.register(connection, EVENT_READ, partial(self._pass_on, connection, child))
        self.selector.register(child.sentinel, EVENT_READ, partial(self._end, connection, child))

    def _pass_on(self, connection: socket.socket, child) -> None:
        number = b""  # where the job's process was killed
        with suppress(OSError):
            number = connection.recv(1)
        if not number:
            self.selector.unregister(connection)
        if child.is_alive():
            os.kill(child.pid, number[0] if number else signal.SIGKILL)

    def _end(self, connection: socket.socket, child) -> None:
        self.selector.unregister(child.sentinel)
        child.join()
        code = child.exitcode if child.exitcode >= 0 else 128 - child.exitcode
        with suppress(OSError, KeyError):
            connection.send(bytes([code]))
            self.selector.unregister(connection)
        connection.close()
        self.children.remove(child)
        child.close()

    def _stop(self, call: int) -> None:
        self.selector.unregister(call)
        self.selector.unregister(self.listener)
        self.listener.close()
        for child in self.children:
            child.kill()

    def _carry_out(self, words, folder, environment, files, worker) -> None:
        """In a child: `python -m repro`, with a job's words, folder, environment and files."""
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != worker:  # it was killed before
            os._exit(1)
        for key in [*self.selector.get_map().values()]:
            os.close(key.fd)
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.detach()
        self.selector.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        # What an arithmetic sets is the worker's: the libraries were imported by it.
        kept = {k: v for k, v in os.environ.items() if k in arithmetic.VARIABLES}
        taken = {k: v for k, v in environment.items() if k not in arithmetic.VARIABLES}
        os.environ.clear()
        os.environ.update(taken | kept)
        sys.argv[1:] = words
        sys.pycache_prefix = environment.get(bytecode.PREFIX)
        for name in [*sys.modules]:
            if name.partition(".")[0] in OURS:
                del sys.modules[name]
        runpy.run_module("repro", run_name="__main__", alter_sys=True)


def main(listener: int, asked: str) -> None:
    """Be the worker. listener: the number of the socket's file. asked: the arithmetic."""
    server = Server(socket.socket(fileno=listener), sys.stdin.fileno())
    folder = Path(server.listener.getsockname()).parent
    if not arithmetic.apply(asked):  # what that says, each job must say
        server.serve()
    shutil.rmtree(folder, ignore_errors=True)  # also where the call was killed
    os._exit(0)  # half a second before Python has cleared away torch


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
