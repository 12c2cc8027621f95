"""Optimizers and their parameter groups."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import torch

from repro.errors import UserError, did_you_mean
from repro.training.adam import FairseqAdamW
from repro.training.settings import EPS_CONVENTIONS, OPTIMIZERS
from widthwise.optimizers import known
from widthwise.parametrization import KINDS, plan, recipe


def make_optimizer(groups: list[dict], settings: Mapping) -> torch.optim.Optimizer:
    """A fused torch optimizer over parameter groups that carry lr, weight_decay and eps.

    settings: {"name": "sgd", "momentum", "nesterov"}, or {"name": "adam" | "adamw", "betas"} with
    "amsgrad" (False if left out). adamw also "eps_convention": "torch" (the default) adds eps to
    the square root of the bias-corrected v, "fairseq" to that of the uncorrected v. Or {"name":
    "muon", "betas"}: `MuonAdamW` of `widthwise`, of groups that `make_groups` has made.
    Raises UserError on another name or convention.
    """
    name = settings["name"]
    if name == "sgd":
        return torch.optim.SGD(
            groups,
            momentum=settings["momentum"],
            nesterov=settings["nesterov"],
            fused=True,
        )
    if name == "muon":
        return known.find(name).kind(groups, betas=tuple(settings["betas"]), fused=True)
    if name in ("adam", "adamw"):
        kind: type[torch.optim.Adam] = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        amsgrad = settings.get("amsgrad", False)
        convention = settings.get("eps_convention", "torch")
        if convention not in EPS_CONVENTIONS or (convention == "fairseq" and name != "adamw"):
            raise UserError(f"optimizer {name}: eps_convention {convention!r} is unknown")
        kind = FairseqAdamW if convention == "fairseq" else kind
        return kind(groups, betas=tuple(settings["betas"]), amsgrad=amsgrad, fused=True)
    raise UserError(f"optimizer {name!r} is unknown: {did_you_mean(name, OPTIMIZERS)}")


def make_groups(
    model,
    parametrization: str,
    optimizer: Mapping,
    lr: float | Mapping[str, float],
    factors: Mapping[str, float] = MappingProxyType({}),
) -> list[dict]:
    """Parameter groups for the optimizer under a parametrization.

    optimizer: settings as in `make_optimizer`, and "weight_decay", "decayed" (kinds of role that
    decay, all if left out), for Adam and Muon "eps", for Muon "momentum" and "adjust_lr_fn". lr:
    the constant of every role, or kind of role -> constant. factors: see
    `Plan.groups` of `widthwise`.
    """
    update = known.find(optimizer["name"])
    if update.matrices is not None:
        update = replace(update, matrices={key: optimizer[key] for key in update.matrices})
    # Adam's decay is added to the gradient, as the class does by default.
    its_recipe = recipe(parametrization, update, "independent" if update.decoupled else "coupled")
    return plan(model, None, its_recipe).groups(
        lr,
        optimizer["weight_decay"],
        eps=optimizer.get("eps"),
        decayed=optimizer.get("decayed", KINDS),
        factors=factors,
    )
