import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn
from transformers import MistralConfig, MistralForCausalLM, StableLmConfig, StableLmForCausalLM

from repro import models
from repro.backend import sliding_window
from repro.models.blocks import rotary_table, rotate
from repro.models.llm import LLM
from widthwise import parametrization

SIZES = dict(
    vocab_size=60,
    sequence_length=24,
    depth=2,
    width=32,
    heads=4,
    kv_heads=2,
    head_dim=8,
    rotary_dim=8,
    window=24,
    inner=48,
    base_width=1,
    output_multiplier=1.0,
)
TABLE_3 = {  # Table 3, and a name
    "name": "llm",
    "depth": 24,
    "width": 2048,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "rotary_dim": 128,
    "window": 2048,
    "inner": 8192,
    "base_width": 1,
}


def llm(**changes):
    """In float64, gains and biases random too."""
    net = LLM(**(SIZES | changes))
    generator = torch.Generator().manual_seed(0)
    parametrization.plan(net, None, "LVP").init_(generator)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return net.double()


def oracle(net, heads, kv_heads, window=None, rotary_dim=8, head_dim=8):
    """A StableLM, or with a window a Mistral of LayerNorms, with the weights of `net`."""
    common = dict(
        vocab_size=60,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=24,
        attn_implementation="sdpa",  # the eager softmax is in float32
    )
    if window is None:
        rope = {"rope_type": "default", "rope_theta": 10_000.0}
        rope["partial_rotary_factor"] = rotary_dim / head_dim
        config = StableLmConfig(**common, rope_parameters=rope, use_qkv_bias=False)
        other = StableLmForCausalLM(config)
    else:
        config = MistralConfig(**common, head_dim=head_dim, sliding_window=window)
        other = MistralForCausalLM(config)
        for layer in other.model.layers:
            layer.input_layernorm = nn.LayerNorm(32)
            layer.post_attention_layernorm = nn.LayerNorm(32)
        other.model.norm = nn.LayerNorm(32)
    other = other.double()
    weights = {
        "model.embed_tokens.weight": net.embedding.weight,
        "lm_head.weight": net.output.weight,
    }
    for part in ("weight", "bias"):
        weights[f"model.norm.{part}"] = getattr(net.final_norm, part)
    for i in range(2):
        here = f"model.layers.{i}"
        k, v = net.attention[i].kv.weight.chunk(2)
        weights |= {
            f"{here}.self_attn.q_proj.weight": net.attention[i].q.weight,
            f"{here}.self_attn.k_proj.weight": k,
            f"{here}.self_attn.v_proj.weight": v,
            f"{here}.self_attn.o_proj.weight": net.attention[i].out.weight,
        }
        for name in ("gate", "up", "down"):
            weights[f"{here}.mlp.{name}_proj.weight"] = getattr(net.mlp[i], name).weight
        for part in ("weight", "bias"):
            weights[f"{here}.input_layernorm.{part}"] = getattr(net.attention_norm[i], part)
            weights[f"{here}.post_attention_layernorm.{part}"] = getattr(net.mlp_norm[i], part)
    other.load_state_dict(weights)
    # Its angles are rounded to float32 before the cosine; the table has its own test below.
    other.model.rotary_emb.forward = lambda x, position_ids: net.rotary_2TR[:, None, : x.shape[1]]
    return other.eval()


def gradients(other):
    """Those of an oracle, under the names of ours."""
    found = {name: p.grad for name, p in other.named_parameters()}
    result = {
        "embedding.weight": found["model.embed_tokens.weight"],
        "output.weight": found["lm_head.weight"],
    }
    for part in ("weight", "bias"):
        result[f"final_norm.{part}"] = found[f"model.norm.{part}"]
    for i in range(2):
        here = f"model.layers.{i}"
        kv = [found[f"{here}.self_attn.{n}_proj.weight"] for n in "kv"]
        result[f"attention.{i}.kv.weight"] = torch.cat(kv)
        result[f"attention.{i}.q.weight"] = found[f"{here}.self_attn.q_proj.weight"]
        result[f"attention.{i}.out.weight"] = found[f"{here}.self_attn.o_proj.weight"]
        for name in ("gate", "up", "down"):
            result[f"mlp.{i}.{name}.weight"] = found[f"{here}.mlp.{name}_proj.weight"]
        for part in ("weight", "bias"):
            result[f"attention_norm.{i}.{part}"] = found[f"{here}.input_layernorm.{part}"]
            result[f"mlp_norm.{i}.{part}"] = found[f"{here}.post_attention_layernorm.{part}"]
    return result


@pytest.mark.parametrize(
    ("changes", "window"),
    [
        ({}, None),
        ({"rotary_dim": 4}, None),
        ({"kv_heads": 4}, None),
        ({"kv_heads": 1}, None),
        ({"window": 7}, 7),
        # As in Table 3: the heads together are twice as wide as the model, the window half as long
        # as the context.
        ({"heads": 8, "window": 12}, 12),
    ],
)
def test_logits_and_gradients_are_those_of_transformers(changes, window):
    net = llm(**changes)
    sizes = SIZES | changes
    other = oracle(net, sizes["heads"], sizes["kv_heads"], window, sizes["rotary_dim"])
    tokens = torch.randint(60, (3, 25), generator=torch.Generator().manual_seed(1))
    ours, theirs = net(tokens[:, :-1]), other(tokens[:, :-1]).logits
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    for logits in (ours, theirs):
        F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    expected = gradients(other)
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(parameter.grad, expected.pop(name), rtol=1e-9, atol=1e-12)
    assert not expected


def test_rotary_table_is_that_of_transformers():
    config = MistralConfig(hidden_size=32, num_attention_heads=4, head_dim=8)
    rotary = MistralForCausalLM(
        MistralConfig(**(config.to_dict() | {"num_hidden_layers": 1, "vocab_size": 8}))
    ).model.rotary_emb
    theirs = torch.cat(rotary(torch.zeros(1, 200, 32), torch.arange(200)[None]))
    torch.testing.assert_close(rotary_table(200, 8), theirs, rtol=0, atol=2e-5)


def test_a_rotated_product_depends_on_the_distance_alone():
    generator = torch.Generator().manual_seed(2)
    q, k = torch.randn(2, 1, 1, 1, 8, generator=generator, dtype=torch.float64)
    table = rotary_table(64, 8).double()
    products = rotate(q.expand(1, 1, 64, 8), table) @ rotate(k.expand(1, 1, 64, 8), table).mT
    for distance in (0, 5, 63):
        along = products[0, 0].diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along), rtol=1e-5, atol=1e-6)


def test_window_counts_the_query_itself():
    assert sliding_window(4, 2).tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, True, True, False],
        [False, False, True, True],
    ]


def test_what_lies_outside_the_window_or_ahead_is_not_seen():
    net = llm(depth=1, window=5)
    a = torch.randint(60, (1, 24), generator=torch.Generator().manual_seed(3))
    b = a.clone()
    b[0, 10] = (b[0, 10] + 1) % 60
    changed = (net(a) != net(b)).any(-1)[0]
    assert changed.nonzero().flatten().tolist() == [10, 11, 12, 13, 14]


def test_the_shortcut_without_a_mask_is_the_masked_form():
    short, masked = llm(window=24), llm(window=23)
    tokens = torch.randint(60, (2, 23), generator=torch.Generator().manual_seed(4))
    longer = torch.cat([tokens, tokens[:, :1]], dim=1)
    torch.testing.assert_close(short(tokens), masked(longer)[:, :-1], rtol=1e-12, atol=1e-12)


def test_a_step_in_bfloat16_is_near_the_exact_one():
    net = llm(window=7).float()
    tokens = torch.randint(60, (2, 24), generator=torch.Generator().manual_seed(5))
    exact = net(tokens)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = net(tokens)
    assert rounded.dtype == torch.bfloat16
    assert (rounded - exact).norm() < 0.03 * exact.norm()


def test_table_3_has_1_8_billion_parameters():
    with torch.device("meta"):
        net = models.build(TABLE_3, "SP", vocab_size=32_064, sequence_length=4_096)
    counts = {name: p.numel() for name, p in net.named_parameters()}
    block = 2 * 2048 * 4096 + 2 * 2048 * 1024 + 3 * 2048 * 8192 + 4 * 2048
    assert sum(counts.values()) == 24 * block + 2 * 32_064 * 2048 + 2 * 2048 == 1_842_810_880
    assert counts["attention.0.q.weight"] == 2048 * 4096
    parametrization.check_roles(net)


def test_heads_that_do_not_share_evenly_and_odd_rotations_are_named():
    with refused("4 heads are no multiple of 3 key-value heads"):
        llm(kv_heads=3)
    with refused("rotary_dim 10 is not even or not in 1 to 8"):
        llm(rotary_dim=10)
