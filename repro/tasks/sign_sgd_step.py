"""One SignSGD step of the linear model x^T E W, with its residual or that of Assumption 2."""

import math
from collections.abc import Mapping
from pathlib import Path

import torch

from repro.theory import sign_sgd

# Bins of ranks, both bounds included; the last bin has no upper bound.
BINS = ((1, 1), (2, 10), (11, 100), (101, None))


def run(
    *,
    width: int,
    vocab_size: int,
    zipf_exponent: float,
    residual: str,
    rows: int,
    columns: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """Measure the feature changes of Theorem 1 with eta = 1 and sigma_E = sigma_W = d^-1/2.

    residual: "independent": E (m, d), W (d, m) and the residual R = EW - Z (m, m) are independent
    Gaussian draws, as Assumption 2 states. "model": E, W and Z are, and R is what they make it.
    To save memory delta_E is measured on `rows` tokens, and delta_W in `columns` columns; this is
    unbiased because rows and columns are exchangeable.
    Returns records with `quantity`, `ranks` (a bin), `measured` and `predicted` (root mean squares
    over entries) and `ratio`, the root of the mean over tokens of measured^2 / predicted^2.
    """
    generator = torch.Generator(device).manual_seed(seed)
    d, m = width, vocab_size
    sigma = d**-0.5

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=device)

    # The embedding's change does not depend on frequencies: one record for all ranks.
    W = sigma * normal(d, m)
    R = normal(min(rows, m), m)
    if residual == "model":
        R -= sigma * normal(len(R), d) @ W
    delta_E = torch.sign(R @ W.T) @ W
    measured = _root_mean(delta_E.double().square())
    predicted = float(sign_sgd.delta_embedding(d, m, sigma_w=sigma))
    records = [
        {
            "quantity": "delta_E",
            "ranks": "all",
            "measured": measured,
            "predicted": predicted,
            "ratio": measured / predicted,
        }
    ]
    del W, R, delta_E  # frees memory for the next draws

    # The output's change does: the residual of a token is weighted by its frequency.
    E = sigma * normal(m, d)
    alpha = torch.arange(1, m + 1, device=device, dtype=torch.float64) ** -zipf_exponent
    R = normal(m, min(columns, m))
    if residual == "model":
        R -= E @ (sigma * normal(d, R.shape[1]))
    delta_W = E @ torch.sign(E.T @ (alpha.float()[:, None] * R))
    mean_square = delta_W.double().square().mean(1).cpu()
    predicted_square = (
        torch.from_numpy(sign_sgd.delta_output(d, alpha.cpu().numpy(), sigma_e=sigma)) ** 2
    )
    for first, last in BINS:
        chosen = slice(first - 1, last)
        if first > m:
            continue
        records.append(
            {
                "quantity": "delta_W",
                "ranks": _label(first, last),
                "measured": _root_mean(mean_square[chosen]),
                "predicted": _root_mean(predicted_square[chosen]),
                "ratio": _root_mean((mean_square / predicted_square)[chosen]),
            }
        )
    return records


def _root_mean(squares: torch.Tensor) -> float:
    # Not torch's root: MKL's of a float64 differs in the last digit between makers of CPUs.
    return math.sqrt(squares.mean())


def _label(first: int, last: int | None) -> str:
    if last is None:
        return f">{first - 1}"
    return str(first) if first == last else f"{first}-{last}"
