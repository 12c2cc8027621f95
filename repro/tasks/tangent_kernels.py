"""Neural tangent kernels of randomly initialized Transformers, compared with the means of I.3.

Dinan, Yaida & Zhang (arXiv 2304.02034). The kernel is a sum over parts, i.e. groups of parameters
(Q, K, V, ...), measured one by one. Same networks as `repro.tasks.transformer_kernels`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from repro.errors import UserError
from repro.tasks.transformer_kernels import (
    Setting,
    Solved,
    Trace,
    _key,
    _stream,
    build,
    expected_kernels,
)
from repro.theory import transformer_kernels as theory
from widthwise.parametrization import plan, s_of, table


def run(
    *,
    model: Mapping,
    width: int,
    input_seed: int,
    draws: int,
    channels: int,
    every_block: bool,
    parametrization: str,
    points: int,
    scrambles: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Means over `draws` initializations of each part of the tangent kernel at learning rate 1.

    channels: how many components i of z_i are differentiated; at the output only components without
    contact terms. every_block: also measure the kernels of blocks before the last. parametrization:
    a member of the s-family, of a model by its name any, unless the model has its own; its initial
    scales are drawn and its learning-rate factors recorded.
    Returns a record per `block` and `part` (a group, numbered by attention-MLP pair: `Q.0`).
    `diagonal` and `off`: mean of the kernel's diagonal and of its other entries, over tokens (over
    samples if the output is pooled). `diagonal_expected` and `off_expected`: the same by the
    recursions, None for a model by its name. `sgd` and `adam`: the learning-rate factors.
    `normalized`: at the last block the diagonal after dividing each gradient by the part's root
    mean square over its entries (of a word embedding only the non-zero ones); else 0.
    """
    parametrization = model.get("parametrization", parametrization)
    s = s_of(parametrization)
    setting = build(model, width, input_seed, parametrization)
    if s is None and isinstance(setting, Solved):
        raise UserError(f"tangent_kernels: {parametrization!r} is no member of the s-family")
    network = setting.network.to(device)
    tokens = setting.inputs.to(device)
    generator = torch.Generator(device).manual_seed(_stream(seed, width))
    totals: dict[tuple[int, str], np.ndarray] = {}
    for draw in range(draws):
        plan(network, None, parametrization).init_(generator)
        for block, z in blocks(setting, tokens, channels, every_block):
            for part, kernel in parts(setting, z).items():
                last = block == setting.blocks
                values = np.array([*_means(kernel[0]), kernel[1] if last else 0.0])
                totals[block, part] = totals.get((block, part), 0) + values / draws
        if progress:
            progress(round((draw + 1) / draws, 2), float(values[0]))
    expected: dict[tuple[int, str], tuple[float | None, float | None]]
    expected = dict.fromkeys(totals, (None, None))
    if isinstance(setting, Solved):
        means = expectation(setting, model, width, input_seed, points, scrambles)
        for (block, part), pair in means.items():
            factor = scale(setting, s or 0.0, block, part)
            expected[block, part] = pair[0] * factor, pair[1] * factor
    factors = {name: rates(setting, parametrization, name) for name in ("sgd", "adam")}
    return [
        {
            "block": block,
            "part": part,
            "diagonal": float(total[0]),
            "off": float(total[1]),
            "normalized": float(total[2]),
            "diagonal_expected": expected[block, part][0],
            "off_expected": expected[block, part][1],
            **{name: factor[part.split(".")[0]] for name, factor in factors.items()},
        }
        for (block, part), total in totals.items()
    ]


def scale(setting: Solved, s: float, block: int, part: str) -> float:
    """Factor on a part at s = 0: a head's initial scale has n^(-s/2), and with it every gradient of
    the outputs but those of an untied head."""
    own = not setting.theory.tied and part in ("head", "bias")
    return 1.0 if block < setting.theory.blocks or own else setting.network.width**-s


def blocks(
    setting: Setting, tokens: torch.Tensor, channels: int, every_block: bool
) -> Iterator[tuple[int, torch.Tensor]]:
    """(block, its output z with autograd graph), z of shape (tokens or samples, channels)."""
    with Trace() as trace, sdpa_kernel(SDPBackend.MATH):
        output = setting.network(tokens)
        if every_block:
            for block, (z, _) in enumerate(trace.norms, start=1):
                yield block, z[..., :channels].flatten(0, -2)
        yield setting.blocks, output[..., setting.absent[:channels]].flatten(0, -2)


def parts(setting: Setting, z: torch.Tensor) -> dict[str, tuple[np.ndarray, float]]:
    """Part -> (kernel, normalized diagonal) for z of shape (N, channels).

    kernel (N, N): gradient of row a times gradient of row b, summed over the part's parameters,
    mean over channels. normalized: its diagonal divided by the root mean square gradient.
    """
    named = dict(setting.network.named_parameters())
    N, K = z.shape
    flat = z.flatten()
    gradients = torch.autograd.grad(
        flat,
        list(named.values()),
        torch.eye(N * K, device=z.device),
        retain_graph=True,
        is_grads_batched=True,
        allow_unused=True,
    )
    result = {}
    for name, gradient in zip(named, gradients, strict=True):
        if gradient is None:
            continue
        for part, rows in _rows(setting, name, gradient).items():
            rows = rows.flatten(1).double()
            squares = rows.square().sum(1)
            if not float(squares.max()):
                continue
            entries = (
                float((rows != 0).sum(1).double().mean()) if "embedding" in name else rows.shape[1]
            )
            mean = float(squares.mean())
            gram = (rows @ rows.T).view(N, K, N, K).diagonal(dim1=1, dim2=3).mean(-1)
            result[part] = (gram.cpu().numpy(), (mean * entries) ** 0.5)
    return result


def _rows(setting: Setting, name: str, gradient: torch.Tensor) -> dict[str, torch.Tensor]:
    """Part -> gradients. qkv has Q, K, V; a tied embedding has words read (stem), others (head)."""
    if setting.tied and name == "embedding.weight":
        absent = torch.zeros(gradient.shape[1], dtype=torch.bool, device=gradient.device)
        absent[setting.absent] = True
        return {"stem": gradient[:, ~absent], "head": gradient[:, absent]}
    names = setting.groups[name]
    return dict(zip(names, gradient.chunk(len(names), dim=1), strict=True))


def rates(setting: Setting, name: str, family: str) -> dict[str, float]:
    """Group -> learning-rate factor of a parametrization; a tied head has that of the embedding."""
    rows = table(name, family)
    result = {}
    for name, role in setting.network.roles().items():
        for part in setting.groups[name]:
            result[part.split(".")[0]] = rows[role.kind].lr(role)
        if setting.tied and name == "embedding.weight":
            result["stem"] = result["head"] = rows[role.kind].lr(role)
    return result


def expectation(
    setting: Solved, model: Mapping, width: int, input_seed: int, points: int, scrambles: int
) -> dict[tuple[int, str], tuple[float, float]]:
    """(block, part) -> mean of the expected kernel's diagonal, mean of its other entries."""
    found: dict[tuple[int, str], np.ndarray] = {}
    for _, kernels in expected_kernels(_key(model), input_seed, points, scrambles):
        chain = theory.tangents(
            setting.theory, setting.kernel, kernels, width=width, rates=setting.rates
        )
        for block, at in enumerate(chain, start=1):
            for part, kernel in at.items():
                if block == setting.theory.blocks and setting.pooled:
                    kernel = theory.pooled(kernel)
                side = round(kernel.size**0.5)
                values = np.array(_means(kernel.reshape(side, side)))
                found[block, part] = found.get((block, part), 0) + values / scrambles
    return {key: (float(value[0]), float(value[1])) for key, value in found.items()}


def _means(kernel: np.ndarray) -> tuple[float, float]:
    """Mean of a square matrix' diagonal, and of its other entries."""
    N, trace = len(kernel), np.trace(kernel)
    return trace / N, (kernel.sum() - trace) / (N * (N - 1))
