"""How far training moves a Transformer: its outputs, and the stream behind its last block.

Dinan, Yaida & Zhang (arXiv 2304.02034), I.2: learning-rate factors are to keep the change in the
network function of order one as the width grows.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module

import torch

from repro.data.denoising import PADDING
from repro.data.loading import Data
from repro.errors import UserError
from repro.tasks.trainable import Trainable
from repro.tasks.transformer_kernels import Trace
from repro.training.loop import Training

STRATEGY, UNIFORM = "strategy", "uniform"
ROWS = 64  # of the held-out batch that is looked at


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """The data of the task that trains."""
    return _task(spec["trains"]).load_data(spec, inputs, device)


def build(run: Trainable, *, trains: str, rates: str, **settings) -> Training:
    """A run of another task, looked at in another way; records have root mean squares over one
    held-out batch: `output_change` and `hidden_change`, since initialization, of the network's
    outputs and of what its last LayerNorm reads, and `output` and `hidden`, their size.

    trains: the task, image_classification or span_denoising. rates: "strategy", the
    parametrization's, or "uniform", `lr` for every parameter. settings: the other task's own, all
    of them.
    Raises UserError on other rates.
    """
    if rates not in (STRATEGY, UNIFORM):
        raise UserError(f"update_sizes: rates {rates!r}: choose {STRATEGY} or {UNIFORM}")
    training = _task(trains).build(run, **settings)
    if rates == UNIFORM:
        for group in training.optimizer.param_groups:
            group["lr"] = run.lr
    batch = [tensor[:ROWS] for tensor in next(iter(run.loaded.held_out))]
    # An encoder-decoder reads two of the four tensors, a classifier one of the two.
    inputs = batch[: len(batch) // 2]
    # A padded token's stream begins near zero, which LayerNorm blows up, and has no part in a loss.
    seen = batch[2] != PADDING if len(batch) > 2 else ...
    start = sizes(training.model, inputs, seen)

    def evaluate(found: Mapping) -> dict[str, float]:
        now = sizes(training.model, inputs, seen)
        changes = {f"{name}_change": _root(now[name] - start[name]) for name in now}
        return changes | {name: _root(value) for name, value in now.items()}

    return replace(training, held_out=(), evaluate=evaluate, finish=list)


@torch.no_grad()
def sizes(model: torch.nn.Module, inputs: list[torch.Tensor], seen) -> dict[str, torch.Tensor]:
    """`output` of the network, and `hidden`, what its last LayerNorm reads; without dropout, and
    of the rows or tokens `seen`."""
    training = model.training
    model.eval()
    with Trace() as trace:
        output = model(*inputs)
    model.train(training)
    return {"output": output[seen].float(), "hidden": trace.norms[-1][0][seen].float()}


def _root(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def _task(name: str):
    return import_module(f"repro.tasks.{name}")
