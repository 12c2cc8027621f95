"""The workflow as a person calls it, each test in a work folder or a clone of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from parameters import kept
from workflow import SMOKE, build, command, snakemake, table_of

from repro.lineage.checkout import ROOT

CLUSTERS = (ROOT / "docs" / "clusters.md").read_text()
FIGURE = "figures/embedding_lr/table2.pdf"
NAME = "embedding_lr/table2"


@pytest.mark.slow
def test_a_page_is_built_once_and_a_second_run_does_nothing(tmp_path):
    first = build("figures/table2.pdf", *SMOKE, directory=tmp_path)
    assert "table2.exponents" in first and "reproduced" in first
    assert "scale smoke, data embedded" in first
    for name in ("table2.pdf", "table2.png", "embedding_lr/table2.pdf", "embedding_lr/table2.png"):
        assert (tmp_path / "figures" / name).stat().st_size > 1000
    assert table_of(tmp_path, NAME).exists()
    second = build("figures/table2.pdf", *SMOKE, directory=tmp_path)
    assert "Nothing to be done" in second


@pytest.mark.slow
def test_the_scheduler_looks_for_jobs_when_one_has_ended(tmp_path):
    """And not every second for each one that ever ended, as it does to keep its limit."""
    tables = "figures=[upscaling/table1,upscaling/table2,upscaling/table3]"
    said = build("--verbose", *SMOKE, tables, directory=tmp_path)
    ended = said.count("Finished jobid")
    assert ended >= 8 and said.count("\nReady jobs: ") <= ended + 1


@pytest.mark.slow
def test_where_clocks_differ_nothing_is_trained_again(copied, lasting_text):
    """As of nodes on a file system that takes the writer's clock, ahead and behind by an hour."""
    figure, config = "figures/embedding_lr/fig2.pdf", (*SMOKE, f"wikitext2={lasting_text}")
    work = copied(figure, *config)
    table_of(work, "embedding_lr/fig2").unlink()
    for pattern, hours in (("resources/**/*.json", 1), ("results/**/frequencies/*.json", -1)):
        found = list(work.glob(pattern))
        assert found
        for path in found:
            os.utime(path, (time.time() + 3600 * hours,) * 2)
    plan = build(figure, *config, "--dry-run", directory=work).split("Reasons:")[0]
    assert "make" in plan and not {"train", "tokenize", "fetch"} & set(plan.split())


@pytest.mark.slow
def test_a_published_figure_follows_the_configuration_without_snakemake_s_memory(copied):
    work = copied(FIGURE, *SMOKE)
    smoke = (work / FIGURE).read_bytes()
    shutil.rmtree(work / ".snakemake")
    build(FIGURE, "--config", "scale=reduced", directory=work)
    reduced = (work / FIGURE).read_bytes()
    assert reduced != smoke, "the footer names the scale"
    for name in ("results", ".snakemake"):
        shutil.rmtree(work / name)
    build(FIGURE, *SMOKE, directory=work)
    assert (work / FIGURE).read_bytes() == smoke, "built again though a figure lay there"


@pytest.mark.slow
def test_a_changed_spec_uses_no_old_result(clone, copied):
    copied(FIGURE, *SMOKE, to=clone)
    old = table_of(clone, NAME)
    study = clone / "studies" / "embedding_lr" / "parametrizations.py"
    study.write_text(study.read_text().replace('"vocab_size": 1024', '"vocab_size": 512'))
    shutil.rmtree(clone / ".snakemake")
    build(FIGURE, *SMOKE, root=clone)
    (new,) = {*old.parents[1].glob("*/data.csv")} - {old}
    assert new.read_text() != old.read_text(), "the old table stays too"
    cells = list((clone / "results/smoke/embedded/embedding_lr/parametrizations").iterdir())
    assert len(cells) == 2, "the old cell stays, unused"


@pytest.mark.slow
def test_a_cell_edited_by_hand_stops_with_its_name_and_the_way_out(copied):
    work = copied(FIGURE, *SMOKE)
    folder = work / "results/smoke/embedded/embedding_lr/parametrizations"
    (cell,) = folder.iterdir()
    cell.write_text(cell.read_text().replace('"lr": 1.0', '"lr": 2.0'))
    done = snakemake(FIGURE, *SMOKE, directory=work)
    assert done.returncode != 0
    assert f"{cell.name}: was changed after it was written" in done.stdout
    assert "table2.pdf: not built, see the errors above" in done.stdout
    assert "Traceback" not in done.stdout
    again = snakemake(FIGURE, *SMOKE, directory=work)
    assert again.returncode != 0, "the failed job's data.csv is gone, the old figure is not"
    assert f"{cell.name}: was changed after it was written" in again.stdout
    cell.unlink()
    build(FIGURE, *SMOKE, directory=work)


MISTAKES = {
    ("--config", "scal=smoke"): "unknown config key 'scal': did you mean 'scale'?",
    ("embedding_lr/fig3",): "did you mean 'figures/embedding_lr/fig3.pdf'?",
    ("figures/fig33.pdf",): "unknown figure figures/fig33.pdf: did you mean",
    ("results/smoke/embedded/embedding_l/fig3/data.csv", *SMOKE): (
        "unknown target results/smoke/embedded/embedding_l/fig3/data.csv: "
    ),
    ("xyz",): "unknown target xyz: `uv run python -m repro show` names the figures",
}


@pytest.mark.parametrize("words", kept(MISTAKES, first=2))
def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, words):
    done = snakemake(*words, directory=tmp_path)
    assert done.returncode == 1
    errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and MISTAKES[words] in errors[0]
    assert "Traceback" not in done.stdout
    assert {p.name for p in tmp_path.iterdir()} <= {".snakemake"}


FAULTS = {"train.txt is empty": b"", "train.txt is not UTF-8": b"\xff\xfe"}


@pytest.mark.parametrize("fault", kept(FAULTS, first=1))
def test_a_faulty_folder_stops_before_anything_runs(tmp_path, fault):
    content = FAULTS[fault]
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "train.txt").write_bytes(content)
    text = f"wikitext2={tmp_path / 'text'}"
    done = snakemake("figures/fig2.pdf", "--config", text, directory=tmp_path / "work")
    assert done.returncode == 1
    assert fault in done.stdout
    assert not (tmp_path / "work" / "results").exists()


def test_a_job_reads_the_folder_that_was_typed(tmp_path):
    """Found in review: YAML took ` #32` for a comment, and `number` was read in its place."""
    for name, text in (("number #32", "asked for\n"), ("number", "another\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.txt").write_text(text)
    words = (*SMOKE, f"wikitext2={tmp_path / 'number #32'}")
    build("figures/embedding_lr/fig2.pdf", "--until", "fetch", *words, directory=tmp_path / "work")
    (text,) = (tmp_path / "work/resources").rglob("train.txt")
    assert text.read_text() == "asked for\n"


@pytest.mark.slow
def test_paper_scale_prints_its_cost_and_refuses(tmp_path, text_folder):
    words = ("figures/embedding_lr/fig3.pdf", "--config", "scale=paper", f"wikitext2={text_folder}")
    done = snakemake(*words, directory=tmp_path / "work")
    assert done.returncode == 1
    assert ", 246 of them training" in done.stdout
    assert re.search(r"about 18\d GPU-hours on an H100, more than max_gpu_hours=None", done.stdout)
    assert "--config max_gpu_hours=" in done.stdout
    assert not (tmp_path / "work" / "results").exists()
    plan = build(*words, "--dry-run", directory=tmp_path / "work")
    assert re.search(r"about 18\d GPU-hours on an H100, assumed, not measured", plan)


@pytest.mark.slow
def test_a_workstation_s_hours_are_guarded_and_a_dry_run_needs_no_network(tmp_path):
    words = ("figures/upscaling/fig7.pdf", "--config", "scale=workstation", "data=real")
    plan = build(*words, "--dry-run", directory=tmp_path)
    assert "train" in plan
    done = snakemake(*words, "max_gpu_hours=0.1", directory=tmp_path)
    assert done.returncode == 1
    assert re.search(
        r"error: workstation scale: \d+ jobs, about 0\.\d+ GPU-hours on an H100, more than "
        r"max_gpu_hours=0.1: allow it with --config max_gpu_hours=1",
        done.stdout,
    )
    assert not (tmp_path / "results").exists()


def children(pid):
    """Process ids below a process."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    table = [line.split(None, 2) for line in listed.stdout.splitlines()]
    found, frontier = [], {str(pid)}
    while frontier:
        below = [(p, args) for p, parent, args in table if parent in frontier]
        found += [(int(p), args) for p, args in below]
        frontier = {p for p, _ in below}
    return found


@pytest.mark.slow
def test_a_job_killed_in_the_middle_resumes_and_ends_with_the_same_data(tmp_path, text_folder):
    """kill -9 on the training process; the next call takes over its finished runs."""
    figure, name = "figures/embedding_lr/fig5.pdf", "embedding_lr/fig5"
    config = (*SMOKE, f"wikitext2={text_folder}")
    build(figure, *config, "--cores", "1", directory=tmp_path / "undisturbed")

    work = tmp_path / "killed"
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        command(figure, *config, directory=work),
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    finished = []
    while len(finished) < 2:
        assert process.poll() is None, "the workflow ended before a job could be killed"
        finished = list(work.glob("results/smoke/*/runs/*/*.json"))
        time.sleep(0.005)
    training = [pid for pid, args in children(process.pid) if "-m repro train" in args]
    for pid in training:
        os.kill(pid, signal.SIGKILL)
    assert training
    assert process.wait() != 0
    assert not list(work.glob("results/smoke/*/embedding_lr/pretraining/long/*.json"))

    build(figure, *config, directory=work)
    (log,) = work.glob("logs/train/smoke/embedding_lr/pretraining/long/*.log")
    resumed = int(log.read_text().split("resumed ")[1].split(" runs")[0])
    assert resumed >= 2
    undisturbed, killed = (table_of(each, name) for each in (tmp_path / "undisturbed", work))
    assert killed.read_bytes() == undisturbed.read_bytes()


@pytest.mark.slow
def test_a_lost_checkpoint_is_made_again_and_what_started_from_it_is_the_same(copied):
    """Stages: the base runs' checkpoints are gone, and a cell that was upscaled from them."""
    figure = "figures/upscaling/fig7.pdf"
    work = copied(figure, *SMOKE)
    results = work / "results/smoke/embedded"
    data, study = table_of(work, "upscaling/fig7"), results / "upscaling/mlp_adamw"
    (tuned,), (upscaled,) = study.glob("tune/*.json"), study.glob("tune_upscaled/*.json")
    (checkpoints,) = study.glob("tune/*.checkpoints")

    def content():
        found = {p.name: p.read_bytes() for p in checkpoints.glob("*.safetensors")}
        return data.read_bytes(), found

    before = content()
    assert len(before[1]) == 2

    shutil.rmtree(results / "runs")
    shutil.rmtree(checkpoints)
    tuned.unlink()
    upscaled.unlink()
    shutil.rmtree(results / "upscaling/fig7")
    built = build(figure, *SMOKE, directory=work)
    assert "train upscaling/mlp_adamw/tune " in built
    assert "train upscaling/mlp_adamw/tune_upscaled " in built
    assert content() == before
    assert upscaled.exists()


def carry(here, there, figure, by):
    """Carry what was made in a folder to another as docs/clusters.md has it, but a figure's table
    and picture."""
    there.mkdir()
    lines = re.findall(rf"^{by} .*", CLUSTERS, re.M)
    lines = [line.replace("gpu:suite/", f"{here}/") for line in lines]
    folders = [here, there] if by == "tar" else [there]  # who packs, who unpacks
    for folder, line in zip(folders, lines, strict=True):
        line = line.replace("cells.tar.gz", f"{here}.tar.gz")
        subprocess.run(line, shell=True, cwd=folder, check=True)
    for made in there.glob(f"results/*/*/{figure}"):
        shutil.rmtree(made)


@pytest.mark.slow
def test_cells_from_another_machine_are_drawn_without_training(tmp_path, copied, lasting_text):
    figure, there = "figures/embedding_lr/fig2.pdf", tmp_path / "there"
    config = (*SMOKE, f"wikitext2={lasting_text}")
    here = copied(figure, *config)
    carry(here, there, "embedding_lr/fig2", "tar")
    plan = build(figure, *config, "--dry-run", directory=there).split("Reasons:")[0]
    assert "make" in plan
    assert not {"train", "tokenize", "fetch"} & set(plan.split())
    build(figure, *config, directory=there)
    assert (there / figure).read_bytes() == (here / figure).read_bytes()


@pytest.mark.slow
def test_cells_that_start_from_checkpoints_travel_without_them(tmp_path, copied):
    figure, there = "figures/upscaling/fig7.pdf", tmp_path / "there"
    here = copied(figure, *SMOKE)
    carry(here, there, "upscaling/fig7", "rsync" if shutil.which("rsync") else "tar")
    assert list(there.rglob("*.checkpoints")) and not list(there.rglob("*.safetensors"))
    plan = build(figure, *SMOKE, "--dry-run", directory=there).split("Reasons:")[0]
    assert "make" in plan
    assert "train" not in plan
    build(figure, *SMOKE, directory=there)
    tables = [table_of(folder, "upscaling/fig7").read_bytes() for folder in (there, here)]
    assert tables[0] == tables[1]


@pytest.mark.slow
def test_the_documented_paper_scale_command_needs_no_imagenet(tmp_path):
    """Its Figure 3 reads real data of which ImageNet, which cannot be downloaded, is no part."""
    (call,) = re.findall(
        r"```\n(uv run snakemake figures/fig3[^`]*?scale=paper.*?)```", CLUSTERS, re.S
    )
    words = call.replace("\\\n", " ").split()[3:]
    words = words[: words.index("--workflow-profile")]
    plan = build("figures/fig3.pdf", *words, "--dry-run", directory=tmp_path)
    assert "train_base" in plan
    done = snakemake("figures/effective_theory/fig2.pdf", "--config", "scale=smoke", "data=real",
                     directory=tmp_path)  # fmt: skip
    assert done.returncode != 0
    assert "imagenet: cannot be downloaded without an account" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.slow
def test_a_text_shorter_than_one_batch_is_named_at_the_end(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "train.txt").write_text("only a few words .\n")
    words = (*SMOKE, f"wikitext2={tmp_path / 'text'}")
    done = snakemake("figures/embedding_lr/fig1.pdf", *words, directory=tmp_path / "work")
    assert done.returncode == 1
    assert re.search(r"failed: train embedding_lr/.*: wikitext2: ", done.stdout)
    assert "fewer than one batch of 8: use a longer text or a smaller batch" in done.stdout
    assert "fig1.pdf: not built, see the errors above" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.slow
def test_another_scale_in_the_same_folder_builds_everything_it_needs(
    tmp_path, copied, lasting_text
):
    """Found in review: tokens shared by the scales made Snakemake stop after preparing them."""
    figure, data = "figures/embedding_lr/fig2.pdf", f"wikitext2={lasting_text}"
    copied(figure, *SMOKE, data)
    first = build(figure, "--config", "scale=reduced", data, directory=tmp_path / "work")
    assert "scale reduced" in first and "fig2.zipf-exponent" in first
    assert list((tmp_path / "work").glob("results/reduced/*/embedding_lr/fig2/*/fig2.pdf"))
    plan = build(figure, *SMOKE, data, "--dry-run", directory=tmp_path / "work")
    assert not {"fetch", "tokenize"} & set(plan.split("Reasons:")[0].split())


@pytest.mark.slow
def test_a_truncated_file_of_one_figure_stops_no_other(copied):
    work = copied(FIGURE, *SMOKE)
    provenance = table_of(work, NAME).with_name("provenance.json")
    provenance.write_text(provenance.read_text()[:20])
    build("figures/embedding_lr/table1.pdf", *SMOKE, directory=work)
    build(FIGURE, *SMOKE, directory=work)


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        "resources/wikitext2;touch RAN;/0123456789ab/manifest.json",
        "resources/wikitext2$(touch RAN)/0123456789ab/manifest.json",
        "results/smoke/embedded/a$(touch RAN)/b/code-0123456789ab",
    ],
)
def test_a_target_s_name_is_no_command(tmp_path, target):
    """Found in review: what stands in a path was given to the shell as it was."""
    done = snakemake(target, *SMOKE, directory=tmp_path)
    assert done.returncode != 0
    assert not list(tmp_path.rglob("RAN"))
