"""The optimizer file of examples/optimizers: Hyperball over Muon and Adam, held to its formula."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww
from repro.lineage.checkout import ROOT
from widthwise.files import names_in
from widthwise.optimizers._muon_adamw import orthogonalized

PATH = str(ROOT / "examples" / "optimizers" / "hyperball.py")
FILE = names_in(PATH)
BASES = {"Muon": FILE["UPDATE"], "Adam": FILE["ADAM"]}
X, Y = torch.randn(2, 32, 6, generator=torch.Generator().manual_seed(0)).double().unbind()
LR = 0.03


def net(width=16):
    layers = nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 2 * width), nn.Tanh()
    return nn.Sequential(*layers, nn.Linear(2 * width, 6)).double()


def planned(update, lr=LR, weight_decay=0.1, seed=0):
    """(model, optimizer) at twice the base width."""
    torch.manual_seed(seed)
    roles, model = ww.roles(net, 8, X), net()
    plan = ww.plan(model, roles, ww.recipe("muP", update)).init_()
    return model, plan.recipe.optimizer.kind(plan.groups(lr, weight_decay))


def stepped(model, optimizer, steps):
    for k in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(X), Y.roll(k, 0)).backward()
        optimizer.step()
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def loss_of(model):
    return F.mse_loss(model(X), Y).item()


def by_formula(base, gradients, weight, lr):
    """W <- R Norm(W - lr R Norm(u)), u of Jordan's Muon or of Kingma & Ba's Adam."""
    radius = weight.pow(2).sum().sqrt()
    average, square = torch.zeros_like(weight), torch.zeros_like(weight)
    for step, gradient in enumerate(gradients, 1):
        if base == "Muon":
            average = 0.95 * average + 0.05 * gradient
            update = orthogonalized(0.05 * gradient + 0.95 * average)
        else:
            average = 0.9 * average + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            scaled = average / (1 - 0.9**step)
            update = scaled / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
        moved = weight - lr * radius * update / update.pow(2).sum().sqrt()
        weight = radius * moved / moved.pow(2).sum().sqrt()
    return weight


def alone(base, weight, **more):
    """The optimizer of one matrix."""
    group = {"params": [weight], "lr": LR, "weight_decay": 0.1} | more
    return FILE["CLASS"]([group | BASES[base].matrices])


@pytest.mark.parametrize("base", BASES)
def test_a_step_is_the_formula_s_and_decay_does_nothing(base):
    generator = torch.Generator().manual_seed(0)
    start, *gradients = torch.randn(5, 12, 20, generator=generator, dtype=torch.float64)
    weight = nn.Parameter(start.clone())
    optimizer = alone(base, weight)
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
    expected = by_formula(base, gradients, start, LR)
    torch.testing.assert_close(weight.detach(), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("base", BASES)
def test_matrices_between_widths_keep_their_norm_and_no_others_do(base):
    model, optimizer = planned(BASES[base])
    before = {name: p.detach().norm() for name, p in model.named_parameters()}
    change = {
        name: abs(float(p.norm() / before[name]) - 1)
        for name, p in stepped(model, optimizer, 20).items()
    }
    assert change.pop("2.weight") < 1e-12
    assert min(change.values()) > 1e-3


def test_all_other_parameters_are_adamw_s():
    model, optimizer = planned(FILE["UPDATE"])
    other, adamw = planned(FILE["UPDATE"])
    groups = [group for group in adamw.param_groups if "hyperball" not in group]
    found = stepped(model, optimizer, 1)
    expected = stepped(other, torch.optim.AdamW(groups), 1)
    assert not torch.equal(found.pop("2.weight"), expected.pop("2.weight"))
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-12, atol=0)


@pytest.mark.parametrize("base", BASES)
def test_where_the_formula_has_no_value_a_matrix_stays(base):
    """A zero gradient has no direction, the sphere of a zero matrix is a point."""
    start = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)).double()
    still, zero = nn.Parameter(start.clone()), nn.Parameter(torch.zeros_like(start))
    still.grad, zero.grad = torch.zeros_like(start), torch.ones_like(start)
    alone(base, still).step()
    torch.testing.assert_close(still.detach(), start, rtol=1e-14, atol=0)
    optimizer = alone(base, zero)
    with pytest.warns(UserWarning, match=r"a matrix \(4, 6\) is zero and stays so"):
        optimizer.step()
    optimizer.step()
    assert not zero.any()


@pytest.mark.parametrize("base", BASES)
def test_a_run_goes_on_from_what_was_saved(base):
    model, optimizer = planned(BASES[base])
    stepped(model, optimizer, 2)
    saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    rest, resumed = planned(BASES[base], seed=1)
    rest.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    expected, found = stepped(model, optimizer, 2), stepped(rest, resumed, 2)
    assert all(torch.equal(found[name], expected[name]) for name in found)


@pytest.mark.parametrize("base", BASES)
def test_a_matrix_that_is_stored_as_inputs_by_outputs_is_moved_alike(base):
    start, gradient = torch.randn(2, 5, 9, generator=torch.Generator().manual_seed(0)).double()
    either, other = nn.Parameter(start.clone()), nn.Parameter(start.T.clone())
    for weight, its_gradient, more in (
        (either, gradient, {}),
        (other, gradient.T, {"transposed": True}),
    ):
        weight.grad = its_gradient.clone()
        alone(base, weight, **more).step()
    torch.testing.assert_close(other.detach().T, either.detach(), rtol=1e-10, atol=1e-12)


def test_a_closure_sees_the_weights_and_not_the_zeros_between():
    model, optimizer = planned(FILE["UPDATE"])
    expected = loss_of(model)

    def closure():
        loss = F.mse_loss(model(X), Y)
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == expected


def test_five_lines_of_a_user_s_train_with_it_and_the_plan_knows_its_steps():
    torch.manual_seed(0)
    model = net(32)
    plan = ww.plan(model, ww.roles(net, 8, X), ww.recipe("muP", PATH)).init_()
    optimizer = plan.recipe.optimizer.kind(plan.groups(lr=0.02))
    plan.check(optimizer)
    before = loss_of(model)
    stepped(model, optimizer, 10)
    assert loss_of(model) < before
    assert plan.recipe.optimizer.name == "hyperball"


@pytest.mark.parametrize(
    ("update", "power"),
    [("MUON_AS_PUBLISHED", 0), ("ADAM_AS_PUBLISHED", 0), ("MUON", -1 / 2), ("ADAM", -1 / 2)],
)
def test_the_rate_of_a_hidden_matrix_follows_the_width_as_the_file_says(update, power):
    plan = ww.plan(net(32), ww.roles(net, 8, X), ww.recipe("muP", FILE[update]))
    rates = [group["lr"] for group in plan.groups(1.0) if "hyperball" in group]
    assert rates == [pytest.approx(math.pow(4, power))]


@pytest.mark.slow  # some seconds of a coordinate check
def test_steps_of_a_small_batch_grow_as_the_root_of_the_width_unless_rates_fall_so():
    """As published, the effect of the matrix between two widths grows as R beside its spectral
    norm, for Muon as for Adam."""
    mlp = names_in(str(ROOT / "examples" / "mlp.py"))
    for name, verdict, law in (
        ("MUON_AS_PUBLISHED", "wrong", 1 / 2),
        ("ADAM_AS_PUBLISHED", "wrong", 1 / 2),
        ("MUON", "right", 0),
        ("ADAM", "right", 0),
    ):
        recipe = ww.recipe("muP", FILE[name])
        check = ww.coordinate_check(
            mlp["make"], recipe, mlp["batches"], (64, 128, 256, 512), lr=0.005, seeds=4
        )
        (effect,) = (s for s in check.slopes if (s.layer, s.quantity) == ("2.weight", "effect"))
        assert check.verdict == verdict, name
        assert effect.slope == pytest.approx(law, abs=0.1)


def test_the_page_has_a_row_for_each_optimizer_that_was_compared():
    """After a change: python -m benchmarks.hyperball --write docs/transfer.md"""
    from benchmarks import hyperball

    page = (ROOT / "docs" / "transfer.md").read_text().partition("<!-- table -->\n")[2]
    rows = [line.split(" | ") for line in page.partition("<!-- end -->")[0].splitlines()[2:]]
    names = [hyperball.recipe(name).optimizer.name for name in hyperball.GRIDS]
    assert [row[0].removeprefix("| ") for row in rows] == names
