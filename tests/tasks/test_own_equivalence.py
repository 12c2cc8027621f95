"""Modules of torch.nn widened by the library, trained side by side with their bases."""

import pytest
import torch

from repro.tasks import own_equivalence
from studies.upscaling._dynamics import OPTIMIZERS
from studies.upscaling.own_widenings import LIKE, chosen

STEPS = {"summing": 20, "heads": 10, "stages": 3}


def worst(kind, optimizer, factor):
    records = own_equivalence.run(
        **chosen(kind, optimizer), factor=factor, steps_before=3, steps=STEPS[kind], threads=1,
        seed=7, inputs={}, device=torch.device("cpu"), progress=lambda step, value: None,
        checkpoint=None,
    )  # fmt: skip
    return max(record["difference"] for record in records)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["summing", "heads"])
def test_it_goes_on_as_its_base(kind, optimizer):
    assert worst(kind, optimizer, factor=3) <= 1e-9


@pytest.mark.parametrize("optimizer", ["Nesterov", "AMSGrad"])
def test_so_do_stages_that_grow_apart(optimizer):
    assert worst("stages", optimizer, factor=2) <= 1e-9


@pytest.mark.parametrize("kind", LIKE)
def test_it_would_not_with_the_learning_rates_of_the_base(monkeypatch, kind):
    def careless(model, optimizer, factor, make, inputs):
        wide, wide_optimizer, growths = widen(model, optimizer, factor, make, inputs)
        for group in wide_optimizer.param_groups:
            group["lr"] = optimizer.param_groups[0]["lr"]
        return wide, wide_optimizer, growths

    widen = own_equivalence.widen
    monkeypatch.setattr(own_equivalence, "widen", careless)
    assert worst(kind, "AdamW", factor=2) > 1e-6


def test_heads_grow_in_number():
    narrow, wide = (own_equivalence.Heads(factor).block.self_attn for factor in (1, 3))
    assert (wide.num_heads, wide.head_dim) == (3 * narrow.num_heads, narrow.head_dim)
