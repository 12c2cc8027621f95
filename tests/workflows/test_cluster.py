"""What jobs ask of a cluster, what a site says, and what happens to two workflows in one folder."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from parameters import kept
from workflow import SMOKE, command, runs_apart, snakemake

from repro import cost
from repro.core import catalog, config, discovery, filling
from repro.core.execute import run_cell
from repro.core.study import GPU_SCALES, OVERNIGHT, SCALES
from repro.core.suite import Suite
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.tasks import TASKS
from repro.workflow import budget, internals
from repro.workflow.cluster import (
    Site,
    device,
    load_site,
    parse_site,
    request,
    resources_to_tokenize,
)

PROFILE = ROOT / "profiles" / "slurm"
H100 = Site(gpu_memory_gb=80)


def suite_at(scale):
    return Suite(config.parse({"scale": scale}, discovery.dataset_names()))


def studied(suite):
    """Study -> cells, of every figure."""
    return {
        study: cells
        for name in filter(suite.offers, catalog.figure_names())
        for study, cells in suite.figure_cells(name).items()
    }


def one_cell(scale, study):
    return suite_at(scale).cells(study)[-1]


@pytest.mark.parametrize("scale", kept([s for s in SCALES if s != OVERNIGHT], but=["paper"]))
def test_every_job_asks_for_something_a_node_has(scale):
    for study, cells in studied(suite_at(scale)).items():
        for cell in cells:
            asked = request(cell, scale, H100)
            most = {"paper": H100.gpus_per_node, "workstation": 1}.get(scale, 0)
            assert asked.gpus <= most, study
            assert asked.cpus == (H100.cpus_per_gpu * asked.gpus or 1), study
            assert 2_000 <= asked.mem_mb <= 128_000 * max(1, asked.gpus / 4), study
            assert asked.runtime >= 5, study
            if scale not in GPU_SCALES:
                assert asked.runtime <= 120, study


def test_what_trains_nothing_asks_for_time_and_no_gpu():
    for study in ("effective_theory/encoder_kernels", "effective_theory/encoder_tangent_kernels"):
        asked = request(one_cell("paper", study), "paper", H100)
        assert asked.gpus == 0
        assert 60 < asked.runtime < 24 * 60, study


@pytest.mark.slow
def test_no_figure_is_asked_to_mix_devices():
    for scale in SCALES:
        suite = suite_at(scale)
        for name in filter(suite.offers, catalog.figure_names()):
            found = {
                request(cell, scale, H100).gpus > 0
                for cells in suite.figure_cells(name).values()
                for cell in cells
            }
            assert len(found) <= 1, (scale, name)


def test_a_sweep_of_the_mlps_is_no_job_of_days():
    """Sweep 2 at paper scale has 120 runs of 116,000 steps of 1 ms, five or six to a job."""
    cells = suite_at("paper").cells("upscaling/mlp_sgd/tune_upscaled")
    assert sum(len(cell.runs) for cell in cells) == 120
    assert {len(cell.runs) for cell in cells} == {5, 6}
    assert all(60 < request(cell, "paper", H100).runtime < 120 for cell in cells)


def test_time_and_memory_follow_the_cost_and_grow_by_attempt():
    small = request(one_cell("paper", "embedding_lr/width"), "paper", H100)
    large = request(one_cell("paper", "upscaling/gpt2/scratch"), "paper", H100)
    # 7.6e19 operations at 40 % of 989 TFLOP/s: 53 hours, and 8 for what goes through memory, on
    # two GPUs; half as much again and 5 minutes are asked for.
    hours = 7.6e19 / (0.4 * 989e12) / 3600 + 8
    assert large.runtime == pytest.approx(5 + 1.5 * 60 * hours / 2, rel=0.02)
    assert small.runtime < large.runtime and (small.gpus, large.gpus) == (1, 2)
    cell = one_cell("paper", "upscaling/gpt2/scratch")
    asked = [request(cell, "paper", H100, attempt) for attempt in (1, 2, 3)]
    assert [a.mem_mb / asked[0].mem_mb for a in asked] == [1, 2, 3]
    assert [round(a.runtime / asked[0].runtime, 2) for a in asked] == [1, 2, 4]
    assert asked[0].turns == 1
    assert request(cell, "paper", replace(H100, gpu_scales=())).gpus == 0


def test_a_job_longer_than_a_partition_allows_gets_as_many_turns_as_it_takes():
    """None of which is a failure: its memory grows only once they are spent."""
    cell = one_cell("paper", "upscaling/gpt2/scratch")
    whole, day = (replace(H100, gpus_per_node=1, max_hours=hours) for hours in (1e9, 24))
    turns = math.ceil(request(cell, "paper", whole).runtime / (24 * 60))
    assert turns > 1
    asked = [request(cell, "paper", day, attempt) for attempt in (1, turns, turns + 1)]
    assert [a.turns for a in asked] == [turns] * 3
    assert {a.runtime for a in asked} == {24 * 60}
    assert [a.mem_mb / asked[0].mem_mb for a in asked] == [1, 1, 2]


@pytest.mark.parametrize(
    ("most", "refused"),
    [(None, "107 days on one node of 8 GPUs; for 30 days it would take 4 nodes"), (108, ""),
     (60, "for 60 days it would take 2 nodes, and no job spans nodes: allow it")],
)  # fmt: skip
def test_a_job_of_months_is_refused_unless_it_is_allowed(most, refused):
    """1.75 T tokens of a decoder of 1.8 billion weights: 20,500 hours of one GPU."""
    suite = suite_at("paper")
    suite.config = replace(suite.config, max_days=most)
    said = budget.refusal(suite, suite.cells("embedding_lr/pretraining/long"), H100)
    assert refused in said and bool(said) == bool(refused)


def test_a_price_names_a_job_of_months():
    (line,) = budget.too_long(suite_at("paper"), ["embedding_lr/fig4"], H100)
    assert line.startswith("warning: embedding_lr/pretraining: a job takes 107 days")


def test_jobs_of_a_gpu_last_ten_minutes_where_a_stage_has_as_much():
    suite = suite_at("workstation")
    jobs = 0
    for stage in (s for s in discovery.study_names() if "workstation" in discovery.study(s).scales):
        cells = [c for c in suite.cells(stage) if any(run.cost.seen for run in c.runs)]
        seconds = [3600 * sum(cost.gpu_hours(run.cost) for run in c.runs) for c in cells]
        alone = [s for s, c in zip(seconds, cells, strict=True) if s > filling.JOB_SECONDS]
        by_data = {tuple(suite.needs(cell)) for cell in cells}
        most = sum(seconds) / filling.JOB_SECONDS + len(by_data)
        assert len(cells) <= most and len(alone) <= len(cells), stage
        assert all(
            len({*TASKS[r.task].needs(r.spec)} - {*suite.needs(c)}) == 0
            for c in cells
            for r in c.runs
        )
        jobs += len(cells)
    assert jobs < 600


def test_joined_jobs_have_the_axes_in_common_and_their_runs_in_order():
    cells = suite_at("workstation").cells("transfer/decoder/wide")
    assert len(cells) > 1 and all(len(cell.runs) > 1 for cell in cells)
    for cell in cells:
        assert all(run.axes[k] == v for run in cell.runs for k, v in cell.axes.items())
    assert len({run.id for cell in cells for run in cell.runs}) == sum(len(c.runs) for c in cells)


@pytest.mark.parametrize(
    ("study", "site", "gpus"),
    [
        # state 43 GB and activations 30 GB fit one H100, but 91 hours are asked for on one
        ("effective_theory/r2c2", H100, 2),
        ("effective_theory/r2c2", replace(H100, gpus_per_node=1), 1),
        ("upscaling/gpt2/scratch", replace(H100, max_hours=24), 4),
        ("upscaling/gpt2/base", H100, 1),
        ("upscaling/gpt2/base", replace(H100, gpu_memory_gb=40), 1),
        ("embedding_lr/pretraining/long", H100, 8),
        ("upscaling/resnet/scratch", replace(H100, max_hours=0.2), 1),
    ],
)
def test_gpus_follow_memory_and_time(study, site, gpus):
    """Numbers of the cost table. A checkpoint is read by way of the host's memory."""
    cell = one_cell("paper", study)
    asked = request(cell, "paper", site)
    assert asked.gpus == gpus
    assert asked.mem_mb * 1e6 > max(run.cost.state_bytes for run in cell.runs)


@pytest.mark.parametrize(
    ("study", "needed"),
    [
        ("effective_theory/r2c2", 76.9),
        ("embedding_lr/pretraining/long", 57.1),
        ("upscaling/gpt2/scratch", 42.5),
    ],
)
def test_a_run_that_no_gpu_of_a_site_holds_is_refused_with_what_it_needs(study, needed):
    site = replace(H100, gpu_memory_gb=40)
    words = f"^{study}: needs a GPU of {needed} GB, for its state and its .* this one has 40 GB"
    with pytest.raises(UserError, match=words):
        request(one_cell("paper", study), "paper", site)


def test_r2c2_s_two_gpus_have_half_of_its_microbatches_each():
    """They draw dropout, so that their size stays the run's."""
    (run, *_) = one_cell("paper", "effective_theory/r2c2").runs
    assert cost.layout(run.cost, 2, 80e9) == cost.Layout(2, microbatches=64)
    assert run.spec["microbatches"] == 64 and run.cost.drops
    assert cost.held_bytes(run.cost, 2, 64) == pytest.approx(73.0e9, rel=1e-3)


def test_a_price_names_what_no_gpu_of_a_site_holds(tmp_path, monkeypatch, capsys):
    from repro.__main__ import main

    (tmp_path / "site.yaml").write_text("gpu_memory_gb: 40\n")
    monkeypatch.setenv("REPRO_SITE", str(tmp_path / "site.yaml"))
    call = ["show", "cost", "effective_theory/fig4", "effective_theory/fig5", "--scale", "paper"]
    assert main(call) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2] for line in lines if line.startswith("  effective_theory/r2c2")] == [
        "none"
    ]
    (fault,) = [line for line in lines if "needs a GPU of" in line]
    assert fault.startswith("warning: effective_theory/r2c2: needs a GPU of 76.9 GB")


def test_workstation_scale_fits_a_gpu_of_16_gb():
    """docs/clusters.md says so."""
    suite = suite_at("workstation")
    names = [*filter(suite.offers, catalog.figure_names())]
    needed = budget.gpu_memory(suite, names, Site())
    assert len(needed) > 20 and max(needed.values()) < 16e9


def test_a_step_is_shared_evenly():
    """512 rows in 128 parts: no 3 GPUs; batch normalization: one."""
    gpt2, resnet = (
        TASKS["warm_start"].cost(one_cell("paper", f"upscaling/{name}/scratch").runs[0].spec)
        for name in ("gpt2", "resnet")
    )
    assert [n for n in range(1, 9) if gpt2.divides(n)] == [1, 2, 4, 8]
    assert [n for n in range(1, 9) if resnet.divides(n)] == [1]


def test_a_job_of_several_gpus_starts_as_many_ranks_on_one_node():
    assert [device(n) for n in (0, 1, 4)] == ["cpu", "cuda", "cuda --ranks 4"]


@pytest.mark.parametrize(
    ("extra", "constraint", "rest"),
    [
        ("--mail-type=FAIL", "", "--mail-type=FAIL"),
        ("--constraint=a100&nvlink --exclusive", "a100&nvlink", "--exclusive"),
        ("--exclusive -C 'a100|h100'", "a100|h100", "--exclusive"),
    ],
)
def test_the_slurm_plugin_takes_what_a_site_adds(extra, constraint, rest):
    """Found by a trial: the plugin refused --nodes=1, so every job of several GPUs, and the
    --constraint that the pages name."""
    asked = Site(extra=extra).slurm_resources(gpus=4)
    assert (asked.get("constraint", ""), asked["slurm_extra"]) == (constraint, rest)
    assert internals.refused_in_extra(asked["slurm_extra"]) == ""
    assert "number of nodes" in internals.refused_in_extra("--nodes=2")


def test_the_workflow_calls_several_ranks(tmp_path):
    two = ("--set-resources", "train:gpu=2", "--dry-run", "--printshellcmds", "--quiet", "progress")
    done = snakemake("figures/table2.pdf", *SMOKE, *two, directory=tmp_path)
    assert "--device cuda --ranks 2 --config scale=smoke" in done.stdout


def test_a_streamed_corpus_gets_the_time_and_the_memory_of_a_shard():
    shard = discovery.dataset("fineweb_edu").CORPUS.shard_tokens
    asked = resources_to_tokenize(shard, Site())
    assert asked["mem_mb"] * 1e6 > 2 * shard + 2e9, "uint16 ids, and the process"
    assert asked["runtime"] == 7 * 24 * 60 and asked["cpus_per_task"] > 1
    assert resources_to_tokenize(shard, Site(max_hours=24))["runtime"] == 24 * 60
    assert resources_to_tokenize(0, Site())["runtime"] <= 60
    for hours, turns in ((math.inf, 1), (24, 7), (4, 42)):
        assert resources_to_tokenize(shard, Site(max_hours=hours))["turns"] == turns


def test_no_cell_s_name_is_taken_apart_on_its_way_to_a_job():
    """Found on Slurm: Snakemake splits a job's wildcards at commas, quoted ones too."""
    names = [cell.name for cells in studied(suite_at("reduced")).values() for cell in cells]
    assert any("+" in name for name in names)
    assert not any(set(name) & set(",'\"\\ ") for name in names)


def test_short_jobs_are_those_that_share_one():
    assert request(one_cell("smoke", "embedding_lr/width"), "smoke", Site()).is_short
    assert not request(one_cell("paper", "upscaling/mlp_sgd/tune"), "paper", Site()).is_short


def test_a_site_names_its_queues():
    site = Site(partition="cpu", gpu_partition="gpu", account="a1", gpu_model="h100")
    assert site.slurm_resources() == {"slurm_partition": "cpu", "slurm_account": "a1"}
    assert site.slurm_resources(gpus=1)["slurm_partition"] == "gpu"
    assert site.slurm_resources(gpus=1)["gpu_model"] == "h100"
    assert Site(partition="all").slurm_resources(gpus=1) == {"slurm_partition": "all"}
    assert Site().slurm_resources(gpus=1) == {}


def test_modules_are_loaded_before_and_hide_neither_python_nor_errors(tmp_path):
    site = parse_site({"modules": ["gcc/13.2", "cuda/12.8"]}, "site.yaml")
    module = 'module() { echo "$@" $UNSET; PATH=/nowhere; }; set -euo pipefail; '
    script = module + site.prologue() + "python -c 'import sys; print(sys.executable)'; echo $NO"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["load gcc/13.2 cuda/12.8", sys.executable]
    assert done.returncode != 0 and "NO: unbound variable" in done.stderr
    assert Site().prologue() == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partiton: cpu", "unknown key 'partiton', did you mean 'partition'?"),
        ("modules: cuda", "modules is 'cuda', give a list of names"),
        ("modules: ['x; rm y']", "modules: 'x; rm y' is no module's name"),
        ("cpus_per_gpu: 2.5", "cpus_per_gpu is 2.5, give a whole number above 0"),
        ("max_hours: 0", "max_hours is 0, give a number above 0"),
        ("partition: [a]", "partition is ['a'], give text"),
        (
            "gpu_model: a100-sxm4-80gb",
            "gpu_model: 'a100-sxm4-80gb': Snakemake's Slurm plugin takes",
        ),
        ("gpu_scales: [papr]", "gpu_scales: 'papr', did you mean 'paper'?"),
        ("just words", "give `key: value` lines, see site.example.yaml beside it"),
        ("a: [", "is no YAML"),
    ],
)
def test_a_mistake_in_a_site_file_is_named(tmp_path, monkeypatch, text, message):
    path = tmp_path / "site.yaml"
    path.write_text(text)
    monkeypatch.setenv("REPRO_SITE", str(path))
    with pytest.raises(UserError) as caught:
        load_site(PROFILE)
    assert str(path) in str(caught.value) and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_a_site_is_found(tmp_path, monkeypatch):
    monkeypatch.delenv("REPRO_SITE", raising=False)
    assert load_site(tmp_path) == Site()
    (tmp_path / "site.yaml").write_text("account: 1234\n")
    assert load_site(tmp_path) == Site(account="1234")
    monkeypatch.setenv("REPRO_SITE", str(tmp_path / "other.yaml"))
    with pytest.raises(UserError, match="REPRO_SITE: .*other.yaml does not exist"):
        load_site(tmp_path)


def test_the_example_names_every_key_and_is_read():
    example = yaml.safe_load((PROFILE / "site.example.yaml").read_text())
    assert set(example) == set(Site.__dataclass_fields__)
    assert parse_site(example, "example").gpu_partition == "gpu"


def test_a_job_killed_between_checkpoint_and_result_goes_on_from_the_checkpoint(
    suite, monkeypatch, capsys
):
    """As a requeue may: all steps are done, the resume state is older, nothing is stored yet."""
    from repro.__main__ import main
    from repro.core import cells, execute
    from repro.training import loop

    cell = suite.cells("upscaling/mlp_sgd/tune")[0]
    assert main(["fetch", "covtype", "--config", "scale=smoke"]) == 0
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    whole = execute.write_sealed

    class Killed(BaseException):
        pass

    def killing(path, value, key):
        raise Killed

    def carry_out(name):
        path = suite.paths.results / name / "cell.json"
        arguments = (suite.needs(cell), "cpu", lambda index, run: lambda step, loss: None)
        run_cell(cell, path, suite.paths.results / name / "runs", *arguments)
        return [run["records"] for run in cells.read_cell(path, cell)["runs"]]

    monkeypatch.setattr(execute, "write_sealed", killing)
    with pytest.raises(Killed):
        carry_out("killed")
    left = list((suite.paths.results / "killed" / "runs").rglob("*.state"))
    assert len(left) == 1
    monkeypatch.setattr(execute, "write_sealed", whole)
    resumed = carry_out("killed")
    assert "resumed a run at step 23 of 24" in capsys.readouterr().out
    assert resumed == carry_out("undisturbed")
    assert not list((suite.paths.results / "killed" / "runs").rglob("*.state"))


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The PATH of a machine whose programs of Slurm's are the given ones, name -> script."""

    def make(**scripts):
        folder = tmp_path / "bin"
        folder.mkdir()
        ours = {"sbatch", "sacct", "sacctmgr", "sinfo", "squeue", "scontrol", "srun", "sshare"}
        for place in ("/bin", "/usr/bin"):
            for program in Path(place).iterdir():
                if program.name not in ours and not (folder / program.name).is_symlink():
                    (folder / program.name).symlink_to(program)
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("REPRO_SITE", str(tmp_path / "site.yaml"))
        (tmp_path / "site.yaml").write_text("partition: only\n")

    return make


def on_slurm(*words, **where):
    quick = ("--retries", "0", "--slurm-init-seconds-before-status-checks", "1")
    return snakemake(*words, *quick, profile="slurm", **where)


def test_the_cluster_s_profile_where_there_is_no_slurm_ends_in_one_line(machine, tmp_path):
    machine()
    done = on_slurm("figures/table2.pdf", *SMOKE, directory=tmp_path / "work")
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert "profiles/slurm: this machine has no sbatch" in line and "profiles/default" in line
    assert "Traceback" not in done.stdout


def test_a_site_without_sacct_is_submitted_to(machine, tmp_path):
    machine(sbatch='echo "$@" > "$0.call"; echo queue is closed >&2; exit 1')
    done = on_slurm("figures/table2.pdf", *SMOKE, directory=tmp_path / "work")
    assert "queue is closed" in done.stdout and "Traceback" not in done.stdout
    assert ".log: Slurm did not take it: " in done.stdout and "without a word" not in done.stdout
    call = (tmp_path / "bin" / "sbatch.call").read_text()
    assert "-p only" in call and "-A" not in call.split()


@pytest.mark.slow
def test_what_slurm_refuses_of_several_jobs_is_said(machine, clone, tmp_path):
    """A group asks for what one of its jobs takes, and for the time of all: they go one by one. No
    job goes to a node that the user has seen fail."""
    runs_apart(clone)
    machine(sbatch='echo "$@" >> "$0.call"; echo queue is closed >&2; exit 1')
    words = ("figures/upscaling/fig5.pdf", *SMOKE, "--slurm-exclude-failed-nodes", "gpu07")
    done = on_slurm(*words, directory=tmp_path / "work", root=clone)
    assert "queue is closed" in done.stdout, done.stdout
    call = (tmp_path / "bin" / "sbatch.call").read_text().splitlines()[0]
    assert call.count("train_base:study=upscaling/mlp_sgd/tune,cell=") == 2, "all rates"
    words = call.split()
    assert "--exclude=gpu07" in words
    assert {"--cpus-per-task=1", "--mem", "2001", "--nodes=1"} < {*words}
    assert words[words.index("-t") + 1] == "12", "six minutes for each of two"


@pytest.mark.slow
def test_of_two_workflows_the_second_refuses_and_goes_on_once_the_first_is_killed(tmp_path):
    words = ("figures/embedding_lr/table3.pdf", *SMOKE)
    first = subprocess.Popen(
        command(*words, directory=tmp_path / "work"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        locks = (tmp_path / "work/.snakemake/locks").glob
        while not any(lock.stat().st_size for lock in locks("*.output.lock")):
            assert first.poll() is None, first.communicate()[0]
            time.sleep(0.01)
        while not list((tmp_path / "work/.snakemake/calls").glob("*.json")):
            assert first.poll() is None, first.communicate()[0]
            time.sleep(0.01)
        os.killpg(first.pid, signal.SIGSTOP)  # or it may be done before the second has started
        second = snakemake(*words, directory=tmp_path / "work")
        assert second.returncode != 0
        assert "Directory cannot be locked" in second.stdout
        assert "Traceback" not in second.stdout
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    third = snakemake(*words, directory=tmp_path / "work")
    assert third.returncode == 0, third.stdout
    assert "an earlier call was killed: its lock is removed" in third.stdout
    assert not list((tmp_path / "work/.snakemake/calls").iterdir())
