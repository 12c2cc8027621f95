"""Theorem 1 and Lemma 1 of Hayou & Liu (arXiv 2506.15025): one SignSGD step, in closed form.

Model f(x) = x^T E W; d is the width, m the vocabulary size; entries of E and W are iid with
standard deviations sigma_e and sigma_w, those of EW - Z are iid standard normal (Assumption 2).
Quantities are (m^-1 E ||delta^i||^2)^1/2, the root mean square of an output's change.
"""

import numpy as np


def delta_embedding(d: int, m: int, *, sigma_w: float, eta_e: float = 1.0) -> float:
    """Change of any token's output by the embedding's update (Theorem 1; Theorem 3)."""
    return eta_e * sigma_w * np.sqrt(d + 2 * d * (d - 1) / (np.pi * m))


def delta_output(d: int, alpha: np.ndarray, *, sigma_e: float, eta_w: float = 1.0) -> np.ndarray:
    """Change of each token's output by the projection's update (Theorem 1; Theorem 4).

    alpha: token frequencies, shape (m,), up to a factor. Returns shape (m,).
    """
    relative = alpha**2 / np.mean(alpha**2)
    return eta_w * sigma_e * np.sqrt(d + relative * 2 * d * (d - 1) / (np.pi * len(alpha)))


def squared_share(alpha: np.ndarray) -> np.ndarray:
    """E rho_i^2 = E alpha_i^2 g_i^2 / sum_j alpha_j^2 g_j^2 for iid standard normal g, shape (m,).

    Exact where Theorem 4 takes alpha_i^2 / sum_j alpha_j^2, which is right for equal frequencies
    only. As 1 / S = int_0^inf exp(-t S) dt, it is
    int_0^inf alpha_i^2 (1 + 2 t alpha_i^2)^-1 prod_j (1 + 2 t alpha_j^2)^-1/2 dt.
    """
    a = np.asarray(alpha, float) ** 2
    a = a / a.max()
    # In u = log t the integrand is smooth and dies off on both sides: the trapezoidal rule.
    u, step = np.linspace(-40.0, 12.0, 521, retstep=True)
    t = np.exp(u)
    total = np.zeros(len(a))
    for each in t:
        grown = 1 + 2 * each * a
        total += step * each * a / grown * np.exp(-0.5 * np.log(grown).sum())
    return total


def delta_output_exact(d: int, alpha: np.ndarray, *, sigma_e: float) -> np.ndarray:
    """`delta_output` at eta_w = 1 with the exact mean of rho_i^2 in place of Theorem 4's term."""
    return sigma_e * np.sqrt(d + squared_share(alpha) * 2 * d * (d - 1) / np.pi)


def embedding_slope(d: np.ndarray, m: np.ndarray) -> float:
    """Slope of log delta_embedding (sigma_w = 1) against log d over the points (d, m)."""
    values = [delta_embedding(int(w), int(v), sigma_w=1.0) for w, v in zip(d, m, strict=True)]
    return float(np.polyfit(np.log(d), np.log(values), 1)[0])


def ratio_slope(d: np.ndarray, m: np.ndarray, *, rank: int | None = None, a: float = 1.0) -> float:
    """Slope of log(delta_W / delta_E) against log d over the points (d, m), for layers drawn with
    one standard deviation: of the ratio of rates eta_E / eta_W at which both change outputs alike.

    rank: of the token whose output it is, -1 the rarest; None: root mean square over the text, in
    which a token of rank i is there with frequency i^-a (Assumption 1).
    """
    logs = []
    for width, size in zip(d, m, strict=True):
        alpha = np.arange(1, int(size) + 1) ** -a
        squares = delta_output(int(width), alpha, sigma_e=1.0) ** 2
        output = np.average(squares, weights=alpha) if rank is None else squares[rank]
        embedding = delta_embedding(int(width), int(size), sigma_w=1.0)
        logs.append(0.5 * np.log(output) - np.log(embedding))
    return float(np.polyfit(np.log(d), logs, 1)[0])


def mean_square_frequency(m: int, a: float) -> float:
    """Lemma 1: m^-1 sum_i i^-2a, Theta(1/m) for a > 1/2 (frequencies not normalized)."""
    return float(np.mean(np.arange(1, m + 1) ** (-2.0 * a)))
