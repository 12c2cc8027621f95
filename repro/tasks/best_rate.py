"""The best learning rate of deep linear networks after a few steps of gradient descent.

Hayou (arXiv 2511.01734): f(x) = V' W_L ... W_1 W_0 x, of which the L matrices between are trained
by the squared loss sum_i (f(x_i) - y_i)^2 / (2 m). Dimensions are named by n (width), d
(features), m (samples) and r (rates tried at once).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from repro.errors import UserError

# Variance of V's entries and what a rate is worth to a matrix, as powers of n. Under NTP factors
# n^-1/2 stand before weights of variance 1: the same function as SP's, whose matrices move 1/n as
# far.
POWERS = {"muP": (-2, 0), "SP": (-1, 0), "NTP": (-1, -1)}
OCTAVES = 4  # of rates on either side of the limit that are tried, where the best is not exact
STEP = 0.125  # octaves between them


def run(
    *,
    parametrization: str,
    width: int,
    depth: int,
    features: int,
    samples: int,
    largest: float,
    steps: int,
    draws: int,
    threads: int,
    seed: int,
    inputs: Mapping,
    device: torch.device,
    progress,
    checkpoint: Path,
) -> list[dict]:
    """The best rate of `draws` networks on one data set, which the seed draws.

    depth: L. largest: the largest input's size over the smallest's; 1 for inputs of equal law.
    Returns a record a network: its best `rate`, and `limit`, what muP's comes to. A rate is counted
    in units of n^-(power of the parametrization), so that all are of the size of their limit.
    """
    if parametrization not in POWERS:
        raise UserError(f"parametrization {parametrization!r} is unknown: {', '.join(POWERS)}")
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=device, dtype=torch.float32)

    size_m = largest ** (torch.arange(samples, device=device) / max(samples - 1, 1) - 0.5)
    x_dm, y_m = normal(features, samples) * size_m, normal(samples)
    limit = limit_of(x_dm.double(), y_m.double(), depth)
    variance, power = POWERS[parametrization]
    records = []
    for draw in range(draws):
        h_nm = normal(width, features) @ x_dm / features**0.5
        weights = [normal(width, width) / width**0.5 for _ in range(depth)]
        v_n = normal(width) * width ** (variance / 2)
        if steps == 1:
            rate = best_of_one_step(weights, v_n, h_nm, y_m)
        else:
            # SP's best rate falls as 1/n.
            centre = limit / (width if parametrization == "SP" else width**-power)
            rate = best_of_several(weights, v_n, h_nm, y_m, steps, centre)
        records.append({"draw": draw, "rate": rate * width**-power, "limit": limit})
        if progress:
            progress(round((draw + 1) / draws, 2), rate)
    return records


def limit_of(x_dm: torch.Tensor, y_m: torch.Tensor, depth: int) -> float:
    """eta_inf = (m / L) y'Ky / |Ky|^2, K = X'X / d: an infinitely wide network begins at 0 under
    muP, and one step moves it by eta (L / m) K y."""
    features, samples = x_dm.shape
    ky_m = x_dm.T @ (x_dm @ y_m) / features
    return float(samples / depth * (y_m @ ky_m) / (ky_m @ ky_m))


def backward(weights: list[torch.Tensor], v_n: torch.Tensor) -> list[torch.Tensor]:
    """What the output's gradient is at the output of each matrix: W_{l+1}' ... W_L' V."""
    found = [v_n]
    for weight in reversed(weights[1:]):
        found.append(weight.T @ found[-1])
    return found[::-1]


def best_of_one_step(
    weights: list[torch.Tensor], v_n: torch.Tensor, h_nm: torch.Tensor, y_m: torch.Tensor
) -> float:
    """The rate at which the loss after one step first stops falling, exactly: the output is a
    polynomial of degree L in it. A matrix's gradient has rank one, u c', so that no matrix is
    built. A polynomial may fit the data again far beyond, which no sweep around the limit meets."""
    hidden = [h_nm]
    for weight in weights:
        hidden.append(weight @ hidden[-1])
    r_m = v_n @ hidden[-1] - y_m
    terms = [h_nm]  # power of the rate -> its coefficient in what a matrix gives, (n, m)
    nothing = torch.zeros_like(h_nm)
    for weight, u_n, before_nm in zip(weights, backward(weights, v_n), hidden, strict=False):
        c_n = before_nm @ r_m / len(y_m)
        through = torch.cat(terms, 1)
        kept = [*(weight @ through).split(len(y_m), 1), nothing]
        moved = [nothing, *(u_n[:, None] * (c_n @ through)[None]).split(len(y_m), 1)]
        terms = [stays - moves for stays, moves in zip(kept, moved, strict=True)]
    f_km = torch.stack([v_n @ term for term in terms]).double().cpu().numpy()
    f_km[0] -= y_m.double().cpu().numpy()
    loss = np.polynomial.Polynomial(np.sum([np.convolve(f_k, f_k) for f_k in f_km.T], 0))
    roots = np.asarray(loss.deriv().roots(), complex)
    real = np.sort(roots.real[(np.abs(roots.imag) < 1e-6 * np.abs(roots)) & (roots.real > 0)])
    return float(real[0]) if len(real) else float("inf")


def best_of_several(
    weights: list[torch.Tensor],
    v_n: torch.Tensor,
    h_nm: torch.Tensor,
    y_m: torch.Tensor,
    steps: int,
    centre: float,
) -> float:
    """The same after several steps, by a parabola through the three rates around the first best of
    a grid; infinite where that is at an end of it."""
    exponents = np.arange(-OCTAVES, OCTAVES + STEP, STEP)
    rates = torch.tensor(centre * 2.0**exponents, dtype=h_nm.dtype, device=h_nm.device)
    losses = after(weights, v_n, h_nm, y_m, steps, rates)
    rises = np.flatnonzero(np.diff(losses) > 0)
    best = int(rises[0]) if len(rises) else len(losses) - 1
    if best in (0, len(losses) - 1):
        return float("inf")
    low, at, high = losses[best - 1 : best + 2]
    bend = low - 2 * at + high
    beside = (low - high) / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.0
    return float(centre * 2.0 ** (exponents[best] + STEP * beside))


def after(
    weights: list[torch.Tensor],
    v_n: torch.Tensor,
    h_nm: torch.Tensor,
    y_m: torch.Tensor,
    steps: int,
    rates_r: torch.Tensor,
) -> np.ndarray:
    """The loss after so many steps at each rate, infinite where it is no number. A matrix that has
    moved t times is what it was less a sum of t products u c', each of rank one."""
    count, samples = len(rates_r), len(y_m)
    moved: list[list[tuple[torch.Tensor, torch.Tensor]]] = [[] for _ in weights]  # (r, n) each

    def forward(layer: int, x_rnm: torch.Tensor) -> torch.Tensor:
        found = torch.einsum("ij,rjm->rim", weights[layer], x_rnm)
        for u_rn, c_rn in moved[layer]:
            found -= u_rn[:, :, None] * torch.einsum("rn,rnm->rm", c_rn, x_rnm)[:, None]
        return found

    def transposed(layer: int, u_rn: torch.Tensor) -> torch.Tensor:
        found = u_rn @ weights[layer]
        for own_rn, c_rn in moved[layer]:
            found = found - c_rn * (own_rn * u_rn).sum(1, keepdim=True)
        return found

    for step in range(steps + 1):
        hidden = [h_nm.expand(count, *h_nm.shape)]
        for layer in range(len(weights)):
            hidden.append(forward(layer, hidden[-1]))
        r_rm = torch.einsum("n,rnm->rm", v_n, hidden[-1]) - y_m
        if step == steps:
            break
        u_rn = v_n.expand(count, len(v_n))
        for layer in reversed(range(len(weights))):
            c_rn = torch.einsum("rnm,rm->rn", hidden[layer], r_rm) / samples
            own = u_rn
            u_rn = transposed(layer, u_rn) if layer else u_rn
            moved[layer].append((rates_r[:, None] * own, c_rn))
    losses = r_rm.double().square().mean(1).cpu().numpy() / 2
    return np.where(np.isfinite(losses), losses, np.inf)
