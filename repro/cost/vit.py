"""The Vision Transformer of Dinan et al. (arXiv 2304.02034), II.1.B."""

from collections.abc import Mapping
from dataclasses import replace

from repro.cost import Cost, of_training, transformer


def patches(*, resolution: int, patch: int) -> int:
    """Patches of an image."""
    return (resolution // patch) ** 2


def weights(*, width: int, depth: int, expansion: int, patch: int) -> int:
    """Weights applied to every token: patchify (3 channels), query, key, value, out, up, down."""
    return 3 * patch**2 * width + depth * (4 + 2 * expansion) * width**2


def flops(
    *, width: int, depth: int, expansion: int, patch: int, resolution: int, classes: int
) -> int:
    """Training operations per image: `transformer.flops` for every patch, and the head once."""
    tokens = patches(resolution=resolution, patch=patch)
    matrices = weights(width=width, depth=depth, expansion=expansion, patch=patch)
    a_token = transformer.flops(weights=matrices, depth=depth, width=width, sequence_length=tokens)
    return tokens * a_token + 6 * width * classes


def parameters(
    *, width: int, depth: int, expansion: int, patch: int, resolution: int, classes: int
) -> int:
    """Dinan et al. (arXiv 2304.02034), II.1.B: weights, positions, and the head with its bias."""
    matrices = weights(width=width, depth=depth, expansion=expansion, patch=patch)
    tokens = patches(resolution=resolution, patch=patch)
    return matrices + tokens * width + (width + 1) * classes


def image_classification_cost(spec: Mapping) -> Cost:
    """One run of task `image_classification`."""
    keys = ("width", "depth", "expansion", "patch", "resolution", "classes")
    sizes = {key: spec["model"][key] for key in keys}
    shape = {key: sizes[key] for key in ("width", "depth", "expansion")}
    tokens = patches(resolution=sizes["resolution"], patch=sizes["patch"])
    a_token = 3 * sizes["patch"] ** 2 + transformer.activations(**shape, vocab_size=0)
    found = of_training(
        spec,
        flops=flops(**sizes),
        batch=spec["data"]["batch_size"],
        unit="samples",
        parameters=parameters(**sizes),
        activations=tokens * a_token + sizes["width"] + sizes["classes"],
        rows=1,  # not split: every rank would augment the whole batch, which takes longest
        layers=4 * sizes["depth"] + 2,  # query with key and value, output, up, down; both ends
    )
    files = spec["data"]["dataset"] == "imagenet" and spec["data"].get("randaugment")
    return replace(found, images=found.seen if files else 0)


cost = image_classification_cost
