"""Averages over the Gaussian preactivations of wide Transformers, in float64.

Dinan, Yaida & Zhang (arXiv 2304.02034). GELU by Gauss-Hermite quadrature; softmax attention by
randomized quasi-Monte Carlo over the logits' Gaussian law of Appendix A. Letters in einsums: a, b
samples; t, u queries; i, j, k, l keys.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

NODES = 48  # of the quadrature along each of two axes: GELU of unit variance to 1e-11


def gelu(x: np.ndarray) -> np.ndarray:
    """x Phi(x)."""
    return x * _cdf(x)


def gelu_slope(x: np.ndarray) -> np.ndarray:
    """Phi(x) + x phi(x)."""
    return _cdf(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def _cdf(x: np.ndarray) -> np.ndarray:
    return torch.special.ndtr(torch.from_numpy(x)).numpy()


def pair_averages(f: Callable[[np.ndarray], np.ndarray], kernel: np.ndarray) -> np.ndarray:
    """<f(w_1) f(w_2)>_K for every pair of tokens, of equation 1.74.

    kernel: covariance K, shape (N, N), positive diagonal. Returns shape (N, N).
    """
    x, weight = np.polynomial.hermite_e.hermegauss(NODES)
    weight = weight / weight.sum()
    std = np.sqrt(np.diag(kernel))
    correlation = np.clip(kernel / np.outer(std, std), -1, 1)[..., None, None]
    other = correlation * x[:, None] + np.sqrt(1 - correlation**2) * x
    first = f(std[:, None] * x)
    second = f(std[None, :, None, None] * other)
    return np.einsum("p,q,np,nmpq->nm", weight, weight, first, second, optimize=True)


@dataclass(frozen=True)
class AttentionAverages:
    """Second moments of one head's attention Omega and of its slopes, the same for every head.

    probabilities: E[Omega_ti Omega_uj], shape (B, T, T, B, T, T).
    slopes: E[D_tik D_ujl], D_tik = d Omega_ti / d logit_tk, shape (B, T, T, T, B, T, T, T).
    """

    probabilities: np.ndarray
    slopes: np.ndarray

    def mixed(self, kernel: np.ndarray) -> np.ndarray:
        """sum_ij E[Omega_ti Omega_uj] kernel_ij; both of shape (B, T, B, T)."""
        return np.einsum("atibuj,aibj->atbu", self.probabilities, kernel, optimize=True)

    def mixed_slopes(self, values: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """sum E[D_tik D_ujl] values_ij keys_kl; all of shape (B, T, B, T)."""
        return np.einsum("atikbujl,aibj,akbl->atbu", self.slopes, values, keys, optimize=True)


def logit_covariance(F: np.ndarray, strength: float) -> np.ndarray:
    """Equation A4 of one head: strength F_(at)(bu) F_(ai)(bj).

    F: shape (B, T, B, T). strength: C_Q C_K. Returns shape (B, T, T, B, T, T).
    """
    return strength * np.einsum("atbu,aibj->atibuj", F, F)


def attention_averages(
    F: np.ndarray, strength: float, *, causal: bool, points: int, seed: int
) -> AttentionAverages:
    """Averages over Gaussian logits (Appendix A, at leading order in 1/C).

    F, strength, causal: of the attention block, as `logit_covariance`; causal logits are masked.
    points: of a scrambled Sobol sequence in B T^2 dimensions, each with its mirror image; a power
    of two. seed: of the scrambling. Results of several seeds are independent and unbiased, so their
    spread is the accuracy.
    """
    B, T = F.shape[:2]
    size = B * T * T
    values, vectors = np.linalg.eigh(logit_covariance(F, strength).reshape(size, size))
    # The symmetric root: which eigenvectors span an eigenspace differs from one library to another.
    root = vectors * np.sqrt(values.clip(0)) @ vectors.T
    sobol = torch.quasirandom.SobolEngine(size, scramble=True, seed=seed)
    uniform = sobol.draw(points, dtype=torch.float64).clamp(2.0**-31, 1 - 2.0**-31)
    normal = torch.special.ndtri(uniform).numpy()
    probabilities, slopes = np.zeros(()), np.zeros(())
    for sign in (1.0, -1.0):
        logits = (sign * normal @ root.T).reshape(points, B, T, T)
        if causal:
            logits = np.where(np.tri(T, dtype=bool), logits, -np.inf)
        omega = np.exp(logits - logits.max(-1, keepdims=True))
        omega /= omega.sum(-1, keepdims=True)
        slope = omega[..., :, None] * (np.eye(T) - omega[..., None, :])  # eq. 1.17, 1.18
        probabilities = probabilities + _second_moments(omega) / 2
        slopes = slopes + _second_moments(slope) / 2
    return AttentionAverages(
        probabilities.reshape(B, T, T, B, T, T), slopes.reshape(B, T, T, T, B, T, T, T)
    )


def _second_moments(values: np.ndarray) -> np.ndarray:
    """Mean over the first axis of products of all others, flattened."""
    flat = torch.from_numpy(values.reshape(len(values), -1))
    return (flat.T @ flat / len(flat)).numpy()  # torch keeps to the task's number of threads
