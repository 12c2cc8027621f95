import math
from functools import partial

import pytest
import torch
from refusals import refused
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from repro import models
from repro.training.optimizer import make_groups
from widthwise import parametrization

PAPER = {
    "name": "vit",
    "width": 768,
    "depth": 12,
    "heads": 12,
    "expansion": 4,
    "patch": 16,
    "resolution": 224,
    "classes": 1_000,
    "base_width": 1,
}
SMALL = PAPER | {
    "width": 24,
    "depth": 2,
    "heads": 3,
    "patch": 4,
    "resolution": 12,
    "classes": 5,
}


def vit(settings=SMALL, name="SP", **changes):
    model = models.build(settings | changes, name)
    generator = torch.Generator().manual_seed(0)
    parametrization.plan(model, None, name).init_(generator)
    return model


def timm_twin(model):
    """timm's Vision Transformer with the weights of ours, biases 0, LN at identity, float64."""
    twin = VisionTransformer(
        img_size=12,
        patch_size=4,
        num_classes=5,
        embed_dim=24,
        depth=2,
        num_heads=3,
        class_token=False,
        global_pool="avg",
        fc_norm=False,  # the last LN before pooling
        qkv_bias=False,
        proj_bias=False,
        norm_layer=partial(nn.LayerNorm, eps=1e-6),
    ).double()
    with torch.no_grad():
        for name, p in twin.named_parameters():
            nn.init.constant_(p, 1.0 if "norm" in name and name.endswith("weight") else 0.0)
        twin.patch_embed.proj.weight.copy_(model.patchify.weight.view(24, 3, 4, 4))
        twin.pos_embed.copy_(model.positions[None])
        twin.head.weight.copy_(model.head.weight)
        twin.head.bias.copy_(model.head.bias)
        for block, attention, mlp in zip(twin.blocks, model.attention, model.mlp, strict=True):
            block.attn.qkv.weight.copy_(attention.qkv.weight)
            block.attn.proj.weight.copy_(attention.out.weight)
            block.mlp.fc1.weight.copy_(mlp.up.weight)
            block.mlp.fc2.weight.copy_(mlp.down.weight)
    return twin


def test_logits_and_gradients_are_timm_s():
    model = vit().double()
    with torch.no_grad():
        model.positions.normal_(0, 1)
        model.head.bias.normal_(0, 1)
    twin = timm_twin(model)
    assert isinstance(twin.norm, nn.LayerNorm) and isinstance(twin.fc_norm, nn.Identity)
    x = torch.randn(4, 3, 12, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, theirs = model(x), twin(x)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    pairs = {
        "patchify.weight": twin.patch_embed.proj.weight.grad.flatten(1),
        "positions": twin.pos_embed.grad[0],
        "head.weight": twin.head.weight.grad,
        "head.bias": twin.head.bias.grad,
    }
    for i, block in enumerate(twin.blocks):
        pairs |= {
            f"attention.{i}.qkv.weight": block.attn.qkv.weight.grad,
            f"attention.{i}.out.weight": block.attn.proj.weight.grad,
            f"mlp.{i}.up.weight": block.mlp.fc1.weight.grad,
            f"mlp.{i}.down.weight": block.mlp.fc2.weight.grad,
        }
    assert set(pairs) == {name for name, _ in model.named_parameters()}
    for name, parameter in model.named_parameters():
        scale = float(pairs[name].abs().max())
        assert float((parameter.grad - pairs[name]).abs().max()) <= 1e-12 * max(scale, 1), name


def test_pooling_before_the_last_norm_is_another_function():
    """The oracle can tell: timm's other order (fc_norm) is off."""
    model = vit().double()
    twin = timm_twin(model)
    twin.norm, twin.fc_norm = twin.fc_norm, twin.norm
    x = torch.randn(4, 3, 12, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert float((model(x) - twin(x)).detach().abs().max()) > 1e-3


def test_vit_b16_has_the_paper_s_parameters():
    """II.1.B: 768 * 768 + 196 * 768 + 768^2 * (4 + 2 * 4) * 12 + 768 * 1000 + 1000."""
    with torch.device("meta"):
        model = models.build(PAPER, "neural-tangent")
    counted = sum(p.numel() for p in model.parameters())
    assert counted == 768 * 768 + 196 * 768 + 768**2 * 12 * 12 + 768 * 1_000 + 1_000 == 86_444_008


@pytest.mark.parametrize("name", ["SP", "neural-tangent", "hybrid", "maximal-update"])
def test_inits_are_those_of_section_ii_1_c(name):
    n, m = 96, 4
    model = vit(width=n, resolution=96, patch=16, classes=1_000, name=name)
    s = {"SP": 0, "neural-tangent": 0, "hybrid": 0.5, "maximal-update": 1}[name]
    expected = {
        "patchify.weight": 1 / (3 * 16 * 16),
        "positions": 0.02**2,
        "attention.0.qkv.weight": 0.5 / n,
        "attention.1.out.weight": 1 / (3 * n),
        "mlp.0.up.weight": 0.4 / n,
        "mlp.1.down.weight": 1.6 / (m * n),
        "head.weight": n ** -(1 + s),
    }
    for key, variance in expected.items():
        drawn = model.get_parameter(key).detach()
        error = 5 * math.sqrt(2 / drawn.numel())  # five standard errors of a normal's variance
        assert float(drawn.var()) == pytest.approx(variance, rel=error), key
        uniform = key.startswith(("attention", "mlp"))
        assert (float(drawn.abs().max()) <= (3 * variance) ** 0.5 * 1.000001) == uniform, key
    assert not model.head.bias.any()


FACTORS = {  # Table II.1.E, n = 768: patchify, positions, matrices, head weight, head bias
    "SP": (1, 1, 1, 1, 1),
    "neural-tangent": (768**-1.5, 768**-0.5, 768**-1.5, 768**-1 * 1000**-0.5, 1000**-0.5),
    "hybrid": (768**-1.25, 768**-0.25, 768**-1.25, 768**-1 * 1000**-0.5, 1000**-0.5),
    "maximal-update": (768**-1, 1, 768**-1, 768**-1 * 1000**-0.5, 1000**-0.5),
}


@pytest.mark.parametrize("name", FACTORS)
def test_learning_rates_are_those_of_table_ii_1_e(name):
    with torch.device("meta"):
        model = models.build(PAPER, name)
    optimizer = {"name": "adamw", "eps": 1e-8, "weight_decay": 0.05}
    optimizer["decayed"] = ["embedding", "hidden", "output", "vector"]
    groups = make_groups(model, name, optimizer, 2.0)
    group_of = {id(p): group for group in groups for p in group["params"]}
    names = ("patchify.weight", "positions", "attention.3.qkv.weight", "head.weight", "head.bias")
    for key, factor in zip(names, FACTORS[name], strict=True):
        group = group_of[id(model.get_parameter(key))]
        assert group["lr"] == pytest.approx(2 * factor, rel=1e-12), key
        # eq. 1.94: every group decays by lr * wd, whatever its factor; the head's bias never
        decay = 0.0 if key == "head.bias" else 2 * 0.05
        assert group["lr"] * group["weight_decay"] == pytest.approx(decay, rel=1e-12), key


def test_the_factor_m_is_exact_where_it_is_asked_for():
    """Footnote 41: W 1 / (n sqrt(Mn)), X 1 / (Mn sqrt(n)); the others as without it."""
    with torch.device("meta"):
        model = models.build(PAPER, "neural-tangent, M")
    roles = model.roles()
    rules = parametrization.table("neural-tangent, M", "adam")
    found = {key: rules[role.kind].lr(role) for key, role in roles.items()}
    n, m = 768, 4
    assert found["mlp.5.up.weight"] == pytest.approx(1 / (n * math.sqrt(m * n)))
    assert found["mlp.5.down.weight"] == pytest.approx(1 / (m * n * math.sqrt(n)))
    assert found["attention.5.qkv.weight"] == pytest.approx(n**-1.5)
    assert found["attention.5.out.weight"] == pytest.approx(n**-1.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"heads": 5}, "no multiple of 5 heads"), ({"patch": 5}, "patch of 5 pixels")],
)
def test_sizes_that_do_not_divide_are_refused(changes, message):
    with refused(message):
        models.build(SMALL | changes, "SP")


FEW = {
    **{"name": "vit", "width": 8, "depth": 1, "heads": 2, "expansion": 2, "base_width": 1},
    **{"patch": 2, "resolution": 4, "classes": 3},
}


def test_positions_of_order_one_change_the_initial_positions_alone():
    """Footnote 39 calls any C_PE of order one acceptable."""
    plain = models.build(FEW, "SP")
    changed = models.build(FEW | {"constants": {"positions": 1.0}}, "SP")
    for net in (plain, changed):
        models.draw(net, "SP", 0)
    for (name, one), (_, other) in zip(
        changed.named_parameters(), plain.named_parameters(), strict=True
    ):
        assert torch.allclose(one, (50 if name == "positions" else 1) * other)
    with refused(r"constants of \['C_U'\]: choose from"):
        models.build(FEW | {"constants": {"C_U": 1.0}}, "SP")


def test_a_factor_of_zero_leaves_a_parameter_as_it_begins():
    """Footnote 44's own experiment: the head's bias turned off. It has no decay to divide by 0."""
    net = models.build(FEW, "SP")
    groups = parametrization.plan(
        net, None, parametrization.recipe("neural-tangent", "adamw")
    ).groups(1.0, 0.1, factors={"head.bias": 0.0})
    (still,) = [group for group in groups if any(p is net.head.bias for p in group["params"])]
    assert still["lr"] == 0 and len(still["params"]) == 1
