"""What `make` draws is scaled, or drawn anew; what it places stays, at every width."""

import math
import warnings
from functools import partial

import pytest
import ranks
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn

import widthwise as ww

BASE, WIDE = 32, 128
ROWS = torch.randn(8, 6, generator=torch.Generator().manual_seed(0))


def log_uniform(n):
    dt = (torch.rand(n) * math.log(100) + math.log(0.001)).exp()
    return dt + torch.log(-torch.expm1(-dt))


def with_forgets(n):
    bias = torch.rand(n) * 2 - 1
    bias[: n // 2] = 1.0
    return bias * 0.2


def with_zeros(n):
    return torch.randn(n, n).triu() * n**-0.5


PLACED = {
    "ramp": lambda n: torch.linspace(-5, 3, n),
    "ordered": lambda n: torch.randn(n).sort().values,
    "heads of its own": lambda n: torch.arange(1.0, n // 16 + 1).log().repeat_interleave(16),
    "time steps": log_uniform,
    "decays": lambda n: torch.empty(n).uniform_(1, 16).log(),
    "gains near 1": lambda n: 1 + 0.02 * torch.randn(n),
    "forgets": with_forgets,
    "follows the width": lambda n: torch.full((n,), n**0.5),
    "one of the width": lambda n: torch.tensor(n**0.5),
    "one that is fixed": lambda n: torch.tensor(2.5),
    "identity": torch.eye,
    "near the identity": lambda n: torch.eye(n) + 0.01 * torch.randn(n, n),
    "sines": lambda n: torch.outer(torch.arange(1.0, n + 1), torch.arange(1.0, n + 1)).sin(),
}
DRAWN = {
    "normal": lambda n: torch.randn(n) * 0.3,
    "uniform": lambda n: torch.empty(n, n).uniform_(-1, 1) * n**-0.5,
    "orthogonal": lambda n: nn.init.orthogonal_(torch.empty(n, n)),
    "signs": lambda n: torch.randn(n, n).sign() * n**-0.5,
    "sparse": lambda n: nn.init.sparse_(torch.empty(n, n), 0.5, 0.1),
}


class With(nn.Module):
    """An MLP with a parameter `p` of its own between its layers."""

    def __init__(self, width, values, seeds, frozen=False):
        super().__init__()
        if seeds:
            torch.manual_seed(0)
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.p = nn.Parameter(values(width), requires_grad=not frozen)
        self.register_buffer("table", torch.linspace(0, 1, width))

    def forward(self, x):
        x = self.entry(x).tanh()
        x = F.linear(x, self.p) if self.p.ndim == 2 else x * self.p
        return self.readout(x + self.table)


def begun(values, generator, empty=False, seeds=False, **more):
    """(the model after init_, the same before it)."""

    def make(width):
        return With(width, values, seeds, **more)

    torch.manual_seed(0)
    roles = ww.roles(make, BASE, ROWS)
    torch.manual_seed(1)
    model = make(WIDE)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        for tensor in model.state_dict().values() if empty else []:
            tensor.fill_(math.nan)
    ww.plan(model, roles, "muP").init_(generator and torch.Generator().manual_seed(generator))
    return roles, model, before


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
@pytest.mark.parametrize("seeds", [False, True])
@pytest.mark.parametrize("how", [(None, False), (2, False), (2, True)])
@pytest.mark.parametrize("case", PLACED)
def test_what_make_places_is_as_it_gives_it_there(case, how, seeds):
    """Also where make seeds its draws itself, and where the memory was empty."""
    roles, model, before = begun(PLACED[case], *how, seeds)
    assert not roles["p"].drawn
    shared = torch.equal(PLACED[case](WIDE), PLACED[case](WIDE))
    if shared or how[0] is None:
        assert torch.equal(model.p.detach(), before["p"])
    else:
        found, expected = model.p.detach(), before["p"]
        assert not torch.equal(found, expected)
        assert float(found.mean()) == pytest.approx(float(expected.mean()), rel=0.3, abs=0.3)
        assert float(found.std()) == pytest.approx(float(expected.std()), rel=0.3)
    assert torch.equal(model.table, before["table"])
    assert float(model.entry.weight.detach().std()) == pytest.approx(6**-0.5 / 3**0.5, rel=0.2)


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
@pytest.mark.parametrize("seeds", [False, True])
@pytest.mark.parametrize("case", DRAWN)
def test_what_is_drawn_has_the_base_s_law(case, seeds):
    spreads = []
    for generator in (None, 2):
        roles, model, _ = begun(DRAWN[case], generator, seeds=seeds)
        assert roles["p"].drawn
        spreads.append(float(model.p.detach().square().mean().sqrt()))
    at = roles["p"].std * ((BASE / WIDE) ** 0.5 if model.p.ndim == 2 else 1)
    assert spreads == [pytest.approx(at, rel=0.01), pytest.approx(at, rel=0.2)]


def test_zeros_that_every_draw_shares_stay_zeros():
    for generator in (None, 2):
        _, model, _ = begun(with_zeros, generator, empty=generator is not None)
        below = torch.ones(WIDE, WIDE).tril(-1).bool()
        assert not model.p[below].any() and model.p[~below].all()


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
@pytest.mark.parametrize("generator", [None, 2])
def test_frozen_parameters_are_never_drawn(generator):
    _, model, before = begun(lambda n: torch.ones(n).cumsum(0), generator, frozen=True)
    assert torch.equal(model.p, before["p"])
    _, model, before = begun(lambda n: torch.empty(n).exponential_() - 1, generator, frozen=True)
    found = model.p
    assert torch.equal(found, before["p"]) == (generator is None)
    assert float(found.detach().pow(3).mean()) > 0.2  # as make draws it


def orthogonal(width):
    readout = nn.utils.parametrizations.orthogonal(nn.Linear(width, 4))
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), readout)


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
def test_what_an_orthogonal_layer_stores_is_no_draw():
    """Its signs were scaled, and the readout was 0 for good; found in review."""
    roles = ww.roles(orthogonal, BASE, ROWS)
    for generator in (None, torch.Generator().manual_seed(0)):
        model = orthogonal(WIDE)
        ww.plan(model, roles, "muP").init_(generator)
        assert torch.allclose(model[2].weight @ model[2].weight.mT, torch.eye(4), atol=1e-4)


def test_as_made_names_what_else_stays(tmp_path):
    def make(width):
        return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 4))

    roles = ww.roles(make, BASE, ROWS, as_made=["0.*"])
    model = make(WIDE)
    before, readout = model[0].weight.detach().clone(), model[2].weight.detach().clone()
    ww.plan(model, roles, "muP").init_()
    assert torch.equal(model[0].weight, before) and not torch.equal(model[2].weight, readout)
    with refused("as_made: no parameter is named 'nothing'"):
        ww.roles(make, BASE, ROWS, as_made="nothing")
    roles.save(tmp_path / "roles.json")
    lacking = ww.plan(make(WIDE), ww.Roles.load(tmp_path / "roles.json"), "muP")
    with refused("0.weight: what make gives it at this width is not known: Roles.load.path, make"):
        lacking.init_(torch.Generator())
    again = ww.Roles.load(tmp_path / "roles.json", make)
    ww.plan(make(WIDE), again, "muP").init_(torch.Generator())


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
def test_a_number_that_follows_the_width_keeps_its_share_of_a_step():
    roles = ww.roles(lambda n: With(n, PLACED["one of the width"], False), BASE, ROWS)
    rates = {}
    for name, q in (("adamw", 0), ("sgd", 1)):
        plan = ww.plan(With(WIDE, PLACED["one of the width"], False), roles, ww.recipe("muP", name))
        rates[name] = plan.constants("p")[0] / (WIDE / BASE) ** (0.5 * (1 + q))
    assert rates == {"adamw": pytest.approx(1), "sgd": pytest.approx(1)}


def sharded():
    """What is placed, and shared by two ranks, after torchtitan's order; and what is right."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    found = []
    for case in ("ramp", "time steps", "near the identity"):
        make = partial(With, values=PLACED[case], seeds=False)
        with warnings.catch_warnings(action="ignore"):
            roles = ww.roles(make, BASE, ROWS)
        with torch.device("meta"):
            model = make(WIDE)
        plan = ww.plan(model, roles, "muP")
        fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
        model.to_empty(device="cpu")
        plan.init_(torch.Generator().manual_seed(3))
        found.append((case, model.p.full_tensor().tolist(), model.table.tolist()))
    return found


@pytest.mark.slow
def test_shards_have_what_make_places(tmp_path):
    for case, p, table in ranks.carry_out(2, sharded, folder=tmp_path):
        found, expected = torch.tensor(p), PLACED[case](WIDE)
        assert torch.allclose(found, expected, atol=1e-6 if case == "ramp" else 9), case
        assert float(found.mean()) == pytest.approx(float(expected.mean()), rel=0.3)
        assert torch.allclose(torch.tensor(table), torch.linspace(0, 1, WIDE))


def normed(width):
    hidden = nn.Linear(width, width, bias=False)
    nn.init.normal_(hidden.weight, std=0.2)
    hidden = nn.utils.parametrizations.weight_norm(hidden)
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), hidden, nn.Tanh(), nn.Linear(width, 4))


@pytest.mark.parametrize("generator", [None, 2])
def test_norms_of_what_is_drawn_follow_it(generator, tmp_path):
    """A weight normalized, whose make has one spread at every width."""
    ww.roles(normed, BASE, ROWS).save(tmp_path / "roles.json")
    roles, model = ww.Roles.load(tmp_path / "roles.json", normed), normed(WIDE)
    ww.plan(model, roles, "muP").init_(generator and torch.Generator().manual_seed(generator))
    lengths = model[2].weight.detach().norm(dim=1)
    assert float(lengths.mean()) == pytest.approx(0.2 * BASE**0.5, rel=0.1)


def test_a_readout_s_bias_has_one_spread_however_it_is_drawn():
    """Found in review: by init_() it fell with the width, and with a generator it did not."""

    def make(width):
        return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 200))

    roles, spreads = ww.roles(make, BASE, ROWS), []
    for generator in (None, torch.Generator().manual_seed(0)):
        plan = ww.plan(make(16 * BASE), roles, "muP").init_(generator)
        spreads.append(float(plan.model[2].bias.detach().std()))
    assert spreads == [pytest.approx((3 * BASE) ** -0.5, rel=0.2)] * 2
    base = make(BASE)
    before = base[2].bias.detach().clone()
    ww.plan(base, roles, "muP").init_()
    assert torch.equal(base[2].bias, before)


class Scaled(nn.Module):
    """An embedding times the root of the width, as Gemma's, and frequencies, one at the base."""

    def __init__(self, width):
        super().__init__()
        self.entry, self.readout = nn.Linear(6, width), nn.Linear(width, 4)
        self.register_buffer("scale", torch.tensor(width**0.5), persistent=False)
        self.register_buffer("rates", 0.1 ** torch.arange(width / BASE), persistent=False)

    def forward(self, x):
        return self.readout(torch.tanh(self.entry(x) * self.scale)) * self.rates.sum()


@pytest.mark.parametrize("garbage", [0.0, 3.0, -1e17, float("nan")])
def test_a_buffer_that_is_one_number_at_the_base_is_not_what_an_empty_memory_holds(garbage):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        roles = ww.roles(Scaled, BASE, ROWS, prove=False)
    with torch.device("meta"):
        model = Scaled(WIDE)
    plan = ww.plan(model, roles, "muP")
    model.to_empty(device="cpu")
    for buffer in model.buffers():
        buffer.fill_(garbage)
    plan.init_(torch.Generator().manual_seed(0))
    for name, buffer in Scaled(WIDE).named_buffers():
        assert torch.equal(buffer, model.get_buffer(name)), name


class Branching(nn.Module):
    """A norm with running statistics, and a branch on values, which no pass on meta can take."""

    def __init__(self, width):
        super().__init__()
        self.entry, self.norm = nn.Linear(6, width), nn.BatchNorm1d(width)
        self.readout = nn.Linear(width, 4)

    def forward(self, x):
        x = self.norm(self.entry(x))
        return self.readout(x if bool(x.sum() > 0) else x.relu())


def test_running_statistics_begin_as_make_gives_them_however_often_a_pass_was_tried():
    roles = ww.roles(Branching, BASE, ROWS, prove=False)
    with torch.device("meta"):
        model = Branching(WIDE)
    plan = ww.plan(model, roles, "muP")
    model.to_empty(device="cpu")
    plan.init_(torch.Generator().manual_seed(0))
    for name, buffer in Branching(WIDE).named_buffers():
        assert torch.equal(buffer, model.get_buffer(name)), name
