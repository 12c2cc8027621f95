"""nanochat and the smallest speed run, made small from their checkouts."""

import ast
import types
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks._checkouts import (
    BASE,
    HEAD_DIM,
    LAYERS,
    LENGTH,
    VOCABULARY,
    Made,
    cross_entropy,
    defines,
    package,
    parts,
    text,
    without,
)


def sized(gpt: Any, width: int, **more: int) -> nn.Module:
    """nanochat's model with heads of `HEAD_DIM`, by its module at hand."""
    heads = width // HEAD_DIM
    config = gpt.GPTConfig(
        sequence_len=LENGTH,
        vocab_size=VOCABULARY,
        n_layer=LAYERS,
        n_head=heads,
        n_kv_head=heads,
        n_embd=width,
        **more,
    )
    model = gpt.GPT(config)
    model.init_weights()
    return model


def nanochat(checkout: Path) -> Made:
    gpt, optim = (package(checkout, f"nanochat.{name}") for name in ("gpt", "optim"))
    step = without(optim, "muon_step_fused", 161)
    make = partial(sized, gpt)

    def mend(model: Any, optimizer: torch.optim.Optimizer) -> None:
        wider = model.config.n_embd / BASE
        readout, *embeddings = optimizer.param_groups[:3]
        readout["lr"] *= wider**-0.5
        readout["weight_decay"] *= wider
        for group in embeddings:
            group["lr"] *= wider**0.5
        for each in model.value_embeds.values():
            each.weight.data *= wider**0.5
        code = type(optimizer)._compute_muon.__code__  # type: ignore[attr-defined]
        method = types.FunctionType(code, vars(optim) | {"muon_step_fused": step})
        optimizer._compute_muon = types.MethodType(method, optimizer)  # type: ignore[attr-defined]

    def optimizer(model: Any) -> torch.optim.Optimizer:
        return model.setup_optimizer()

    return Made(make, optimizer, make, text, cross_entropy, mend)


def nanochat_644(checkout: Path) -> Made:
    """With muP on, by the width at which all its factors are 1."""
    plain = partial(sized, package(checkout, "nanochat.gpt"))

    def optimizer(model: Any) -> torch.optim.Optimizer:
        return model.setup_optimizer(use_mup=True, base_width=BASE)

    make = partial(plain, mup_base_width=BASE)
    return Made(make, optimizer, plain, text, cross_entropy)


class Both(torch.optim.Optimizer):
    """Two optimizers that step together."""

    def __init__(self, each: Iterable[torch.optim.Optimizer]) -> None:
        self.each = [*each]
        groups = [group for each in self.each for group in each.param_groups]
        super().__init__([p for group in groups for p in group["params"]], {})
        self.param_groups = groups  # theirs, so that a change of one is a change of both

    def step(self, closure: Any = None) -> Any:
        for each in self.each:
            each.step()


def track_3(checkout: Path) -> Made:
    """The script, whose loss alone is returned: here its logits are, by another `cross_entropy`."""
    path = checkout / "records" / "track_3_optimization" / "train_gpt_simple.py"
    alone = types.SimpleNamespace(
        get_world_size=lambda: 1, get_rank=lambda: 0, all_gather=lambda *tensors: None
    )
    logits = types.SimpleNamespace(
        **{**vars(functional), "cross_entropy": lambda logits, *targets, **how: logits}
    )
    known: dict[str, Any] = {"nn": nn, "torch": torch, "F": logits, "Path": Path}
    known |= {"Tensor": torch.Tensor, "AdamW": torch.optim.AdamW, "dist": alone}
    parts(path, defines, known)
    known["CausalSelfAttention"].__init__.__defaults__ = (HEAD_DIM,)

    def initial(node: ast.AST) -> bool:
        over = ast.unparse(node.iter) if isinstance(node, ast.For) else ""
        return over == "model.named_parameters()" and "zero_" in ast.unparse(node)

    def optimizers(node: ast.AST) -> bool:
        names = ("optimizer1", "optimizer2")
        return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names

    def make(width: int) -> nn.Module:
        model = known["GPT"](VOCABULARY, LAYERS, width).float()
        parts(path, initial, known | {"model": model})
        return model

    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        found = parts(path, optimizers, known | {"model": model})
        return Both([found["optimizer1"], found["optimizer2"]])

    def batches(seed: int) -> list:
        return [((inputs, targets), targets) for inputs, targets in text(seed)]

    def mend(model: Any, optimizer: Any) -> None:
        wider = model.proj.in_features / BASE
        readout = optimizer.each[0].param_groups[1]
        readout["lr"] /= wider
        readout["weight_decay"] *= wider

    return Made(make, optimizer, make, batches, cross_entropy, mend)
