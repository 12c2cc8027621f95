import math
from functools import partial

import mup
import pytest
import torch
from refusals import refused
from torch import nn

from benchmarks.zoo import small
from repro import models
from repro.models.decoder import Decoder
from repro.training.optimizer import make_groups, make_optimizer
from widthwise import parametrization as p

BASE, WIDTH, INPUTS, OUTPUTS = 8, 32, 6, 5


class MLP(small.MLP):
    """Every kind of role."""

    def roles(self):
        r = self.width / BASE
        return {
            "input.weight": p.Role("embedding", INPUTS, width_out=r),
            "input.bias": p.Role("vector", width_out=r),
            "hidden.weight": p.Role("hidden", self.width, width_in=r, width_out=r),
            "hidden.bias": p.Role("vector", width_out=r),
            "readout.weight": p.Role("output", self.width, width_in=r),
            "readout.bias": p.Role("scalar"),
        }


mup_mlp = partial(MLP, readout=mup.MuReadout)


def decoder(width, base_width=1):
    return Decoder(
        vocab_size=40,
        width=width,
        depth=1,
        head_dim=8,
        expansion=4,
        sequence_length=4,
        norm="post",
        positional_rms={"factor": 1.0, "power": 0.0},
        output_multiplier=1.0,
        base_width=base_width,
    )


def train_alike(pairs):
    """Two models, each with a factor of its outputs and its optimizer, whose outputs stay equal
    over 20 steps; the last outputs."""
    for step in range(20):
        x = torch.randn(
            16, INPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(step)
        )
        outputs = []
        for model, factor, opt in pairs:
            opt.zero_grad()
            y = factor * model(x)
            (y - x[:, :OUTPUTS]).square().mean().backward()
            opt.step()
            outputs.append(y.detach())
        torch.testing.assert_close(*outputs, rtol=1e-9, atol=1e-9)
    return outputs[0]


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_mup_trains_as_the_mup_package_does(optimizer):
    """Readout multiplier 1/n and init 1 there is multiplier 1 and init 1/n here: same function."""
    torch.manual_seed(0)
    theirs = mup_mlp(WIDTH)
    mup.set_base_shapes(theirs, mup_mlp(BASE), delta=mup_mlp(2 * BASE))
    theirs.double()
    ours = MLP(WIDTH).double()
    ours.load_state_dict(theirs.state_dict())
    with torch.no_grad():
        theirs.readout.weight.normal_(0, WIDTH**-0.5)
        ours.readout.weight.copy_(theirs.readout.weight / (WIDTH / BASE))

    lr, decay, eps = (0.05, 0.1, 1e-30)
    groups = p.plan(ours, None, p.recipe("muP", optimizer)).groups(
        lr,
        weight_decay=decay if optimizer != "adam" else 0.0,
        eps=None if optimizer == "sgd" else eps,
    )
    if optimizer == "sgd":
        mine = make_optimizer(groups, {"name": "sgd", "momentum": 0.9, "nesterov": False})
        other = mup.MuSGD(theirs.parameters(), lr=lr, momentum=0.9, weight_decay=decay)
    else:
        mine = make_optimizer(groups, {"name": optimizer, "betas": (0.9, 0.999)})
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer]
        other = mup.MuAdam(
            theirs.parameters(),
            impl=kind,
            lr=lr,
            eps=eps,
            weight_decay=decay if optimizer == "adamw" else 0.0,
        )
    assert train_alike([(ours, 1.0, mine), (theirs, 1.0, other)]).abs().max() > 0.1


SETTINGS = {
    "mlp": {"inputs": 6, "classes": 5, "hidden_layers": 3, "width": 8, "base_width": 8},
    "resnet": {"classes": 5, "width": 1 / 16, "base_width": 1 / 16},
    "gpt2": {
        "vocab_size": 11,
        "sequence_length": 4,
        "depth": 2,
        "heads": 2,
        "width": 8,
        "base_width": 8,
        "attention_constant": 8.0,
        "embedding_std": 0.5,
    },
}
FACTORS = {"mlp": 4, "resnet": (1, 2, 2, 4), "gpt2": 4}  # ResNet's stages grow apart


def with_base_shapes(name):
    """(base, wide model) of the suite, the wide one's parameters with mup's `infshape`."""
    base = models.build({"name": name, **SETTINGS[name]}, "muP-multiplier")
    wide = base.wider(FACTORS[name])
    # No checks: mup wants its own class of readout, whose multiplier is compared below.
    mup.set_base_shapes(wide, base, delta=base.wider(2), rescale_params=False, do_assert=False)
    return base, wide


def readout(model):
    return model.embedding.weight if hasattr(model, "embedding") else model.output.weight


@pytest.mark.parametrize(
    ("optimizer", "compared"),
    [
        ("sgd", ("lr", "weight_decay")),
        ("adam", ("lr",)),  # mup leaves vectors' coupled decay unscaled, the paper divides by n
        ("adamw", ("lr", "weight_decay")),
    ],
)
@pytest.mark.parametrize("name", SETTINGS)
def test_every_model_s_groups_are_those_of_the_mup_package(name, optimizer, compared):
    _, wide = with_base_shapes(name)
    settings = {"name": optimizer, "weight_decay": 0.1, "decayed": p.KINDS, "eps": 1e-8}
    ours = make_groups(wide, "muP-multiplier", settings, 0.02)
    arguments = {"lr": 0.02, "weight_decay": 0.1}
    theirs = {
        "sgd": lambda: mup.MuSGD(wide.parameters(), **arguments),
        "adam": lambda: mup.MuAdam(wide.parameters(), **arguments),
        "adamw": lambda: mup.MuAdamW(wide.parameters(), **arguments),
    }[optimizer]()

    def by_name(groups):
        names = {id(q): name for name, q in wide.named_parameters()}
        return {names[id(q)]: [g[key] for key in compared] for g in groups for q in g["params"]}

    found, expected = by_name(ours), by_name(theirs.param_groups)
    assert found.keys() == expected.keys()
    for parameter, values in expected.items():
        assert found[parameter] == pytest.approx(values), parameter
    assert len({tuple(values) for values in expected.values()}) > 1


@pytest.mark.parametrize("name", SETTINGS)
def test_every_model_s_readout_and_draws_are_those_of_the_mup_package(name):
    """MuReadout divides by the width's multiple; `mup.init` scales a base's std."""
    base, wide = with_base_shapes(name)
    assert base.output_multiplier == 1
    assert wide.output_multiplier == pytest.approx(1 / readout(wide).infshape.width_mult())
    rows, roles, narrow = p.table("muP-multiplier", "adam"), wide.roles(), base.roles()
    drawn = 0
    for key, parameter in wide.named_parameters():
        rule = rows[roles[key].kind]
        if not roles[key].drawn or roles[key].std == 0:
            continue
        torch.manual_seed(0)
        mup.init.normal_(parameter, std=p.init_std(narrow[key], rule))
        generator = torch.Generator().manual_seed(0)
        std = p.init_std(roles[key], rule)
        expected = torch.empty(parameter.shape).normal_(0, std, generator=generator)
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-5, atol=0)
        drawn += 1
    assert drawn >= 3


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_both_forms_of_mup_train_the_same_function(optimizer):
    """Readout init 1/n and multiplier 1, or init 1 and multiplier 1/n; eps large, decay on.

    Each is drawn by its own table, from the same seed.
    """
    forms = {}
    for name in ("muP", "muP-multiplier"):
        torch.manual_seed(0)
        model = MLP(WIDTH).double()
        p.plan(model, None, name).init_(torch.Generator().manual_seed(0))
        with torch.no_grad():
            model.readout.bias.zero_().requires_grad_(False)
        forms[name] = (model, p.output_multiplier(name, WIDTH / BASE))
    settings = {
        "sgd": {"name": "sgd", "momentum": 0.9, "nesterov": False},
        "adam": {"name": "adam", "betas": (0.9, 0.999)},
        "adamw": {"name": "adamw", "betas": (0.9, 0.999)},
    }[optimizer]
    optimizers = [
        make_optimizer(
            p.plan(
                model,
                None,
                p.recipe(scaling, optimizer, "coupled" if optimizer == "adam" else None),
            ).groups(0.05, weight_decay=0.1, eps=None if optimizer == "sgd" else 1e-2),
            settings,
        )
        for scaling, (model, _) in forms.items()
    ]
    pairs = [(*form, opt) for form, opt in zip(forms.values(), optimizers, strict=True)]
    assert train_alike(pairs).abs().max() > 0.05


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_left_out_scaling_is_noticed_by_the_oracle_comparison(optimizer):
    """At another width than the base, muP's groups differ from the standard ones."""

    def groups(name):
        found = p.plan(MLP(WIDTH), None, p.recipe(name, optimizer, "coupled")).groups(1.0, 1.0)
        return {(g["lr"], g["weight_decay"], g.get("eps")) for g in found}

    assert len(groups("SP")) == 1
    assert len(groups("muP")) > 1


# Tables 1 and 2 of arXiv 2506.15025 at base width 1: init variance, Adam learning rate.
TABLE_2 = {
    "SP": {"embedding": (0, 0), "output": (-1, 0), "hidden": (-1, 0)},
    "muP": {"embedding": (0, 0), "output": (-2, -1), "hidden": (-1, -1)},
    "LVP": {"embedding": (-1, -0.5), "output": (-1, -1), "hidden": (-1, -1)},
}


@pytest.mark.parametrize("name", TABLE_2)
@pytest.mark.parametrize("kind", ["embedding", "output", "hidden"])
def test_table_2(name, kind):
    d = 64
    roles = {
        "embedding": p.Role("embedding", width_out=d),
        "hidden": p.Role("hidden", d, width_in=d, width_out=d),
        "output": p.Role("output", d, width_in=d),
    }
    rule = p.table(name, "adam")[kind]
    variance, lr = TABLE_2[name][kind]
    assert math.isclose(p.init_std(roles[kind], rule) ** 2, d**variance)
    assert math.isclose(rule.lr(roles[kind]), d**lr)


def test_mup_for_sgd_scales_input_up_and_output_down():
    """Ma et al. (2602.10545), Table 2 with q = 1: n for vectors, n_out/n_in for matrices."""
    rows = p.table("muP", "sgd")
    d = 16
    assert rows["embedding"].lr(p.Role("embedding", width_out=d)) == d
    assert rows["hidden"].lr(p.Role("hidden", d, width_in=d, width_out=4 * d)) == 4
    assert rows["output"].lr(p.Role("output", d, width_in=d)) == 1 / d


def test_lvp_is_refused_for_sgd():
    with refused("Adam-like optimizers only"):
        p.table("LVP", "sgd")


def test_unknown_parametrization_is_named():
    with refused("'ntk'"):
        p.table("ntk", "adam")


def test_every_parametrization_is_standard_at_its_base_width():
    model = decoder(16, base_width=16)
    for name in ("SP", "muP", "muP-multiplier", "LVP"):
        rows = p.table(name, "adam")
        for role in model.roles().values():
            rule = rows[role.kind]
            assert rule.lr(role) == rule.weight_decay(role) == rule.eps(role) == 1
            assert p.init_std(role, rule) == p.standard_std(role)


def test_initial_weights_have_the_stated_deviation():
    model = decoder(64)
    init = {"embedding": "LVP", "hidden": "muP", "output": "muP"}
    p.plan(model, None, p.with_inits("SP", init)).init_(torch.Generator().manual_seed(0))
    expected = {
        "embedding.weight": 64**-0.5,
        "attention.0.qkv.weight": 64**-0.5,
        "mlp.0.down.weight": 256**-0.5,
        "output.weight": 1 / 64,
    }
    for name, parameter in model.named_parameters():
        if name in expected:
            error = 4 / math.sqrt(2 * parameter.numel())  # four standard errors
            assert math.isclose(parameter.std().item(), expected[name], rel_tol=error), name


def test_initialization_depends_on_the_seed_alone():
    weights = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        model = decoder(16)
        p.plan(model, None, "SP").init_(torch.Generator().manual_seed(5))
        weights.append(nn.utils.parameters_to_vector(model.parameters()))
    assert torch.equal(*weights)


@pytest.mark.parametrize("use", ["initialize", "groups"])
def test_a_parameter_without_a_role_raises(use):
    model = decoder(16)
    model.extra = nn.Parameter(torch.zeros(3))
    with pytest.raises(ValueError, match=r"without a role: \['extra'\]"):
        if use == "initialize":
            p.plan(model, None, "SP").init_(torch.Generator())
        else:
            rates = dict.fromkeys(("embedding", "hidden", "output"), 0.1)
            p.plan(model, None, p.recipe("SP", "adam")).groups(rates)


def test_a_parameter_outside_the_groups_raises():
    model = decoder(16)
    parameters = list(model.parameters())
    p.check_groups(model, [{"params": parameters}])
    with pytest.raises(ValueError, match="embedding.weight"):
        p.check_groups(model, [{"params": parameters[1:]}])
    with pytest.raises(ValueError, match="embedding.weight"):
        p.check_groups(model, [{"params": parameters}, {"params": parameters[:1]}])


@pytest.mark.parametrize(
    ("exponent", "text"),
    [(0, "1"), (-1, "d^-1"), (-0.5, "d^-1/2"), (1.5, "d^3/2"), (2, "d^2")],
)
def test_powers_are_printed_as_in_the_papers(exponent, text):
    assert p.format_power(exponent) == text


# Dinan et al., the tables of II.1.E and II.2.E as the spec prints them; n, M, n_patch, n_out.
N, M, PATCH, OUT = 768, 4, 768, 1000
VIT_ROLES = {
    "patchify": p.Role("embedding", PATCH, width_out=N),
    "positional embedding": p.Role("embedding", width_out=N, std=0.02),
    "Q": p.Role("hidden", N, N, N, fan_out=N),
    "W": p.Role("hidden", N, N, N, fan_out=M * N),
    "X": p.Role("hidden", M * N, N, N, fan_out=N),
    "head weight": p.Role("output", N, width_in=N, fan_out=OUT),
    "head bias": p.Role("scalar", fan_out=OUT),
}


def factors(name, family):
    rows = p.table(name, family)
    return {group: rows[role.kind].lr(role) for group, role in VIT_ROLES.items()}


@pytest.mark.parametrize(
    ("name", "s"), [("neural-tangent", 0), ("hybrid", 0.5), ("maximal-update", 1), ("s=0.25", 0.25)]
)
def test_s_family_s_rates_are_the_paper_s(name, s):
    matrix = N**-1.5 * N ** (s / 2)
    assert factors(name, "adam") == pytest.approx(
        {
            "patchify": PATCH**-1 * N**-0.5 * N ** (s / 2),
            "positional embedding": N**-0.5 * N ** (s / 2),
            **dict.fromkeys("QWX", matrix),
            "head weight": N**-1 * OUT**-0.5,
            "head bias": OUT**-0.5,
        }
    )
    exact = factors(f"{name}, M", "adam")
    assert exact["W"] == pytest.approx(matrix * M**-0.5)
    assert exact["X"] == pytest.approx(matrix * M**-1)
    assert exact["Q"] == pytest.approx(matrix)
    assert factors(f"{name}, M", "sgd") == pytest.approx(
        {
            "patchify": N**s / PATCH,
            "positional embedding": N**s,
            "Q": N**s / N,
            "W": N**s / N,
            "X": N**s / (M * N),
            "head weight": 1 / N,
            "head bias": 1,
        }
    )
    assert factors(name, "sgd")["X"] == pytest.approx(N**s / N)
    head = VIT_ROLES["head weight"]
    rows = p.table(name, "adam")
    assert p.init_std(head, rows["output"]) == pytest.approx(N ** (-(1 + s) / 2))
    assert p.init_std(VIT_ROLES["positional embedding"], rows["embedding"]) == 0.02
    assert p.tied_multiplier(name, 1024) == pytest.approx(1024 ** (-(1 + s) / 2))


def test_standard_parametrization_is_the_first_of_the_four_strategies():
    assert set(factors("SP", "adam").values()) == {1.0}
    assert p.tied_multiplier("SP", 1024) == 1.0


@pytest.mark.parametrize("name", ["neural", "s=", "s=x", "hybrid,M", "SP, M"])
def test_a_misspelt_strategy_is_refused(name):
    with refused("unknown parametrization"):
        p.table(name, "adam")


def test_a_tied_readout_has_a_multiplier_in_the_s_family_only():
    with refused("no multiplier is defined"):
        p.tied_multiplier("LVP", 64)


@pytest.mark.parametrize("name", ["SP", "neural-tangent", "hybrid, M", "s=0.25"])
def test_adamw_decays_by_lr_times_weight_decay_whatever_the_group(name):
    """Equation 1.94: with zero gradients one step multiplies every weight by 1 - lr * wd."""
    net = MLP(16)
    groups = p.plan(net, None, p.recipe(name, "adamw")).groups(
        0.5, weight_decay=0.1, decayed=[kind for kind in p.KINDS if kind != "scalar"]
    )
    before = {key: value.detach().clone() for key, value in net.named_parameters()}
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    torch.optim.AdamW(groups).step()
    roles = net.roles()
    for key, value in net.named_parameters():
        kept = 1.0 if roles[key].kind == "scalar" else 0.95
        torch.testing.assert_close(value.detach(), before[key] * kept, rtol=1e-6, atol=0)


def test_uniform_and_normal_inits_have_the_role_s_variance():
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = (torch.nn.Parameter(torch.empty(500, 400)) for _ in range(2))

        def roles(self):
            return {
                "a": p.Role("hidden", 400, std=0.3, distribution="uniform"),
                "b": p.Role("hidden", 400, std=0.3),
            }

    net = Two()
    p.plan(net, None, "SP").init_(torch.Generator().manual_seed(0))
    assert net.a.std().item() == pytest.approx(0.3, rel=0.01)
    assert net.b.std().item() == pytest.approx(0.3, rel=0.01)
    assert net.a.abs().max().item() <= 0.3 * 3**0.5 < 3 * 0.3 < net.b.abs().max().item()


def test_a_factor_of_one_parameter_moves_its_rate_alone():
    """The factor takes the table's place; lr * weight_decay stays (equation 1.94)."""
    constants = {"lr": dict.fromkeys(p.KINDS, 0.5), "weight_decay": 0.1, "eps": None}
    for scaling in ("SP", "muP", "neural-tangent"):
        model = MLP(WIDTH)
        plain = p.plan(model, None, p.recipe(scaling, "adamw")).groups(**constants)
        changed = p.plan(model, None, p.recipe(scaling, "adamw")).groups(
            factors={"input.weight": 3.0}, **constants
        )
        for name, parameter in model.named_parameters():
            (old,), (new,) = (
                [g for g in groups if any(parameter is q for q in g["params"])]
                for groups in (plain, changed)
            )
            assert new["lr"] == (1.5 if name == "input.weight" else old["lr"])
            product = old["lr"] * old["weight_decay"]
            assert new["lr"] * new["weight_decay"] == pytest.approx(product, rel=1e-12)
    with refused(r"factors of \['positions'\], but the model has"):
        p.plan(model, None, p.recipe("SP", "adamw")).groups(factors={"positions": 3.0}, **constants)
