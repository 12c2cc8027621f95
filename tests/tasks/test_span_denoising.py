import math

import pytest
import torch
import torch.nn.functional as F
from golden import SPECS, corpus

from repro.data.denoising import PADDING
from repro.data.needs import Tokens
from repro.data.tokenization import tokenize
from repro.tasks import TASKS, span_denoising
from repro.training import loop

SPEC = SPECS["span_denoising"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    tokenize(corpus(folder), 160, folder / "bpe" / "tokens.json")
    return {Tokens("golden", 160): folder / "bpe" / "tokens.json"}


@pytest.fixture
def run(inputs, tmp_path):
    def call(**changes):
        return TASKS["span_denoising"].run(
            SPEC | changes,
            inputs=inputs,
            device="cpu",
            progress=lambda step, loss: None,
            checkpoint=tmp_path / "state",
        )

    return call


def test_a_run_is_deterministic_and_its_seed_matters(run):
    first = run()
    assert run() == first
    assert run(seed=4) != first


def test_losses_stand_in_nats_and_bits(run):
    for record in run():
        for part in ("train", "valid"):
            assert record[f"{part}_bits"] == pytest.approx(record[f"{part}_loss"] / math.log(2))
    lowest = [record["lowest_valid_loss"] for record in run(steps=12, evaluations=12)]
    assert lowest == sorted(lowest, reverse=True)


class Killed(Exception):
    pass


def test_a_killed_run_goes_on_to_the_same_curve(run, monkeypatch):
    """Dropout on: the resume state keeps torch's generator."""
    straight = run()
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
    build = span_denoising.make_loss

    def dying(batch_size):
        calls, loss = [], build(batch_size)

        def value(net, batch):
            calls.append(1)
            if len(calls) == 15:  # in the second part of step 8
                raise Killed
            return loss(net, batch)

        return value

    with monkeypatch.context() as patch:
        patch.setattr(span_denoising, "make_loss", dying)
        with pytest.raises(Killed):
            run()
    torch.manual_seed(99)
    assert run() == straight


def test_parts_of_a_batch_make_the_same_run(run):
    """Normalised by the whole batch's tokens; without dropout, which parts draw in other order."""
    still = SPEC["model"] | {"dropout": 0.0, "attention_dropout": 0.0}
    for one, other in zip(
        run(model=still, microbatches=1), run(model=still, microbatches=4), strict=True
    ):
        assert other["train_loss"] == pytest.approx(one["train_loss"], rel=1e-5)
        assert other["valid_loss"] == pytest.approx(one["valid_loss"], rel=1e-3)


def made(inputs, **changes):
    still = SPEC["model"] | {"dropout": 0.0, "attention_dropout": 0.0}
    spec, device = SPEC | {"seed": 0, "model": still}, torch.device("cpu")
    loaded = span_denoising.load_data(spec, inputs, device)
    padded = (batch for batch in loaded.batches.from_step(0) if (batch[2] == PADDING).any())
    return next(padded), TASKS["span_denoising"].build(spec, loaded, device).model


def test_the_loss_is_the_mean_over_tokens_that_are_no_padding(inputs):
    batch, net = made(inputs)
    source, previous, target, total = batch
    rows = [
        F.cross_entropy(net(s[None], p[None])[0][t != PADDING], t[t != PADDING], reduction="none")
        for s, p, t in zip(source, previous, target, strict=True)
    ]
    expected = torch.cat(rows)
    assert len(expected) == total[0]
    found = span_denoising.make_loss(len(source))(net, batch)
    assert found.item() == pytest.approx(expected.mean().item(), rel=1e-5)


def test_the_embedding_of_padding_starts_at_zero(inputs):
    _, net = made(inputs)
    assert not net.embedding.weight[PADDING].any()


def test_clipping_bounds_the_first_step_s_gradient(run):
    """Adam's step does not see a common factor but through eps: with a huge eps it does."""
    optimizer = SPEC["optimizer"] | {"eps": 1e3, "weight_decay": 0.0}
    moved = {}
    for norm in (1e9, 1e-2, 5e-3):
        clip = {"norm": norm, "width_aware": False}
        records = run(optimizer=optimizer | {"clip": clip}, lr=1e4, steps=1, evaluations=1)
        moved[norm] = records[0]["valid_loss"]
    still = run(optimizer=optimizer, lr=1e-9, steps=1, evaluations=1)[0]["valid_loss"]
    falls = {norm: still - loss for norm, loss in moved.items()}
    assert falls[1e9] > 10 * falls[1e-2] > 0
    assert falls[1e-2] == pytest.approx(2 * falls[5e-3], rel=0.1)


def test_eps_conventions_give_other_curves(run):
    other = SPEC["optimizer"] | {"eps_convention": "torch"}
    assert run(optimizer=other) != run()


def test_a_diverged_run_is_recorded_to_its_end(run):
    records = run(lr=1e30)
    assert [record["step"] for record in records] == [4, 8, 12]
    for key in ("train_loss", "valid_loss", "lowest_valid_loss", "valid_bits"):
        assert records[-1][key] == math.inf
