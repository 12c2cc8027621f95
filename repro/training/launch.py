"""Several processes for one command, by torchrun's launcher. An error in one ends all of them and
is reported in one line.

No torch until ranks are started.
"""

import json
import logging
import os
import signal
import sys
import tempfile
import time
import traceback

from repro.errors import UserError

AGAIN = "; run the same command again to go on"
LAUNCHED = "REPRO_LAUNCHED"  # cluster managers also set RANK and WORLD_SIZE, so these prove nothing


def is_rank() -> bool:
    """Whether `launch` started this process as one of several."""
    return LAUNCHED in os.environ


def report(error: BaseException) -> None:
    """Hand a rank's error to its launcher; print it if no launcher reads it."""
    mistake = isinstance(error, UserError)
    text = str(error) if mistake else f"{type(error).__name__}: {error}".strip().splitlines()[0]
    trace = "" if mistake else "".join(traceback.format_exception(error))
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        print(f"{trace}error: rank {os.environ['RANK']}: {text}", file=sys.stderr)
        return
    now = time.time()
    found = {
        "message": {"message": text, "extraInfo": {"timestamp": int(now)}},
        "at": now,
        "trace": trace,
        "lost_peer": type(error).__name__.startswith("Dist") or "gloo/" in text,
    }
    with open(path, "w") as file:
        json.dump(found, file)


def check_devices(ranks: int, device: str) -> None:
    """Raise UserError when there are fewer GPUs than ranks."""
    if device != "cpu":
        from repro import backend

        if (found := backend.device_count()) < ranks:
            why = "" if found else f": {backend.why_no_cuda()}"
            raise UserError(f"--ranks {ranks}: {found} CUDA devices are visible, one a rank{why}")


def launch(words: list[str], ranks: int) -> None:
    """Run `python -m repro WORDS` in `ranks` processes on this machine.

    If a rank fails, all are ended. Raises UserError with the error of the first that failed, and
    KeyboardInterrupt when interrupted.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.CRITICAL)  # the launcher's own report of a failed rank is long
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="repro-ranks-") as folder:
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=ranks,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            local_addr="localhost",
            run_id=str(os.getpid()),
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=folder, local_ranks_filter={0}),
        )
        try:
            os.environ[LAUNCHED] = "1"  # the ranks inherit it
            safe = ["-P"] if sys.flags.safe_path else []  # started as this process was
            elastic_launch(config, sys.executable)(*safe, "-m", "repro", *words)
        except ChildFailedError as error:
            raise UserError(_cause(error.failures, ranks)) from None
        except SignalException as error:
            if error.sigval == signal.SIGINT:
                raise KeyboardInterrupt from None
            name = signal.Signals(error.sigval).name
            raise UserError(f"ended by {name}{AGAIN}") from None
        finally:
            del os.environ[LAUNCHED]
            logging.disable(logging.NOTSET)


def _cause(failures: dict, ranks: int) -> str:
    """The failure that caused the others: those lost their peer or were ended by SIGTERM."""

    def order(failure) -> tuple:
        found = failure.error_file_data
        ended = failure.exitcode == -signal.SIGTERM and "at" not in found
        kind = 3 if ended else 2 if found.get("lost_peer") else 0 if "at" in found else 1
        return kind, found.get("at", 0.0)

    number, first = min(failures.items(), key=lambda item: order(item[1]))
    found = first.error_file_data
    print(found.get("trace", ""), end="", file=sys.stderr)
    if "at" in found:
        text = found["message"]["message"] + (AGAIN if found["trace"] else "")
    elif first.exitcode < 0:
        why = ", for want of memory perhaps" if first.exitcode == -signal.SIGKILL else ""
        text = f"was killed by {first.signal_name()}{why}{AGAIN}"
    else:
        text = f"ended with status {first.exitcode}{AGAIN}"
    return f"rank {number} of {ranks}: {text}"
