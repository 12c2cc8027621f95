"""Operations, parameters and memory against torch's own counts, and the paper's printed numbers."""

import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from golden import SPECS
from kept import kept_numbers
from refusals import refused
from suites import suite_of
from tiny import tiny_run
from torch.utils.flop_counter import FlopCounterMode

from repro import cost, models, tasks
from repro.__main__ import main
from repro.core import catalog
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.core.study import SCALES
from repro.cost import decoder, gpt2, kernels, llm, mlp, resnet, transformer
from repro.cost.llm import pretraining_cost
from repro.cost.paper import paper_costs
from repro.models.decoder import Decoder
from repro.models.gpt2 import GPT2
from repro.models.llm import LLM
from repro.models.mlp import MLP
from repro.models.resnet import ResNet
from repro.tasks import TASKS, Task, recorded, transformer_kernels
from repro.workflow import budget
from repro.workflow.cluster import Site
from studies.effective_theory._encoders import LANGUAGE, VISION

pytestmark = pytest.mark.long

SGD = {"name": "sgd", "momentum": 0.0, "nesterov": False, "weight_decay": 1e-4}
ADAMW = {"name": "adamw", "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 1e-4}
MLP_SPEC = {
    "dataset": "covtype",
    "data": {"batch_size": 2000},
    "model": {
        "name": "mlp",
        "inputs": 54,
        "classes": 7,
        "hidden_layers": 3,
        "width": 500,
        "base_width": 1,
    },
    "start": None,
    "optimizer": SGD,
    "lr": 0.4,
    "steps": 116_000,
    "evaluations": 500,
    "precision": "float32",
    "threads": 1,
    "seed": 0,
}
RESNET_SPEC = MLP_SPEC | {
    "dataset": "cifar100",
    "data": {"batch_size": 128, "augment": True, "resolution": 32},
    "model": {"name": "resnet", "classes": 100, "width": 2.0, "base_width": 1.0},
    "optimizer": SGD | {"momentum": 0.9},
    "steps": 39_000,
}
GPT2_SPEC = MLP_SPEC | {
    "dataset": "fineweb",
    "data": {
        "batch_size": 512,
        "sequence_length": 1024,
        "vocab_size": 50_257,
        "tokenizer": "gpt2",
    },
    "model": {"name": "gpt2", "depth": 12, "heads": 12, "width": 1920, "base_width": 24},
    "optimizer": ADAMW,
    "steps": 10_000,
}
warm_start_cost = TASKS["warm_start"].cost
SIZES = {"inputs": 54, "hidden_layers": 3, "width": 40, "classes": 7}
TEXT = {"vocab_size": 320, "width": 48, "depth": 3}
TABLE_3 = {"depth": 3, "width": 48, "heads": 8, "kv_heads": 2, "head_dim": 12, "inner": 192}
REST = {"base_width": 1, "output_multiplier": 1.0}


def gpt2_model(**changes):
    shape = (
        TEXT
        | {"heads": 4, "sequence_length": 64, "attention_constant": 8.0, "embedding_std": 0.02}
        | changes
    )
    return GPT2(**shape, **REST)


def llm_model():
    rest = {"rotary_dim": 12, "window": 32, "sequence_length": 64}
    return LLM(**TABLE_3, vocab_size=320, **rest, **REST)


LLM_SPEC = MLP_SPEC | {
    "dataset": "fineweb_edu",
    "data": {"batch_size": 8, "sequence_length": 64, "vocab_size": 320},
    "model": TABLE_3 | {"window": 32},
    "optimizer": ADAMW,
    "steps": 10,
}


def decoder_model():
    rest = {"head_dim": 12, "sequence_length": 64, "expansion": 4, "norm": "post"}
    return Decoder(**TEXT, **rest, **REST, positional_rms={"factor": 1.0, "power": 0.0})


def parameters(net) -> int:
    return sum(p.numel() for p in net.parameters())


def by_products():
    """Attention by the products of matrices that torch's counter knows."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel(SDPBackend.MATH)


def forward_flops(net, *inputs) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(*inputs)
    return counter.get_total_flops()


# Table 4 and Appendix F.4


@pytest.mark.parametrize(("kind", "rows"), [("speedup", 3), ("end-to-end", 5)])
def test_speedups_have_the_printed_digits(kind, rows):
    speedups = [v for k, v in paper_costs().items() if k.startswith(f"{kind}.")]
    assert len(speedups) == rows
    for row in speedups:
        assert round(row.computed, 1) == round(row.recounted, 1) == row.printed


def test_mlp_and_resnet_totals_are_the_printed_integers():
    costs = paper_costs()
    for name, printed in {
        "costs.mlp.base": 740,
        "costs.mlp.wide": 11_326,
        "costs.resnet.base": 66_547,
        "costs.resnet.wide": 265_970,
    }.items():
        row = costs[name]
        assert round(row.computed) == round(row.recounted) == row.printed == printed


def test_gpt2_totals_are_near_and_recounted_exactly_the_printed_integers():
    costs = paper_costs()
    for name, printed in {
        "costs.gpt2.base": 10_615_488,
        "costs.gpt2.wide": 37_929_809,
        "costs.gpt2.tuning": 19_679_775,
    }.items():
        row = costs[name]
        assert row.computed == pytest.approx(printed, rel=2e-3)
        assert round(row.computed) != printed
        assert round(row.recounted) == row.printed == printed


def test_a_run_of_the_paper_costs_the_printed_total():
    """GPT-2's batch of F.3 costs twice F.4's total, whole batches of the MLP 0.4 % less."""
    assert warm_start_cost(MLP_SPEC).flops / 1e12 == pytest.approx(740, rel=5e-3)
    assert warm_start_cost(RESNET_SPEC).flops / 1e12 == pytest.approx(66_547, rel=5e-3)
    assert warm_start_cost(GPT2_SPEC).flops / 1e12 == pytest.approx(2 * 10_615_488, rel=2e-3)


# Against torch


def test_mlp_counts_are_torch_s():
    with torch.device("meta"):
        net = MLP(**SIZES, **REST)
        forward = forward_flops(net, torch.empty(5, 54))
    assert mlp.parameters(**SIZES) == parameters(net)
    assert mlp.flops(**SIZES) * 5 == 3 * forward
    assert mlp.flops(**SIZES) == 6 * (54 * 40 + 2 * 40**2 + 40 * 7)


@pytest.mark.parametrize("width", [0.5, 1.0, (1.0, 0.5, 1.0, 2.0)])
@pytest.mark.parametrize("resolution", [32, 20])
def test_resnet_counts_are_torch_s(width, resolution):
    with torch.device("meta"):
        net = ResNet(classes=100, width=width, **REST)
        forward = forward_flops(net, torch.empty(2, 3, resolution, resolution))
    assert resnet.parameters(width=width, classes=100) == parameters(net)
    assert resnet.flops(width=width, classes=100, resolution=resolution) * 2 == 3 * forward


def test_resnet_has_the_known_size():
    """ResNet-18 for CIFAR-10 has 11,173,962 parameters and 0.56 G multiply-adds."""
    assert resnet.parameters(width=1, classes=10) == 11_173_962
    assert resnet.flops(width=1, classes=10) / 6 == pytest.approx(0.556e9, rel=2e-3)


def test_gpt2_counts_are_torch_s():
    with torch.device("meta"), by_products():
        net = gpt2_model()
        forward = forward_flops(net, torch.empty(2, 64, dtype=torch.long))
    assert gpt2.parameters(**TEXT, sequence_length=64) == parameters(net)
    assert gpt2.flops(**TEXT, sequence_length=64) * 2 * 64 == 3 * forward


def test_gpt2_has_the_known_size():
    """GPT-2 small has 124,439,808 parameters with biases: 11 widths a block and one at the end."""
    small = {"depth": 12, "width": 768}
    without = gpt2.parameters(**small, vocab_size=50_257, sequence_length=1024)
    assert without + (12 * 11 + 1) * 768 == 124_439_808
    # nanoGPT prints 123.69M for it: without the positions, vocabulary 50,304
    assert gpt2.nanogpt_weights(**small) == 124_439_808 - 1024 * 768 + 47 * 768 == 123_689_472


@pytest.mark.parametrize(
    ("build", "counted", "close"),
    [
        (gpt2_model, partial(transformer.activations, **TEXT, expansion=4), 0.03),
        (decoder_model, partial(transformer.activations, **TEXT, expansion=4), 0.03),
        (llm_model, partial(llm.activations, **TABLE_3, vocab_size=320), 0.05),
    ],
)
def test_decoders_activations_are_what_autograd_keeps(build, counted, close):
    torch.manual_seed(0)
    tokens = torch.randint(320, (8, 64))
    kept = kept_numbers(build(), tokens, tokens) / tokens.numel()
    assert counted() == pytest.approx(kept, rel=close)


def test_mlp_activations_are_what_autograd_keeps():
    batch, targets = torch.randn(400, 54), torch.randint(7, (400,))
    kept = kept_numbers(MLP(**SIZES, **REST), batch, targets) / 400
    assert mlp.activations(**SIZES) == pytest.approx(kept, rel=0.05)


def test_resnet_activations_are_what_autograd_keeps():
    batch, targets = torch.randn(8, 3, 32, 32), torch.randint(10, (8,))
    net = ResNet(classes=10, width=0.125, **REST)
    kept = kept_numbers(net, batch, targets) / 8
    estimate = resnet.activations(width=0.125, classes=10, resolution=32)
    assert estimate == pytest.approx(kept, rel=0.05)


def test_llm_counts_are_torch_s():
    found = pretraining_cost(LLM_SPEC)
    with torch.device("meta"), by_products():
        net = llm_model()
        forward = forward_flops(net, torch.empty(8, 64, dtype=torch.long))
    assert found.parameters == parameters(net)
    assert found.flops == 3 * forward * 10
    assert (found.seen, found.unit) == (8 * 64 * 10, "tokens")


@pytest.mark.parametrize(("length", "window"), [(4096, 2048), (1024, 512), (1024, 300), (512, 1)])
def test_a_window_s_keys_are_those_of_torch_s_blocks(length, window):
    from repro import backend

    mask = backend._block_mask(length, window, torch.device("cpu"))
    blocks = mask.kv_num_blocks.sum() + mask.full_kv_num_blocks.sum()
    assert llm.keys(length, window) == int(blocks) * llm.BLOCK**2 // length
    assert llm.keys(length, length) == length


@pytest.mark.parametrize("model", [LANGUAGE, VISION], ids=["language", "vision"])
def test_an_encoder_s_counts_are_torch_s(model):
    setting = transformer_kernels.build(model, 32, 0)
    found = kernels.encoder({"model": model, "width": 32})
    with by_products():
        assert found.forward == forward_flops(setting.network, setting.inputs)
        assert found.outputs == setting.network(setting.inputs)[..., 0].numel()
    assert found.parameters == parameters(setting.network)
    assert found.tokens == setting.kernel.shape[0] * setting.kernel.shape[1]


# Costs of runs


def test_costs_of_kernels_grow_with_draws_and_rows():
    """A gradient of every one of 8 words, or of 2 pooled images; of 5 blocks' tokens as well."""
    spec = {"model": LANGUAGE, "width": 64, "draws": 10, "channels": 1, "every_block": False}
    for name in ("transformer_kernels", "tangent_kernels"):
        found, twice = (TASKS[name].cost(spec | {"draws": draws}) for draws in (10, 20))
        assert 0 < 2 * found.flops == twice.flops
        assert not found.seen
    words, images, all_blocks = (
        kernels.tangent_kernels_cost(spec | changes).flops
        for changes in ({}, {"model": VISION}, {"every_block": True})
    )
    assert 3 < words / images < 8
    assert 2 < all_blocks / words < 28 / 8


def test_cost_of_an_mlp_run():
    found = warm_start_cost(MLP_SPEC)
    assert (found.seen, found.unit) == (2000 * 116_000, "samples")
    assert found.parameters == 54 * 500 + 2 * 500**2 + 500 * 7 + 3 * 500 + 7
    assert found.state_bytes == 4 * 2 * found.parameters
    assert found.activation_bytes == 4 * 2000 * (54 + 3 * 500 + 7)
    assert found.memory_bytes == found.state_bytes + found.activation_bytes


def test_cost_of_a_resnet_run():
    found = warm_start_cost(RESNET_SPEC)
    assert (found.seen, found.unit) == (128 * 39_000, "samples")
    assert found.state_bytes == 4 * 3 * found.parameters
    small = RESNET_SPEC | {"data": {"batch_size": 128, "augment": True, "resolution": 16}}
    assert 3.9 < found.flops / warm_start_cost(small).flops < 4


def test_cost_of_a_gpt2_run():
    found = warm_start_cost(GPT2_SPEC)
    assert (found.seen, found.unit) == (512 * 1024 * 10_000, "tokens")
    assert found.parameters == (50_257 + 1024 + 25) * 1920 + 144 * 1920**2
    assert found.state_bytes == 4 * 4 * found.parameters


def test_a_batch_in_parts_keeps_the_activations_of_one():
    whole, part = (warm_start_cost(GPT2_SPEC | {"microbatches": count}) for count in (1, 128))
    assert part.activation_bytes * 128 == whole.activation_bytes
    assert part.flops == whole.flops and part.state_bytes == whole.state_bytes


def test_cost_of_a_language_model_run():
    spec = {
        "data": {"vocab_size": 320, "sequence_length": 64, "batch_size": 4},
        "steps": 10,
        "model": {"width": 48, "depth": 3, "expansion": 4},
        "optimizer": ADAMW,
    }
    found = TASKS["language_model"].cost(spec)
    assert found.parameters == parameters(decoder_model())
    assert (found.seen, found.unit) == (4 * 64 * 10, "tokens")
    assert found.flops == 3 * 2560 * decoder.forward_flops(**TEXT, expansion=4, sequence_length=64)


@pytest.mark.parametrize(
    ("optimizer", "copies"),
    [(SGD, 0), (SGD | {"momentum": 0.9}, 1), (ADAMW, 2), (ADAMW | {"amsgrad": True}, 3)],
)
def test_optimizer_state(optimizer, copies):
    """What torch's optimizer holds after a step, its step counters aside."""
    assert cost.optimizer_copies(optimizer) == copies
    kinds = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    settings = {k: v for k, v in optimizer.items() if k in ("momentum", "amsgrad")}
    weight = torch.nn.Parameter(torch.ones(7))
    torch_optimizer = kinds[optimizer["name"]]([weight], lr=0.1, **settings)
    weight.sum().backward()
    torch_optimizer.step()
    held = [v for v in torch_optimizer.state[weight].values() if v is not None and v.dim()]
    assert len(held) == copies


def test_unknown_names_are_named():
    with refused("optimizer 'lion' is unknown"):
        cost.optimizer_copies({"name": "lion"})
    with refused("model 'vut' is unknown: did you mean 'vit'"):
        warm_start_cost(MLP_SPEC | {"model": {"name": "vut"}})


@pytest.mark.parametrize("name", ["mlp", "gpt2", "resnet"])
def test_a_model_without_a_formula_is_priced_by_torch_s_counter(name, monkeypatch):
    """Held against the formulas of those that have one; torch counts no gradient of the data, and
    an activation for each operation that keeps its own."""
    task, spec, _ = tiny_run(name, "muP")
    known = TASKS[task].cost(spec)
    monkeypatch.setattr(tasks, "formula", lambda name: None)
    found = TASKS[task].cost(spec)
    assert (found.parameters, found.state_bytes) == (known.parameters, known.state_bytes)
    assert (found.seen, found.unit, found.steps) == (known.seen, known.unit, known.steps)
    assert 0.8 * known.flops < found.flops <= 1.02 * known.flops
    assert found.activation_bytes > 0.5 * known.activation_bytes


def test_every_model_says_what_a_tiny_run_of_it_is_or_that_there_is_none():
    for name, said in models.SAID.items():
        assert "TINY" in said, f"repro/models/{name}.py: TINY, or None and why"


# The command


def fields(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


@pytest.fixture
def priced(capsys):
    """What `show cost` says to these words, by lines."""

    def said(*words):
        assert main(["show", "cost", *words]) == 0
        return capsys.readouterr().out.splitlines()

    return said


def test_the_command_lists_a_figure_s_studies(tmp_path, monkeypatch, priced):
    monkeypatch.chdir(tmp_path)
    lines = priced("embedding_lr/fig3", "--scale", "paper")
    assert lines[0] == "scale paper, data embedded"
    assert lines[1].startswith("hours: one H100") and lines[1].endswith("; of the runs to do")
    rows = {fields(line)[0]: fields(line)[1:] for line in lines[4:]}
    assert list(rows) == [
        "figure, study",
        "embedding_lr/fig3",
        "embedding_lr/width_and_vocabulary",
        "embedding_lr/width_and_vocabulary+1",
        "total",
    ]
    total = dict(zip(rows["figure, study"], rows["total"], strict=True))
    assert (total["jobs"], total["runs"], total["to do"]) == (
        "246",
        "375",
        "375",
    )
    assert total["parameters"] == "6.71e+08"  # 2 m d + 24 d^2 at d = 4096, m = 32,768
    flops, hours = float(total["FLOPs"]), float(total["hours"].replace(",", ""))
    at_rate = flops / cost.GPU_FLOPS / 3600
    assert at_rate < hours < 2 * at_rate, "and what goes through memory"
    assert float(total["read"].split()[0]) == pytest.approx(375 * 256 * 256 * 10_000, rel=1e-2)


def test_hours_default_to_the_h100(priced):
    lines = priced("embedding_lr/fig3", "--config", "scale=paper")
    assert "one H100 at 40 % (assumed) of its dense peaks" in lines[1]
    assert fields(lines[-1])[-1] == "183"


def test_hours_of_a_gpu_are_work_and_memory_or_else_starting_layers():
    """An MLP's steps are bound by their launches, 4 layers of 0.25 ms; a wide one's by products."""
    small, wide = (
        warm_start_cost(MLP_SPEC | {"model": MLP_SPEC["model"] | {"width": width}})
        for width in (500, 20_000)
    )
    assert cost.gpu_hours(small) == pytest.approx(116_000 * 1e-3 / 3600)
    compute = wide.flops / (0.4 * 67e12) / 3600
    assert compute < cost.gpu_hours(wide) < 1.1 * compute
    narrow = {"model": GPT2_SPEC["model"] | {"width": 192}, "precision": "bfloat16"}
    split = warm_start_cost(GPT2_SPEC | narrow | {"microbatches": 512})
    assert cost.gpu_hours(split) == pytest.approx(10_000 * 512 * 49 * 2.5e-4 / 3600)


def split(**changes):
    """A run of 128 microbatches, each of 1 GB beside a state of 10 GB."""
    whole = {"state_bytes": 10**10, "activation_bytes": 10**9, "microbatches": 128, "rows": 512}
    return cost.Cost(**whole | changes)


def test_files_of_images_take_the_cores_that_feed_a_gpu():
    """Those of ImageNet; generated images and CIFAR-100's take none."""
    paper, workstation = (suite_of(scale=scale, data="real") for scale in ("paper", "workstation"))
    (run, *_), (small, *_) = (
        [run for cell in suite.cells("effective_theory/vit/standard_best") for run in cell.runs]
        for suite in (paper, workstation)
    )
    read = run.spec["steps"] * run.spec["data"]["batch_size"]
    assert (run.cost.images, small.cost.images) == (read, 0)
    needed = cost.cores_needed(run.cost)
    alone = cost.gpu_hours(replace(run.cost, images=0))
    assert needed * alone == pytest.approx(read * cost.IMAGE_SECONDS / 3600)
    assert cost.gpu_hours(run.cost) == alone and needed < cost.CORES, "eight cores are enough"
    assert cost.gpu_hours(run.cost, cores=4) == pytest.approx(alone * needed / 4)
    assert cost.cores_needed(small.cost) == 0


def test_a_price_says_whether_the_cores_or_the_gpu_bind(monkeypatch, tmp_path, priced):

    def said(cores):
        site = tmp_path / "site.yaml"
        site.write_text(f"cpus_per_gpu: {cores}\n")
        monkeypatch.setenv("REPRO_SITE", str(site))
        lines = priced("effective_theory/fig1", "--scale", "paper", "--config", "data=real")
        (total,) = [line.split()[-1] for line in lines if line.startswith("total")]
        (images,) = [line for line in lines if "images: " in line]
        return float(total.replace(",", "")), images

    (enough, plain), (few, warned) = said(16), said(2)
    needed = float(re.search(r"; ([\d.]+) cores feed a run of effective_theory/vit/", plain)[1])
    assert plain.endswith("16 are there: the GPU binds") and not plain.startswith("warning")
    assert warned.startswith("warning: ") and "and 2 are there: they bind" in warned
    assert few / enough == pytest.approx(needed / 2, rel=0.01)
    monkeypatch.delenv("REPRO_SITE")
    assert not any("images: " in line for line in priced("upscaling/fig4", "--scale", "paper"))


def test_a_gpu_with_memory_to_spare_takes_fewer_and_larger_microbatches():
    """Of 80 GB 0.8 are filled: the state and 32 of them at once. Two GPUs share them."""
    assert cost.layout(split(), 1, 80e9).microbatches == 4
    assert cost.layout(split(), 2, 80e9).microbatches == 4
    assert cost.layout(split(), 8, 80e9).microbatches == 8, "one on each"
    assert cost.layout(split(), 1, 80e9 / 4).microbatches == 32
    large = split(state_bytes=7 * 10**10)
    assert cost.layout(large, 1, 80e9) == cost.Layout(1, microbatches=128)
    assert cost.layout(large, 8, 80e9) == cost.Layout(8, microbatches=128)
    assert cost.layout(split(microbatches=3), 2, 80e9).microbatches == 2


def test_a_gpu_too_small_for_a_run_s_microbatches_takes_smaller_ones():
    """Down to one row each, here a quarter of a microbatch of 100 GB."""
    large = split(activation_bytes=10**11)
    assert cost.layout(large, 1, 80e9).microbatches == 256
    assert cost.layout(large, 1, 40e9).microbatches == 512
    assert cost.layout(large, 4, 80e9).microbatches == 256
    assert cost.least_memory(large, 1) == pytest.approx((10**10 + 10**11 / 4) / 0.95)
    words = "needs a GPU of 36.8 GB, for its state and its smallest microbatch, and this one has 36"
    with refused(words):
        cost.layout(large, 1, 36e9)
    with refused("needs a GPU of 116 GB"):
        cost.layout(split(activation_bytes=10**11, drops=True), 1, 80e9)
    with refused("needs a GPU of 116 GB"):
        cost.layout(split(activation_bytes=10**11, rows=1), 1, 80e9)


def test_dropout_is_drawn_by_microbatch_so_these_stay_as_they_are():
    assert cost.layout(split(drops=True), 1, 80e9).microbatches == 128
    bart = SPECS["span_denoising"]
    assert TASKS["span_denoising"].cost(bart).drops
    assert bart["model"]["dropout"] and bart["model"]["attention_dropout"]
    still = bart["model"] | {"dropout": 0.0, "attention_dropout": 0.0}
    assert not TASKS["span_denoising"].cost(bart | {"model": still}).drops
    assert not warm_start_cost(GPT2_SPEC).drops


def test_hours_of_a_gpu_count_every_run_once_and_no_finished_one(monkeypatch):
    """Ten rates of a narrow MLP are ten runs' hours, also where two figures share them."""
    suite = suite_of(scale="workstation")
    cells = suite.cells("upscaling/mlp_sgd/tune")
    runs = [run for cell in cells for run in cell.runs]
    each = cost.gpu_hours(TASKS[runs[0].task].cost(runs[0].spec))
    assert len(runs) == 10
    assert suite.gpu_hours(cells) == suite.gpu_hours(cells * 2) == pytest.approx(10 * each)
    monkeypatch.setattr(suite, "is_finished", lambda run: run is not runs[0])
    assert suite.gpu_hours(cells) == pytest.approx(each)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["embedding_lr/fig33"], "unknown 'embedding_lr/fig33', did you mean 'embedding_lr/fig3'"),
        (["--scale", "papr"], "'papr' is unknown, did you mean 'paper'"),
    ],
)
def test_a_mistake_is_named(capsys, words, message):
    assert main(["show", "cost", *words]) == 1
    assert message in capsys.readouterr().err


def test_shared_runs_count_once_and_made_ones_are_not_spent_again(tmp_path):
    specs = [MLP_SPEC | {"seed": seed} for seed in range(3)]
    runs = [Run("fake", 1, spec, {}, {}) for spec in specs]
    studies = {
        "paper/one/base": [Cell("paper/one/base", {}, tuple(runs))],
        "paper/two": [Cell("paper/two", {}, tuple(runs[:2]))],
    }
    suite = SimpleNamespace(
        config=SimpleNamespace(scale="paper"),
        label="embedded",
        figure_cells=lambda name: studies,
        is_finished=lambda run: run.spec["seed"] == 0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASKS, "fake", Task(1, "", list, warm_start_cost, recorded.WARM_START))
        lines = budget.table(suite, ["paper/fig"], budget.on_gpu(), Site())
    one = warm_start_cost(MLP_SPEC)
    rows = {fields(line)[0]: fields(line)[1:] for line in lines[4:]}
    assert rows["paper/one/base"][:3] == ["1", "3", "2"]
    assert rows["paper/two"][:3] == ["1", "2", "1"]
    assert rows["total"][:3] == ["2", "3", "2"]
    assert rows["total"][4] == f"{3 * one.seen:.3g} samples"
    assert float(rows["total"][-1]) == pytest.approx(2 * cost.gpu_hours(one), rel=1e-2)


def test_more_than_one_pass_over_a_corpus_is_warned_of(priced):
    """BART reads 5.2e10 tokens, of 1e11 on the hub, and of 150,000 words that are generated."""
    words = ["effective_theory/fig4", "--scale", "paper"]
    last = priced(*words, "--config", "data=real")[-1]
    assert last.startswith("fineweb_100b (real): 0.52") and "about 1e+11 tokens" in last
    last = priced(*words)[-1]
    assert last.startswith("warning: fineweb_100b (synthetic): 350,000 passes")
    assert last.endswith("a larger corpus: data=real")


def test_made_runs_are_found_in_the_store(suite):
    (cell,) = suite.cells("embedding_lr/parametrizations")
    assert not suite.is_finished(cell.runs[0])
    suite.paths.runs.mkdir(parents=True)
    (suite.paths.runs / f"{cell.runs[0].id}.json").touch()
    assert suite.is_finished(cell.runs[0])
    (line,) = [
        line
        for line in budget.table(suite, ["embedding_lr/table1"], budget.on_gpu(), Site())
        if "/parametrizations" in line
    ]
    assert fields(line)[1:4] == ["1", str(len(cell.runs)), str(len(cell.runs) - 1)]


@pytest.mark.slow
def test_without_a_figure_every_one_has_a_line_and_what_they_share_another(priced):
    said = priced("--scale", "paper")[4:]
    told = [x for x in said if "passes over" not in x and not x.startswith("warning: ")]
    header, *lines = told
    (images,) = (x for x in said if x.startswith("warning: images: "))
    assert "effective_theory/drawn" in images, "of drawn settings some are small, and wait for them"
    rows = {re.split(r"  +", line)[0]: re.split(r"  +", line)[1:] for line in lines}
    assert list(rows) == [*catalog.figure_names(), "of these in several figures", "total"]
    assert len(re.split(r"  +", header)) == len(rows["total"]) + 1

    def hours(name):
        return float(rows[name][-1].replace(",", "").replace("-", "0"))

    # fig5's runs are fig4's as well
    assert hours("embedding_lr/fig5") == pytest.approx(41_000, rel=0.01)
    several, alone = hours("of these in several figures"), hours("embedding_lr/fig1")
    assert several > 41_000
    figures = sum(hours(name) for name in catalog.figure_names())
    assert alone + several < hours("total") < figures


@pytest.mark.slow
def test_every_figure_is_priced_at_every_scale(priced):
    for scale in (s for s in SCALES if s != "overnight"):
        text = "\n".join(priced("all", "--scale", scale))
        suite = suite_of(scale=scale)
        for name in filter(suite.offers, catalog.figure_names()):
            assert name in text and suite.figure_cells(name)
            assert all(study in text for study in suite.figure_cells(name))
