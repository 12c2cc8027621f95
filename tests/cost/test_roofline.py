"""What a step should take, against what can be counted by hand."""

import pytest

from repro.cost import STATE_PASSES, of_training, roofline
from repro.judge.costs import suite_at
from repro.suite.largest_steps import largest_steps

# A model of one layer: 64 tokens a step in eight microbatches.
SPEC = {
    "data": {"sequence_length": 16, "vocab_size": 64},
    "model": {"name": "gpt2", "width": 32, "depth": 1, "heads": 2},
    "optimizer": {"name": "adamw"},
    "steps": 10,
    "microbatches": 8,
    "precision": "bfloat16",
}


def one(spec, *ways):
    """The step of a run of 10^15 operations, of a million weights, and 10^9 numbers kept."""
    run = of_training(
        spec,
        flops=10**15 // 64,
        batch=64,
        unit="tokens",
        parameters=10**6,
        activations=10**9 // 64,
        rows=8,
        layers=5,
    )
    return roofline.step(run, spec, ways)


def test_a_step_s_parts_by_hand():
    found = one(SPEC)
    scores = 12 * 32 * 16 * 64
    assert found.products == pytest.approx((10**15 - scores) / (0.7 * 989e12))
    assert found.attention == pytest.approx(0.5 * scores / (0.5 * 989e12))
    assert found.casting == pytest.approx(8 * 24 * 10**6 / (0.8 * 3.35e12))
    assert found.between == pytest.approx(4 * 4 * 10**9 / (0.8 * 3.35e12), rel=1e-3)
    assert found.optimizer == pytest.approx(STATE_PASSES * 16 * 10**6 / (0.8 * 3.35e12))
    assert found.starting == 8 * 5 * 2.5e-4
    assert found.share == pytest.approx(10**15 / 989e12 / found.seconds)


def test_each_way_takes_its_part_off():
    plain, odd = one(SPEC), one(SPEC | {"data": SPEC["data"] | {"vocab_size": 63}})
    readout = 6 * 63 * 32 * 64
    assert odd.products - plain.products == pytest.approx(2 * readout / (0.7 * 989e12), rel=1e-3)
    padded = one(SPEC | {"data": SPEC["data"] | {"vocab_size": 63}}, roofline.VOCABULARY)
    assert padded.products == plain.products
    assert one(SPEC, roofline.MICROBATCHES).casting == plain.casting / 8
    assert one(SPEC, roofline.COMPILER).between == plain.between / 2
    narrow = SPEC | {"model": SPEC["model"] | {"window": 8}}
    masked, blocks = one(narrow), one(narrow, roofline.WINDOWS)
    assert masked.attention == pytest.approx(4 * plain.attention)
    assert blocks.attention == pytest.approx(plain.attention * (0.5 - 0.125) / 0.5)
    with_all = one(narrow, *roofline.WAYS)
    assert with_all.seconds < min(one(narrow, way).seconds for way in roofline.WAYS)


def test_small_kernels_are_bound_by_their_start():
    tiny = one(SPEC | {"microbatches": 4096})
    assert tiny.seconds == tiny.starting == 4096 * 5 * 2.5e-4


def test_every_transformer_has_its_largest_step():
    found = largest_steps(suite_at("workstation"))
    assert found.keys() == set(roofline.TRANSFORMERS)
    for step in found.values():
        assert 0 < step.plain.share < step.found.share < roofline.PRODUCTS
        assert all(0 <= step.saved(way) < 0.5 for way in roofline.WAYS)
    assert found["llm"].saved(roofline.WINDOWS) > 0.1
