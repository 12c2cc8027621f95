"""The paper's own settings: every size is built at full shape, and costs what it should."""

from functools import partial

import pytest
import torch
from full_shape import losses_of, of_task, paper_runs, step_back

from repro import cost
from repro.core.spec import override
from repro.tasks import TASKS

UNIT_INIT = ["unit_init/embedding_alone", "unit_init/with_positions"]
STUDIES = ["width", "width_and_vocabulary", *UNIT_INIT]


build = partial(of_task, "language_model")


def test_settings_are_the_paper_s():
    """Appendix C.1 and C.2."""
    for name in STUDIES:
        for spec in paper_runs(name):
            data = spec["data"]
            assert data["sequence_length"] == data["batch_size"] == 256
            assert spec["steps"] == 10_000
            assert spec["model"]["depth"] == 2 and spec["model"]["head_dim"] == 64
            assert spec["optimizer"]["name"] == "adam"
            assert spec["optimizer"]["weight_decay"] == 0
    sizes = {
        (s["model"]["width"], s["data"]["vocab_size"]) for s in paper_runs("width_and_vocabulary")
    }
    assert sizes == {(2**k, 2 ** (k + 3)) for k in range(8, 13)}
    main = paper_runs("width_and_vocabulary")
    assert {s["lr"]["hidden"] for s in main} == {s["lr"]["output"] for s in main} == {0.2}
    assert {s["seed"] for s in main} == {0, 1, 2}
    swept = paper_runs("width")
    assert {s["data"]["vocab_size"] for s in swept} == {32_768}
    assert {s["seed"] for s in swept} == {0, 1}
    assert {s["model"]["width"] for s in swept} == {2**k for k in range(8, 13)}
    for read in (
        lambda s: s["lr"]["embedding"],
        lambda s: s["lr"]["hidden"],
        lambda s: s["lr"]["output"],
        lambda s: s["init"]["embedding"],
        lambda s: s["init"]["output"],
    ):
        assert len({read(s) for s in swept}) > 1, "all five hyperparameters are swept"


def test_eta_h_and_eta_w_are_0_2_over_d():
    for d in (256, 4096):
        spec = next(s for s in paper_runs("width_and_vocabulary") if s["model"]["width"] == d)
        training = build(spec, "meta")
        net, groups = training.model, training.optimizer.param_groups
        rates = {id(p): group["lr"] for group in groups for p in group["params"]}
        assert rates[id(net.output.weight)] == pytest.approx(0.2 / d)
        assert rates[id(net.attention[0].qkv.weight)] == pytest.approx(0.2 / d)
        assert rates[id(net.embedding.weight)] == spec["lr"]["embedding"]


@pytest.mark.parametrize("k", range(8, 13))
def test_every_size_steps_at_full_shape_on_the_meta_device(k):
    d, m = 2**k, 2 ** (k + 3)
    spec = next(s for s in paper_runs("width_and_vocabulary") if s["model"]["width"] == d)
    training = build(spec, "meta")
    net, optimizer = training.model, training.optimizer
    tokens = torch.zeros(256, 256, dtype=torch.long, device="meta")
    assert sum(p.numel() for p in net.parameters()) == 2 * m * d + 2 * 12 * d**2
    step_back(training, (tokens, tokens))
    assert sum(len(g["params"]) for g in optimizer.param_groups) == len(list(net.parameters()))


def test_a_full_shape_step_runs_at_the_smallest_paper_size(tmp_path):
    """d = 256, m = 2048, the paper's length; the batch cut to 4 sequences for a CPU, float32."""
    cut = {"data.batch_size": 4, "steps": 3, "evaluations": 3, "precision": "float32"}
    spec = override(paper_runs("width_and_vocabulary")[0], cut)
    data = spec["data"]
    sizes = (spec["model"]["width"], data["vocab_size"], data["sequence_length"])
    assert sizes == (256, 2048, 256)
    losses = losses_of(build(spec, "cpu"), tmp_path)
    assert losses[2] < losses[1] < losses[0]


def test_cost_is_six_operations_per_weight_and_token_and_attention():
    """d = 4096, m = 32768: 6 N D plus attention over the full context; hours on an H100."""
    spec = max(paper_runs("width_and_vocabulary"), key=lambda s: s["model"]["width"])
    d, m, tokens = 4096, 32_768, 256 * 256 * 10_000
    weights = 2 * 12 * d**2 + m * d
    attention = 2 * 12 * 256 * d
    found = TASKS["language_model"].cost(spec)
    assert found.flops == (6 * weights + attention) * tokens
    assert 1 < cost.gpu_hours(found) < 3
