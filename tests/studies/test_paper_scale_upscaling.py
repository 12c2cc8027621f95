"""Paper scale of every study of task `warm_start`: settings, shapes, cost, and real steps.

Numbers are typed from Ma et al. (arXiv 2602.10545), Appendix F, and from the released code where
F is silent. What is taken from earlier stages is not known here and left out.
"""

import math
from functools import cache

import numpy as np
import pytest
import torch
import torchvision
from full_shape import step_back
from suites import suite_of

from repro import models
from repro.core import discovery
from repro.core.spec import lookup, override
from repro.core.study import OVERNIGHT, SCALES
from repro.data.arrays import write_arrays
from repro.data.needs import Tokens
from repro.data.random_data import random_data
from repro.files import sha256_file, write_sealed
from repro.products.run_table import departures
from repro.tasks import TASKS
from widthwise import upscaling

pytestmark = pytest.mark.long

# Rows of covertype's training part: 581,012 - ceil(581,012 / 5); its last batch is dropped.
EPOCH = {"mlp": (581_012 - 116_203) // 2_000, "resnet": 50_000 // 128}
MODELS = {
    "mlp": {
        "data.batch_size": 2_000,
        "model.inputs": 54,
        "model.classes": 7,
        "model.hidden_layers": 3,
        "optimizer.weight_decay": 1e-4,
        "optimizer.clip": None,
        "precision": "float32",
    },
    "resnet": {
        "data.batch_size": 128,
        "data.resolution": 32,
        "data.augment": True,
        "model.classes": 100,
        "model.base_width": 1.0,
        "optimizer.name": "sgd",
        "optimizer.momentum": 0.9,
        "optimizer.weight_decay": 1e-4,
        "optimizer.clip": None,
        "steps": 100 * EPOCH["resnet"],
    },
    "gpt2": {
        "data.sequence_length": 1_024,
        "data.batch_size": 512,  # 2^19 tokens
        "model.attention_constant": 8.0,
        "optimizer.name": "adamw",
        "optimizer.betas": [0.9, 0.95],
        "optimizer.weight_decay": 0.1,
        "optimizer.clip.norm": 1.0,
        "precision": "bfloat16",
        "steps": 10_000,
    },
}
SGD = {"optimizer.name": "sgd", "optimizer.momentum": 0.0}
ADAMW = {"optimizer.name": "adamw", "optimizer.betas": [0.9, 0.999], "optimizer.eps": 1e-8}
LONG, SHORT = {"steps": 500 * EPOCH["mlp"]}, {"steps": 100 * EPOCH["mlp"]}
PASSES = {"steps": 3 * (464_809 // 2_000)}  # ours: three of its epochs
LARGE = {
    "data.vocab_size": 50_257,
    "data.tokenizer": "gpt2",
    "model.depth": 12,
    "model.heads": 12,
    "model.base_width": 24,
}
STUDIES = {
    "mlp_sgd": SGD | LONG | {"model.base_width": 1},
    "mlp_adamw": ADAMW | LONG | {"model.base_width": 1},
    "mlp_sgd_whole": SGD | LONG | {"model.base_width": 1} | PASSES,
    "mlp_adamw_whole": ADAMW | LONG | {"model.base_width": 1} | PASSES,
    "mlp_sgd_transfer": SGD | SHORT | {"model.base_width": 1_024},
    "mlp_adamw_transfer": ADAMW | SHORT | {"model.base_width": 512},
    "mlp_sgd_controls": SGD | SHORT | {"model.base_width": 1_024},
    "mlp_adamw_controls": ADAMW | SHORT | {"model.base_width": 512},
    "mlp_adamw_asked": ADAMW | LONG | {"model.base_width": 1},
    "mlp_adamw_narrow": ADAMW | LONG | {"model.base_width": 1},
    # Of what a setting does not draw; base width 16 is the reduced runs'.
    **dict.fromkeys(("drawn", "drawn_rates"), ADAMW | {"model.base_width": 16}),
    "resnet": {},
    "resnet_at_target": {},
    "resnet_own": {},
    "gpt2": LARGE,
    "gpt2_own": LARGE,
    "gpt2_transfer": {
        "data.vocab_size": 8_192,
        "data.tokenizer": "bpe",
        "model.depth": 8,
        "model.heads": 8,
        "model.base_width": 16,
    },
}
SEEDS = {"mlp": range(5), "resnet": range(5), "gpt2": range(1)}
# Tuned at the first, upscaled to the second; base, and upscaled to the last.
WIDTHS = {
    "mlp_sgd": (100, 400, 500, 2_000),
    "mlp_adamw": (100, 400, 500, 2_000),
    "mlp_adamw_asked": (100, 400, 500, 2_000),
    **dict.fromkeys(("resnet", "resnet_own"), (0.5, 1, 2, 4)),
    "resnet_at_target": (0.5, 1, 2, 4),
    **dict.fromkeys(("gpt2", "gpt2_own"), tuple(12 * head for head in (16, 32, 160, 320))),
}
TRANSFER_WIDTHS = {
    "mlp_sgd_transfer": {128, 256, 512, 1_024},
    "mlp_adamw_transfer": {128, 180, 256, 390, 512, 768},
    "gpt2_transfer": {64, 128, 256, 512, 1_024},
}
# Sweep 1's learning rate; Sweep 2's; its noise in the released code's convention; half a unit
# of the last digit printed.
SELECTED = {
    "mlp_sgd": ((0.4, 0.05), (0.1, 0.05), (5, 0)),
    "mlp_adamw": ((0.1, 0.05), (0.013, 0.0005), (4, 0)),
    "mlp_adamw_asked": ((0.1, 0.05), (0.013, 0.0005), (4, 0)),
    "resnet": ((0.01, 0.005), (0.003, 0.0005), (0.4, 1e-9)),
    "resnet_at_target": ((0.01, 0.005), (0.003, 0.0005), (0.4, 1e-9)),
    **dict.fromkeys(("gpt2", "gpt2_own"), ((0.0039, 0.00005), (0.0020, 0.00005), (0.005, 1e-9))),
}
# F.4: TFLOPs of the base and of the wide run, as printed. GPT-2's count half of F.3's tokens.
TFLOPS = {
    "mlp_sgd": (740, 11_326),
    "mlp_adamw": (740, 11_326),
    "resnet": (66_547, 265_970),
    "gpt2": (2 * 10_615_488, 2 * 37_929_809),
}


@cache
def suite():
    return suite_of(scale="paper")


@cache
def runs(stage):
    return [run for cell in suite().cells(f"upscaling/{stage}") for run in cell.runs]


@cache
def trained():
    """`<study>/<stage>` of every stage that trains from scratch or from a base."""
    names = [n.removeprefix("upscaling/") for n in discovery.study_names() if "upscaling/" in n]
    return [n for n in names if discovery.study(f"upscaling/{n}").task == "warm_start"]


# What is parametrized goes by study: which runs there are is found out where a test asks.
STUDIES_THERE = sorted({name.split("/")[0] for name in trained()})


@cache
def stages(study=""):
    """Those with runs, of all studies or of one."""
    return [n for n in trained() if n.startswith(study) and runs(n)]


def those(table):
    """Names in a table that are studies by now."""
    return [name for name in table if name in STUDIES_THERE]


@cache
def drawn(stage):
    """Setting -> its values, of those that a stage's seeds draw."""
    population = discovery.study(f"upscaling/{stage}").at("paper").population
    found = {}
    for choice in population.choices.values() if population else ():
        for level in choice.levels.values():
            for key, value in level.items():
                found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("study", STUDIES_THERE)
def test_settings_are_the_paper_s(study):
    assert stages(f"{study}/")
    for stage, run in ((each, run) for each in stages(f"{study}/") for run in runs(each)):
        short = stage.partition("/")[2]
        expected = MODELS[run.spec["model"]["name"]] | STUDIES[study]
        for key, value in expected.items():
            if key in ("steps", "evaluations") and short == "scratch_long":
                value *= 2
            if key == "steps" and short.endswith("_start"):
                value = 1
            found = lookup(run.spec, key)
            assert found in drawn(stage).get(key, [value]), (stage, key)
        decayed = set(run.spec["optimizer"]["decayed"])
        plain = {"embedding", "hidden", "output"}
        every = plain | {"vector", "scalar"}
        assert decayed == (plain if run.spec["model"]["name"] == "gpt2" else every)


@pytest.mark.parametrize("study", those(WIDTHS))
@pytest.mark.parametrize("scale", [s for s in SCALES if s != OVERNIGHT])
def test_training_losses_are_means_over_equally_many_steps(study, scale):
    suite = suite_of(scale=scale)
    periods = {
        run.spec["steps"] / run.spec["evaluations"]
        for stage in stages()
        if stage.startswith(f"{study}/") and not stage.endswith("_start")
        for cell in suite.cells(f"upscaling/{stage}")
        for run in cell.runs
    }
    assert len(periods) == 1


@pytest.mark.parametrize("study", those(WIDTHS))
def test_the_protocol_has_the_paper_s_widths_and_seeds(study):
    small, small_wide, base, wide = WIDTHS[study]
    for stage, width, start, seeds in (
        ("tune", small, None, False),
        ("base", base, None, True),
        ("scratch", wide, None, True),
        ("tune_upscaled", small_wide, small, False),
        ("upscaled", wide, base, True),
    ):
        found = runs(f"{study}/{stage}")
        assert {run.spec["model"]["width"] for run in found} == {width}
        assert {(run.spec["start"] or {}).get("width") for run in found} == {start}
        if seeds:
            expected = SEEDS[found[0].spec["model"]["name"]]
            assert [run.spec["seed"] for run in found] == list(expected)


@pytest.mark.parametrize("study", those(WIDTHS))
def test_stages_take_what_the_paper_hands_on(study):
    """Sweep 1's rate; one base, the median one, for all seeds; Sweep 2's rate and noise.

    GPT-2's Sweep 1 selects by validation loss (F.3), every Sweep 2 by training loss (Section 4,
    Meta-algorithm 1; Figure 11 for GPT-2).
    """
    first = "valid_loss" if study.startswith("gpt2") else "train_loss"
    for stage, key, source in (
        ("base", "lr", "tune"),
        ("scratch", "lr", "tune"),
        ("tune_upscaled", "start.checkpoint", "tune"),
        ("upscaled", "lr", "tune_upscaled"),
        ("upscaled", "start.level", "tune_upscaled"),
    ):
        for run in runs(f"{study}/{stage}"):
            reference = run.upstream[key].reference
            metric = first if source == "tune" else "train_loss"
            assert (reference.stage, reference.metric) == (source, metric)
    for run in runs(f"{study}/upscaled"):
        taken = run.upstream["start.checkpoint"]
        assert (taken.reference.pick, taken.reference.metric) == ("median", "valid_loss")
        assert {each.id for each in taken.runs} == {each.id for each in runs(f"{study}/base")}


@pytest.mark.parametrize("study", [s for s in those(WIDTHS) if s not in ("resnet", "resnet_own")])
def test_sweep_2_at_the_target_is_around_the_printed_winner(study):
    (_, _), (lr, half), _ = SELECTED[study]
    rates = grid(f"{study}/tune_target", "lr")
    assert len(rates) == 3 and abs(rates[1] - lr) <= half * (1 + 1e-9)
    judged = {run.spec["seed"] for run in runs(f"{study}/upscaled_tuned")}
    assert judged == set(SEEDS[runs(f"{study}/upscaled_tuned")[0].spec["model"]["name"]])


@pytest.mark.parametrize("study", those(("resnet_at_target",)))
def test_at_the_target_the_resnet_has_the_noise_that_was_transferred(study):
    transferred = runs(f"{study}/upscaled")[0].upstream["start.level"].reference
    for stage in ("tune_target", "upscaled_tuned"):
        for run in runs(f"{study}/{stage}"):
            assert run.upstream["start.level"].reference == transferred


@pytest.mark.parametrize(
    ("study", "hidden"),
    [
        *((study, 1.0) for study in those(("mlp_sgd", "mlp_adamw"))),
        *((study, 1_024**-0.5) for study in those(("mlp_sgd_transfer",))),
        *((study, 512**-0.5) for study in those(("mlp_adamw_transfer",))),
    ],
)
def test_biases_have_the_spread_of_the_released_code(study, hidden):
    """Measured on its models: 1.0 and 0.136 at base width 1, 0.031 at 1,024; at any width."""
    stage = "scratch" if f"{study}/scratch" in stages() else "base"
    for run in (runs(f"{study}/{stage}")[0], runs(f"{study}/base")[-1]):
        spec = run.spec
        net = models.build(spec["model"], spec["parametrization"])
        models.draw(net, spec["parametrization"], 3)
        for name, expected in (("input.bias", 54**-0.5), ("hidden.1.bias", hidden)):
            bias = net.get_parameter(name)
            error = 4 / (2 * len(bias)) ** 0.5
            assert float(bias.detach().std()) == pytest.approx(expected, rel=error), name
        assert not net.output.bias.any()


def grid(stage, key):
    return sorted({lookup(run.spec, key) for run in runs(stage)})


@pytest.mark.parametrize("study", those(("mlp_sgd", "mlp_adamw")))
def test_mlp_grids_are_the_code_s(study):
    rates = [0.1 * 2**j for j in range(-5, 5)]
    for stage in ("tune", "tune_upscaled", "tune_upscaled_code"):
        assert grid(f"{study}/{stage}", "lr") == pytest.approx(rates)
    assert grid(f"{study}/tune_upscaled_code", "start.level") == list(range(10))
    # The code divides the noise of hidden matrices by the factor 4.
    assert set(grid(f"{study}/tune_upscaled", "start.level")) >= {j / 4 for j in range(10)}


@pytest.mark.parametrize("study", those(("resnet_at_target",)))
def test_resnet_grids_are_the_code_s(study):
    assert grid(f"{study}/tune", "lr") == pytest.approx([0.005 * 2**j for j in range(3)])
    assert grid(f"{study}/tune_upscaled", "lr") == pytest.approx(
        [0.005 * 2**j for j in range(-4, 3)]
    )
    assert grid(f"{study}/tune_upscaled", "start.level") == pytest.approx(
        [j / 10 for j in range(10)]
    )
    assert {run.spec["start"]["noise"] for run in runs(f"{study}/tune_upscaled")} == {"signal"}
    for run in runs(f"{study}/upscaled"):
        assert run.spec["start"]["noise"] == "gaussian"
        assert run.upstream["start.level"].reference.recorded


def code_sweep(study):
    """The stage of Sweep 2 in the released code's convention of noise."""
    return f"{study}/tune_upscaled" + ("" if study.startswith("resnet") else "_code")


@pytest.mark.parametrize("study", those(("gpt2",)))
def test_gpt2_grid_is_5_by_5(study):
    """F.4 charges 25 runs at width 384."""
    assert len(runs(code_sweep(study))) == 25
    assert len(grid(code_sweep(study), "lr")) == len(grid(code_sweep(study), "start.level")) == 5


@pytest.mark.parametrize("study", those(SELECTED))
def test_the_paper_s_choices_are_on_the_grids(study):
    grids = (
        grid(f"{study}/tune", "lr"),
        grid(code_sweep(study), "lr"),
        grid(code_sweep(study), "start.level"),
    )
    for (value, half), values in zip(SELECTED[study], grids, strict=True):
        assert any(abs(x - value) <= half * (1 + 1e-9) for x in values), (value, values)


@pytest.mark.parametrize("study", those(TRANSFER_WIDTHS))
def test_transfer_is_the_paper_s(study):
    """F.5 and the released code: N = 2n, half-powers of two from -5 to 5.5, a base a seed."""
    found = runs(f"{study}/by_lr") + runs(f"{study}/by_noise")
    pairs = {(run.spec["start"]["width"], run.spec["model"]["width"]) for run in found}
    assert pairs == {(n, 2 * n) for n in TRANSFER_WIDTHS[study]}
    assert {run.spec["seed"] for run in found} == set(SEEDS[found[0].spec["model"]["name"]])
    for run in found:
        (base,) = run.upstream["start.checkpoint"].runs
        assert base.spec["model"]["width"] == run.spec["start"]["width"]
        assert base.spec["seed"] == run.spec["seed"]


@pytest.mark.parametrize(
    ("study", "centre", "level", "lr", "levels"),
    [
        ("mlp_sgd_transfer", 0.2, 0.75, 0.1, [j / 8 for j in range(17)]),
        ("mlp_adamw_transfer", 0.0005, 1.0, 0.0005, [2.0**j for j in range(-9, 2)]),
    ],
)
def test_mlp_transfer_grids_are_the_code_s(study, centre, level, lr, levels):
    """Noise in hidden matrices: the code's, divided by the factor 2."""
    rates = grid(f"{study}/by_lr", "lr")
    assert rates == pytest.approx([centre * 2 ** (j / 2) for j in range(-10, 12)])
    assert grid(f"{study}/by_lr", "start.level") == [level / 2]
    assert grid(f"{study}/by_noise", "lr") == [lr]
    assert set(grid(f"{study}/by_noise", "start.level")) >= {x / 2 for x in levels}


@pytest.mark.parametrize(
    ("study", "base", "level", "levels"),
    [
        ("mlp_sgd_transfer", 0.6, 0.75, [j / 8 for j in range(17)]),
        ("mlp_adamw_transfer", 0.002, 1.0, [0.0, *(2.0**j for j in range(-9, 2))]),
    ],
)
def test_the_code_s_settings_are_run_beside_the_paper_s(study, base, level, levels):
    """Base rate, fixed noise and grid of noise of MLP/check_hyperparam_transfer.py, as printed."""
    assert grid(f"{study}/base_code", "lr") == [base]
    assert grid(f"{study}/by_lr_code", "start.level") == [level]
    assert grid(f"{study}/by_noise_code", "start.level") == levels
    for sweep in ("by_lr", "by_noise"):
        found = runs(f"{study}/{sweep}_code")
        assert {run.spec["start"]["convention"] for run in found} == {"code"}
        assert grid(f"{study}/{sweep}_code", "lr") == grid(f"{study}/{sweep}", "lr")
        assert found[0].upstream["start.checkpoint"].reference.stage == "base_code"
    printed = runs(f"{study}/by_lr_printed")
    assert {run.spec["start"]["convention"] for run in printed} == {"paper"}
    assert grid(f"{study}/by_lr_printed", "start.level") == [level]
    assert printed[0].upstream["start.checkpoint"].reference.stage == "base"


@pytest.mark.parametrize("study", those(TFLOPS))
def test_runs_cost_what_f4_prints(study):
    """The printed totals count the last incomplete batch of an epoch, 0.17 % at most."""
    for stage, printed in zip(("base", "upscaled"), TFLOPS[study], strict=True):
        flops = TASKS["warm_start"].cost(runs(f"{study}/{stage}")[0].spec).flops
        assert flops / 1e12 == pytest.approx(printed, rel=2.5e-3)


@pytest.mark.parametrize("study", STUDIES_THERE)
def test_every_run_fits_an_80_gb_gpu(study):
    for run in (run for stage in stages(f"{study}/") for run in runs(stage)):
        spec = run.spec
        assert TASKS["warm_start"].cost(spec).memory_bytes < 75e9, spec["model"]
        assert spec["data"]["batch_size"] % spec["microbatches"] == 0


@cache
def shapes():
    """(study, width) -> spec, each once."""
    found = {}
    for stage in stages():
        for run in runs(stage):
            spec = run.spec
            found.setdefault((stage.split("/")[0], spec["model"]["width"]), spec)
    return found


@cache
def pairs():
    """(study, narrow, wide) -> spec of an upscaled run."""
    found = {}
    for stage in stages():
        for run in runs(stage):
            if run.spec["start"]:
                widths = run.spec["start"]["width"], run.spec["model"]["width"]
                found.setdefault((stage.split("/")[0], *widths), run.spec)
    return found


def build(spec, **changes):
    """A run from scratch of a spec, of shapes alone; its rate may not be known."""
    spec = override(spec, {"start": None, "lr": 0.5, **changes})
    return TASKS["warm_start"].build(spec, random_data(spec, "meta"), "meta")


def parameters(spec):
    """How many there are, from Appendix F's words."""
    model = spec["model"]
    n = model["width"]
    if model["name"] == "mlp":
        return 54 * n + n + (model["hidden_layers"] - 1) * (n * n + n) + 7 * n + 7
    if model["name"] == "gpt2":
        block = 12 * n * n + 2 * n
        return model["depth"] * block + (spec["data"]["vocab_size"] + 1_024) * n + n
    with torch.device("meta"):
        standard = torchvision.models.resnet18(num_classes=100)
        standard.conv1 = torch.nn.Conv2d(3, 64, 3, bias=False)
    ends = ("conv1.weight", "fc.weight")  # one width axis, as BatchNorm's
    return sum(
        p.numel() * (1 if name == "fc.bias" else n if p.ndim == 1 or name in ends else n * n)
        for name, p in standard.named_parameters()
    )


def of_study(table, study):
    """The specs of a table whose keys begin with the study."""
    return [spec for key, spec in table.items() if key[0] == study]


NOT_BUILT = ("lr", "start", "seed", "steps", "evaluations")  # what `build` makes nothing of


def once(check):
    """The check, which is made once of all specs that are built alike from a base of one width."""
    passed = set()

    def checked(spec):
        built = [(name, spec[name]) for name in sorted(spec) if name not in NOT_BUILT]
        alike = repr((built, (spec["start"] or {}).get("width")))
        if alike not in passed:
            check(spec)
            passed.add(alike)

    return checked


@once
def check_a_step(spec):
    training = build(spec)
    net = training.model
    step_back(training, next(training.batches.from_step(0)))
    assert sum(p.numel() for p in net.parameters()) == parameters(spec)
    kept = spec["model"]["name"] == "gpt2"
    assert all(
        bool(group["weight_decay"]) == (not kept or p.ndim > 1)
        for group in training.optimizer.param_groups
        for p in group["params"]
    )


@pytest.mark.parametrize("study", STUDIES_THERE)
def test_every_size_steps_at_full_shape_on_the_meta_device(study):
    for spec in of_study(shapes(), study):
        check_a_step(spec)


def by_name(net, optimizer):
    """Parameter name -> what its group sets, and the shapes of its state."""
    names = {id(p): name for name, p in net.named_parameters()}
    return {
        names[id(p)]: (
            [group[key] for key in ("lr", "weight_decay", "eps") if key in group],
            {key: tuple(value.shape) for key, value in optimizer.state[p].items()},
        )
        for group in optimizer.param_groups
        for p in group["params"]
    }


def with_state(training):
    """A run's model, and its optimizer as if it had stepped."""
    adam = isinstance(training.optimizer, torch.optim.AdamW)
    keys = ("exp_avg", "exp_avg_sq") if adam else ("momentum_buffer",)
    for p in training.model.parameters():
        training.optimizer.state[p] = {key: torch.zeros_like(p) for key in keys}
    return training.model, training.optimizer


@once
def check_a_widening(spec):
    """Shapes, buffers, optimizer state, and the hyperparameters that muP gives the wide model."""
    narrow, target = spec["start"]["width"], spec["model"]["width"]
    with torch.device("meta"):
        base = with_state(build(spec, **{"model.width": narrow}))
        wide, wide_optimizer = with_state(build(spec))
        factor = round(target / narrow)
        grown, optimizer, _ = upscaling.widen(*base, factor, unchecked=True, averages=["*"])
        expected = by_name(wide, wide_optimizer)
    found = by_name(grown, optimizer)
    assert found.keys() == expected.keys()
    for parameter, (values, state) in expected.items():
        assert found[parameter][0] == pytest.approx(values), parameter
        assert found[parameter][1] == state, parameter
    for kind in ("named_parameters", "named_buffers"):
        sizes = [{n: t.shape for n, t in getattr(net, kind)()} for net in (grown, wide)]
        assert sizes[0] == sizes[1]
    assert grown.output_multiplier == pytest.approx(wide.output_multiplier)


@pytest.mark.parametrize("study", STUDIES_THERE)
def test_every_base_widens_to_its_target_on_the_meta_device(study):
    for spec in of_study(pairs(), study):
        check_a_widening(spec)


def prepare(folder, spec):
    """A small part of random data in place of the dataset: need -> manifest."""
    rng = np.random.default_rng(0)
    (need,) = TASKS["warm_start"].needs(spec)
    rows, model = spec["data"]["batch_size"], spec["model"]
    if isinstance(need, Tokens):
        from safetensors.numpy import save_file

        length = 2 * rows * spec["data"]["sequence_length"] + 1
        tokens = rng.integers(0, need.vocab_size, length, dtype=np.uint16)
        file = folder / "tokens.safetensors"
        save_file({"train": tokens, "valid": tokens}, file)
        digests = {file.name: sha256_file(file)}
        manifest = {"vocab_reached": need.vocab_size, "sha256": digests}
        write_sealed(folder / "manifest.json", manifest)
        return {need: folder / "manifest.json"}
    side = spec["data"].get("resolution")
    if side:
        inputs = rng.integers(0, 256, (rows, 3, side, side), dtype=np.uint8)
    else:
        inputs = rng.standard_normal((rows, model["inputs"]), dtype=np.float32)
    part = {"inputs": inputs, "labels": rng.integers(0, model["classes"], rows)}
    valid = {key: array[:100] for key, array in part.items()}
    write_arrays({"train": part, "valid": valid}, {}, folder / "manifest.json")
    return {need: folder / "manifest.json"}


# First stage, second, noise levels, what is cut. None without noise where that is slow; ResNet's
# running statistics move on besides.
CUTS = {
    "mlp_adamw": ("base", "upscaled", [0.0, 1.0], {}),
    "resnet": ("tune", "tune_upscaled", [0.4], {"data.batch_size": 8}),
    "gpt2": (
        "tune",
        "tune_upscaled",
        [0.05],
        {
            "data.batch_size": 2,
            "data.sequence_length": 64,
            "precision": "float32",
            "microbatches": 2,
        },
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("study", those(CUTS))
def test_real_steps_at_full_width(study, tmp_path):
    """Two steps, widened with the optimizer's state, two more; cut: rows, and GPT-2's length.

    Fresh readouts are zero (GPT-2's logits small): the first loss is the logarithm of the number
    of classes. At learning rate zero and without noise the wide model is the base.
    """
    first, second, levels, cut = CUTS[study]
    (lr, _), (lr_upscaled, _), _ = SELECTED[study]
    base, wide = (runs(f"{study}/{stage}")[0].spec for stage in (first, second))
    base = override(base, cut | {"lr": lr, "steps": 2, "evaluations": 2})
    needs, file = prepare(tmp_path, base), tmp_path / "final"

    def carry_out(spec, final=None):
        return TASKS["warm_start"].run(
            spec,
            inputs=needs,
            device="cpu",
            progress=lambda step, loss: None,
            checkpoint=tmp_path / "state",
            final=final,
        )

    records = carry_out(base, file)
    classes = base["model"].get("classes") or base["data"]["vocab_size"]
    tolerance = 0.05 if study == "gpt2" else 1e-5
    assert records[0]["train_loss"] == pytest.approx(math.log(classes), rel=tolerance)
    start = {"id": "x", "file": str(file), "sha256": sha256_file(file), "spec": base}
    for level in levels:
        steps = 2 if level else 1
        changes = {"start.checkpoint": start, "start.level": level, "evaluations": 1}
        rate = lr_upscaled if level else 1e-30
        spec = override(wide, cut | changes | {"lr": rate, "steps": steps})
        (record,) = carry_out(spec)
        drawn = {
            n for n, r in build(spec).model.roles().items() if r.kind in ("embedding", "hidden")
        }
        assert set(record["noise"]) == drawn
        if level:
            assert math.isfinite(record["train_loss"]) and record["outside"] > 0.01
        else:
            assert record["outside"] == pytest.approx(0, abs=1e-4)
            assert record["valid_loss"] == pytest.approx(records[-1]["valid_loss"], rel=1e-4)


def test_departures_from_print_are_said_at_paper_scale():
    mlp = departures(["upscaling/fig4", "upscaling/fig6"], "paper")
    assert len(mlp) == len(set(mlp)) == 2 and f"{464_809 % 2_000} of 464,809 rows" in mlp[0]
    assert f"{50_000 % 128} of 50,000 images" in departures(["upscaling/fig8"], "paper")[0]
    assert departures(["upscaling/fig4"], "reduced") == []
