"""Models, optimizers and learning rates at which a base and its widening stay equal in float64.

Found by trial: a chaotic run amplifies rounding errors. At these learning rates the difference is
far below 1e-9 for 200 steps; GPT-2 under Adam at 0.003 instead of 0.001 reaches 3e-8. eps is 1e-3,
so large that its scaling with width matters.
"""

MODELS = {
    "mlp": {
        "model": {
            "name": "mlp",
            "inputs": 5,
            "classes": 3,
            "hidden_layers": 3,
            "width": 16,
            "base_width": 4,
        },
        "data": {"batch_size": 16},
    },
    "resnet": {
        "model": {"name": "resnet", "classes": 4, "width": 1 / 16, "base_width": 1.0},
        "data": {"batch_size": 8, "resolution": 16},
    },
    "gpt2": {
        "model": {
            "name": "gpt2",
            "depth": 2,
            "heads": 2,
            "width": 16,
            "base_width": 4,
            "attention_constant": 8.0,
            "embedding_std": 0.5,
        },
        "data": {"batch_size": 4, "sequence_length": 8, "vocab_size": 32},
    },
}


def _sgd(momentum: float, nesterov: bool) -> dict:
    return {"name": "sgd", "momentum": momentum, "nesterov": nesterov, "weight_decay": 0.01}


def _adam(name: str, weight_decay: float, amsgrad: bool) -> dict:
    return {
        "name": name,
        "betas": [0.9, 0.99],
        "amsgrad": amsgrad,
        "eps": 1e-3,
        "weight_decay": weight_decay,
    }


OPTIMIZERS = {
    "SGD": _sgd(0.0, False),
    "momentum": _sgd(0.9, False),
    "Nesterov": _sgd(0.9, True),
    "Adam": _adam("adam", 0.01, False),
    "AdamW": _adam("adamw", 0.1, False),
    "AMSGrad": _adam("adam", 0.01, True),
}
# Model -> learning rate of (plain SGD, SGD with momentum, Adam's kind).
RATES = {
    "mlp": (0.05, 0.05, 0.01),
    "resnet": (0.01, 0.01, 0.0003),
    "gpt2": (0.01, 0.001, 0.001),
}


def setting(model: str, optimizer: str) -> dict:
    """The spec entries of one model under one optimizer."""
    chosen = OPTIMIZERS[optimizer]
    plain, momentum, adam = RATES[model]
    lr = adam if chosen["name"] != "sgd" else momentum if chosen["momentum"] else plain
    return {**MODELS[model], "optimizer": chosen, "lr": lr}


def spec(model: str, optimizer: str) -> dict:
    """A whole spec of task `dynamic_equivalence`: factor 2, no clipping."""
    return {
        **setting(model, optimizer),
        "parametrization": "muP-multiplier",
        "factor": 2,
        "steps_before": 50,
        "steps": 200,
        "clip": None,
        "threads": 1,
        "seed": 0,
    }
