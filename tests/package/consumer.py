"""A training script as a user of widthwise writes it: for a strict type checker, never run."""

import torch
from torch import nn

import widthwise as ww


def make(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 4))


def batches(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    x = torch.randn(64, 6, generator=torch.Generator().manual_seed(seed))
    return [(x, x[:, :4])]


inputs, model = torch.randn(8, 6), make(256)
roles = ww.roles(make, base=64, inputs=inputs)
plan = ww.plan(model, roles, "muP").init_()
optimizer = torch.optim.AdamW(plan.groups(lr=0.01, weight_decay=0.1))
norm = ww.clip_grad_norm_(model.named_parameters(), 1.0, plan)
plan.check(optimizer)
wide, wider, growth = ww.widen(model, optimizer, 2, lambda k: make(256 * k), inputs)
constants = ww.perturb(wide, growth, 0.1, torch.Generator().manual_seed(0))
again = ww.resume(torch.optim.AdamW, wide, wider.state_dict())
check = ww.coordinate_check(make, "muP", batches, widths=[64, 128, 256], lr=0.02)
curves = ww.transfer(make, ["SP", "muP"], batches, [64, 256])
print(roles, plan, norm, constants, check.verdict, curves, ww.recipe("muP", torch.optim.AdamW))
print(again.param_groups[0]["lr"])
