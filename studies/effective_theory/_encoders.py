"""The two networks whose kernels are measured, and what their studies share.

Depth and number of tokens are small; the theory holds for any. The constants are those of II.1.C
(vision) and of R2C2 at n = 2048 (language, II.2.C: 0.02^2 n). The number of heads is fixed as n
grows.
"""

SHAPE = {"samples": 2, "depth": 2, "heads": 2, "expansion": 4}
VISION = {"kind": "vision", **SHAPE, "patch": 2, "resolution": 4, "classes": 16}
LANGUAGE = {
    "kind": "language",
    **SHAPE,
    "vocab_size": 16,
    "sequence_length": 4,
    "causal": False,
    "eps": 1e-5,
    "embedding_std": 1.0,
    "position_std": 0.02,
    "matrix_constant": 0.8192,
}
NETWORKS = [{"model": VISION}, {"model": LANGUAGE}]
# Networks of one's own, which `kernels` and `tangent_kernels` show beside the paper's: either of
# the two above with other settings, or a model of `repro.models` by its name, with the arguments of
# its class but the width; of these no recursions are known, so growth with the width is shown. Each
# has a `label`, its name in the figures, and may have a `parametrization` (else neural-tangent).
FURTHER: list[dict] = []
SPEC = {
    "model": VISION,
    "width": 64,
    "input_seed": 0,
    "draws": 10_000,
    "points": 4096,
    "scrambles": 4,
    "threads": 1,
    "seed": 0,
}
SEEDS = list(range(8))


def label(model):
    """What figures call a network."""
    return model.get("label") or model.get("kind") or model["name"]
