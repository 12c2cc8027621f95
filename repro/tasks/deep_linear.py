"""Deep linear MLPs of finite width, trained, widened, perturbed and trained on: E.3 and E.4.

Ma et al. (arXiv 2602.10545). Weights by name: A (output) and the last one (input) are vectors and
frozen, those between are matrices and trained.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from repro.errors import UserError
from repro.theory import upscaling_limit
from repro.upscaling import Growth

ENTRIES = 2**21  # of one batch of wide matrices: 8 MB in float32


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
    """Train `draws` independent networks of one width and hold y_t against its limit.

    lr, lr_up, sigma, noise: base constants gamma, gamma_up, sigma, sigma_Delta of muP's SGD.
    updates: "matrices" trains every matrix in float64; "products" carries only the vectors that y
    needs (`by_products`, the same numbers), with the matrices drawn in float32.
    Runs that differ in noise and lr_up alone start from the same networks.
    Returns a record per step t: over the draws the mean of y_t, its standard deviation (`spread`)
    and the root mean square of y_t - `limit`; then y_t - y'_(t-1), y' of the narrow network trained
    on without upscaling, as mean (`gap`), root mean square and largest size; `limit_alone` is the
    limit of y'_(t-1). The phase is `after` from t = steps_before on, before it y and y' are one.
    """
    if updates not in ("products", "matrices"):
        raise UserError(f"updates {updates!r} is unknown: choose products or matrices")
    names = upscaling_limit.NAMES[layers]
    if set(noise) != set(names):
        raise UserError(f"noise is given for {sorted(noise)}: {layers} layers have {names}")
    carry_out = by_products if updates == "products" else by_matrices
    dtype = torch.float32 if updates == "products" else torch.float64
    base, added = (
        torch.Generator(device).manual_seed(_stream(seed, layers, width, part)) for part in range(2)
    )
    settings = {
        "factor": factor,
        "steps_before": steps_before,
        "steps_after": steps_after,
        "x": x,
        "target": target,
        "lr": lr,
        "lr_up": lr_up,
    }
    found, alone = [], []
    batch = max(1, ENTRIES // (factor * width) ** 2)
    for first in range(0, draws, batch):
        count = min(batch, draws - first)
        weights = gaussians(dict.fromkeys(names, sigma), width, count, base, dtype)
        noises = gaussians(noise, factor * width, count, added, dtype)
        for kept, y in zip((found, alone), carry_out(weights, noises, **settings), strict=True):
            kept.append(y.cpu())
        if progress:
            loss = (found[-1][:, -1] - target).square().mean() / 2
            progress(round((first + count) / draws, 2), float(loss))
    y, without = torch.cat(found).numpy(), torch.cat(alone).numpy()
    expected = upscaling_limit.limit(layers, sigma=sigma, noise=noise, **settings)
    steps = np.arange(y.shape[1])
    after = steps >= steps_before
    lagging = steps - after  # the narrow network's step: upscaling replaced one
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
    """muP's Gaussian weights, or noise: name -> shape (draws, width) or (draws, width, width).

    Standard deviation: the base constant, times width^-1/2 for matrices. The first and the last
    name are vectors. A constant of 0 draws nothing and takes no memory.
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
    """y_t with every matrix trained, and y_t of the narrow networks trained on instead.

    weights, noise: as `gaussians` returns them, at the narrow and the wide width; not changed.
    Returns shapes (draws, steps_before + steps_after + 1) and one step less.
    """
    narrow = {name: tensor.clone() for name, tensor in weights.items()}
    before = _descend(narrow, steps_before - 1, x=x, target=target, lr=lr)
    wide = {}
    for name, tensor in narrow.items():
        axes = tuple(range(1, tensor.dim()))
        growth = Growth((1, *(factor for _ in axes)), axes)
        wide[name] = growth.repeat(tensor, growth.weight) + noise[name]
    after = _descend(wide, steps_after, x=x, target=target, lr=lr_up)
    alone = _descend(narrow, steps_after, x=x, target=target, lr=lr)
    return torch.stack(before + after, 1), torch.stack(before + alone[1:], 1)


def _descend(
    weights: dict[str, torch.Tensor], steps: int, *, x: float, target: float, lr: float
) -> list[torch.Tensor]:
    """Gradient descent in place on the hidden matrices; y before, between and after the steps."""
    output, *hidden, first = weights.values()
    found = []
    for step in range(steps + 1):
        activations = [x * first]
        for matrix in reversed(hidden):
            activations.append(_times(matrix, activations[-1]))
        width = output.shape[1]
        found.append((output * activations.pop()).sum(1) / width)
        if step == steps:
            return found
        gradient = (found[-1] - target)[:, None] * output / width
        for matrix in hidden:
            back = _times(matrix.mT, gradient)
            matrix -= lr * gradient[:, :, None] * activations.pop()[:, None, :]
            gradient = back


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
    """The same as `by_matrices` from b_t = B_t^T A and c_t = h_t^(2) alone, exact in real numbers.

    Updates of B and C are outer products with the frozen A and h^(1), so y_t = b_t c_t / n and
    both vectors follow each other. Widening turns B^T A into the repeated B^T mean(A), the mean
    over a block of copies; the noise enters by its own products. Every matrix is read once.
    """
    output, first = weights["A"].double(), x * _last(weights).double()
    C = weights.get("C") if "D" in weights else None

    def times_B(vector):
        return _times(weights["B"].mT, vector)

    def repeat(vector):
        return vector.repeat_interleave(factor, 1)

    def block_mean(vector):
        return vector.double().reshape(len(vector), -1, factor).mean(2)

    trained = {"output": output, "first": None if C is None else first, "target": target}
    b, c = times_B(output), first if C is None else _times(C, first)
    before, b, c, b_sum, c_sum = _follow(b, c, steps_before - 1, lr=lr, **trained)
    alone, *_ = _follow(b, c, steps_after, lr=lr, **trained)

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
    """y before, between and after the steps, b and c after them, and sums of L'(y) b / n and c."""
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
    # As a row times the transpose: MKL is up to ten times slower on a batch of columns.
    return (vector.to(matrix.dtype)[:, None, :] @ matrix.mT)[:, 0].double()
