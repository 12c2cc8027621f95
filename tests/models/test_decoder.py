import math

import pytest
import torch
import torch.nn.functional as F
from refusals import refused

from repro.cost.decoder import forward_flops
from repro.models.blocks import sinusoids
from repro.models.decoder import Decoder
from widthwise import parametrization

SIZES = dict(vocab_size=50, width=24, depth=2, head_dim=8, expansion=4, sequence_length=12)


def decoder(norm="post", positions=(0.3, 0.0), **changes):
    model = Decoder(
        **(SIZES | changes),
        norm=norm,
        positional_rms=dict(zip(("factor", "power"), positions, strict=True)),
        output_multiplier=0.7,
        base_width=1,
    )
    parametrization.plan(model, None, "SP").init_(torch.Generator().manual_seed(0))
    return model.double()


def by_hand(model, tokens):
    """The decoder written out head by head, position by position."""
    D, C = model.width, model.attention[0].head_dim
    x = model.embedding.weight[tokens] + model.positions_TD[: len(tokens)]

    def ln(y):
        return (y - y.mean(-1, keepdim=True)) / (
            y.var(-1, unbiased=False, keepdim=True) + 1e-5
        ).sqrt()

    def attend(layer, y):
        q, k, v = (layer.qkv.weight[i * D : (i + 1) * D] @ y.T for i in range(3))
        heads = []
        for h in range(D // C):
            rows = slice(h * C, (h + 1) * C)
            out = []
            for t in range(len(y)):
                logits = (q[rows, t] @ k[rows, : t + 1]) / math.sqrt(C)
                out.append(v[rows, : t + 1] @ torch.softmax(logits, 0))
            heads.append(torch.stack(out))
        return torch.cat(heads, 1) @ layer.out.weight.T

    def mlp(layer, y):
        u = y @ layer.up.weight.T
        return (u * 0.5 * (1 + torch.erf(u / math.sqrt(2)))) @ layer.down.weight.T

    for attention, block in zip(model.attention, model.mlp, strict=True):
        for f, layer in ((attend, attention), (mlp, block)):
            x = x + f(layer, ln(x) if model.norm == "pre" else x)
            x = ln(x) if model.norm == "post" else x
    x = ln(x) if model.norm == "pre" else x
    return 0.7 * x @ model.output.weight.T


@pytest.mark.parametrize("norm", ["none", "post", "pre"])
def test_logits_are_those_of_the_model_written_out(norm):
    model = decoder(norm)
    tokens = torch.randint(50, (12,), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        model(tokens[None])[0], by_hand(model, tokens), rtol=1e-10, atol=1e-10
    )


def test_the_future_is_not_seen():
    model = decoder()
    a = torch.randint(50, (1, 12), generator=torch.Generator().manual_seed(2))
    b = a.clone()
    b[0, 7:] = (b[0, 7:] + 1) % 50
    same = (model(a) == model(b)).all(-1)[0]
    assert same[:7].all() and not same[7:].any()


def test_positional_encoding_has_the_asked_root_mean_square_and_is_not_trained():
    model = decoder()
    assert model.positions_TD.square().mean().sqrt().item() == pytest.approx(0.3)
    assert "positions_TD" not in dict(model.named_parameters())


def test_sinusoids_are_vaswanis():
    table = sinusoids(5, 6)
    assert table[3, 2].item() == pytest.approx(math.sin(3 / 10_000 ** (2 / 6)))
    assert table[3, 3].item() == pytest.approx(math.cos(3 / 10_000 ** (2 / 6)))


def test_indivisible_width_and_unknown_norm_are_named():
    with refused("width 20 is not a multiple of head_dim 8"):
        decoder(width=20)
    with refused("norm 'rms'"):
        decoder(norm="rms")


def test_operation_count_is_torch_s():
    """FlopCounterMode counts 2 per multiply-add in every matrix product, attention included."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    model = decoder().float()
    tokens = torch.zeros(3, 12, dtype=torch.long)
    with (
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
        torch.no_grad(),
    ):
        model(tokens)
    sizes = {key: value for key, value in SIZES.items() if key != "head_dim"}
    assert forward_flops(**sizes) * tokens.numel() == counter.get_total_flops()


def test_gradients_reach_every_parameter():
    model = decoder()
    tokens = torch.arange(12)[None]
    F.cross_entropy(model(tokens)[0], tokens[0]).backward()
    assert all(p.grad.abs().max() > 0 for p in model.parameters())
