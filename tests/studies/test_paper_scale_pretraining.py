"""The pretrained decoder at paper scale: Table 3's settings, shapes, cost, and a real step."""

from functools import partial

import pytest
import torch
from full_shape import losses_of, of_task, paper_runs, step_back

from repro import cost
from repro.core.spec import override
from repro.data.needs import Text, Tokens
from repro.tasks import TASKS
from repro.tasks.pretraining import ratio

TOKENS = {"pretraining/long": 1.75e12, "pretraining/ratios": 65e9}  # Figure 4a and 5; 4b


build = partial(of_task, "pretraining")


@pytest.mark.parametrize("name", TOKENS)
def test_settings_are_the_paper_s(name):
    """Table 3; Section 4.2."""
    for spec in paper_runs(name):
        assert spec["data"]["vocab_size"] == 32_064
        assert spec["data"]["sequence_length"] == 4_096
        model = spec["model"]
        assert (model["depth"], model["width"], model["inner"]) == (24, 2_048, 8_192)
        assert (model["heads"], model["kv_heads"]) == (32, 8)
        assert model["head_dim"] == model["rotary_dim"] == 128
        assert model["window"] == 2_048
        tokens = spec["steps"] * spec["data"]["batch_size"] * 4_096
        assert tokens == pytest.approx(TOKENS[name], rel=1e-4)
        assert spec["data"]["dataset"] == "fineweb_edu"


def test_ratios_are_the_baseline_s_and_around_sqrt_d():
    root = 2_048**0.5
    expected = {
        "pretraining/long": [1, root],
        "pretraining/ratios": [1, *(root * 2**k for k in range(-2, 3))],
    }
    for name, values in expected.items():
        found = [ratio(2_048, spec["embedding_lr"]) for spec in paper_runs(name)]
        assert found == pytest.approx(values)
    assert root == pytest.approx(45.3, abs=0.05), "Figure 4's caption"


def test_runs_of_a_figure_differ_in_the_ratio_alone():
    for name in TOKENS:
        specs = paper_runs(name)
        assert all({**s, "embedding_lr": None} == {**specs[0], "embedding_lr": None} for s in specs)


def test_the_long_runs_read_wikitext_as_well():
    for name, words in (("pretraining/long", True), ("pretraining/ratios", False)):
        for spec in paper_runs(name):
            needs = TASKS["pretraining"].needs(spec)
            assert Tokens("fineweb_edu", 32_064) in needs
            assert (Text("wikitext2") in needs) == words


@pytest.mark.parametrize("name", TOKENS)
def test_every_run_fits_an_80_gb_gpu(name):
    for spec in paper_runs(name):
        assert TASKS["pretraining"].cost(spec).memory_bytes < 75e9
        assert spec["data"]["batch_size"] % spec["microbatches"] == 0


def test_cost_is_written_out():
    """6 (N + attention over the window's blocks of 128 keys: of 32 blocks of queries the first 17
    meet 1 to 17, the others 17); about 15,000 hours of an H100 a long run."""
    keys = 128 * (sum(range(1, 18)) + 15 * 17) // 32
    spec = paper_runs("pretraining/long")[0]
    weights = 24 * 71_303_168 + 32_064 * 2_048
    found = TASKS["pretraining"].cost(spec)
    assert found.parameters == 1_842_810_880
    per_token = 6 * weights + 12 * 24 * 4_096 * keys
    assert found.flops == per_token * spec["steps"] * 2**22
    assert 15_000 < found.flops / cost.GPU_FLOPS / 3600 < 16_000


@pytest.mark.parametrize("name", TOKENS)
def test_a_part_steps_at_full_shape_on_the_meta_device(name):
    spec = paper_runs(name)[-1]
    rows = spec["data"]["batch_size"] // spec["microbatches"]
    training = build(spec, "meta")
    net = training.model
    tokens = torch.zeros(rows, 4_096, dtype=torch.long, device="meta")
    step_back(training, (tokens, tokens))
    names = {id(p): name for name, p in net.named_parameters()}
    for group in training.optimizer.param_groups:
        for p in group["params"]:
            embedding = names[id(p)] == "embedding.weight"
            factor = ratio(2_048, spec["embedding_lr"]) if embedding else 1
            assert group["lr"] == pytest.approx(3e-4 * factor)


@pytest.mark.slow
def test_a_step_runs_at_the_paper_s_width(tmp_path):
    """One layer, a sequence of 64 tokens in a window of 32, a vocabulary of 512, at the full rate
    from the start and in float32: a CPU's share of the shape."""
    cut = {
        "data.batch_size": 1,
        "data.sequence_length": 64,
        "data.vocab_size": 512,
        "microbatches": 1,
    }
    cut |= {"model.depth": 1, "model.window": 32, "precision": "float32", "schedule.warmup": 0}
    spec = override(paper_runs("pretraining/long")[1], cut | {"steps": 3, "evaluations": 3})
    losses = losses_of(build(spec, "cpu"), tmp_path)
    assert max(losses[1:]) < losses[0] / 2, "one batch, again and again"
