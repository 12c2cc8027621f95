"""A tiny run of every architecture, in which `model.width` alone sets the width. No torch."""

from typing import Any

from repro.errors import UserError, did_you_mean
from widthwise.parametrization import KINDS, table

ADAMW = {
    "name": "adamw",
    "betas": [0.9, 0.95],
    "eps": 1e-12,  # far below any gradient here, at every width
    "weight_decay": 0.0,
    "clip": None,
}
RUN = {
    "optimizer": ADAMW,
    "steps": 1,
    "evaluations": 1,
    "microbatches": 1,
    "precision": "float32",
    "threads": 1,
    "seed": 0,
}
CONSTANT = {"name": "constant", "warmup": 0, "final": 1.0}
RANDOM = {"dataset": "random"}
TEXT = RANDOM | {"batch_size": 8, "sequence_length": 16, "vocab_size": 64}
BLOCKS = {"depth": 2, "heads": 2, "expansion": 4}
NOT_AUGMENTED = dict.fromkeys(("crop", "randaugment", "mixup", "cutmix", "evaluation_resize"))

# Name -> task, widths, learning rate, model, and the other settings of the task's spec.
MODELS: dict[str, tuple[str, list[float], float, dict[str, Any], dict[str, Any]]] = {
    "decoder": (
        "language_model",
        [64, 128, 256, 512],
        0.5,
        {
            "name": "decoder",
            "depth": 2,
            "head_dim": 16,
            "expansion": 4,
            "norm": "pre",
            "base_width": 1,
        },
        {"data": TEXT, "optimizer": {**ADAMW, "name": "adam", "betas": [0.9, 0.999]}},
    ),
    "mlp": (
        "warm_start",
        [64, 128, 256, 512],
        0.02,
        {"name": "mlp", "inputs": 6, "classes": 4, "hidden_layers": 3, "base_width": 64},
        {"data": RANDOM | {"batch_size": 64}, "start": None},
    ),
    "resnet": (
        "warm_start",
        [1 / 16, 1 / 8, 1 / 4],
        0.02,
        {"name": "resnet", "classes": 4, "base_width": 1 / 16},
        {"data": RANDOM | {"batch_size": 32, "resolution": 8}, "start": None},
    ),
    "gpt2": (
        "warm_start",
        [32, 64, 128, 256],
        0.02,
        {
            "name": "gpt2",
            "depth": 2,
            "heads": 2,
            "base_width": 32,
            "attention_constant": 4.0,
            "embedding_std": 0.5,
        },
        {"data": TEXT, "start": None},
    ),
    "vit": (
        "image_classification",
        [32, 64, 128, 256],
        0.02,
        {"name": "vit", **BLOCKS, "patch": 4, "resolution": 8, "classes": 4, "base_width": 32},
        {
            "data": RANDOM | {"batch_size": 32, "flip": False, "erasing": 0.0, **NOT_AUGMENTED},
            "factors": {},
            "schedule": {"name": "constant", "warmup": 0, "final_lr": 0.0},
            "label_smoothing": 0.0,
        },
    ),
    "bart": (
        "span_denoising",
        [32, 64, 128, 256],
        0.02,
        {
            "name": "bart",
            **BLOCKS,
            "base_width": 32,
            "dropout": 0.0,
            "attention_dropout": 0.0,
            "matrix_std": 0.1,
            "position_std": 0.1,
            "embedding_std": 1.0,
        },
        {
            "data": TEXT | {"mask_share": 0.3, "span_mean": 3.0},
            "schedule": CONSTANT | {"steps": 1},
        },
    ),
    "gru": (
        "transfer",
        [32, 64, 128, 256],
        0.02,
        {"name": "gru", "depth": 2, "base_width": 32},
        {"data": TEXT, "schedule": CONSTANT, "embedding_ratio": 1.0},
    ),
}


def tiny_run(model: str, parametrization: str) -> tuple[str, dict, list[float]]:
    """(task, spec, widths) of a model under a parametrization; the spec has the smallest width.

    Raises UserError on an unknown model.
    """
    if model not in MODELS:
        raise UserError(f"unknown model {model!r}: {did_you_mean(model, MODELS)}")
    task, widths, lr, settings, more = MODELS[model]
    spec: dict[str, Any] = {**RUN, **more, "model": settings | {"width": widths[0]}, "lr": lr}
    spec["parametrization"] = parametrization
    if task == "language_model":  # has lr and init per kind of role, and positions as the embedding
        init = table(parametrization, "adam")["embedding"].init
        power = init.exponent if init else 0.0
        spec |= {"lr": dict.fromkeys(KINDS, lr), "init": {}}
        spec["model"]["positional_rms"] = {"factor": 1.0, "power": power}
    return task, spec, widths
