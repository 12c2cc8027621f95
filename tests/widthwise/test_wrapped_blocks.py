"""Blocks that are wrapped after the plan was made, and torchtitan's order of it all."""

import pytest
import ranks
import torch
from refusals import refused
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

import widthwise as ww
from widthwise.identity import bare, identity, named

ROWS = torch.randn(8, 6, generator=torch.Generator().manual_seed(0))


class Block(nn.Module):
    """A user's own module may be called `module`."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.module = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.module(self.norm(x)).tanh()


def make(width):
    blocks = nn.Sequential(Block(width), Block(width))
    return nn.Sequential(nn.Linear(6, width), blocks, nn.Linear(width, 4))


def compiled(block):
    return torch.compile(block, backend="eager")


WRAPS = {
    "checkpoint_wrapper": checkpoint_wrapper,
    "torch.compile": compiled,
    "DataParallel": nn.DataParallel,
    "both": lambda block: compiled(checkpoint_wrapper(block)),
}


def wrap_blocks(model, wrap):
    for i, block in enumerate(model[1]):
        model[1][i] = wrap(block)


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("when", ["after the groups", "before them", "before the plan"])
def test_a_wrapped_block_is_the_same(wrap, when):
    """Its rates, what clips it, its check; found in review: refused in either order."""
    roles, model = ww.roles(make, 32, ROWS), make(128)
    alone = ww.plan(make(128), roles, "muP").init_()
    if when == "before the plan":
        wrap_blocks(model, WRAPS[wrap])
    plan = ww.plan(model, roles, "muP").init_()
    if when == "after the groups":
        optimizer = torch.optim.AdamW(plan.groups(0.01))
    if when != "before the plan":
        wrap_blocks(model, WRAPS[wrap])
    if when != "after the groups":
        optimizer = torch.optim.AdamW(plan.groups(0.01))
    plan.check(optimizer)
    alone.groups(0.01)
    assert plan.given == alone.given
    model(ROWS).square().mean().backward()
    norms = [
        ww.clip_grad_norm_(parameters, 1e9, plan)
        for parameters in (model.parameters(), model.named_parameters())
    ]
    assert norms[0] == norms[1] > 0


def test_names_are_those_of_the_bare_model():
    model = make(8)
    names = [name for name, _ in model.named_parameters()]
    blocks = [*model[1]]
    wrap_blocks(model, WRAPS["both"])
    assert [name for name, _ in named(model)] == names
    assert [name for name, _ in named(nn.DataParallel(model))] == names
    assert bare(model[1][0]) is blocks[0]
    assert identity(model, "1.0._orig_mod._checkpoint_wrapped_module.module") == "1.0.module"


def test_a_parameter_that_was_flattened_or_emptied_is_told():
    """Found in review: "has 1 axes and is no matrix"."""
    for change, said in ((torch.flatten, "flattened"), (lambda p: p.new_empty(0), "emptied")):
        model = make(64)
        plan = ww.plan(model, ww.roles(make, 32, ROWS), ww.recipe("muP", "muon"))
        model[1][0].module.weight = nn.Parameter(change(model[1][0].module.weight.detach()))
        with refused(f"module.weight: was {said} after the plan was"):
            plan.groups(0.01)
        with refused(f"module.weight: was {said} after the plan was"):
            plan.init_()


def titan():
    """meta, plan, wrap, shard, to_empty, init_, groups, a step, a checkpoint, a resume, check."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    roles, mesh = ww.roles(make, 32, ROWS), init_device_mesh("cpu", (1,))

    def begun(wrap):
        torch.manual_seed(0)  # on a CPU, DTensor draws by it and not by the generator
        with torch.device("meta"):
            model = make(128)
        plan = ww.plan(model, roles, "muP")
        wrap_blocks(model, wrap)
        for block in model[1]:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        model.to_empty(device="cpu")
        plan.init_(torch.Generator().manual_seed(0))
        return plan, torch.optim.AdamW(plan.groups(0.01, 0.1))

    def step(plan, optimizer):
        optimizer.zero_grad()
        loss = plan.model(ROWS).square().mean()
        loss.backward()
        ww.clip_grad_norm_(plan.model.parameters(), 1.0, plan)
        optimizer.step()
        plan.check(optimizer)
        return float(loss.detach())

    losses = []
    for wrap in (lambda block: block, WRAPS["both"]):
        plan, optimizer = begun(wrap)
        plan.check(optimizer)
        step(plan, optimizer)
        held = dict(zip(("model", "optim"), get_state_dict(plan.model, optimizer), strict=True))
        store = f"checkpoint{len(losses)}"
        dcp.save(held, checkpoint_id=store)
        own = step(plan, optimizer)
        plan, optimizer = begun(wrap)
        held = dict(zip(("model", "optim"), get_state_dict(plan.model, optimizer), strict=True))
        dcp.load(held, checkpoint_id=store)
        both = {"model_state_dict": held["model"], "optim_state_dict": held["optim"]}
        set_state_dict(plan.model, optimizer, **both)
        plan.check(optimizer)
        losses += [own, step(plan, optimizer)]
    return losses


@pytest.mark.slow
def test_torchtitan_s_order(tmp_path, monkeypatch):
    """With wrapped blocks and without, resumed or not, training is one."""
    monkeypatch.chdir(tmp_path)
    losses = ranks.carry_out(1, titan, folder=tmp_path)
    assert len(losses) == 4 and max(losses) - min(losses) < 1e-6
