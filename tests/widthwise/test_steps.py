"""`Plan.check` knows for which steps its rates are, and whether init_() was called."""

import copy
import pickle
import re
import warnings
from pathlib import Path

import pytest
import torch
from refusals import refused
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

import widthwise as ww
from benchmarks.zoo.small import mlp

BASE, WIDE = 32, 128
ROWS = torch.randn(8, 6, generator=torch.Generator().manual_seed(0))
make = mlp(6, 3)
optim = torch.optim


def planned(*recipe, width=WIDE, begun=True, decay=0.1):
    plan = ww.plan(make(width), ww.roles(make, BASE, ROWS), ww.recipe("muP", *recipe))
    groups = (plan.init_() if begun else plan).groups(0.01, decay)
    return plan, groups


def one_line(plan, optimizer):
    """What is said of an optimizer."""
    with refused() as told:
        plan.check(optimizer)
    assert str(told.value).startswith("check: ")
    return str(told.value)


@pytest.mark.parametrize("kind", [optim.SGD, optim.RMSprop, optim.Adagrad, optim.NAdam])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_another_optimizer_than_the_plan_s_is_told(kind, decay):
    """By its degree; of the same degree, by where its decay acts."""
    plan, groups = planned(decay=decay)
    if kind is optim.SGD or decay:
        said = one_line(plan, kind(groups))
        assert "the plan's rates are for adamw" in said or "weight decay is apart" in said
        mend = "decay='coupled'" if kind is optim.NAdam else f"ww.recipe('muP', {kind.__name__})"
        assert mend in said
    else:
        plan.check(kind(groups))
    mended, groups = planned(kind, "coupled" if kind is optim.NAdam else None, decay=decay)
    assert mended.check(kind(groups)) is None  # what it says to do is right


def test_sgd_s_plan_is_none_for_adamw():
    plan, groups = planned(optim.SGD)
    assert "are for sgd, and AdamW makes other steps" in one_line(plan, optim.AdamW(groups))


FOLLOW = {
    "Adafactor": "the size of each weight",
    "RAdam": "the gradient's size at some steps, and not at others",
    "Adadelta": "its eps",
    "Rprop": "no rate that is set after the first",
}


@pytest.mark.parametrize("kind", FOLLOW)
def test_steps_that_no_table_has_rates_for_are_told(kind):
    """Also of Adafactor, whose eps is a pair: the plan's, a number, would end its first step."""
    plan, groups = planned()
    said = one_line(plan, getattr(optim, kind)(groups))
    assert f"{kind}'s steps follow {FOLLOW[kind]}" in said and "choose from" in said
    with refused("its steps follow .* no table has rates: choose from"):
        ww.recipe("muP", getattr(optim, kind))


def _orthogonal(g):
    left, _, right = torch.linalg.svd(g, full_matrices=False)
    return left @ right


ODD = {
    "the size of the whole tensor, as width\\^-.* at step 3": lambda g, t, _: g / g.norm(),
    "the gradient's size to the power .* at step 100": lambda g, t, _: g if t < 50 else g.sign(),
    "the gradients of other tensors": lambda g, t, of: (
        g.sign() * g.norm() / sum(map(torch.norm, of))
    ),
    "singular values of a tensor": lambda g, t, _: _orthogonal(g) if g.ndim == 2 else g.sign(),
}


@pytest.mark.parametrize("follows", ODD)
def test_steps_are_seen_late_and_on_tensors_of_every_shape(follows):
    """Found in review: NovoGrad, PSGD Kron, Shampoo and Prodigy passed for Adam's or SGD's kin."""

    class Odd(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})
            self.count = 0

        @torch.no_grad()
        def step(self, closure=None):
            self.count += 1
            for group in self.param_groups:
                grads = [p.grad for p in group["params"]]
                for p, g in zip(group["params"], grads, strict=True):
                    if g.any():
                        p.sub_(group["lr"] * ODD[follows](g, self.count, grads))

    with refused(f"its steps follow .*{follows}"):
        ww.recipe("muP", Odd)
    plan, groups = planned(decay=0.0)
    with refused(f"{follows}|AdamW? makes other|Odd makes other"):
        plan.check(Odd(groups, 0.01))


class InEightBits(optim.Optimizer):
    """As bitsandbytes' AdamW8bit: moments in 256 levels, and no float64."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0):
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                assert p.dtype == torch.float32
                state = self.state[p] or {"m": p * 0, "v": p * 0, "step": 0}
                self.state[p], state["step"] = state, state["step"] + 1
                for key, beta, new in zip("mv", group["betas"], (p.grad, p.grad**2), strict=True):
                    moment = state[key].lerp(new, 1 - beta)
                    unit = moment.abs().max() / 255
                    state[key] = (moment / unit).round() * unit if unit else moment
                m, v = (
                    state[key] / (1 - beta ** state["step"])
                    for key, beta in zip("mv", group["betas"], strict=True)
                )
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))


class ScheduleFree(InEightBits):
    """Asks for a mode, as ScheduleFree's do, and goes to the mean of its steps."""

    def __init__(self, params, **settings):
        super().__init__(params, **settings)
        self.trains = False

    def train(self):
        self.trains = True

    @torch.no_grad()
    def step(self, closure=None):
        assert self.trains, "optimizer.train() was not called"
        held = [p.clone() for group in self.param_groups for p in group["params"]]
        super().step()
        for p, old in zip((p for g in self.param_groups for p in g["params"]), held, strict=True):
            p.lerp_(old, 0.5)


class Sgd(optim.Optimizer):
    """Steps of signs: no moments, no eps, no decay."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(group["lr"] * p.grad.sign())


@pytest.mark.parametrize("kind", [InEightBits, ScheduleFree])
def test_what_makes_adamw_s_steps_is_it_by_any_name(kind):
    plan, groups = planned()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan.check(kind(groups))
        found = ww.recipe("muP", kind)
    assert (found.optimizer.degree, found.optimizer.decoupled, found.decay) == (
        0,
        True,
        "independent",
    )
    plan, groups = planned(optim.SGD)
    assert "are for sgd, and" in one_line(plan, kind(groups))


def test_a_name_says_nothing():
    sgd = type("AdamW", (optim.SGD,), {})
    plan, groups = planned(decay=0.0)
    assert "AdamW makes other steps (as large as the gradient)" in one_line(plan, sgd(groups))
    plan.check(Sgd(groups, 0.1))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Adopt", "is added to the gradient"),
        ("AdamWLegacy", ""),
        ("Adan", ""),
        ("LaProp", ""),
        ("Lion", ""),
        ("Mars", ""),
        ("NAdamW", ""),
        ("Lamb", "follow with a weight decay, the size of each weight"),
        ("Lars", "follow with a weight decay, the size of each weight"),
        ("MADGRAD", "follow the gradient's size to the power 0.33"),
        ("Muon", "makes other steps (those of matrices orthogonal, as large as the width^0.5)"),
        ("SGDW", "makes other steps (as large as the gradient)"),
    ],
)
def test_timm_s_are_told(name, said):
    kind = getattr(pytest.importorskip("timm.optim"), name)
    plan, groups = planned()
    if said:
        assert said in one_line(plan, kind(groups, lr=0.01))
    else:
        plan.check(kind(groups))


def test_looking_at_an_optimizer_changes_nothing():
    plan, groups = planned()
    optimizer = optim.AdamW(groups)
    before, state = copy.deepcopy(optimizer.state_dict()), torch.random.get_rng_state()
    steps = []
    handle = register_optimizer_step_post_hook(lambda *_: steps.append(1))
    plan.check(optimizer)
    handle.remove()
    assert not steps and optimizer.state_dict() == before
    assert torch.equal(torch.random.get_rng_state(), state)


def test_decay_that_acts_elsewhere_than_the_plan_s_is_told():
    plan, groups = planned()
    said = one_line(plan, optim.Adam(groups))
    assert "the plan's weight decay is apart from the gradient" in said
    assert "is added to the gradient" in said and "decay='coupled'" in said
    plan.check(optim.Adam(plan.groups(0.01, 0.1), decoupled_weight_decay=True))
    plan, groups = planned(optim.Adam, "coupled")
    plan.check(optim.Adam(groups))
    assert "decay='independent'" in one_line(plan, optim.AdamW(groups))
    plan, groups = planned(decay=0.0)
    plan.check(optim.Adam(groups))


def test_kin_of_the_plan_s_optimizer_pass():
    class Mine(optim.AdamW):
        """Made before any AdamW was, torch gives it a step that wraps AdamW's."""

    class Wrapped:
        """As accelerate and Lightning have it."""

        def __init__(self, optimizer):
            self.optimizer, self.param_groups = optimizer, optimizer.param_groups

    plan, groups = planned()
    mine = Mine(groups)
    Mine.step = optim.Optimizer.profile_hook_step(optim.AdamW.step)
    for optimizer in (mine, Wrapped(optim.AdamW(groups)), [mine]):
        assert plan.check(optimizer) is None
    assert ww.recipe("muP", Mine).optimizer.kind is Mine
    assert "SGD makes other steps" in one_line(plan, Wrapped(optim.SGD(groups)))


def test_an_optimizer_that_is_not_known_is_not_judged_and_that_is_said():
    class Mine(optim.AdamW):
        def step(self, closure=None):
            """Something else."""

    class Other(optim.Optimizer):
        pass

    plan, groups = planned()
    for optimizer in (Mine(groups), Other(groups, {})):
        with pytest.warns(UserWarning, match=f"{type(optimizer).__name__} makes such steps cannot"):
            plan.check(optimizer)
    update = ww.Update(0, decoupled=True, path=Other)
    plan, groups = planned(update)
    plan.check(Other(groups, {}))
    assert "makes other steps" in one_line(plan, optim.SGD(groups))


def test_an_optimizer_that_a_file_says_nothing_of_the_class_of_is_its_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import widthwise\nUPDATE = widthwise.Update(0, decoupled=True)\n")

    class Mine(optim.Optimizer):
        pass

    plan, groups = planned(str(path))
    plan.check(Mine(groups, {}))
    assert "SGD makes other steps" in one_line(plan, optim.SGD(groups))


@pytest.mark.parametrize("name", ["muon", "muon-match-rms"])
def test_muon_s_groups_are_for_muon_and_the_rest_for_adamw(name):
    plan, groups = planned(name)
    hidden = [g for g in groups if g["kind"] == "hidden"]
    rest = [g for g in groups if g["kind"] != "hidden"]
    plan.check(plan.recipe.optimizer.kind(groups))
    for wrong in ([optim.AdamW(groups)], [optim.AdamW(hidden), optim.AdamW(rest)]):
        assert "2.weight: the plan's rates are for muon" in one_line(plan, wrong)
    if hasattr(optim, "Muon"):
        plan.check([optim.Muon(hidden), optim.AdamW(rest)])
        said = one_line(plan, [optim.Muon(hidden), optim.SGD(rest)])
        assert "(here adamw), and SGD makes other steps" in said
        plan, groups = planned()
        hidden = [g for g in groups if g["kind"] == "hidden"]
        assert "for adamw, and Muon makes other" in one_line(plan, optim.Muon(hidden))


def test_one_rate_for_everything_is_told_before_what_follows_from_it():
    plan, groups = planned()
    for lr in (0.01, 0.003):
        said = one_line(plan, optim.AdamW(plan.model.parameters(), lr=lr))
        assert "2.weight: its rate is" in said and "AdamW(plan.groups(lr, weight_decay))" in said
        assert "eps is" not in said
    by_hand = [{key: g[key] for key in ("params", "lr", "weight_decay")} for g in groups]
    said = one_line(plan, optim.AdamW(by_hand))
    assert "its eps is 1e-08, and the plan gave 2.5e-09" in said and "plan.groups(lr" in said
    plan = planned()[0]
    plan.given.clear()
    assert "no optimizer has its rates" in one_line(plan, optim.AdamW(plan.model.parameters()))


def test_an_init_that_was_forgotten_is_told_before_and_after_steps():
    plan, groups = planned(begun=False)
    optimizer = optim.AdamW(groups)
    assert "plan.init_() was not called" in one_line(plan, optimizer)
    plan.model(ROWS).square().mean().backward()
    optimizer.step()
    said = one_line(plan, optimizer)
    name, own, its = re.match(r"check: (.+): its .* of (\S+), .* plan's is (\S+): ", said).groups()
    own, its = float(own), float(its)
    by_init = copy.deepcopy(plan).init_().model.get_parameter(name)
    assert max(own / its, its / own) > 1.5
    assert its == pytest.approx(float(by_init.detach().square().mean().sqrt()), rel=0.01)
    assert plan.keep() is plan and plan.check(optimizer) is None


@pytest.mark.parametrize("recipe", ["muP", "as-made"])
def test_what_init_would_leave_alone_needs_none(recipe):
    width = BASE if recipe == "muP" else WIDE
    plan = ww.plan(make(width), ww.roles(make, BASE, ROWS), recipe)
    plan.check(optim.AdamW(plan.groups(0.01, 0.1)))


@pytest.mark.parametrize("key, value", [("weight_decay", 0.3), ("eps", 1e-6)])
def test_what_an_optimizer_is_given_beside_its_groups_is_told(key, value):
    """Each group has its own, so that torch takes it for none."""
    plan, groups = planned()
    for ours in ({}, {"weight_decay": 0.1}):
        plan.check(optim.AdamW(plan.groups(0.01, 0.1), **ours))
    optimizer = optim.AdamW(groups, **{key: value})
    assert all(group[key] != value for group in optimizer.param_groups)
    assert f"plan.groups({key}={value:.4g})" in one_line(plan, optimizer)


def test_values_that_were_set_anew_after_init_are_told():
    plan, _ = planned()
    optimizer = optim.AdamW(plan.groups(0.01))
    plan.check(optimizer)
    fresh = make(WIDE)
    with torch.no_grad():
        for p, q in zip(plan.model.parameters(), fresh.parameters(), strict=True):
            p.copy_(q)
    assert "comes before it" in one_line(plan, optimizer)
    plan.keep().check(optimizer)


def test_weights_that_are_loaded_need_no_init():
    """Into the model, into what wraps it, and into a copy or a pickle of it."""
    for way in (lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        for around in (lambda m: m, nn.Sequential):
            plan = planned(begun=False)[0]
            plan = vars(way(plan.model))["_widthwise_plan"]
            optimizer = optim.AdamW(plan.groups(0.01))
            assert "plan.init_() was not called" in one_line(plan, optimizer)
            whole = around(plan.model)
            whole.load_state_dict(copy.deepcopy(whole.state_dict()))
            assert plan.check(optimizer) is None


def test_a_model_that_was_trained_before_its_plan_says_so():
    narrow = make(BASE)
    wide, _, _ = ww.widen(narrow, None, 4, lambda k: make(BASE * k), ROWS)
    plan = ww.plan(wide, ww.roles(make, BASE, ROWS), "muP")
    optimizer = optim.AdamW(plan.groups(0.01))
    assert "plan.keep(), where these are trained weights" in one_line(plan, optimizer)
    plan.keep().check(optimizer)


def heads(width):
    """README's Llama has width // 16 heads."""
    of_a_head = width // (width // 16)
    return nn.Sequential(nn.Linear(6, width), nn.Unflatten(1, (-1, of_a_head)))


@pytest.mark.parametrize(
    ("of", "width", "factor", "said"),
    [
        (heads, 64, 4, r"make\(4\) failed: ZeroDivisionError: .* \(test_steps.py, line"),
        (make, 8, 4, r"0.weight is \(8, 6\) in the model and \(4, 6\) in make\(4\)"),
        (make, 2, 4, r"0.weight is \(2, 6\) in the model and \(4, 6\) in make\(4\)"),
    ],
)
def test_a_make_that_takes_a_width_is_told_that_it_is_given_a_factor(of, width, factor, said):
    mend = r": make is given the factor .* give lambda k: make\(width \* k\)"
    for more in ({"inputs": ROWS}, {"unchecked": True}):
        with refused(rf"^widen: {said}.*{mend}"):
            ww.widen(of(width), None, factor, of, **more)


def test_nothing_is_said_of_what_is_right():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan, groups = planned()
        assert plan.check(optim.AdamW(groups)) is None


def test_what_a_partial_load_lacked_has_its_initial_values_by_init_():
    """Found in review: a new head on a loaded backbone kept the spread that make gave it."""
    trained = {k: 3 * v for k, v in make(WIDE).state_dict().items() if not k.startswith("2.")}
    for before in (False, True):
        plan, _ = planned(begun=before)
        if not before:  # as DDP is, around it
            parallel = nn.DataParallel(plan.model)
            parallel.load_state_dict({f"module.{k}": v for k, v in trained.items()}, strict=False)
            assert plan.lacking == {"2.weight", "2.bias"}
        right = planned()[0].model.get_parameter("2.weight").square().mean()
        assert plan.model.load_state_dict(trained, strict=False).missing_keys
        optimizer = optim.AdamW(plan.groups(0.01))
        if not before:
            assert "2.bias: was not among the weights" in one_line(plan, optimizer)
            plan.init_()
        plan.check(optimizer)
        state = plan.model.state_dict()
        assert all(torch.equal(state[name], value) for name, value in trained.items())
        assert state["2.weight"].square().mean().item() == pytest.approx(right.item(), rel=0.2)


def test_init_scales_no_weights_that_were_loaded():
    plan, _ = planned()
    plan.model.load_state_dict(make(WIDE).state_dict())
    with refused("were loaded or plan.keep"):
        plan.init_()
    plan.init_(torch.Generator().manual_seed(0))


def test_values_of_another_spread_after_init_are_told_and_zeros_are_not():
    for change, said in (
        (lambda p: nn.init.normal_(p, std=0.1), "plan.init_() left"),
        (nn.init.zeros_, ""),
    ):
        plan, _ = planned()
        change(plan.model.get_parameter("2.weight"))
        optimizer = optim.AdamW(plan.groups(0.01))
        if said:
            assert said in one_line(plan, optimizer)
        else:
            plan.check(optimizer)


def test_a_drawn_embedding_keeps_its_row_of_padding_at_zero():
    """Found in review: that row gets no gradient, and stayed as drawn; a backbone of transformers
    has a padding_idx and no weight."""

    def words(width):
        model = nn.Sequential(nn.Embedding(9, width, padding_idx=2), nn.Linear(width, 3))
        model.padding_idx = 2
        return model

    plan = ww.plan(words(64), ww.roles(words, 16, torch.tensor([[0, 1], [3, 4]])), "muP")
    table = plan.init_(torch.Generator().manual_seed(0)).model[0].weight
    assert not table[2].any() and table[3].any()


@pytest.mark.filterwarnings("ignore:roles:UserWarning")
def test_a_matrix_of_equal_entries_stays_as_make_gives_it():
    """Found in review: 1/n became n^-1/2 as soon as the width was not the base's."""

    def mixing(width):
        model = make(width)
        nn.init.constant_(model[2].weight, 1 / width)
        return model

    plan = ww.plan(mixing(WIDE), ww.roles(mixing, BASE, ROWS), "muP").init_()
    assert (plan.model[2].weight == 1 / WIDE).all()


def test_no_class_that_is_taken_stands_wrong_in_the_table_of_others():
    """After a change: python -m benchmarks.optimizers --write docs/optimizers.md"""
    rows = (Path(__file__).parents[2] / "docs/optimizers.md").read_text().splitlines()
    verdicts = [
        row.split(" | ")[1] for row in rows if row.startswith(("| torch", "| timm", "| py"))
    ]
    assert len(verdicts) > 150 and {*verdicts} <= {"right", "unclear", "refused", "matrices"}
