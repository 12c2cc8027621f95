"""The stages of `benchmarks/gpu.sh` that say what is right on a device."""

import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks._gpu_bench import STEPS, Bench, Left, apart, built, losses, plain, trained
from repro import backend
from repro.core import config, discovery
from repro.core.spec import override
from repro.core.suite import Suite
from repro.cost import Layout
from repro.files import sha256_file
from repro.lineage import arithmetic, foreign
from repro.lineage.checkout import ROOT
from repro.training import checkpoints, loop, ranks

FORMAT = "repro benchmarks/gpu 1"  # of the lines that the stages write
FIGURE = "upscaling/fig7"  # of five stages: widened models, and what one tunes the next take
NEAR = 2e-3  # of a loss, between float32 on a CPU and on a GPU after STEPS steps
HALF = ("bfloat16", "float16")


def machine(bench: Bench) -> dict:
    """What device, driver and libraries these are."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "device": backend.describe(bench.device),
        "name": foreign.plain(arithmetic.cpu_model()),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cpus": len(os.sched_getaffinity(0)),
    }
    if bench.on_gpu:
        properties = torch.cuda.get_device_properties(0)
        found |= {
            "name": foreign.plain(properties.name),
            "memory_gb": round(properties.total_memory / 1e9, 1),
            "gpus": torch.cuda.device_count(),
            "cuda": torch.version.cuda,
            "driver": driver(),
            "cudnn": torch.backends.cudnn.version(),
            "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        }
    return found


def driver() -> str | None:
    """The version of NVIDIA's driver; None where nvidia-smi does not say it."""
    call = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.split()[0]


def tests(bench: Bench) -> dict:
    """The suite's own tests of backend."""
    call = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-m", "not slow"]
    done = subprocess.run(
        [*call, str(ROOT / "tests" / "training" / "test_device.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named pytest" in done.stderr:
        raise Left("this Python has no pytest")
    last = done.stdout.strip().rpartition("\n")[2]
    words = last.replace(",", "").split()
    kinds = ("passed", "failed", "skipped")
    counts = {k: int(words[words.index(k) - 1]) if k in words else 0 for k in kinds}
    return counts | {"right": done.returncode == 0, "said": last}


def parity(bench: Bench) -> dict:
    """The same weights and batches give the same losses in float32 as on a CPU, model by model;
    in other precisions they fall."""
    cpu, found = torch.device("cpu"), {}
    for (model, _), (run, *_) in trained("smoke").items():
        spec = plain(run.spec, precision="float32")
        here, there = built(run.task, spec, cpu), built(run.task, spec, bench.device)
        there.model.load_state_dict(here.model.state_dict())
        expected = losses(here)
        found[model] = {"apart": apart(losses(there), expected), "last": expected[-1]}
    right = all(each["apart"] < NEAR for each in found.values())
    fallen = {}
    run = trained("smoke")["decoder", "float32"][0]
    for precision in ("tf32", *HALF) if bench.on_gpu else ():
        first, *_, last = losses(
            built(run.task, plain(run.spec, precision=precision), bench.device)
        )
        fallen[precision] = last - first
    return {
        "models": found,
        "fallen": fallen,
        "right": right and all(f < 0 for f in fallen.values()),
    }


def compiled(bench: Bench) -> dict:
    """Compiled blocks give the losses and gradient norms that they give uncompiled, step by step,
    model by model: with heads of as many entries as attention by blocks needs, in a window. Where
    they do not, runs on this GPU are compiled no more (`backend.wrong_when_compiled`). On a CPU,
    where nothing is compiled for a run, of one model."""
    found = {}
    for (model, _), (run, *_) in trained("smoke").items():
        if not bench.on_gpu and model != "decoder":
            continue
        entries = {k: backend.BLOCK_ENTRIES for k in ("head_dim", "rotary_dim")}
        changes = {f"model.{k}": n for k, n in entries.items() if k in run.spec["model"]}
        spec = plain(run.spec, precision="float32", **changes)
        eager, fast = (built(run.task, spec, bench.device) for _ in range(2))
        fast.model.load_state_dict(eager.model.state_dict())
        expected = losses_and_norms(eager)
        torch.compiler.reset()  # or the models count as shapes of one
        with ranks.laid_out(Layout(compile=True)):
            losses, norms = losses_and_norms(fast)
        found[model] = {"loss": apart(losses, expected[0]), "norm": apart(norms, expected[1])}
    wrong = [name for name, each in found.items() if not max(each.values()) < NEAR]
    if bench.on_gpu:
        note = backend.compiled_note()
        note.parent.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
        if wrong:
            note.write_text(f"compiled models are wrong on this GPU ({', '.join(wrong)}: {note})")
    return {"models": found, "right": not wrong}


def losses_and_norms(training: loop.Training) -> tuple[list[float], list[float]]:
    """The loss of each step, and the norm of its gradient."""
    norms: list[float] = []

    def note(optimizer: torch.optim.Optimizer, *_: object) -> None:
        every = (p.grad for group in optimizer.param_groups for p in group["params"])
        norms.append(float(torch.stack([g.norm() for g in every if g is not None]).norm()))

    training.optimizer.register_step_pre_hook(note)
    return losses(training), norms


def widened(bench: Bench) -> dict:
    """A model that is widened with its optimizer trains on; all of its state is on the device."""
    suite = Suite(config.parse({"scale": "smoke"}, discovery.dataset_names()))
    run = suite.cells("upscaling/gpt2/base")[0].runs[0]
    spec = plain(run.spec, lr=0.001)
    base = built(run.task, spec, bench.device)
    losses(base, 3)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "base.safetensors"
        checkpoints.save(file, base.model, base.optimizer)
        saved = {"file": file, "sha256": sha256_file(file), "spec": spec}
        width = spec["model"]["width"]
        start = {"checkpoint": saved, "width": width, "noise": "gaussian", "level": 0.01}
        start["convention"] = "paper"
        wide = built(
            run.task, override(spec, {"start": start, "model.width": 2 * width}), bench.device
        )
    places = {
        tensor.device.type
        for state in wide.optimizer.state.values()
        for tensor in state.values()
        if torch.is_tensor(tensor)
    }
    found = losses(wide, 3)
    return {
        "state_on": sorted(places),
        "losses": found,
        "right": places == {bench.device.type} and all(map(math.isfinite, found)),
    }


def resumed(bench: Bench) -> dict:
    """A run that was ended goes on to the same losses."""

    class Ended(Exception):
        pass

    def end(number: int, loss: float) -> None:
        if number == STEPS // 2:
            raise Ended

    run = trained("smoke")["decoder", "float32"][0]
    spec = plain(run.spec)
    whole = losses(built(run.task, spec, bench.device))
    kept = loop.CHECKPOINT_SECONDS
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        try:
            loop.CHECKPOINT_SECONDS = -1.0  # after every step
            one = replace(built(run.task, spec, bench.device), steps=STEPS, evaluations=STEPS)
            loop.train(one, progress=end, checkpoint=state)
        except Ended:
            pass
        finally:
            loop.CHECKPOINT_SECONDS = kept
        begun = state.exists()
        again = losses(built(run.task, spec, bench.device), state=state)
    found = apart(again, whole)
    return {"apart": found, "same_bits": found == 0, "right": begun and found < 1e-4}


def waits(bench: Bench) -> dict:
    """Where a step waits for the GPU, by model: line of code -> times a step."""
    if not bench.on_gpu:
        raise Left("a CPU is never waited for")
    found = {}
    for (model, _), (run, *_) in trained("smoke").items():
        training = built(run.task, plain(run.spec, precision="float32"), bench.device)
        losses(training, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                one = replace(training, steps=20, evaluations=1)
                with tempfile.TemporaryDirectory() as folder:
                    state = Path(folder) / "state"
                    loop.train(one, progress=lambda step, loss: None, checkpoint=state)
            finally:
                torch.cuda.set_sync_debug_mode("default")
        places = [
            f"{Path(w.filename).name}:{w.lineno}" for w in caught if "synchron" in str(w.message)
        ]
        found[model] = {place: places.count(place) / 20 for place in sorted({*places})}
    return {
        "models": found,
        "right": all(n < 0.5 for each in found.values() for n in each.values()),
    }


def figure(bench: Bench) -> dict:
    """A figure's runs here without Snakemake, packed, unpacked, drawn and held against records/."""
    bare = ["bash", str(ROOT / "profiles" / "gpu" / "bare.sh")]
    settings = ["scale=smoke", "data=embedded"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"DEVICE": bench.device.type, "PATH": path}
    found: dict[str, Any] = {"figure": FIGURE}
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("run", "verify"):
            if mode == "verify" and not has("pandas"):
                found["verify"] = "left out: no pandas"
                continue
            place = Path(folder) / mode
            place.mkdir()
            begin = time.perf_counter()
            done = subprocess.run(
                [*bare, mode, f"{folder}/cells.tar.gz", FIGURE, *settings],
                cwd=place,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            said = done.stdout.strip().splitlines()
            found |= {f"{mode}_seconds": round(time.perf_counter() - begin, 1), mode: said[-1]}
            if done.returncode:
                return found | {"right": False, "said": said[-20:]}
    return found


def has(module: str) -> bool:
    """Whether this Python has a library."""
    from importlib.util import find_spec

    return find_spec(module) is not None
