"""A plan on models and optimizers of one's own, from roles to what is saved and served."""

import copy
from functools import partial

import pytest
import torch
from refusals import refused
from torch import nn

import widthwise as ww
from benchmarks.zoo import hugging_face
from benchmarks.zoo.small import mlp
from widthwise.optimizers._muon_adamw import ADJUSTMENTS, orthogonalized
from widthwise.optimizers.known import shipped

BASE, WIDE = 32, 128
ROWS = torch.randn(8, 6, generator=torch.Generator().manual_seed(0))


make = mlp(6, 3)


def planned(recipe="muP", width=WIDE):
    return ww.plan(make(width), ww.roles(make, BASE, ROWS), recipe).init_()


def test_a_recipe_prints_its_table():
    text = str(ww.recipe("muP", "adamw"))
    assert text.splitlines()[0].startswith("muP, adamw, independent; factors")
    assert [line.split()[0] for line in text.splitlines()[2:7]] == [
        *("embedding", "hidden", "output", "vector", "scalar")
    ]
    assert "in^-1" in text and "of a tied readout: in^-1" in text


def test_roles_are_those_of_the_file_they_were_saved_in(tmp_path):
    roles = ww.roles(make, BASE, ROWS)
    roles.save(tmp_path / "roles.json")
    again = ww.Roles.load(tmp_path / "roles.json")
    assert (again.found, again.attention, str(again)) == (roles.found, roles.attention, str(roles))
    (tmp_path / "roles.json").write_text("{}")
    with refused("is no file that Roles.save wrote"):
        ww.Roles.load(tmp_path / "roles.json")


def test_make_may_take_a_mapping_and_inputs_may_be_keywords():
    class Named(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body = make(width)

        def forward(self, rows, scale):
            return self.body(rows * scale)

    roles = ww.roles(
        lambda size: Named(size["width"]),
        base={"width": BASE, "depth": 2},
        inputs={"rows": ROWS, "scale": torch.ones(())},
    )
    assert {name.removeprefix("body."): role for name, role in roles.items()}.keys() == {
        *ww.roles(make, BASE, ROWS)
    }
    with refused('has no "width"'):
        ww.roles(make, {"depth": 2}, ROWS)


@pytest.mark.parametrize("name", ["muon", "muon-unit-rms", "muon-match-rms"])
def test_muon_s_updates_have_the_spectral_norm_that_mup_asks_for(name):
    """At every width: with its adjustment and its rate, of a matrix between two widths."""
    recipe, norms = ww.recipe("muP", name), {}
    for width in (BASE, WIDE):
        (group,) = (g for g in planned(recipe, width).groups(0.1) if g["kind"] == "hidden")
        factor = ADJUSTMENTS[group["adjust_lr_fn"]](width, width)
        update = orthogonalized(
            torch.randn(width, width, generator=torch.Generator().manual_seed(0))
        )
        norms[width] = group["lr"] * factor * float(torch.linalg.matrix_norm(update, 2))
        assert group["lr"] * group["weight_decay"] == 0
    assert norms[WIDE] == pytest.approx(norms[BASE], rel=0.1)
    (sp,) = (g for g in planned(ww.recipe("SP", name)).groups(0.1) if g["kind"] == "hidden")
    assert sp["lr"] == 0.1


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch has no Muon")
def test_torch_s_muon_takes_the_hidden_matrices_with_a_rate_of_their_own():
    plan = planned(ww.recipe("muP", torch.optim.Muon))
    rates = {**dict.fromkeys(("embedding", "output", "vector", "scalar"), 0.01), "hidden": 0.05}
    groups = plan.groups(rates, 0.1)
    muon = torch.optim.Muon([g for g in groups if g["kind"] == "hidden"])
    rest = torch.optim.AdamW([g for g in groups if g["kind"] != "hidden"])
    plan.model(ROWS).square().mean().backward()
    before = copy.deepcopy(plan.model)
    for optimizer in (muon, rest):
        optimizer.step()
    assert all(
        not torch.equal(a, b)
        for a, b in zip(before.parameters(), plan.model.parameters(), strict=True)
    )
    plan.check([muon, rest])
    assert [g["lr"] for g in muon.param_groups] == [0.05]
    with refused("is trained and is not in the optimizer"):
        plan.check(rest)


def test_lion_and_an_optimizer_of_a_file_have_groups_like_adamw_s_without_eps(tmp_path):
    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-4, weight_decay=0.0):
            super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.sub_(p.grad.sign(), alpha=group["lr"])

    path = tmp_path / "sign.py"
    path.write_text("import widthwise\nUPDATE = widthwise.Update(0, decoupled=True)\n")
    adamw = [(g["lr"], g["weight_decay"], g["names"]) for g in planned().groups(0.1, 0.2)]
    for optimizer in (Lion, "lion", str(path)):
        plan = planned(ww.recipe("muP", optimizer))
        groups = plan.groups(0.1, 0.2)
        assert [(g["lr"], g["weight_decay"], g["names"]) for g in groups] == adamw
        assert all("eps" not in g for g in groups)
        plan.check(Lion(groups))
    assert ww.recipe("muP", Lion).optimizer.kind is Lion
    with refused("has no such class"):
        _ = ww.recipe("muP", "soap").optimizer.kind
    path.write_text("UPDATE = 3")
    with refused("defines no UPDATE, a widthwise.Update"):
        ww.recipe("muP", str(path))
    assert {"sgd", "adamw", "muon", "lion", "soap"} <= shipped().keys()


def test_the_clipped_norm_is_the_narrow_model_s():
    """The same function widened by hand has the same norm, by its plan."""
    torch.manual_seed(0)
    narrow = make(BASE).double()
    wide, _, growth = ww.widen(narrow, None, 4, lambda k: make(BASE * k), ROWS.double())
    plan = ww.plan(wide, ww.roles(make, BASE, ROWS), "muP")
    norms = []
    for model, widths in ((narrow, None), (wide, growth), (wide, plan)):
        model.zero_grad()
        model(ROWS.double()).square().mean().backward()
        if widths is None:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1e-3))
        else:
            norms.append(ww.clip_grad_norm_(model.parameters(), 1e-3, widths))
    torch.testing.assert_close(norms[1:], norms[:1] * 2)
    with refused("is not of the plan's model"):
        ww.clip_grad_norm_(make(BASE).parameters(), 1.0, plan)


llama = partial(hugging_face.llama, depth=1, tied=True, vocab_size=64)


def test_a_llama_of_hugging_face_s_trains_saves_loads_and_resumes_with_its_plan(tmp_path):
    """Batches are mappings; its heads' dimension grows and its readout is tied."""
    from safetensors.torch import load_file, save_file

    walks = torch.randint(1, 4, (4, 4, 12), generator=torch.Generator().manual_seed(0)).cumsum(-1)
    batches = [{"input_ids": walk, "labels": walk} for walk in walks % 64]
    roles = ww.roles(llama, 32, batches[0])
    assert roles["lm_head.weight" if "lm_head.weight" in roles else "model.embed_tokens.weight"]

    def begun(seed):
        torch.manual_seed(seed)
        plan = ww.plan(llama(64), roles, "muP").init_()
        return plan, torch.optim.AdamW(plan.groups(0.01, 0.1))

    def steps(plan, optimizer, some):
        losses = []
        for batch in some:
            optimizer.zero_grad()
            loss = plan.model(**batch).loss
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    plan, optimizer = begun(0)
    assert {factor.on for factor in plan.factors} == {"input", "logits"}
    steps(plan, optimizer, batches[:2])
    weights = {k: v.clone() for k, v in plan.model.state_dict().items() if k != "lm_head.weight"}
    save_file(weights, tmp_path / "model.safetensors")
    torch.save(optimizer.state_dict(), tmp_path / "optimizer.pt")
    expected = steps(plan, optimizer, batches[2:])

    plan, optimizer = begun(1)
    plan.model.load_state_dict(load_file(tmp_path / "model.safetensors"), strict=False)
    optimizer.load_state_dict(torch.load(tmp_path / "optimizer.pt"))
    plan.check(optimizer)
    assert steps(plan, optimizer, batches[2:]) == pytest.approx(expected, rel=1e-5)
    bare = llama(64)
    bare.load_state_dict(plan.model.state_dict())
    assert bare(**batches[0]).loss.item() == plan.model(**batches[0]).loss.item()

    found = ww.coordinate_check(llama, "muP", batches, [32, 64], steps=1, seeds=1)
    assert found.widths == (32, 64)


@pytest.mark.parametrize("name", ["SGD", "AdamW", "NAdam", "Adamax", "Adagrad", "RMSprop"])
def test_a_recipe_by_class_is_the_one_by_name(name):
    kind = getattr(torch.optim, name)
    assert ww.recipe("muP", kind) == ww.recipe("muP", name)
    model = make(2 * BASE)
    first = ww.plan(model, ww.roles(make, BASE, ROWS), ww.recipe("muP", name))
    assert ww.plan(model, first.roles, ww.recipe("muP", kind)) is first


def test_a_class_is_known_by_what_it_does():
    class Mine(torch.optim.AdamW):
        pass

    class Other(torch.optim.AdamW):
        def step(self, closure=None):
            """Something else."""

    class Muon(torch.optim.Optimizer):
        """Makes no step."""

    mine = ww.recipe("muP", Mine)
    assert mine.optimizer.kind is Mine and mine.rules == ww.recipe("muP").rules
    assert "Mine" in mine.label and mine != ww.recipe("muP")
    theirs = getattr(torch.optim, "Muon", None)  # since torch 2.9
    assert theirs is None or ww.recipe("muP", theirs).optimizer.kind is theirs
    assert type(ww.recipe("muP", "muon").optimizer.kind) is type(Muon)
    for kind in (Other, Muon):
        with refused(f"{kind.__name__}: .*a file that defines UPDATE"):
            ww.recipe("muP", kind)


def test_a_plan_prints_a_table():
    row = planned().rows[2]
    std = row.pop("std")
    assert list(row.values()) == ["2.weight", "hidden", 4, 4, 0.25, 4] and std < 0.1
    lines = str(planned("muP-multiplier")).splitlines()
    assert lines[0].startswith("muP-multiplier, adamw, independent; widths, rates and decay")
    assert lines[1].split() == ["parameter", "kind", "in", "out", "lr", "weight", "decay"]
    assert "2.weight   hidden" in lines[4] and lines[4].split()[2:] == ["4", "4", "0.25", "4"]
    assert lines[-1] == "4.weight: product times 0.25 (4.weight times 0.25)"
    assert len(lines) == 2 + 6 + 1
