"""Kernels and mean neural tangent kernels of wide Transformers at initialization, block by block.

Dinan, Yaida & Zhang (arXiv 2304.02034), sections I.1 and I.3, leading order in 1/n with H fixed.
Kernels are matrices over tokens, shape (B, T, B, T): sample, token, sample, token. Blocks are
numbered as there: 1 is the stem, then attention and MLP in turn, L the head. Names of groups: stem
(patchify, or the word embedding where it embeds), positions, Q, K, V, U, W, X, head (the word
embedding where it reads out), bias.

Slips: 1.65's last factor should read s_(alpha_2; t'_2); the second line of 1.61 lacks a 1/n;
footnote 19's toy model has C_WE^2 (1 + C_W2/n) where it prints (1/n)(C_W2 + 1), its last term.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from repro.theory.gaussian_averages import (
    AttentionAverages,
    attention_averages,
    gelu,
    gelu_slope,
    pair_averages,
)

ATTENTION, MLP = ("Q", "K", "V", "U"), ("W", "X")


@dataclass(frozen=True)
class Transformer:
    """What the recursions need of a model.

    constants: group -> C_G of equations 1.25 to 1.33; no `bias`. A tied head's is the stem's.
    depth: of attention-MLP pairs. expansion: M. eps: of LayerNorm. tied: whether the word embedding
    reads out, its logits divided by sqrt(n).
    """

    constants: Mapping[str, float]
    depth: int
    expansion: int
    eps: float
    tied: bool
    causal: bool = False

    @property
    def blocks(self) -> int:
        """L."""
        return 2 * self.depth + 2


@dataclass(frozen=True)
class Forward:
    """Forward kernels: G and F of blocks 1 to L - 1, `output` of block L.

    attention: the averages of each attention block.
    """

    G: tuple[np.ndarray, ...]
    F: tuple[np.ndarray, ...]
    output: np.ndarray
    attention: tuple[AttentionAverages, ...]


def patch_kernel(x: np.ndarray) -> np.ndarray:
    """G(0) of patches x, shape (B, T, n_patch): equation 1.40."""
    return np.einsum("atp,bup->atbu", x, x) / x.shape[-1]


def word_kernel(words: np.ndarray) -> np.ndarray:
    """G(0) of word ids, shape (B, T): equation 1.44."""
    return (words[:, :, None, None] == words).astype(float)


def stem_kernel(model: Transformer, inputs: np.ndarray) -> np.ndarray:
    """G(1) of G(0): equations 1.41 and 1.45."""
    C = model.constants
    return C["stem"] * inputs + C["positions"] * _same_position(inputs)


def normalized(G: np.ndarray, eps: float) -> np.ndarray:
    """F of G: equation 1.53."""
    return G * normalization_slope(G, eps)


def normalization_slope(G: np.ndarray, eps: float) -> np.ndarray:
    """Equation 1.139, the factor of a tangent kernel that goes through LayerNorm."""
    root = np.sqrt(np.einsum("atat->at", G) + eps)
    return 1 / (root[:, :, None, None] * root)


def pooled(kernel: np.ndarray) -> np.ndarray:
    """Mean over both tokens, equation 1.81: shape (B, B)."""
    return kernel.mean((1, 3))


def forward(model: Transformer, inputs: np.ndarray, *, points: int, seed: int) -> Forward:
    """Equations 1.41 or 1.45, 1.53, 1.65, 1.77, and 1.80 or 1.84.

    inputs: G(0), shape (B, T, B, T). points, seed: of `attention_averages`.
    """
    C = model.constants
    G = [stem_kernel(model, inputs)]
    F, averages = [], []
    for block in range(2 * model.depth):
        F.append(normalized(G[-1], model.eps))
        if block % 2 == 0:
            attention = attention_averages(
                F[-1], C["Q"] * C["K"], causal=model.causal, points=points, seed=_seed(seed, block)
            )
            averages.append(attention)
            residual = C["U"] * C["V"] * attention.mixed(F[-1])  # eq. 1.65 with 1.64
        else:
            residual = C["X"] * _pairs(gelu, C["W"] * F[-1])  # eq. 1.77
        G.append(G[-1] + residual)
    F.append(normalized(G[-1], model.eps))
    output = C["stem" if model.tied else "head"] * F[-1]  # eq. 1.84, 1.80
    return Forward(tuple(G), tuple(F), output, tuple(averages))


def tangents(
    model: Transformer,
    inputs: np.ndarray,
    kernels: Forward,
    *,
    width: int,
    rates: Mapping[str, float],
) -> list[dict[str, np.ndarray]]:
    """Mean neural tangent kernels of blocks 1 to L by part: equations 1.98 and 1.117.

    inputs: G(0) as for `forward`. rates: group -> lambda_G; with patches the stem's is to be given
    times n_patch, by which their G(0) is divided. The contact terms of a tied head (footnotes 19,
    32) are left out. Returns, block by block, part -> kernel. A part is what the updates of one
    group add: `stem`, `positions`, `head`; in the blocks `Q.0`, `W.1`, numbered by their pair.
    """
    C, n = model.constants, width
    # A block's kernel is the parts of the blocks below it, passed through the block (`cumulative`),
    # and the part of each of its own groups (`added`).
    now = {
        "stem": rates["stem"] * inputs,  # eq. 1.122, 1.129
        "positions": rates["positions"] * _same_position(inputs),  # eq. 1.123, 1.130
    }
    result = [now]
    for block in range(2 * model.depth):
        G, F = kernels.G[block], kernels.F[block]
        # Behind the block's LayerNorm; on the skip path beside it the parts stay as they are.
        through = {name: normalization_slope(G, model.eps) * part for name, part in now.items()}
        pair = block // 2
        if block % 2 == 0:
            E = kernels.attention[pair]
            attended, bent = E.mixed(F), C["U"] * C["V"] * E.mixed_slopes(F, F)
            added = {
                "U": rates["U"] * n * C["V"] * attended,  # eq. 1.151
                "V": rates["V"] * n * C["U"] * attended,  # eq. 1.152
                "K": rates["K"] * n * C["Q"] * F * bent,  # eq. 1.153
                "Q": rates["Q"] * n * C["K"] * F * bent,  # eq. 1.154
            }

            outer, inner = C["U"] * C["V"], C["Q"] * C["K"]
            values = {name: E.mixed(P) for name, P in through.items()}  # eq. 1.161
            logits = {name: F * E.mixed_slopes(F, P) for name, P in through.items()}  # eq. 1.163
            cumulative = {
                name: outer * values[name] + inner * (P * bent + outer * logits[name])
                for name, P in through.items()
            }
        else:
            fired, slope = (_pairs(f, C["W"] * F) for f in (gelu, gelu_slope))
            added = {
                "X": rates["X"] * model.expansion * n * fired,  # eq. 1.168
                "W": rates["W"] * n * C["X"] * slope * F,  # eq. 1.169
            }
            bent = C["X"] * C["W"] * slope
            cumulative = {name: bent * P for name, P in through.items()}  # eq. 1.173
        passed = {name: part + cumulative[name] for name, part in now.items()}
        now = passed | {f"{group}.{pair}": part for group, part in added.items()}
        result.append(now)
    slope = normalization_slope(kernels.G[-1], model.eps)
    last = C["stem" if model.tied else "head"]
    now = {name: last * slope * part for name, part in now.items()}  # eq. 1.182, 1.190
    F = kernels.F[-1]
    if model.tied:
        now["head"] = rates["stem"] * F  # eq. 1.186
    else:
        now["head"] = rates["head"] * n * F  # eq. 1.179
        now["bias"] = rates["bias"] * np.ones_like(F)  # eq. 1.178
    return [*result, now]


def contact(model: Transformer, kernels: Forward, words: np.ndarray, width: int) -> np.ndarray:
    """Leading contact term of a tied head's output kernel at the words' own outputs, footnote 19.

    E[z_(at; i)^2] for i the word of token t beyond equation 1.84's, n C_WE^2 / (G(L-1) + eps) by
    the skip path. Returns shape (B, T).
    """
    G = np.einsum("atat->at", kernels.G[-1])
    return width * model.constants["stem"] ** 2 / (G + model.eps) * np.ones_like(words)


def _same_position(inputs: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.eye(inputs.shape[1])[:, None], inputs.shape)


def _pairs(f, kernel: np.ndarray) -> np.ndarray:
    """`pair_averages` of a kernel over samples and tokens."""
    N = kernel.shape[0] * kernel.shape[1]
    return pair_averages(f, kernel.reshape(N, N)).reshape(kernel.shape)


def _seed(seed: int, block: int) -> int:
    return int(np.random.SeedSequence((seed, block)).generate_state(1)[0])
