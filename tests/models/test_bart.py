"""BART against Hugging Face's MBart, which is pre-LN with the paper's LayerNorms; exact sizes."""

import pytest
import torch
import torch.nn.functional as F
from kept import kept_numbers
from refusals import refused

from repro.backend import attention_dropping
from repro.cost import bart as bart_cost
from repro.models.bart import BART
from widthwise import parametrization

PAD, BOS, EOS = 1, 0, 2
LARGE = {
    "vocab_size": 50_265,
    "padding": PAD,
    "sequence_length": 512,
    "expansion": 4,
    "base_width": 1,
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "matrix_std": 0.02,
    "position_std": 0.02,
    "embedding_std": 0.02,
    "output_multiplier": 1.0,
    "attention_multiplier": 1.0,
}
SMALL = LARGE | {
    "vocab_size": 37,
    "sequence_length": 12,
    "width": 24,
    "depth": 2,
    "heads": 3,
    "expansion": 2,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "matrix_std": 0.3,
}


@pytest.mark.parametrize(
    ("width", "heads", "depth", "parameters"),
    [(1024, 16, 12, 404_845_568), (2048, 32, 22, 2_688_739_328)],
)
def test_bart_large_and_r2c2_have_the_paper_s_sizes(width, heads, depth, parameters):
    """II.2.B's sums: n_vocab n + 514 n + n^2 (4 + 2 M) L + 514 n + n^2 (4 + 4 + 2 M) L."""
    with torch.device("meta"):
        net = BART(**LARGE, width=width, heads=heads, depth=depth)
    assert sum(p.numel() for p in net.parameters()) == parameters
    blocks = width**2 * depth * ((4 + 2 * 4) + (4 + 4 + 2 * 4))
    assert 50_265 * width + 2 * 514 * width + blocks == parameters


def built(strategy, **changes):
    settings = SMALL | changes
    scale = parametrization.tied_multiplier(strategy, settings["width"])
    net = BART(**settings | {"output_multiplier": scale}).double()
    parametrization.plan(net, None, strategy).init_(torch.Generator().manual_seed(1))
    net.clear_padding()
    return net


def batch():
    """A padded batch: (source, previous, target)."""
    rng = torch.Generator().manual_seed(2)
    source = torch.randint(4, 37, (3, 9), generator=rng)
    target = torch.randint(4, 37, (3, 11), generator=rng)
    for row, (s, t) in enumerate([(9, 11), (6, 8), (4, 5)]):
        for tokens, length in ((source, s), (target, t)):
            tokens[row, 0], tokens[row, length - 1] = BOS, EOS
            tokens[row, length:] = PAD
    previous = F.pad(target[:, :-1], (1, 0), value=EOS)
    previous[target == PAD] = PAD
    return source, previous, target


def mbart(net):
    """Hugging Face's model with our weights, zero biases, LayerNorms at identity."""
    from transformers import MBartConfig, MBartForConditionalGeneration

    config = MBartConfig(
        vocab_size=37,
        max_position_embeddings=12,
        d_model=24,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=False,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
    )
    config._attn_implementation = "eager"
    theirs = MBartForConditionalGeneration(config).double().eval()
    pairs = {
        "model.shared.weight": net.embedding.weight,
        "model.encoder.embed_positions.weight": net.encoder_positions.weight,
        "model.decoder.embed_positions.weight": net.decoder_positions.weight,
    }
    for side, blocks in (("encoder", net.encoder), ("decoder", net.decoder)):
        for i, block in enumerate(blocks):
            at = f"model.{side}.layers.{i}."
            q, k, v = block.attention.qkv.weight.chunk(3)
            parts = {"self_attn": (q, k, v, block.attention.out.weight)}
            if side == "decoder":
                cross = block.cross
                k, v = cross.kv.weight.chunk(2)
                parts["encoder_attn"] = (cross.q.weight, k, v, cross.out.weight)
            for name, weights in parts.items():
                for letter, weight in zip(("q", "k", "v", "out"), weights, strict=True):
                    pairs[f"{at}{name}.{letter}_proj.weight"] = weight
            pairs[f"{at}fc1.weight"] = block.mlp.up.weight
            pairs[f"{at}fc2.weight"] = block.mlp.down.weight
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name in pairs:
                parameter.copy_(pairs[name])
            elif "norm" in name and name.endswith("weight"):
                parameter.fill_(1)
            else:
                assert name.endswith("bias"), name
                parameter.zero_()
    return theirs, pairs


@pytest.mark.parametrize("strategy", ["SP", "neural-tangent"])
def test_logits_and_gradients_are_mbart_s(strategy):
    net = built(strategy, embedding_std=1.0)
    theirs, pairs = mbart(net)
    source, previous, target = batch()
    scale = 24**-0.5 if strategy == "neural-tangent" else 1.0
    expected = (
        scale
        * theirs(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=previous
        ).logits
    )
    logits = net(source, previous)
    real = target != PAD
    torch.testing.assert_close(logits[real], expected[real], rtol=1e-12, atol=1e-12)
    F.cross_entropy(logits[real], target[real]).backward()
    F.cross_entropy(expected[real], target[real]).backward()
    gradients = dict(theirs.named_parameters())
    ours = {id(p): p.grad for p in net.parameters()}
    for name, weight in pairs.items():
        if id(weight) in ours:
            torch.testing.assert_close(ours[id(weight)], gradients[name].grad, msg=name)
    for i, block in enumerate(net.decoder):
        at = f"model.decoder.layers.{i}."
        names = [f"{at}self_attn.{x}_proj.weight" for x in "qkv"]
        stacked = torch.cat([gradients[name].grad for name in names])
        torch.testing.assert_close(block.attention.qkv.weight.grad, stacked)
        stacked = torch.cat([gradients[f"{at}encoder_attn.{x}_proj.weight"].grad for x in "kv"])
        torch.testing.assert_close(block.cross.kv.weight.grad, stacked)


def test_padding_changes_nothing():
    net = built("SP")
    source, previous, _ = batch()
    short = net(source[2:, :4], previous[2:, :5])
    torch.testing.assert_close(net(source, previous)[2:, :5], short)


def test_a_token_does_not_see_those_behind_it():
    net = built("SP")
    source, previous, _ = batch()
    changed = previous.clone()
    changed[:, 4:] = 7
    before, after = net(source, previous), net(source, changed)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@pytest.mark.parametrize(
    ("strategy", "embedding", "matrix", "rescale"),
    [("SP", 1.0, 1.0, 1.0), ("neural-tangent", 24**-0.5, 24**-1.5, 24**-0.5)],
)
def test_groups_have_the_factors_of_table_ii_2_e(strategy, embedding, matrix, rescale):
    """... and every group decays by lr * weight decay (eq. 1.94)."""
    net = built(strategy)
    groups = parametrization.plan(net, None, parametrization.recipe(strategy, "adamw")).groups(
        1.0, 0.01, eps=1e-6
    )
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    for name, parameter in net.named_parameters():
        expected = matrix if name.startswith(("encoder.", "decoder.")) else embedding
        assert rates[id(parameter)] == pytest.approx(expected), name
    for group in groups:
        assert group["lr"] * group["weight_decay"] == pytest.approx(0.01)
        assert group["eps"] == 1e-6
    assert net.output_multiplier == pytest.approx(rescale)


def test_the_exact_factors_keep_m():
    """Footnote 26: W also M^-1/2, X also M^-1."""
    net = built("neural-tangent")
    row = parametrization.table("neural-tangent, M", "adam")["hidden"]
    roles = net.roles()
    factor = {name: row.lr(role) * 24**1.5 for name, role in roles.items()}
    assert factor["encoder.0.attention.qkv.weight"] == pytest.approx(1)
    assert factor["decoder.1.cross.kv.weight"] == pytest.approx(1)
    assert factor["encoder.0.mlp.up.weight"] == pytest.approx(2**-0.5)
    assert factor["decoder.1.mlp.down.weight"] == pytest.approx(2**-1)


def test_the_start_has_the_stated_deviations_and_a_zero_row():
    net = built("SP", vocab_size=4_000, width=96, sequence_length=400, matrix_std=0.02)
    for name, parameter in net.named_parameters():
        assert float(parameter.detach().std()) == pytest.approx(0.02, rel=0.03), name
    assert not net.embedding.weight[PAD].any()
    assert net.embedding.weight[PAD + 1].all()


def test_dropout_is_off_in_evaluation_and_drawn_in_training():
    net = built("SP", dropout=0.1, attention_dropout=0.1)
    source, previous, _ = batch()
    net.eval()
    assert torch.equal(net(source, previous), net(source, previous))
    net.train()
    assert not torch.equal(net(source, previous), net(source, previous))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention_with_dropout_on_a_cpu_is_torch_s_bit_for_bit(causal, scale):
    def made(attend):
        torch.manual_seed(0)
        inputs = [torch.randn(4, 9, 3, 5).transpose(1, 2).requires_grad_() for _ in range(3)]
        y = attend(*inputs)
        y.square().sum().backward()
        return [y, *(x.grad for x in inputs)]

    mask = None if causal else (torch.arange(9) < torch.tensor([[9], [7], [1], [4]]))[:, None, None]
    expected = made(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask, 0.2, causal, scale=scale)
    )
    found = made(lambda q, k, v: attention_dropping(q, k, v, scale, causal, mask, 0.2))
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"heads": 5}, "width 24 is not a multiple of 5"), ({"padding": 37}, "token 37 of a")],
)
def test_what_does_not_fit_is_refused(changes, message):
    with refused(message):
        BART(**SMALL | changes)


COUNTED = {"vocab_size": 320, "width": 48, "depth": 3, "expansion": 4}


def counted(**changes):
    still = {"heads": 4, "sequence_length": 64, "dropout": 0.0, "attention_dropout": 0.0}
    return BART(**LARGE | COUNTED | still | changes)


def test_parameters_and_operations_are_torch_s():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"), sdpa_kernel(SDPBackend.MATH):
        net = counted()
        tokens = torch.empty(2, 64, dtype=torch.long)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            net(tokens, tokens)
    assert bart_cost.parameters(**COUNTED, sequence_length=64) == sum(
        p.numel() for p in net.parameters()
    )
    assert bart_cost.flops(**COUNTED, sequence_length=64) * 2 * 64 == 3 * counter.get_total_flops()


SHAPES = (
    {"width": 48, "depth": 3, "heads": 4, "sequence_length": 64, "vocab_size": 320},
    {"width": 128, "depth": 1, "heads": 8, "sequence_length": 32, "vocab_size": 512},
    {"width": 64, "depth": 6, "heads": 4, "sequence_length": 96, "vocab_size": 1024},
    {"width": 256, "depth": 2, "heads": 4, "sequence_length": 128, "vocab_size": 2048},
)


def kept_a_token(shape, dropout, attention_dropout):
    """What autograd keeps per token of the original, of which the corrupted has as many."""
    torch.manual_seed(0)
    net = counted(**shape, dropout=dropout, attention_dropout=attention_dropout)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    tokens = torch.randint(4, shape["vocab_size"], (4, shape["sequence_length"]))
    return kept_numbers(lambda_net(net, tokens), tokens, tokens) / tokens.numel()


# Left out are the means of normalizations and attention's normalizers, some numbers a token and
# layer: 1.3 % at a width of 48, less at larger ones.
NEARLY = 0.02


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"width {shape['width']}")
@pytest.mark.parametrize(("stream", "attention"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.1, 0.1)])
def test_activations_are_what_autograd_keeps_on_a_cpu(shape, stream, attention):
    kept = kept_a_token(shape, stream, attention)
    sizes = {key: shape[key] for key in ("width", "depth")}
    found = bart_cost.activations(
        **sizes, expansion=4, vocab_size=shape["vocab_size"], dropout=stream > 0
    ) + bart_cost.on_cpu(
        **sizes,
        heads=shape["heads"],
        sequence_length=shape["sequence_length"],
        dropout=stream > 0,
        attention=attention > 0,
    )
    assert found == pytest.approx(kept, rel=NEARLY)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"width {shape['width']}")
def test_activations_are_what_kernels_of_a_gpu_keep(shape, monkeypatch):
    """Dropout of the stream keeps a mask of a byte an entry, fused attention a seed."""

    def as_on_a_gpu(x, p=0.5, training=True, inplace=False):
        return torch.native_dropout(x, p, training)[0]

    monkeypatch.setattr(F, "dropout", as_on_a_gpu)
    kept = kept_a_token(shape, 0.1, 0.0)
    sizes = {key: shape[key] for key in ("width", "depth", "vocab_size")}
    found = bart_cost.activations(**sizes, expansion=4, dropout=True)
    assert found == pytest.approx(kept, rel=NEARLY)


def test_dropped_attention_without_a_fused_kernel_keeps_three_times_as_much():
    """R2C2 at paper scale: 3 * 3 * 32 * 512 numbers a token and depth, of 72 widths in all."""
    sizes = {"width": 2048, "depth": 22, "dropout": True}
    fused = bart_cost.activations(**sizes, expansion=4, vocab_size=50_265)
    besides = bart_cost.on_cpu(**sizes, heads=32, sequence_length=512, attention=True)
    assert (fused + besides) / fused == pytest.approx(2.86, abs=0.01)


def lambda_net(net, tokens):
    """The model as one of a single input, which `kept_numbers` calls."""

    class Single(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, source):
            return self.net(source, tokens)

    return Single()


def test_a_run_of_the_paper_costs_what_its_sum_says():
    """6 N D with N of II.2.B, and the attentions' share: 12 * 36 * 1024 * 512 per token."""
    sizes = {"width": 1024, "depth": 12, "expansion": 4, "vocab_size": 50_265}
    per_token = bart_cost.flops(**sizes, sequence_length=512)
    assert per_token == 6 * (404_845_568 - 2 * 514 * 1024) + 12 * 36 * 1024 * 512
