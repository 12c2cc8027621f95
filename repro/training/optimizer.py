"""Optimizers and their parameter groups."""

from collections.abc import Mapping
from types import MappingProxyType

import torch

from repro.errors import UserError
from repro.training.adam import EPS_CONVENTIONS, FairseqAdamW
from widthwise.optimizers import muon
from widthwise.parametrization import FAMILY, KINDS, param_groups


def make_optimizer(groups: list[dict], settings: Mapping) -> torch.optim.Optimizer:
    """A fused torch optimizer over parameter groups that carry lr, weight_decay and eps.

    settings: {"name": "sgd", "momentum", "nesterov"}, or {"name": "adam" | "adamw", "betas"} with
    "amsgrad" (False if left out). adamw also "eps_convention": "torch" (the default) adds eps to
    the square root of the bias-corrected v, "fairseq" to that of the uncorrected v. Or {"name":
    "muon", "betas"}: `muon.MuonAdamW`, of groups that `make_groups` has made.
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
        return muon.MuonAdamW(groups, betas=tuple(settings["betas"]), fused=True)
    if name in ("adam", "adamw"):
        kind: type[torch.optim.Adam] = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        amsgrad = settings.get("amsgrad", False)
        convention = settings.get("eps_convention", "torch")
        if convention not in EPS_CONVENTIONS or (convention == "fairseq" and name != "adamw"):
            raise UserError(f"optimizer {name}: eps_convention {convention!r} is unknown")
        kind = FairseqAdamW if convention == "fairseq" else kind
        return kind(groups, betas=tuple(settings["betas"]), amsgrad=amsgrad, fused=True)
    raise UserError(f"optimizer {name!r} is unknown: choose from {', '.join(FAMILY)}")


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
    `parametrization.param_groups`.
    """
    groups = param_groups(
        model,
        parametrization=parametrization,
        family=FAMILY[optimizer["name"]],
        lr=lr if isinstance(lr, Mapping) else dict.fromkeys(KINDS, lr),
        weight_decay=optimizer["weight_decay"],
        eps=optimizer.get("eps"),
        coupled=optimizer["name"] in ("sgd", "adam"),
        decayed=optimizer.get("decayed", KINDS),
        factors=factors,
    )
    return muon.split(model, groups, optimizer) if optimizer["name"] == "muon" else groups
