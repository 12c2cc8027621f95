"""What went wrong in silence: each is right now, refused, or warned of by name."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refused
from torch import nn

import widthwise as ww
from benchmarks.zoo.small import Transformer, mlp

BASE, WIDE = 32, 128
ROWS = torch.randn(8, 6, generator=torch.Generator().manual_seed(0))
TOKENS = torch.arange(16).reshape(2, 8) % 11


def attending(attend):
    """One head whose dimension grows; `attend` is of the case."""
    return partial(Transformer, heads=1, attend=attend)


def turned(x):
    """As RoPE turns it."""
    a, b = x.chunk(2, -1)
    cos = torch.cos(torch.arange(8.0, device=x.device))[:, None]
    return x * cos + torch.cat((-b, a), -1) * (1 - cos**2) ** 0.5


CASES = {
    "scaled before, as OPT and Whisper": (
        lambda q, k, v: F.scaled_dot_product_attention(q * q.shape[-1] ** -0.5, k, v, scale=1.0),
        -0.5,
    ),
    "a mean by hand": (
        lambda q, k, v: F.scaled_dot_product_attention(q / q.shape[-1], k, v, scale=1.0),
        -1.0,
    ),
    "scaled, then turned": (
        lambda q, k, v: F.scaled_dot_product_attention(
            turned(q * q.shape[-1] ** -0.5), turned(k), v, scale=1.0
        ),
        -0.5,
    ),
    "cosine": (
        lambda q, k, v: F.scaled_dot_product_attention(
            F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, scale=8.0
        ),
        -1.0,
    ),
    "torch's own": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), -0.5),
}


@pytest.mark.parametrize("case", CASES)
def test_what_attention_s_logits_scale_with_is_measured(case):
    attend, exponent = CASES[case]
    roles = ww.roles(attending(attend), BASE, TOKENS)
    (found,) = roles.attention
    assert found.exponent == pytest.approx(exponent)
    plan = ww.plan(attending(attend)(WIDE), roles, "muP")
    powers = [math.log(f.value, WIDE / BASE) for f in plan.factors if f.on == "logits"]
    assert powers == ([] if exponent == -1 else [pytest.approx(-1 - exponent)])


def products(q, k, v, weigh):
    return weigh(q @ k.mT) @ v


@pytest.mark.parametrize(
    "attend",
    [
        lambda q, k, v: torch.sigmoid(q @ k.mT) @ v,
        lambda q, k, v: q @ (k.mT @ v),
        lambda q, k, v: torch.sigmoid((q[:, :, :, None] * k[:, :, None]).sum(-1)) @ v,
    ],
    ids=["sigmoid", "linear", "by hand"],
)
def test_attention_without_a_softmax_is_warned_of(attend):
    with pytest.warns(UserWarning, match="^roles: attention: product"):
        roles = ww.roles(attending(attend), BASE, TOKENS)
    (line,) = roles.warnings
    assert line.startswith("attention: product of data with data gives what changes as width^1 ")


def test_attention_without_a_batch_is_attention():
    def attend(q, k, v):
        q, k, v = q[0, 0], k[0, 0], v[0, 0]
        return ((q @ k.T * q.shape[-1] ** -0.5).softmax(-1) @ v)[None, None]

    roles = ww.roles(attending(attend), BASE, TOKENS[:1])
    assert [each.exponent for each in roles.attention] == [pytest.approx(-0.5)]


class Body(nn.Module):
    """Features of rows, or of pairs of tokens, that `read` takes; n: 1, or what makes a mean."""

    def __init__(self, width, read, mean):
        super().__init__()
        self.input, self.hidden = nn.Linear(6, width), nn.Linear(width, width)
        self.token, self.other = nn.Embedding(11, width), nn.Embedding(11, width)
        self.many, self.one = nn.Parameter(torch.randn(3, width)), nn.Parameter(torch.randn(width))
        self.read, self.power = read, mean

    def forward(self, x, tokens):
        h = torch.tanh(self.hidden(torch.tanh(self.input(x))))
        y = self.read(self, h, tokens) * h.shape[-1] ** self.power
        unread = self.token(tokens[0]) + self.other(tokens[0]) + self.one + self.many[0]
        return y if y.ndim == 1 else torch.softmax(y, -1), h @ self.many.T * 0 + unread.mean(-1)[:1]


def cosine(a, b):
    return (F.normalize(a, dim=-1) * F.normalize(b, dim=-1)).sum(-1)


SUMS = {
    "prototypes": (lambda m, h, t: -(h[:, None] - m.many).pow(2).sum(-1), 1),
    "gated": (lambda m, h, t: (h * m.one).relu().sum(-1), 1),
    "a sum": (lambda m, h, t: h.sum(-1), 1),
    "an energy": (lambda m, h, t: h.square().sum(-1), 1),
    "heads": (lambda m, h, t: h.unflatten(-1, (-1, 8)).sum(1), 1),
    "a norm": (lambda m, h, t: -(m.token(t[0]) - m.other(t[1])).norm(dim=-1), 0.5),
    "machines": (lambda m, h, t: (m.token(t).sum(1) ** 2 - (m.token(t) ** 2).sum(1)).sum(-1), 1),
    "addcmul": (lambda m, h, t: torch.addcmul(m.other(t[0]), m.token(t[0]), m.one).sum(-1), 1),
    "distances": (lambda m, h, t: -(h[:, None] - h[None]).pow(2).sum(-1), 1),
    "distances, expanded": (lambda m, h, t: 2 * h @ h.T - h.square().sum(-1), 1),
    "towers": (lambda m, h, t: torch.sigmoid((m.token(t[0]) * m.other(t[1])).sum(-1)), 1),
    "what softmax weighs": (lambda m, h, t: h * h.softmax(-1) @ m.many.T, -1),
    "cosines": (lambda m, h, t: cosine(m.token(t[0]), m.other(t[1])), 0),
    "a mean": (lambda m, h, t: h.square().mean(-1), 0),
}


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
@pytest.mark.parametrize("case", SUMS)
def test_what_follows_the_width_and_no_weight_makes_up_for_is_warned_of(case):
    """With its exponent; and not where make has the factor that the line asks for."""
    read, exponent = SUMS[case]

    def told(power):
        roles = ww.roles(lambda width: Body(width, read, power), BASE, (ROWS, TOKENS))
        return [line for line in roles.warnings if "where its size should stay" in line]

    found = [f" gives what changes as width^{exponent:g} " in line for line in told(0.0)]
    assert found == [True] * bool(exponent)
    assert case == "towers" or not told(-exponent)  # in which the factor is within the sigmoid


class Clipped(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Embedding(11, width, max_norm=1.0), nn.Linear(width, 3))


def test_vectors_of_a_norm_are_warned_of():
    with pytest.warns(UserWarning, match="^roles: 0: max_norm gives"):
        (line,) = ww.roles(Clipped, BASE, TOKENS).warnings
    assert line.startswith("0: max_norm gives what changes as width^-0.5 ")


class Beside(nn.Module):
    """What it is given is put beside what grows, as a NeRF's skips and cells of an RNN have it."""

    def __init__(self, width, place):
        super().__init__()
        self.first, self.place = nn.Linear(6, width), place
        self.second = nn.Linear(width + 6 * (place == "second"), width)
        self.third = nn.Linear(width + 6 * (place == "third"), 3)

    def forward(self, x):
        h = self.first(x).tanh()
        for layer, name in ((self.second, "second"), (self.third, "third")):
            h = layer(torch.cat([h, x], -1).relu() if name == self.place else h)
        return h


@pytest.mark.parametrize("place", ["second", "third", ""])
def test_what_does_not_grow_beside_what_does_is_warned_of(place):
    """Found in review: its part of the matrix learned ever less, and the check was right."""

    def traced():
        return ww.roles(lambda width: Beside(width, place), BASE, ROWS)

    if not place:
        assert not traced().warnings
        return
    with pytest.warns(UserWarning, match=f"^roles: {place}.weight: 6 of the {BASE + 6} entries"):
        assert len(traced().warnings) == 1


def test_a_part_of_a_growing_whole_is_not():
    """Halves side by side, as rotary positions turn them, all grow."""

    class Turned(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.last = nn.Linear(6, width), nn.Linear(width, 3)

        def forward(self, x):
            a, b = self.first(x).chunk(2, -1)
            return self.last(torch.cat([-b, a], -1))

    assert not ww.roles(Turned, BASE, ROWS).warnings


class Own(nn.Module):
    """A decoder of raw parameters with a factor of its own, (width / BASE)^power, at a place."""

    def __init__(self, width, place, power, tied):
        super().__init__()
        self.embedding, self.position = nn.Embedding(11, width), nn.Parameter(torch.randn(8, width))
        self.norm, self.final = nn.LayerNorm(width), nn.LayerNorm(width)
        for name in ("q", "k", "v", "o", "w"):
            setattr(self, name, nn.Parameter(torch.randn(width, width) * width**-0.5))
        self.b = nn.Parameter(torch.randn(width))
        if not tied:
            self.r = nn.Parameter(torch.randn(11, width) * width**-0.5)
        self.place, self.factor = place, (width / BASE) ** power

    def times(self, place):
        return self.factor if place == self.place else 1.0

    def forward(self, tokens):
        """(B, T) -> (B, T, 11)."""
        x = (self.embedding(tokens) + self.position) * self.times("a sum of lookups")
        h = self.norm(x)
        q, k, v = (
            F.linear(h, getattr(self, name) * self.times(name))
            .unflatten(-1, (-1, 8))
            .transpose(1, 2)
            for name in "qkv"
        )
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + F.linear(y, self.o) * self.times("a branch")
        h = F.linear(self.norm(x) * self.times("what is read"), self.w) + self.b
        h = self.final(h.relu() * self.times("an activation"))
        return F.linear(h, getattr(self, "r", self.embedding.weight)) * self.times("a readout")


def trained(place, power, tied, recipe):
    """Outputs of three steps at four times the base width, and norms of gradients."""
    torch.manual_seed(0)
    roles = ww.roles(lambda width: Own(width, place, power, tied).double(), BASE, TOKENS)
    assert len(roles.warnings) == tied
    torch.manual_seed(0)
    model = Own(WIDE, place, power, tied).double()
    plan = ww.plan(model, roles, recipe).init_()
    optimizer = plan.recipe.optimizer.kind(plan.groups(0.01, 0.1))
    found = []
    for _ in range(3):
        output = model(TOKENS)
        optimizer.zero_grad()
        output.square().mean().backward()
        found += [output.detach(), ww.clip_grad_norm_(model.parameters(), 0.1, plan)[None]]
        optimizer.step()
    return found


PLACES = ("a sum of lookups", "q", "v", "a branch", "what is read", "an activation", "a readout")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_factor_of_a_layer_s_own_is_taken_off_initial_values_and_rates(place, optimizer):
    """Before and after steps the network is the one without that factor."""
    recipe = ww.recipe("muP", optimizer)
    for tied in (False, True):
        plain = trained("", 0.0, tied, recipe)
        for power in (-0.5, 1.0) if place != "q" else (-0.5,):
            torch.testing.assert_close(trained(place, power, tied, recipe), plain)


class Reads(nn.Module):
    """A readout; `read` is of the case."""

    def __init__(self, width, read):
        super().__init__()
        self.input, self.readout = nn.Linear(6, width), nn.Linear(width, 1, bias=False)
        self.read = read

    def forward(self, x):
        return self.read(torch.tanh(self.input(x)), self.readout)


def by_layer(h, readout):
    return readout(h)


def own_mean(h, readout):
    return readout(h * (1 / h.shape[-1]))


def own_mean_after(h, readout):
    return readout(h) / h.shape[-1]


@pytest.mark.parametrize("read", [own_mean, own_mean_after])
@pytest.mark.parametrize("name", ["muP", "muP-multiplier"])
def test_a_readout_with_a_mean_of_its_own_gets_the_rest_and_no_more(read, name):
    """At four times the width the net factor is the recipe's."""
    found, values = [], Reads(WIDE, by_layer).state_dict()
    for each in (by_layer, read):
        torch.manual_seed(0)
        roles = ww.roles(lambda width, r=each: Reads(width, r), BASE, ROWS)
        assert roles["readout.weight"].kind == "output"
        model = Reads(WIDE, each)
        model.load_state_dict(values)
        ww.plan(model, roles, name).init_()
        found.append(model(ROWS) * (BASE if each is not by_layer else 1))
    torch.testing.assert_close(*found)


class Sums(nn.Module):
    """A readout that is no product of matrices."""

    def __init__(self, width):
        super().__init__()
        self.input, self.vector = nn.Linear(6, width), nn.Parameter(torch.randn(width) / width)

    def forward(self, x):
        return (torch.tanh(self.input(x)) * self.vector).sum(-1, keepdim=True)


def test_a_readout_written_as_a_sum_is_a_readout():
    roles = ww.roles(Sums, BASE, ROWS)
    assert roles["vector"].kind == "output"
    groups = ww.plan(Sums(WIDE), roles, "muP").groups(1.0)
    assert [g["lr"] for g in groups if g["names"] == ["vector"]] == [0.25]


class Plain(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv1d(1, width, 3, padding=1), nn.BatchNorm1d(width), nn.ReLU()),
            *(nn.Conv1d(width, width, 3, padding=1), nn.LayerNorm(6)),
        )
        self.readout, self.gain = nn.Linear(width, 4), nn.Parameter(torch.tensor(2.0))
        self.register_buffer("table", torch.linspace(0, 1, 6))

    def forward(self, x):
        return self.readout(self.gain * (self.body(x[:, None]) * self.table).mean(-1))


@pytest.mark.parametrize("width", [BASE, WIDE])
@pytest.mark.parametrize("saved", [False, True])
def test_after_to_empty_every_tensor_has_its_values(width, saved, tmp_path):
    """Gains, biases, numbers and buffers too, and at the base width as well."""
    roles = ww.roles(Plain, BASE, ROWS)
    if saved:
        roles.save(tmp_path / "roles.json")
        roles = ww.Roles.load(tmp_path / "roles.json")
    torch.manual_seed(1)
    made = Plain(width)
    ww.plan(made, roles, "muP").init_()
    with torch.device("meta"):
        model = Plain(width)
    with refused("is on the meta device: model.to_empty"):
        ww.plan(model, roles, "muP").init_()
    model.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.fill_(float("nan") if tensor.is_floating_point() else 77)
    with refused("has no values yet"):
        ww.plan(model, roles, "muP").init_()
    ww.plan(model, roles, "muP").init_(torch.Generator().manual_seed(2))
    for name, expected in made.state_dict().items():
        found = model.state_dict()[name]
        if roles.found.get(name) and roles[name].drawn:
            rms = [float(t.square().mean().sqrt()) for t in (found, expected)]
            few = min(expected.numel(), roles.found[name].shape[0])
            assert rms[0] == pytest.approx(rms[1], rel=4 / few**0.5), name
        else:
            assert torch.equal(found, expected), name


def test_a_factor_of_a_file_on_an_embedding_or_a_gain_is_held_by_it(tmp_path):
    path = tmp_path / "factors.py"
    path.write_text(
        "from dataclasses import replace\n"
        "from widthwise.parametrization import Power, table\n"
        "TIED = Power(n_in=-1)\n"
        "def rules(family):\n"
        "    rows = dict(table('muP', family))\n"
        "    half = Power(n_out=-1 / 2)\n"
        "    rows['embedding'] = replace(rows['embedding'], multiplier=half)\n"
        "    return rows\n"
    )

    def make(width):
        return nn.Sequential(nn.Embedding(11, width), nn.LayerNorm(width), nn.Linear(width, 3))

    roles, model = ww.roles(make, BASE, TOKENS), make(WIDE)
    std = roles["0.weight"].std
    ww.plan(model, roles, str(path)).init_()
    assert float(model[0].weight.detach().square().mean().sqrt()) == pytest.approx(std / 2)
    path.write_text(path.read_text().replace("rows['embedding']", "rows['vector']"))
    ww.plan(model := make(WIDE), roles, str(path)).init_().init_()
    assert model[1].weight.eq(1 / 2).all()


class Complex(nn.Module):
    """A complex parameter, and the complex buffer of RoPE."""

    def __init__(self, width):
        super().__init__()
        self.input, self.readout = nn.Linear(6, width), nn.Linear(width, 3)
        self.filter = nn.Parameter(torch.randn(width, dtype=torch.complex64))
        self.register_buffer("freqs_cis", torch.polar(torch.ones(6), torch.arange(6.0)))

    def forward(self, x):
        x = (x * self.freqs_cis).real
        return self.readout((self.input(x) * self.filter).real)


def test_complex_parameters_and_buffers_are_traced_and_drawn():
    roles = ww.roles(Complex, BASE, ROWS)
    assert roles["filter"].kind == "vector"
    model = Complex(WIDE)
    ww.plan(model, roles, "muP").init_(torch.Generator().manual_seed(0))
    assert model.filter.imag.abs().max() > 0.1
    assert float(model.filter.detach().abs().square().mean()) == pytest.approx(1, rel=0.4)
    assert torch.equal(model.freqs_cis, Complex(WIDE).freqs_cis)


make = mlp(6, 3)


def planned(width=WIDE, recipe="muP"):
    return ww.plan(make(width), ww.roles(make, BASE, ROWS), recipe).init_()


def stepped(optimizer, scheduler=None):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = torch.ones_like(p)
    optimizer.step()
    if scheduler:
        scheduler.step()


def test_a_schedule_that_flattens_the_factors_is_told():
    schedulers = torch.optim.lr_scheduler

    def found(schedule, lr=0.01):
        plan = planned()
        optimizer = torch.optim.AdamW(plan.groups(0.01, 0.1), lr=lr)
        stepped(optimizer, schedule(optimizer))
        return plan, optimizer

    rates = [g["lr"] for g in planned().groups(0.01)]
    for right in (
        lambda o: schedulers.CosineAnnealingLR(o, 10),
        lambda o: schedulers.LambdaLR(o, lambda step: 0.5),
        lambda o: schedulers.OneCycleLR(o, max_lr=rates, total_steps=10),
    ):
        plan, optimizer = found(right)
        plan.check(optimizer)
        plan, optimizer = found(right, 1e-3)  # of transformers, a min_lr is over that
        with refused(r"own lr is 0.001, which some schedules read .* lr=lr\)"):
            plan.check(optimizer)
    for wrong in (
        lambda o: schedulers.CosineAnnealingLR(o, 10, eta_min=0.001),
        lambda o: schedulers.OneCycleLR(o, max_lr=0.01, total_steps=10),
    ):
        plan, optimizer = found(wrong)
        with refused("a schedule or a checkpoint has set it"):
            plan.check(optimizer)
    plan = planned()
    optimizer = torch.optim.AdamW(plan.groups(0.01, 0.1))
    for group in optimizer.param_groups:
        group["lr"] = 0.003 * group["lr_scale"]
    plan.check(optimizer)
    for group in optimizer.param_groups:
        group["lr"] = 0.003
    with refused("lr_scale"):
        plan.check(optimizer)


def test_other_ways_to_lose_a_factor_are_told():
    plan = planned(recipe="muP-multiplier")
    with refused("the plan has made no groups yet"):
        plan.check(torch.optim.AdamW(plan.model.parameters()))
    optimizer = torch.optim.AdamW(plan.groups(0.01, 0.1))
    plain = torch.optim.AdamW([{"params": g["params"]} for g in plan.groups(0.01, 0.1)], lr=0.01)
    optimizer.load_state_dict(plain.state_dict())
    with refused("its rate .*the optimizer's groups are not the plan's"):
        plan.check(optimizer)
    optimizer = torch.optim.AdamW(plan.groups(0.01, 0.1))
    with refused("is not the model's"):
        plan.check(torch.optim.AdamW(make(WIDE).parameters()))
    plan.check(optimizer)
    with refused("is trained and is not in the optimizer"):
        plan.check(torch.optim.AdamW(plan.groups(0.01, 0.1)[:1]))


def test_a_plan_is_one_and_remembers_its_recipe():
    roles, model = ww.roles(make, BASE, ROWS), make(WIDE)
    with refused(
        r"plan: takes \(model, roles, recipe\), as of make\(width\), not \(int, Roles, str"
    ):
        ww.plan(WIDE, roles, "muP")
    with refused("did you mean 'muP'"):
        ww.recipe("mup")
    plan = ww.plan(model, roles, "muP-multiplier")
    assert plan.groups(torch.tensor(0.5))[0]["lr"] == plan.groups(0.5)[0]["lr"]
    before = model(ROWS)
    assert ww.plan(model, roles, "muP-multiplier") is plan
    assert torch.equal(model(ROWS), before)
    with refused("has a plan already, muP-multiplier, adamw, independent"):
        ww.plan(model, roles, "LVP")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lr": float("nan")}, "lr nan: give a rate above 0"),
        ({"lr": -1.0}, "lr -1.0: give a rate above 0"),
        ({"lr": 0.0}, "lr 0.0: give a rate above 0"),
        ({"lr": torch.ones(2)}, "lr is a Tensor, no number: give a rate above 0"),
        ({"lr": {"hidden": 0.0}}, "lr of hidden 0.0: give a rate above 0"),
        ({"lr": 0.1, "weight_decay": float("nan")}, "weight_decay nan: give a number"),
        ({"lr": 0.1, "weight_decay": -0.1}, "weight_decay -0.1: give a number"),
        ({"lr": 0.1, "eps": float("inf")}, "eps inf: give a number"),
        ({"lr": 0.1, "factors": {"0.weight": -1.0}}, "0.weight -1.0: give a number"),
    ],
)
def test_constants_with_which_no_training_is_meant_are_refused(settings, said):
    with refused(said):
        planned().groups(**settings)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.NAdam, "adam", "nadam"])
def test_the_decay_of_an_optimizer_that_has_both_is_asked_for(kind):
    with refused('give the recipe decay="coupled", or "independent"'):
        planned(recipe=ww.recipe("muP", kind)).groups(0.1, 0.1)
    factors = {}
    for decay in ("coupled", "independent", "plain"):
        groups = planned(recipe=ww.recipe("muP", kind, decay)).groups(0.1, 0.1)
        factors[decay] = {g["kind"]: g["weight_decay"] for g in groups}
    adamw = planned().groups(0.1, 0.1)
    assert factors["independent"] == {g["kind"]: g["weight_decay"] for g in adamw}
    assert {*factors["plain"].values()} == {0.1} and factors["coupled"]["vector"] == 0.1 / 4
    assert planned(recipe=ww.recipe("muP", kind)).groups(0.1)[0]["weight_decay"] == 0


def test_a_model_as_made_keeps_its_values():
    def small(width):
        model = make(width)
        for p in model.parameters():
            nn.init.normal_(p, std=0.02)
        return model

    torch.manual_seed(0)
    roles = ww.roles(small, BASE, ROWS)
    spreads = {}
    for name in ("SP", "as-made"):
        torch.manual_seed(0)
        plan = ww.plan(small(WIDE), roles, name).init_()
        spreads[name] = float(plan.model[2].weight.detach().std())
        assert {g["lr"] for g in plan.groups(0.1)} == {0.1}
    assert spreads["as-made"] == pytest.approx(0.02, rel=0.05)
    assert spreads["SP"] == pytest.approx(0.01, rel=0.1)
    with refused("as-made leaves values as made"):
        plan.init_(torch.Generator())
