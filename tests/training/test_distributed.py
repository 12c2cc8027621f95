"""Runs on several ranks: the same curves, states that any number of them resumes, whose errors."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from golden import SPECS, text_inputs
from ranks import carry_out
from refusals import refused
from torch import nn

from repro import backend
from repro.core import cells as cellfiles
from repro.cost import Cost, Layout
from repro.files import sha256_file
from repro.lineage.checkout import ROOT
from repro.tasks import TASKS
from repro.training import distributed, launch, loop, ranks
from repro.training.optimizer import make_optimizer
from repro.workflow.jobs import ALLOCATOR

pytestmark = pytest.mark.long

TOLERANCE = 1e-5  # relative, of losses in float32
SHORT = {"steps": 6, "evaluations": 2}
TEXT = {
    "dataset": "golden",
    "batch_size": 8,
    "sequence_length": 24,
    "vocab_size": 160,
    "tokenizer": "bpe",
    "validation_blocks": 8,
}
GPT2 = {
    "data": TEXT,
    "model": {
        "name": "gpt2",
        "depth": 2,
        "heads": 2,
        "width": 16,
        "base_width": 4,
        "attention_constant": 4.0,
        "embedding_std": 0.02,
    },
    "microbatches": 2,
    **SHORT,
}
BART = SPECS["span_denoising"]["model"]
STILL = {"model": BART | {"dropout": 0.0, "attention_dropout": 0.0}}
CASES = {
    "pretraining": ("pretraining", SHORT),
    "gpt2": ("warm_start", GPT2),
    "denoising": ("span_denoising", STILL | SHORT),
    "dropout": ("span_denoising", SHORT | {"microbatches": 4}),
    "diverging": ("warm_start", GPT2 | {"lr": 1e30}),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return text_inputs(tmp_path_factory.mktemp("golden"))


class Killed(Exception):
    pass


def golden_run(name, inputs, checkpoint, layout=None, stop=None, **more):
    """A case's records. stop: the step to be killed at, a state saved after every one before."""
    task, changes = CASES[name]
    changes = changes | more.pop("changes", {})

    def progress(step, loss):
        if step == stop:
            raise Killed

    with pytest.MonkeyPatch.context() as patch, ranks.laid_out(layout or Layout()):
        if stop:
            patch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
        return TASKS[task].run(
            SPECS[task] | changes,
            inputs=inputs,
            device="cpu",
            progress=progress,
            checkpoint=checkpoint,
            **more,
        )


def several(inputs, checkpoint):
    """Case -> records on the ranks there are."""
    return {name: golden_run(name, inputs, checkpoint) for name in CASES}


def distance(found, expected):
    """Largest relative difference of any entry of two lists of records."""
    assert [r["step"] for r in found] == [r["step"] for r in expected]
    pairs = [
        (a[key], b[key])
        for a, b in zip(found, expected, strict=True)
        for key in b
        if isinstance(b[key], float) and key != "valid_accuracy"
    ]
    return max(0.0 if a == b else abs(a / b - 1) for a, b in pairs)


@pytest.mark.slow
def test_any_number_of_ranks_draws_the_same_curve(inputs, tmp_path):
    found = {n: carry_out(n, several, inputs, tmp_path / "state", folder=tmp_path) for n in (2, 4)}
    for name in CASES:
        in_a_stream = name == "dropout"  # one process on a CPU draws masks in one
        alone = found[2][name] if in_a_stream else golden_run(name, inputs, tmp_path / "state")
        for n in found:
            assert distance(found[n][name], alone) < TOLERANCE, (name, n)
    assert alone[-1]["train_loss"] == float("inf")


def killed(inputs, checkpoint):
    with pytest.raises(Killed):
        golden_run("gpt2", inputs, checkpoint, stop=6)


@pytest.mark.slow
def test_a_state_is_resumed_by_another_number_of_ranks(inputs, tmp_path, capsys):
    """Killed on two at step 6; the state is that after the fifth."""
    expected = golden_run("gpt2", inputs, tmp_path / "undisturbed")
    carry_out(2, killed, inputs, tmp_path / "state", folder=tmp_path)
    shutil.copy(tmp_path / "state", tmp_path / "copy")
    alone = golden_run("gpt2", inputs, tmp_path / "state")
    assert "resumed a run at step 5 of 6" in capsys.readouterr().out
    assert distance(alone, expected) < TOLERANCE
    arguments = ("gpt2", inputs, tmp_path / "copy")
    assert distance(carry_out(4, golden_run, *arguments, folder=tmp_path), expected) < TOLERANCE


def upscaled(inputs, folder):
    """A base trained, then widened with its optimizer's state, each leaving its checkpoint."""
    final, wide = folder / "final.safetensors", folder / "wide.safetensors"
    golden_run("gpt2", inputs, folder / "a", final=final)
    ranks.broadcast_from_rank0(lambda: None)  # until it is written
    base = {"file": final, "sha256": sha256_file(final), "spec": SPECS["warm_start"] | GPT2}
    start = {
        "checkpoint": base,
        "width": 16,
        "noise": "gaussian",
        "convention": "paper",
        "level": 0.1,
    }
    changes = {"start": start, "model": GPT2["model"] | {"width": 32}}
    records = golden_run("gpt2", inputs, folder / "b", changes=changes, final=wide)
    return [{k: v for k, v in record.items() if k != "noise"} for record in records]


@pytest.mark.slow
def test_an_upscaled_model_goes_on_with_its_optimizer_on_every_rank(inputs, tmp_path):
    from safetensors.torch import load_file

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    expected = upscaled(inputs, tmp_path / "one")
    arguments = (inputs, tmp_path / "two")
    assert distance(carry_out(2, upscaled, *arguments, folder=tmp_path), expected) < TOLERANCE
    for name in ("final.safetensors", "wide.safetensors"):
        one, two = (load_file(tmp_path / place / name) for place in ("one", "two"))
        torch.testing.assert_close(two, one, rtol=1e-3, atol=1e-5)


class Rows:
    """Rows of which the last, the second rank's, is huge in the first two steps."""

    def from_step(self, step):
        while True:
            rows = torch.randn(4, 2, generator=torch.Generator().manual_seed(step))
            rows[-1] *= 1e30 if step < 2 else 1.0
            yield (rows,)
            step += 1


def overflowing(folder):
    """(steps skipped by each rank, scales, whether batch normalization is refused) of a float16 run
    whose overflow lies in one rank's rows alone."""
    torch.manual_seed(0)
    model = nn.Linear(2, 2, bias=False)
    groups = [{"params": [*model.parameters()], "lr": 0.1}]
    sgd = {"name": "sgd", "momentum": 0.9, "nesterov": False}
    optimizer = make_optimizer(groups, sgd)
    scalers = []

    def loss(net, batch):
        return (net(batch[0].float())[:, :1].float() * 1e-3).square().mean()

    with pytest.MonkeyPatch.context() as patch:
        make = loop.LossScaler
        patch.setattr(loop, "LossScaler", lambda *a: scalers.append(make(*a)) or scalers[0])
        settings = {"steps": 4, "evaluations": 1, "precision": "float16", "seed": 0}
        training = loop.Training(model, optimizer, loss, Rows(), **settings)
        state = folder / "state"
        records = loop.fit(training, progress=lambda step, loss: None, checkpoint=state)
    message = ""
    if ranks.count() > 1:
        with refused("batch normalization needs the whole batch") as caught:
            distributed.prepare(nn.Sequential(nn.BatchNorm1d(2)))
        message = str(caught.value)
        found = torch.tensor(
            [scalers[0].skipped, scalers[0].get_scale(), float(model.weight.sum())]
        )
        own = found.clone()
        torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX)
        assert torch.equal(own, found), "the ranks disagree"
    return records[0]["skipped"], scalers[0].get_scale(), bool(message)


@pytest.mark.slow
def test_an_overflow_of_one_rank_is_one_of_all(tmp_path):
    skipped, scale, _ = overflowing(tmp_path)
    assert skipped == 2
    assert carry_out(2, overflowing, tmp_path, folder=tmp_path) == (2, scale, True)


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def prepare(suite, cell):
    """Make what a cell reads."""
    from repro.__main__ import main

    words = ["--config", *suite.config.arguments()]
    assert main(["fetch", "wikitext2", *words]) == 0
    for need in suite.needs(cell):
        assert main(["fetch", need.dataset, str(need.vocab_size), *words]) == 0


@pytest.mark.slow
def test_a_killed_rank_ends_the_job_in_one_line_and_the_next_call_goes_on(suite, capsys):
    """Two ranks by the launcher, one killed; then one process makes the runs that are left."""
    from repro.__main__ import main

    cell = suite.cells("embedding_lr/unit_init/embedding_alone")[0]
    words = ["--config", *suite.config.arguments()]
    prepare(suite, cell)
    call = ["train", cell.study, cell.name, *words]
    job = subprocess.Popen(
        [sys.executable, "-m", "repro", *call, "--ranks", "2"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(list(suite.paths.runs.rglob("*.json"))) < 2:
        assert job.poll() is None, job.communicate()
        time.sleep(0.05)
    os.kill(children(job.pid)[1], signal.SIGKILL)
    _, error = job.communicate()
    assert job.returncode == 1
    (line,) = [text for text in error.splitlines() if text.startswith("error: ")]
    assert line.startswith("error: rank 1 of 2: was killed by SIGKILL")
    assert line.endswith("run the same command again to go on")
    assert "Traceback" not in error
    assert not [path for path in suite.paths.runs.rglob("*") if path.name.startswith(".")]

    assert main(call) == 0
    assert "resumed " in capsys.readouterr().out
    runs = cellfiles.read_cell(suite.paths.cell(cell), cell)["runs"]
    assert {run["provenance"]["ranks"] for run in runs} == {1, 2}
    shared = next(run for run in runs if run["provenance"]["ranks"] == 2)
    next(suite.paths.runs.rglob(f"{shared['id']}.json")).unlink()
    suite.paths.cell(cell).unlink()
    assert main(call) == 0
    again = {run["id"]: run for run in cellfiles.read_cell(suite.paths.cell(cell), cell)["runs"]}
    assert distance(again[shared["id"]]["records"], shared["records"]) < TOLERANCE


def children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True)
    return [int(word) for word in found.stdout.split()]


def failure(exitcode, at=None, trace="", lost_peer=False, text="its error"):
    """What the launcher knows of a rank that failed."""
    from types import SimpleNamespace

    data = {"at": at, "trace": trace, "lost_peer": lost_peer, "message": {"message": text}}
    name = signal.Signals(-exitcode).name if exitcode < 0 else ""
    return SimpleNamespace(
        exitcode=exitcode, error_file_data=data if at else {}, signal_name=lambda: name
    )


@pytest.mark.parametrize(
    ("failures", "message"),
    [
        ([failure(1, 2.0, lost_peer=True), failure(1, 3.0)], "rank 1 of 2: its error"),
        ([failure(1, 2.0, lost_peer=True), failure(-9)], "rank 1 of 2: was killed by SIGKILL, for"),
        ([failure(-15), failure(1, 2.0, trace="at")], "rank 1 of 2: its error; run the same"),
        ([failure(-15), failure(1, 2.0, lost_peer=True, text="lost")], "rank 1 of 2: lost"),
        ([failure(1, 3.0, text="late"), failure(1, 2.0)], "rank 1 of 2: its error"),
        ([failure(-15), failure(3)], "rank 1 of 2: ended with status 3"),
    ],
)
def test_the_error_shown_is_the_one_behind_the_others(failures, message, capsys):
    assert launch._cause(dict(enumerate(failures)), 2).startswith(message)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_fewer_gpus_than_ranks_are_named(suite, capsys):
    from repro.__main__ import main

    cell = suite.cells("embedding_lr/unit_init/embedding_alone")[0]
    words = ["train", cell.study, cell.name, "--config", *suite.config.arguments()]
    assert main([*words, "--device", "cuda", "--ranks", "2"]) == 1
    assert "--ranks 2: 0 CUDA devices are visible" in capsys.readouterr().err


def test_a_job_whose_steps_cannot_be_shared_goes_on_in_one_process(suite, capsys):
    from repro.__main__ import main

    (cell,) = suite.cells("embedding_lr/parametrizations")
    words = ["train", cell.study, cell.name, "--config", *suite.config.arguments()]
    assert main([*words, "--ranks", "2"]) == 0
    assert "one process, 2 would have no equal parts" in capsys.readouterr().out
    runs = cellfiles.read_cell(suite.paths.cell(cell), cell)["runs"]
    assert {run["provenance"]["ranks"] for run in runs} == {1}


def test_a_run_on_a_cpu_is_not_compiled():
    with refused("--compile: runs on a CPU are not compiled"):
        ranks.choose_layout(Cost(), "cpu", compile=True)
    cost = Cost(microbatches=8, steps=10**9, layers=10**3)
    assert ranks.choose_layout(cost, "cpu") == Layout()


def test_a_gpu_s_long_runs_are_compiled_and_microbatches_follow_its_memory(
    monkeypatch, tmp_path, capsys
):
    """0.25 ms a layer: a second, and 40 minutes. Not where gpu.sh found compiled models wrong."""
    monkeypatch.setattr(backend, "describe", lambda device: "nvidia-h100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(backend, "memory", lambda device: 80e9)
    monkeypatch.setattr(backend, "can_compile", lambda: True)
    short, long = (Cost(microbatches=8, steps=s, layers=100, state_bytes=1) for s in (5, 12_000))

    def chosen(cost, **asked):
        return ranks.choose_layout(cost, "cuda", **asked)

    assert chosen(short) == Layout(microbatches=1)
    assert chosen(long) == chosen(short, compile=True) == Layout(compile=True, microbatches=1)
    assert chosen(long, eager=True) == Layout(microbatches=1)
    with refused("--compile and --eager: give one"):
        chosen(long, compile=True, eager=True)
    note = backend.compiled_note()
    note.parent.mkdir()
    note.write_text("compiled models are wrong on this GPU (llm)")
    assert chosen(long) == Layout(microbatches=1)
    assert "not compiled: compiled models are wrong on this GPU" in capsys.readouterr().out
    with refused("--compile: compiled models are wrong on this GPU"):
        chosen(long, compile=True)
    note.unlink()
    monkeypatch.setattr(backend, "can_compile", lambda: False)
    assert chosen(long) == Layout(microbatches=1)
    with refused("--compile: needs Triton, a C compiler"):
        chosen(long, compile=True)


def test_a_run_that_a_gpu_cannot_hold_is_refused_in_one_line(suite, monkeypatch, capsys):
    """Before the run begins, and with its study and what it needs."""
    from repro.__main__ import main

    (cell, *_) = suite.cells("embedding_lr/unit_init/embedding_alone")
    prepare(suite, cell)
    monkeypatch.setattr(backend, "memory", lambda device: 1e5)
    monkeypatch.setattr(backend, "capability", lambda device: "9.0")
    monkeypatch.setattr(backend, "select", lambda name, threads: torch.device("cpu"))
    monkeypatch.setenv(ALLOCATOR, "")
    monkeypatch.delenv(ALLOCATOR)
    words = ["train", cell.study, cell.name, "--config", *suite.config.arguments()]
    capsys.readouterr()
    assert main([*words, "--device", "cuda"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert (
        line.startswith(f"error: {cell.study}")
        and " GB, for its state and its smallest microbatch" in line
    )
    assert os.environ[ALLOCATOR] == "expandable_segments:True"


@pytest.mark.parametrize("case", ["pretraining", "gpt2", "denoising"])
def test_fewer_microbatches_draw_the_same_curve(case, inputs, tmp_path):
    """Each case has two; a GPU with memory to spare takes one."""
    expected = golden_run(case, inputs, tmp_path / "two")
    steps = []
    with pytest.MonkeyPatch.context() as patch:
        split = loop.split
        patch.setattr(loop, "split", lambda *a: steps.append(found := split(*a)) or found)
        found = golden_run(case, inputs, tmp_path / "one", Layout(microbatches=1))
    assert {len(parts) for parts in steps} == {1}
    assert distance(found, expected) < TOLERANCE
