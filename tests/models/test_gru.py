"""The GRU language model: torch's layers, drawn by roles."""

import pytest
import torch
from torch import nn

from repro import models
from repro.models.gru import GRU

SIZES = {"name": "gru", "depth": 2, "base_width": 64}


def drawn(width, name="SP"):
    net = models.build({**SIZES, "width": width}, name, vocab_size=50, sequence_length=7)
    models.draw(net, name, seed=0)
    return net


def test_at_the_base_width_every_spread_is_that_of_torch_s_own_layers():
    net = drawn(64)
    torch.manual_seed(0)
    own = {
        "embedding": nn.Embedding(50, 64),
        "layers": nn.GRU(64, 64, 2),
        "output": nn.Linear(64, 50, bias=False),
    }
    for layer, module in own.items():
        for name, expected in module.named_parameters():
            found = net.get_parameter(f"{layer}.{name}")
            assert found.std().item() == pytest.approx(expected.std().item(), rel=0.2), name
            if layer != "embedding":  # uniform: the same largest value, not only the same spread
                largest = expected.abs().max().item()
                assert found.abs().max().item() == pytest.approx(largest, rel=0.05), name


def test_wider_matrices_shrink_and_biases_keep_their_spread():
    narrow, wide = drawn(64), drawn(256)
    spread = {
        name: wide.get_parameter(name).std().item() / parameter.std().item()
        for name, parameter in narrow.named_parameters()
    }
    for name, ratio in spread.items():
        shrinks = "weight_" in name or name == "output.weight"
        assert ratio == pytest.approx(0.5 if shrinks else 1.0, rel=0.2), name
    mup = drawn(256, "muP").output.weight.std() / wide.output.weight.std()
    assert mup.item() == pytest.approx(0.5, rel=0.05)  # a readout of 1 / n


def test_a_token_changes_no_earlier_logits_and_the_multiplier_scales_them():
    tokens = torch.arange(14).reshape(2, 7)
    changed = tokens.clone()
    changed[:, 4] += 1
    net = drawn(64)
    same = net(tokens) == net(changed)
    assert same[:, :4].all() and not same[:, 4:].all(-1).any()
    doubled = GRU(
        vocab_size=50,
        sequence_length=7,
        width=64,
        depth=2,
        base_width=64,
        output_multiplier=2.0,
    )
    doubled.load_state_dict(net.state_dict())
    torch.testing.assert_close(doubled(tokens), 2 * net(tokens))
