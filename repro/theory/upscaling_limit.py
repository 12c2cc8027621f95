"""Infinite-width training of deep linear MLPs and its upscaling: Ma et al. (arXiv 2602.10545), E.3
and E.4.

y = n^-1 A B C x (three layers, B trained) or n^-1 A B C D x (four, B and C trained) under muP SGD
with lr gamma; entries of the outer vectors have standard deviation sigma, of the hidden matrices
sigma n^-1/2. One example x, loss L(y) = (y - target)^2 / 2. Step T widens the weights of step T - 1
by k and adds noise in place of a training step, so every sum over earlier steps ends at T - 2.
`noise` maps each weight's name to its base constant sigma_Delta.

Equations 24 to 30 hold as printed; E.4's conclusion does not. Equal recursions before and after
upscaling need, besides its condition on the product, gamma_up (sigma^2 + sigma_D^2) =
gamma sigma^2, which agrees with it only where sigma_A = sigma_D; and with noise on A and D alone
they still leave the outputs different, by the terms with k^-1 in 2' and equation 30.
"""

from collections.abc import Mapping

import numpy as np

NAMES = {3: ("A", "B", "C"), 4: ("A", "B", "C", "D")}


def limit(
    layers: int,
    *,
    steps_before: int,
    steps_after: int,
    factor: int,
    x: float,
    target: float,
    sigma: float,
    lr: float,
    lr_up: float,
    noise: Mapping[str, float],
) -> np.ndarray:
    """Limit of y_t: equations 24 and 28 for t < T = steps_before, 25 and 30 from T on.

    Returns shape (steps_before + steps_after + 1,). T >= 2.
    """
    after = {"factor": factor, "x": x, "sigma": sigma, "lr": lr, "lr_up": lr_up, "noise": noise}
    y, slopes = [], np.zeros(0)
    for t in range(steps_before + steps_after + 1):
        if t < steps_before:
            value = _BEFORE[layers](slopes, x=x, sigma=sigma, lr=lr)
        else:
            value = _AFTER[layers](slopes, steps_before, **after)
        y.append(value)
        slopes = np.append(slopes, value - target)
    return np.array(y)


def continued(
    layers: int, *, steps: int, x: float, target: float, sigma: float, lr: float
) -> np.ndarray:
    """Limit of y_t without upscaling: equations 24 and 28. Returns shape (steps,)."""
    y, slopes = [], np.zeros(0)
    for _ in range(steps):
        y.append(_BEFORE[layers](slopes, x=x, sigma=sigma, lr=lr))
        slopes = np.append(slopes, y[-1] - target)
    return np.array(y)


def equal_dynamics_lr(layers: int, *, sigma: float, lr: float, noise: Mapping[str, float]) -> float:
    """gamma_up by the conclusions of E.3 and E.4.

    E.3: gamma sigma^4 = gamma_up (sigma^2 + sigma_C^2)(sigma^2 + sigma_A^2), the same limit.
    E.4: the same with gamma^2, gamma_up^2 and sigma_D; a necessary condition only.
    """
    outer = (sigma**2 + noise["A"] ** 2) * (sigma**2 + noise[NAMES[layers][-1]] ** 2)
    ratio = sigma**4 / outer
    return lr * (ratio if layers == 3 else ratio**0.5)


def _sum_before(values: np.ndarray) -> np.ndarray:
    """Entry s: the sum of the entries before s."""
    return np.cumsum(values) - values


def _before_3(slopes: np.ndarray, *, x: float, sigma: float, lr: float) -> float:
    return -lr * x**2 * sigma**4 * slopes.sum()  # eq. 24


def _after_3(slopes, steps_before, *, factor, x, sigma, lr, lr_up, noise) -> float:
    outer = (sigma**2 + noise["C"] ** 2) * (sigma**2 + noise["A"] ** 2)
    early, late = slopes[: steps_before - 1].sum(), slopes[steps_before:].sum()
    return -(x**2) * (lr * sigma**4 * early + lr_up * outer * late)  # eq. 25


def hidden_before(slopes: np.ndarray, *, x: float, sigma: float, lr: float):
    """M_t and N_t of equation 27 for t = 0, ..., len(slopes), given L'(y_0), L'(y_1), ...

    h_t^(2) = M_t C_0 h_0^(1) + N_t B_0^T dh_0^(3) (equation 26).
    """
    M, N = np.zeros((2, len(slopes) + 1))
    nested = lr**2 * x**2 * sigma**4
    for t in range(len(slopes) + 1):
        past = slopes[:t]
        M[t] = 1 + nested * past @ _sum_before(past * M[:t])
        N[t] = -lr * x**2 * sigma**2 * past.sum() + nested * past @ _sum_before(past * N[:t])
    return M, N


def hidden_after(
    slopes: np.ndarray,
    steps_before: int,
    *,
    x: float,
    sigma: float,
    lr: float,
    lr_up: float,
    noise: Mapping[str, float],
):
    """M_t, N_t, M'_t, N'_t of equation 29 for t >= T = steps_before; 27's M_t and N_t before.

    slopes: L'(y_0), L'(y_1), ..., at least T of them; that of step T - 1 is never used. Returns
    arrays of shape (len(slopes) + 1,); M' and N' are 0 before T.
    """
    T = steps_before
    M, N, M_up, N_up = np.zeros((4, len(slopes) + 1))
    M[:T], N[:T] = hidden_before(slopes[: T - 1], x=x, sigma=sigma, lr=lr)
    old = slopes[: T - 1]
    rate = lr * x**2 * sigma**2
    rate_up = lr_up * x**2 * (sigma**2 + noise["D"] ** 2)
    back, back_up = lr * sigma**2, lr_up * (sigma**2 + noise["A"] ** 2)

    def nested(coefficient, t):
        new = slopes[T:t]
        inner = back * old @ coefficient[: T - 1]
        inner = inner + back_up * _sum_before(new * coefficient[T:t])
        return rate * back * old @ _sum_before(old * coefficient[: T - 1]) + rate_up * new @ inner

    def nested_up(coefficient, t):
        new = slopes[T:t]
        return rate_up * back_up * new @ _sum_before(new * coefficient[T:t])

    for t in range(T, len(slopes) + 1):
        M[t] = nested(M, t)
        N[t] = -rate * old.sum() + nested(N, t)
        M_up[t] = 1 + nested_up(M_up, t)
        N_up[t] = -rate_up * slopes[T:t].sum() + nested_up(N_up, t)
    return M, N, M_up, N_up


def _before_4(slopes: np.ndarray, *, x: float, sigma: float, lr: float) -> float:
    M, N = hidden_before(slopes, x=x, sigma=sigma, lr=lr)
    overlap = sigma**4 * (x**2 * M[:-1] * M[-1] + N[:-1] * N[-1])  # <h_s | h_t>
    return sigma**4 * N[-1] - lr * sigma**2 * slopes @ overlap  # eq. 28


def _after_4(slopes, steps_before, *, factor, x, sigma, lr, lr_up, noise) -> float:
    T = steps_before
    M, N, M_up, N_up = hidden_after(slopes, T, x=x, sigma=sigma, lr=lr, lr_up=lr_up, noise=noise)
    A, B, C, D = (noise[name] ** 2 for name in NAMES[4])
    s2 = sigma**2
    forward = s2 * D / factor + s2 * C + C * D
    backward = s2 * A / factor + s2 * B + A * B
    M_all, N_all = M + M_up, N + N_up
    overlap = s2**2 * (x**2 * M_all * M_all[-1] + N_all * N_all[-1])  # 1' for s < T
    overlap += x**2 * forward * M_up * M_up[-1] + backward * N_up * N_up[-1]  # 2' from T on
    return (  # eq. 30
        s2**2 * N_all[-1]
        + backward * N_up[-1]
        - s2 * lr * slopes[: T - 1] @ overlap[: T - 1]
        - (s2 + A) * lr_up * slopes[T:] @ overlap[T:-1]
    )


_BEFORE = {3: _before_3, 4: _before_4}
_AFTER = {3: _after_3, 4: _after_4}
