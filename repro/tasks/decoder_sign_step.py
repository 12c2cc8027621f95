"""The first sign step of a decoder on its real loss: how far it moves the logits, and where to."""

import math
from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.func import functional_call, jvp
from torch.nn.attention import SDPBackend, sdpa_kernel

from repro import models
from repro.data.loading import load_data

LAYERS = ("embedding", "output")


def run(
    *,
    data: Mapping,
    model: Mapping,
    parametrization: str,
    init: Mapping[str, str],
    microbatches: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Move one layer of an untrained decoder along the sign of its gradient, as Adam's first step
    does, to first order in the learning rate (Hayou & Liu, arXiv 2506.15025, Section 3).

    One batch of the corpus, in float64. Returns a record per `layer`, embedding and output, at a
    learning rate of 1:
    `change`: root mean square of the logits' change, over tokens and vocabulary.
    `along_residual`: how much the loss falls, over the root mean square of the residual (predicted
        minus true probabilities): the part of the change that the step is made for.
    `loss` of the untrained decoder in nats, and `vocab_reached` by the tokenizer.
    """
    spec = {"data": data, "microbatches": microbatches, "seed": seed}
    loaded = load_data(spec, inputs, device)
    with torch.device(device):
        net = models.build(model, parametrization, **loaded.data_settings)
    models.draw(net, parametrization, seed, init)
    net = net.double()
    tokens_BT, next_BT = next(loaded.batches.from_step(0))
    logits_BTV = net(tokens_BT)
    loss = F.cross_entropy(logits_BTV.flatten(0, 1), next_BT.flatten())
    residual_BTV = logits_BTV.detach().softmax(-1)
    residual_BTV -= F.one_hot(next_BT, residual_BTV.shape[-1])
    weights = {f"{layer}.weight": getattr(net, layer).weight for layer in LAYERS}
    gradients = torch.autograd.grad(loss, list(weights.values()))
    net.requires_grad_(False)
    records = []
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):

        def moved(value: torch.Tensor, name: str = name) -> torch.Tensor:
            return functional_call(net, {name: value}, (tokens_BT,))

        # The derivative along the step is the change at a small learning rate over that rate. The
        # other kinds of attention have no such derivative.
        with sdpa_kernel(SDPBackend.MATH):
            change_BTV = jvp(moved, (weight,), (-gradient.sign(),))[1]
        records.append(
            {
                "layer": name.removesuffix(".weight"),
                "change": _root_mean_square(change_BTV),
                "along_residual": float(gradient.abs().sum()) / _root_mean_square(residual_BTV),
                "loss": float(loss.detach()),
                "vocab_reached": loaded.data_settings["vocab_size"],
            }
        )
    return records


def _root_mean_square(values: torch.Tensor) -> float:
    # Not torch's root: MKL's of a float64 differs in the last digit between makers of CPUs.
    return math.sqrt(values.square().mean())
