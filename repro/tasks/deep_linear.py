"""Deep linear MLPs of finite width: trained, widened, perturbed, trained further (E.3 and E.4).

Ma et al. (arXiv 2602.10545). Weights by name, from the output: A and the last one (the input layer)
are frozen vectors; the ones between are trained matrices.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from repro.errors import UserError
from repro.theory import upscaling_limit
from widthwise.upscaling import Growth

ENTRIES = 2**21  # numbers in one batch of wide matrices: 8 MB in float32


def run(
    *,
    layers: int,
    width: int,
    factor: int,
    steps_before: int,
    steps_after: int,
    x: float,
    target: float,
    sigma: float,
    lr: float,
    lr_up: float,
    noise: Mapping[str, float],
    draws: int,
    updates: str,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Train `draws` independent networks of one width and compare the output y_t with its limit.

    lr, lr_up, sigma, noise: base constants gamma, gamma_up, sigma, sigma_Delta of muP's SGD.
    updates: "matrices" trains every matrix in float64; "products" computes the same y from vectors
    alone (`by_products`), with matrices drawn in float32.
    Runs that differ only in noise and lr_up start from the same networks.
    Returns a record per step t. Over draws: `mean` and `spread` (standard deviation) of y_t, and
    `rms`, the root mean square of y_t - `limit`. y' is the output of the narrow network trained
    further without upscaling: `gap`, `gap_rms` and `gap_max` are mean, root mean square and largest
    size of y_t - y'_(t-1), `limit_alone` is the limit of y'_(t-1). `phase` is "after" from
    t = steps_before on; before, y and y' are equal.
    """
    if updates not in ("products", "matrices"):
        raise UserError(f"updates {updates!r} is unknown: choose products or matrices")
    names = upscaling_limit.NAMES[layers]
    if set(noise) != set(names):
        raise UserError(f"noise is given for {sorted(noise)}: {layers} layers have {names}")
    carry_out = by_products if updates == "products" else by_matrices
    dtype = torch.float32 if updates == "products" else torch.float64
    # Weights and noise come from separate streams, so that other noise leaves the weights the same.
    base, added = (
        torch.Generator(device).manual_seed(_stream(seed, layers, width, part)) for part in range(2)
    )
    settings: dict[str, Any] = {
        "factor": factor,
        "steps_before": steps_before,
        "steps_after": steps_after,
        "x": x,
        "target": target,
        "lr": lr,
        "lr_up": lr_up,
    }
    found: list[torch.Tensor] = []
    alone: list[torch.Tensor] = []
    # As many networks at a time as the memory for ENTRIES numbers holds.
    batch = max(1, ENTRIES // (factor * width) ** 2)
    for first in range(0, draws, batch):
        count = min(batch, draws - first)
        weights = gaussians(dict.fromkeys(names, sigma), width, count, base, dtype)
        noises = gaussians(noise, factor * width, count, added, dtype)
        upscaled, narrow = carry_out(weights, noises, **settings)
        found.append(upscaled.cpu())
        alone.append(narrow.cpu())
        if progress:
            loss = (found[-1][:, -1] - target).square().mean() / 2
            progress(round((first + count) / draws, 2), float(loss))
    y, without = torch.cat(found).numpy(), torch.cat(alone).numpy()
    expected = upscaling_limit.limit(layers, sigma=sigma, noise=noise, **settings)
    steps = np.arange(y.shape[1])
    after = steps >= steps_before
    # Upscaling takes the place of one step: y_t is compared with step t - 1 of the narrow network.
    lagging = steps - after
    difference = y - without[:, lagging]
    expected_alone = upscaling_limit.continued(
        layers, steps=len(steps) - 1, x=x, target=target, sigma=sigma, lr=lr
    )[lagging]
    rms = np.sqrt(np.mean((y - expected) ** 2, axis=0))
    return [
        {
            "step": t,
            "phase": "after" if after[t] else "before",
            "mean": float(y[:, t].mean()),
            "spread": float(y[:, t].std(ddof=1)),
            "limit": float(expected[t]),
            "limit_alone": float(expected_alone[t]),
            "rms": float(rms[t]),
            "gap": float(difference[:, t].mean()),
            "gap_rms": float(np.sqrt(np.mean(difference[:, t] ** 2))),
            "gap_max": float(np.abs(difference[:, t]).max()),
        }
        for t in steps.tolist()
    ]


def _stream(*key: int) -> int:
    return int(np.random.SeedSequence(key).generate_state(1)[0])


def gaussians(
    constants: Mapping[str, float],
    width: int,
    draws: int,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> dict[str, torch.Tensor]:
    """Gaussian weights or noise under muP: name -> (draws, width) or (draws, width, width).

    constants: name -> standard deviation, which for matrices is multiplied by width^-1/2. The first
    and the last name are vectors. A constant of 0 draws nothing and takes no memory.
    """
    first, *_, last = constants
    result = {}
    for name, constant in constants.items():
        vector = name in (first, last)
        shape = (draws, width) if vector else (draws, width, width)
        std = constant if vector else constant * width**-0.5
        if std == 0:
            result[name] = torch.zeros((), dtype=dtype, device=generator.device).expand(shape)
        else:
            result[name] = torch.empty(shape, dtype=dtype, device=generator.device)
            result[name].normal_(0, std, generator=generator)
    return result


def by_matrices(
    weights: Mapping[str, torch.Tensor],
    noise: Mapping[str, torch.Tensor],
    *,
    factor: int,
    steps_before: int,
    steps_after: int,
    x: float,
    target: float,
    lr: float,
    lr_up: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """y_t of the upscaled networks, and of the narrow ones trained further, training all matrices.

    weights, noise: from `gaussians` at the narrow and the wide width; not changed.
    Returns arrays (draws, steps_before + steps_after + 1) and (draws, steps_before + steps_after).
    """
    narrow = {name: tensor.clone() for name, tensor in weights.items()}
    before = _descend(narrow, steps_before - 1, x=x, target=target, lr=lr)
    wide = {}
    for name, tensor in narrow.items():
        # (draws, out, in) of a matrix, (draws, width) of the first and the last layer.
        growth = Growth((1, *[factor] * (tensor.dim() - 1)), (2,) if tensor.dim() == 3 else ())
        wide[name] = growth.repeat(tensor, growth.weight) + noise[name]
    after = _descend(wide, steps_after, x=x, target=target, lr=lr_up)
    alone = _descend(narrow, steps_after, x=x, target=target, lr=lr)
    return torch.stack(before + after, 1), torch.stack(before + alone[1:], 1)


def _descend(
    weights: dict[str, torch.Tensor], steps: int, *, x: float, target: float, lr: float
) -> list[torch.Tensor]:
    """Gradient descent in place on the hidden matrices; returns y before and after every step."""
    output, *hidden, first = weights.values()
    found = []
    for step in range(steps + 1):
        activations = [x * first]
        for matrix in reversed(hidden):
            activations.append(_times(matrix, activations[-1]))
        width = output.shape[1]
        found.append((output * activations.pop()).sum(1) / width)
        if step == steps:
            break
        gradient = (found[-1] - target)[:, None] * output / width
        for matrix in hidden:
            back = _times(matrix.mT, gradient)
            matrix -= lr * gradient[:, :, None] * activations.pop()[:, None, :]
            gradient = back
    return found


def by_products(
    weights: Mapping[str, torch.Tensor],
    noise: Mapping[str, torch.Tensor],
    *,
    factor: int,
    steps_before: int,
    steps_after: int,
    x: float,
    target: float,
    lr: float,
    lr_up: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same as `by_matrices`, equal in exact arithmetic, from the vectors b_t = B_t^T A and
    c_t = h_t^(2) alone.

    Updates of B and C are outer products with the frozen A and h^(1). So y_t = b_t c_t / n, and
    each vector's update needs only the other vector. Each matrix is read once, which is faster.
    """
    output, first = weights["A"].double(), x * _last(weights).double()
    C = weights.get("C") if "D" in weights else None

    def times_B(vector):
        return _times(weights["B"].mT, vector)

    def repeat(vector):
        return vector.repeat_interleave(factor, 1)

    def block_mean(vector):
        return vector.double().reshape(len(vector), -1, factor).mean(2)

    # The narrow network, up to the upscaling and then further without it.
    trained: dict[str, Any]
    trained = {"output": output, "first": None if C is None else first, "target": target}
    b, c = times_B(output), first if C is None else _times(C, first)
    before, b, c, b_sum, c_sum = _follow(b, c, steps_before - 1, lr=lr, **trained)
    alone, *_ = _follow(b, c, steps_after, lr=lr, **trained)

    # Upscaling: b and c of the wide matrices, B_wide^T A_wide and C_wide h_wide. Copies of B add up
    # to B^T mean(A_wide), the mean over the copies of a neuron; noise adds products of its own.
    shift = block_mean(noise["A"])
    output_up = repeat(output) + noise["A"].double()
    b_up = b + times_B(shift) - lr * _dot(output, shift) * c_sum
    b_up = repeat(b_up) + _times(noise["B"].mT, output_up)
    first_up = repeat(first) + x * _last(noise).double()
    if C is None:
        c_up = first_up
    else:
        shift = x * block_mean(_last(noise))
        c_up = c + _times(C, shift) - lr * _dot(first, shift) * b_sum
        c_up = repeat(c_up) + _times(noise["C"], first_up)
    trained = {"output": output_up, "first": None if C is None else first_up, "target": target}
    after, *_ = _follow(b_up, c_up, steps_after, lr=lr_up, **trained)
    return torch.stack(before + after, 1), torch.stack(before + alone[1:], 1)


def _follow(b, c, steps: int, *, output, first, target: float, lr: float):
    """y before and after every step, final b and c, and the sums of L'(y) b / n and L'(y) c / n."""
    found, width = [], output.shape[1]
    b_sum, c_sum = torch.zeros_like(b), torch.zeros_like(c)
    for step in range(steps + 1):
        found.append((b * c).sum(1) / width)
        if step == steps:
            return found, b, c, b_sum, c_sum
        slope = (found[-1] - target)[:, None] / width
        b_change, c_change = slope * b, slope * c
        b_sum, c_sum = b_sum + b_change, c_sum + c_change
        b = b - lr * _dot(output, output) * c_change
        if first is not None:
            c = c - lr * _dot(first, first) * b_change


def _last(weights: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return weights["D" if "D" in weights else "C"]


def _dot(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return (left * right).sum(1, keepdim=True)


def _times(matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Batched matrix times vector in the matrix's precision, as float64."""
    # Written as row times transpose: MKL is up to ten times slower on a batch of columns.
    return (vector.to(matrix.dtype)[:, None, :] @ matrix.mT)[:, 0].double()
