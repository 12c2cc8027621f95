"""ViT-B/16 of Dinan, Yaida & Zhang (arXiv 2304.02034), II.1, and the strategies of Table II.1.E."""

MODEL = {
    "name": "vit",
    "width": 768,
    "depth": 12,
    "heads": 12,
    "expansion": 4,
    "patch": 16,
    "resolution": 224,
    "classes": 1_000,
    "base_width": 1,
}
STRATEGIES = {  # name in figures -> parametrization
    "standard": "SP",
    "neural-tangent": "neural-tangent",
    "hybrid": "hybrid",
    "maximal-update": "maximal-update",
}
S = {"neural-tangent": 0.0, "hybrid": 0.5, "maximal-update": 1.0}


def matrix_factor(strategy: str, width: int) -> float:
    """Factor on the learning rate of Q, K, V, U, W and X: 1, or n^-3/2 n^(s/2)."""
    return 1.0 if strategy == "standard" else width ** ((S[strategy] - 3) / 2)
