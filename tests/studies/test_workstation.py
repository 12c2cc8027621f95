"""Workstation scale: a day of one GPU a paper, data that can be fetched, shapes that fit and step.

No GPU is used: full shapes step on the meta device, and a few real steps are made on a CPU.
"""

import json
import math
import re
from functools import cache

import pandas as pd
import pytest
from full_shape import losses_of, of_task, step_back
from refusals import refused
from suites import suite_of

from figures.upscaling import _runs
from repro.__main__ import main
from repro.core import catalog, discovery
from repro.core.names import StageName
from repro.core.runs import Upstream
from repro.core.spec import override, settings
from repro.core.study import WORKSTATION, Scale, Study
from repro.cost import gpu_hours
from repro.data.random_data import random_data
from repro.lineage.checkout import ROOT
from repro.tasks import TASKS
from repro.verdicts.verdict import (
    by_bound,
)
from repro.verdicts.words import STATUSES
from repro.workflow import budget

pytestmark = pytest.mark.long

DAY = 24
GPU_BYTES = 75e9  # of 80 GB; the rest is torch's own
FETCHED = {"wikitext2", "fineweb_head", "ccnews", "covtype", "covtype_long", "cifar100"}
# Studies over widths; the others are of one width, as the paper's.
WIDTHS = {
    "embedding_lr/width",
    "embedding_lr/width_and_vocabulary",
    "embedding_lr/unit_init",
    "embedding_lr/regimes",
    "transfer/bart",
    "transfer/decoder",
    "transfer/gru",
    "transfer/mlp",
    "upscaling/mlp_sgd",
    "upscaling/mlp_adamw",
    "upscaling/mlp_adamw_asked",
    "upscaling/resnet",
    "upscaling/resnet_at_target",
    "upscaling/resnet_own",
    "upscaling/gpt2",
    "upscaling/gpt2_own",
    "upscaling/mlp_sgd_transfer",
    "upscaling/mlp_sgd_controls",
    "upscaling/mlp_adamw_transfer",
    "upscaling/mlp_adamw_controls",
    "upscaling/gpt2_transfer",
    "upscaling/deep_linear_widths",
    "effective_theory/update_sizes",
    "effective_theory/encoder_kernels",
    "effective_theory/encoder_tangent_kernels",
    "effective_theory/encoder_s_family",
}
# Sweeps that only choose, of one seed in the papers. What claims say of Sweep 2 is of its winner
# and its rivals over seeds (`figures.upscaling._runs.SMALL`).
CHOOSING = (
    "tune",
    "tune_upscaled",
    "tune_upscaled_code",
    "tune_target",
    "tune_target_without_noise",
    "scratch_rates",
)


@cache
def suite():
    """All figures on real data; no test has a network."""
    return suite_of(scale=WORKSTATION, data="real")


@cache
def offered():
    """The figures whose studies have this scale."""
    return [name for name in catalog.figure_names() if suite().offers(name)]


@cache
def specs():
    """Stage -> the settings of its runs, for every stage behind a figure."""
    by_stage = {}
    for name in offered():
        for stage, cells in suite().figure_cells(name).items():
            by_stage.setdefault(stage, [run.spec for cell in cells for run in cell.runs])
    return by_stage


def trained():
    """The same of stages that train, without the rounds of searches."""
    found = {stage: runs for stage, runs in specs().items() if "+" not in stage}
    tasks = {stage: discovery.study(stage).task for stage in found}
    return {s: r for s, r in found.items() if TASKS[tasks[s]].cost(r[0]).seen}


def cost_of(stage, spec):
    return TASKS[discovery.study(stage).task].cost(spec)


def test_a_paper_takes_a_day_of_one_gpu_at_most():
    hours = budget.hours_by_paper(suite(), offered(), budget.on_gpu())
    assert set(hours) == {name.split("/")[0] for name in offered()}
    assert all(0 <= spent <= DAY for spent in hours.values()), hours


def test_the_command_prints_hours_by_paper_as_json(tmp_path, monkeypatch, capsys):
    """fig5's runs are fig4's too, and counted once."""
    monkeypatch.chdir(tmp_path)

    def hours(*figures):
        assert main(["show", "cost", *figures, "--scale", WORKSTATION, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    both = hours("embedding_lr/fig4", "embedding_lr/fig5")
    assert both == hours("embedding_lr/fig4") and both["embedding_lr"] > 1


def test_every_run_fits_its_gpu_and_divides_its_batch():
    for stage, runs in trained().items():
        for spec in runs:
            assert cost_of(stage, spec).memory_bytes < GPU_BYTES, stage
            assert spec["data"]["batch_size"] % spec["microbatches"] == 0, stage


def test_its_data_can_be_fetched():
    needed = {n for name in offered() for n in suite().figure_datasets(name)}
    assert needed <= FETCHED


def test_widths_span_a_factor_of_16():
    spans = {}
    for stage, runs in specs().items():
        study = "/".join(stage.split("/")[:2])
        for spec in runs:
            width = spec["width"] if "width" in spec else spec.get("model", {}).get("width")
            spans.setdefault(study, set()).add(width)
    assert {study for study in WIDTHS if max(spans[study]) < 16 * min(spans[study])} == set()


def test_what_is_judged_has_three_seeds():
    for stage, runs in trained().items():
        chooses = stage.split("/")[-1] in CHOOSING or stage.endswith("_search")
        seeds = {spec["seed"] for spec in runs}
        assert len(seeds) >= 3 or chooses, stage


@pytest.mark.parametrize("figure", ["fig5", "fig7", "fig9", "fig11"])
def test_sweep_2_is_judged_over_three_seeds(figure):
    by_stage = suite().figure_cells(f"upscaling/{figure}")
    for arm in _runs.SMALL:
        (cells,) = (found for stage, found in by_stage.items() if stage.endswith(f"/{arm}"))
        assert len({run.spec["seed"] for cell in cells for run in cell.runs}) == 3


@pytest.mark.parametrize("figure", ["fig1", "fig3"])
def test_sweeps_of_the_embedding_s_rate_grow(figure):
    """Around where the theory carries the reduced optima, until both sides were tried twice."""
    by_stage = suite().figure_cells(f"embedding_lr/{figure}")
    searched = {stage for stage in by_stage if "+" not in stage}
    for stage in searched:
        assert {f"{stage}+1", f"{stage}+2"} <= by_stage.keys()
        rates = sorted(run.spec["lr"]["embedding"] for c in by_stage[stage] for run in c.runs)
        assert rates[0] <= 2.0**-8 and rates[-1] <= 2.0**-1


def test_each_study_says_what_it_takes():
    """The hours of its runs are in its file, or in a file of settings beside it."""
    hours = {}
    for stage, runs in specs().items():
        spent = sum(gpu_hours(cost_of(stage, s)) for s in runs if cost_of(stage, s).seen)
        module = StageName.parse(stage).module
        hours[module] = hours.get(module, 0) + spent
    for module, spent in hours.items():
        file = ROOT / "studies" / f"{module}.py"
        said = "".join(path.read_text() for path in [file, *file.parent.glob("_*.py")])
        assert spent < 0.05 or f"{spent:.1f}" in re.findall(r"\d+\.\d", said), (module, spent)


@cache
def largest():
    """Study -> (stage, settings) of its run with the largest memory."""
    found = {}
    for stage, runs in trained().items():
        study = "/".join(stage.split("/")[:2])
        if discovery.study(stage).task == "update_sizes":
            continue  # its models are built by the tasks it looks at, and are smaller
        best = max(runs, key=lambda spec: cost_of(stage, spec).memory_bytes)
        before = found.get(study)
        if not before or cost_of(*before).memory_bytes < cost_of(stage, best).memory_bytes:
            found[study] = stage, best
    return found


def from_scratch(spec):
    """Settings that take nothing from other stages."""
    known = {"lr": 2.0**-8, "optimizer.weight_decay": 0.0, "embedding_ratio": 1.0}
    own = override(spec, {"start": None} if spec.get("start") else {})
    taken = [key for key, value in settings(own) if isinstance(value, Upstream)]
    return override(own, {key: known[key] for key in taken})


STUDIES = [
    "effective_theory/bart",
    "effective_theory/r2c2",
    "effective_theory/vit",
    "embedding_lr/pretraining",
    "embedding_lr/unit_init",
    "embedding_lr/width",
    "embedding_lr/width_and_vocabulary",
    "transfer/bart",
    "transfer/decoder",
    "transfer/decoder_depth",
    "transfer/gru",
    "transfer/mlp",
    "upscaling/gpt2",
    "upscaling/gpt2_own",
    "upscaling/gpt2_transfer",
    "upscaling/mlp_adamw",
    "upscaling/mlp_adamw_asked",
    "upscaling/mlp_adamw_controls",
    "upscaling/mlp_adamw_transfer",
    "upscaling/mlp_sgd",
    "upscaling/mlp_sgd_controls",
    "upscaling/mlp_sgd_transfer",
    "upscaling/resnet",
    "upscaling/resnet_at_target",
    "upscaling/resnet_own",
]
# Of 3 to 10 seconds: many million numbers are drawn.
LONG = {"effective_theory/bart", "effective_theory/r2c2", "embedding_lr/pretraining"}


def test_every_study_that_trains_is_stepped_below():
    assert sorted(largest()) == STUDIES


@pytest.mark.parametrize(
    "study", [pytest.param(s, marks=[pytest.mark.slow] if s in LONG else []) for s in STUDIES]
)
def test_its_largest_run_steps_at_full_shape_on_the_meta_device(study):
    stage, spec = largest()[study]
    spec = from_scratch(spec)
    rows = spec["data"]["batch_size"] // spec["microbatches"]
    part = override(spec, {"data.batch_size": rows, "microbatches": 1})
    task = TASKS[discovery.study(stage).task]
    training = task.build(part, random_data(part, "meta"), "meta")
    step_back(training, next(training.batches.from_step(0)))
    assert sum(p.numel() for p in training.model.parameters()) == cost_of(stage, spec).parameters


def stepped(task, spec, tmp_path):
    """Losses of three steps on one random batch, on a CPU."""
    spec = override(spec, {"steps": 3, "evaluations": 3, "precision": "float32"})
    return losses_of(of_task(task, spec, "cpu"), tmp_path)


def test_a_few_steps_run_at_the_smallest_width(tmp_path):
    """Width 128 and its vocabulary at their length; 2 sequences in a step, for a CPU."""
    spec = min(specs()["embedding_lr/width_and_vocabulary"], key=lambda s: s["model"]["width"])
    assert (spec["model"]["width"], spec["data"]["vocab_size"]) == (128, 1_024)
    losses = stepped("language_model", override(spec, {"data.batch_size": 2}), tmp_path)
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize(
    "study",
    [
        "transfer/mlp",
        pytest.param("upscaling/mlp_sgd", marks=pytest.mark.slow),
        pytest.param("upscaling/resnet", marks=pytest.mark.slow),
    ],
)
def test_a_few_steps_run_at_full_shape_where_a_cpu_can(study, tmp_path):
    """Whole batches; MLPs of the largest width, the ResNet of the smallest."""
    stage, spec = largest()[study]
    if study == "upscaling/resnet":
        spec = specs()["upscaling/resnet/tune"][0]
    losses = stepped(discovery.study(stage).task, from_scratch(spec), tmp_path)
    assert all(math.isfinite(loss) for loss in losses) and losses[2] < losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", offered())
def test_every_figure_measures_and_shows_what_it_gets(name):
    """On reduced scale's table, for want of one, or on the night's, where each width has the same
    rates, or smoke's, where no other was run; Figure 2's drops come after a longer warm-up, and
    pretraining has one width."""
    from repro.verdicts import drawing

    figure, scale = catalog.figure(name), WORKSTATION
    other = "overnight" if name == "embedding_lr/fig3" else "reduced"
    tables = (
        ROOT / "records" / each / "embedded" / "cpu" / f"{name}.csv" for each in (other, "smoke")
    )
    data = pd.read_csv(next(table for table in tables if table.exists()))
    if name == "effective_theory/fig2":
        data["step"] *= 20
    if name == "embedding_lr/fig4":
        widest = data["model.width"] == data["model.width"].max()
        data = data[widest].assign(**{"model.width": 512})
    found = figure.measure(data.copy(), scale)
    bounds = {test.id: test.at(scale) for test in figure.tests}
    judged = [by_bound(bound, found[name]) for name, bound in bounds.items() if bound]
    assert all(each.status in STATUSES for each in judged)
    if figure.draw:
        drawing.plt.close(figure.draw(data.copy(), scale))
    else:
        figure.table(data.copy(), scale)


def test_a_study_without_it_is_refused_in_one_line(monkeypatch):
    study = discovery.study("embedding_lr/frequencies")
    less = Study(
        study.task, study.spec, study.grid, dict.fromkeys(["smoke", "reduced", "paper"], Scale())
    )
    monkeypatch.setattr("repro.core.suite.study", lambda name: less)
    asked = suite_of(scale=WORKSTATION)
    message = (
        r"figures/embedding_lr/fig2.py: studies: studies/embedding_lr/frequencies.py: has no "
        r"workstation scale, choose from smoke, reduced, paper"
    )
    with refused(message):
        asked.figure_cells("embedding_lr/fig2")
