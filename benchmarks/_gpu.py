"""The stages of `benchmarks/gpu.sh`, one after the other.

A stage is a function of `Bench` that returns what it found, or raises: `Left` where it cannot be
done here, anything else where it failed. Its entry `right`, where there is one, says whether what
it found is as it should be.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from repro.errors import UserError
from repro.lineage import arithmetic

if notice := arithmetic.apply(arithmetic.DEFAULT):  # before torch reads the environment
    print(notice, file=sys.stderr)

from benchmarks import _gpu_fast as fast
from benchmarks import _gpu_right as right
from benchmarks._gpu_bench import Bench, Late, Left, clear
from repro import backend

LIMIT = 720.0  # seconds in all, on a GPU: it is lent by the minute, a CPU is not

STAGES: dict[Callable[[Bench], dict], float] = {  # stage -> seconds that it may take
    right.machine: 60,
    right.tests: 150,
    right.parity: 90,
    right.compiled: 150,
    right.widened: 30,
    right.resumed: 30,
    right.waits: 60,
    fast.speeds: 60,
    fast.kernels: 60,
    fast.steps: 240,
    fast.reading: 60,
    right.figure: 150,
}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Context that raises `Late` once so many seconds have passed; 0: never."""

    def late(number: int, frame: object) -> None:
        raise Late(f"took longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def carry_out(stage: Callable[[Bench], dict], bench: Bench, limit: float) -> dict:
    """What a stage found: its entries, or `left_out` or `error`, and its seconds."""
    begin = time.monotonic()
    try:
        clear(bench)
        with within(limit):
            found = stage(bench)
            bench.wait()
    except Left as reason:
        found = {"left_out": str(reason)}
    except Late as reason:  # a slow machine is no wrong one
        found = {"late": str(reason)}
    except Exception as error:  # the next stages may still be of use
        found = {"error": f"{type(error).__name__}: {error}"[:600]}
    if found.get("right") is False:
        found["error"] = "is not as it should be"
    try:
        json.dumps(found, allow_nan=False, default=str)
    except ValueError:
        found = {"error": f"a number is not finite: {found}"[:600]}
    return {"stage": stage.__name__, **found, "seconds_taken": round(time.monotonic() - begin, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out the stages; the status."""
    named = {stage.__name__: stage for stage in STAGES}
    parser = argparse.ArgumentParser(prog="benchmarks/gpu.sh")
    parser.add_argument("--cpu", action="store_true", help="at toy size on a CPU")
    parser.add_argument("--out", type=Path, default=Path("gpu.jsonl"), metavar="FILE")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(named))
    args = parser.parse_args(arguments)
    for name in args.stages:
        if name not in named:
            parser.error(f"{name}: no such stage, choose from {', '.join(named)}")
    bench = Bench(backend.select("cpu" if args.cpu else "cuda", threads=1))
    begin, failed, late = time.monotonic(), [], []
    with open(args.out, "w") as file:
        for name in args.stages or named:
            left = max(1.0, LIMIT - (time.monotonic() - begin))
            limit = min(STAGES[named[name]], left) if bench.on_gpu else 0.0
            found = carry_out(named[name], bench, limit)
            line = json.dumps(found, default=str)
            file.write(f"{line}\n")
            file.flush()
            ended = {"error": "FAIL", "left_out": "left", "late": "late"}
            state = next((word for key, word in ended.items() if key in found), "pass")
            print(f"{state} {name} {found['seconds_taken']} s {line[:600]}", flush=True)
            failed += [name] if state == "FAIL" else []
            late += [name] if state == "late" else []
    seconds = time.monotonic() - begin
    said = f"{', '.join(failed) or 'nothing'} failed"
    said += f", {', '.join(late)} not over in time" if late else ""
    print(f"{args.out}: {said}, {seconds:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as mistake:
        sys.exit(f"error: {mistake}")
