"""Golden cells: a tiny run of every task.

A test holds fresh results against them, so a change that moves a result without raising the
task's version fails. `python tests/golden.py` writes those that are missing, or of another version
than the task's, or named after it, and says of all others whether they agree.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.data.needs import Arrays, Text, Tokens  # noqa: E402
from repro.files import read_json, sha256, write_bytes, write_json, write_sealed  # noqa: E402
from repro.lineage import arithmetic  # noqa: E402
from repro.tasks import TASKS  # noqa: E402

FOLDER = Path(__file__).parent / "golden"

SEEDED = {"threads": 1, "seed": 3}
DECODER = {
    "name": "decoder",
    "depth": 1,
    "head_dim": 8,
    "expansion": 2,
    "norm": "post",
    "positional_rms": {"factor": 1.0, "power": -0.5},
    "base_width": 1,
}
NARROW_DECODER = {"model": DECODER | {"width": 16}, "parametrization": "muP"}
SHAPE = {"samples": 2, "depth": 1, "heads": 2, "expansion": 2}
VISION = {"kind": "vision", **SHAPE, "patch": 2, "resolution": 4, "classes": 4}
LANGUAGE = {
    "kind": "language",
    **SHAPE,
    "vocab_size": 8,
    "sequence_length": 3,
    "causal": False,
    "eps": 1e-5,
    "embedding_std": 1.0,
    "position_std": 0.02,
    "matrix_constant": 0.5,
}
VIT = {
    "name": "vit",
    "width": 16,
    "depth": 1,
    "heads": 2,
    "expansion": 2,
    "patch": 4,
    "resolution": 8,
    "classes": 3,
    "base_width": 1,
}
VOCABULARY = {"dataset": "golden", "vocab_size": 160, "tokenizer": "bpe"}
TEXT = VOCABULARY | {"batch_size": 4, "sequence_length": 16, "validation_blocks": 0}
LONG_TEXT = TEXT | {"sequence_length": 24, "validation_blocks": 8}
TRAINED = SEEDED | {
    "steps": 12,
    "evaluations": 3,
    "microbatches": 2,
    "precision": "float32",
}
ADAMW = {"name": "adamw", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.0}
WIDENED = SEEDED | {
    "optimizer": {"name": "adamw", "betas": [0.9, 0.99], "eps": 1e-3, "weight_decay": 0.1},
    "lr": 0.01,
    "factor": 3,
}
KERNELS = SEEDED | {"width": 8, "input_seed": 0, "points": 256, "scrambles": 2}
SPECS = {
    "language_model": TRAINED
    | NARROW_DECODER
    | {
        "data": TEXT,
        "init": {"embedding": "LVP"},
        "lr": {"embedding": 0.05, "hidden": 0.2, "output": 0.1},
        "optimizer": {"name": "adam", "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01},
        "microbatches": 1,
    },
    "decoder_sign_step": SEEDED
    | NARROW_DECODER
    | {"data": TEXT, "init": {"embedding": "LVP", "output": "LVP"}, "microbatches": 1},
    "transfer": TRAINED
    | NARROW_DECODER
    | {
        "data": TEXT,
        "lr": 2.0**-6,
        "embedding_ratio": 4.0,
        "optimizer": ADAMW | {"clip": None},
        "schedule": {"name": "linear", "warmup": 0.25, "final": 0.0},
        "steps": 8,
        "evaluations": 2,
        "microbatches": 1,
    },
    "token_frequencies": {"data": VOCABULARY, "split": "train", "points": 12},
    "sign_sgd_step": SEEDED
    | {
        "width": 24,
        "vocab_size": 128,
        "zipf_exponent": 1.0,
        "residual": "independent",
        "rows": 16,
        "columns": 16,
    },
    "parametrization_exponents": SEEDED
    | {"parametrization": "LVP", "width": 16, "vocab_size": 32, "model": DECODER, "lr": 1.0},
    "width_scalings": SEEDED
    | {
        "parametrization": "muP-multiplier",
        "width_in": 8,
        "width_out": 16,
        "factor": [2, 3],
        "draws": 2,
    },
    "equal_runs": SEEDED
    | NARROW_DECODER
    | {
        "workload": "decoder",
        "name": "muP",
        "data": {"dataset": "random", "batch_size": 2, "sequence_length": 8, "vocab_size": 20},
        "lr": 2.0**-6,
        "embedding_ratio": 4.0,
        "optimizer": ADAMW | {"eps": 1e-20},
        "steps": 4,
    },
    "own_equivalence": WIDENED | {"kind": "summing", "steps_before": 3, "steps": 3},
    "dynamic_equivalence": WIDENED
    | {
        "model": {
            "name": "mlp",
            "inputs": 5,
            "classes": 3,
            "hidden_layers": 3,
            "width": 8,
            "base_width": 4,
        },
        "data": {"batch_size": 8},
        "parametrization": "muP-multiplier",
        "steps_before": 5,
        "steps": 10,
        "clip": {"norm": 0.01, "width_aware": False},
    },
    "training_costs": {},
    "best_rate": {
        "parametrization": "muP",
        "width": 48,
        "depth": 2,
        "features": 6,
        "samples": 4,
        "largest": 2.0,
        "steps": 1,
        "draws": 3,
        "threads": 1,
        "seed": 5,
    },
    "deep_linear": SEEDED
    | {
        "layers": 4,
        "width": 12,
        "factor": 2,
        "steps_before": 4,
        "steps_after": 3,
        "x": 1.25,
        "target": 1.0,
        "sigma": 0.8,
        "lr": 0.1,
        "lr_up": 0.07,
        "noise": {"A": 0.5, "B": 0.4, "C": 0.4, "D": 0.3},
        "draws": 20,
        "updates": "products",
    },
    "image_classification": TRAINED
    | {
        "data": {
            "dataset": "golden",
            "batch_size": 16,
            "crop": None,
            "flip": True,
            "randaugment": None,
            "erasing": 0.5,
            "mixup": 0.8,
            "cutmix": 1.0,
            "evaluation_resize": None,
        },
        "model": VIT,
        "parametrization": "neural-tangent",
        "factors": {"positions": 0.5},
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.999],
            "eps": 1e-8,
            "weight_decay": 1e-3,
            "decayed": ["embedding", "hidden", "output", "vector"],
            "clip": None,
        },
        "lr": 2.0,
        "schedule": {"name": "cosine", "warmup": 4, "final_lr": 1e-6},
        "label_smoothing": 0.1,
    },
    "span_denoising": TRAINED
    | {
        "data": LONG_TEXT | {"mask_share": 0.3, "span_mean": 3.0},
        "model": {
            "name": "bart",
            "width": 16,
            "depth": 1,
            "heads": 2,
            "expansion": 2,
            "base_width": 1,
            "dropout": 0.1,
            "attention_dropout": 0.1,
            "matrix_std": 0.1,
            "position_std": 0.1,
            "embedding_std": 1.0,
        },
        "parametrization": "neural-tangent",
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.998],
            "eps": 1e-6,
            "eps_convention": "fairseq",
            "weight_decay": 1e-4,
            "clip": {"norm": 0.1, "width_aware": False},
        },
        "lr": 1.0,
        "schedule": {"name": "linear", "warmup": 4, "final": 0.0, "steps": 16},
    },
    "pretraining": TRAINED
    | {
        "data": LONG_TEXT
        | {"text": {"dataset": "golden", "split": "valid", "stride": 10, "limit": 150}},
        "model": {
            "name": "llm",
            "depth": 2,
            "width": 16,
            "heads": 4,
            "kv_heads": 2,
            "head_dim": 8,
            "rotary_dim": 8,
            "window": 12,
            "inner": 48,
            "base_width": 1,
        },
        "parametrization": "SP",
        "init": {"embedding": "LVP"},
        "embedding_lr": {"factor": 2.0, "power": 0.5},
        "optimizer": ADAMW
        | {
            "weight_decay": 0.1,
            "decayed": ["hidden", "output"],
            "clip": {"norm": 1.0, "width_aware": False},
        },
        "lr": 0.01,
        "schedule": {"name": "cosine", "warmup": 4, "final": 0.1},
    },
    "parameter_table": SEEDED
    | {
        "model": VIT,
        "data_settings": {},
        "parametrization": "hybrid, M",
        "family": "adam",
        "draw": True,
    },
    "warm_start": TRAINED
    | {
        "data": {"dataset": "golden", "batch_size": 16},
        "model": {
            "name": "mlp",
            "inputs": 6,
            "classes": 3,
            "hidden_layers": 2,
            "width": 12,
            "base_width": 4,
        },
        "parametrization": "muP-multiplier",
        "start": None,
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.99],
            "eps": 1e-8,
            "weight_decay": 0.1,
            "decayed": ["embedding", "hidden", "output"],
            "clip": {"norm": 0.5, "width_aware": True},
        },
        "lr": 0.02,
        "microbatches": 1,
    },
    "transformer_kernels": KERNELS | {"model": VISION, "draws": 900},
    "tangent_kernels": KERNELS
    | {
        "model": LANGUAGE,
        "draws": 3,
        "channels": 2,
        "every_block": True,
        "parametrization": "neural-tangent, M",
    },
}
SPECS["update_sizes"] = SPECS["span_denoising"] | {"trains": "span_denoising", "rates": "strategy"}


def corpus(folder: Path) -> Path:
    """A prepared text of 4,000 words."""
    from repro.data.synthetic_text import zipf_mandelbrot_text

    data = zipf_mandelbrot_text(4_000, seed=11).encode()
    write_bytes(folder / "train.txt", data)
    entry = {"file": "train.txt", "bytes": len(data), "sha256": sha256(data)}
    write_sealed(folder / "manifest.json", {"splits": {"train": entry, "valid": entry}})
    return folder / "manifest.json"


def in_splits(inputs: Any, labels: Any, folder: Path) -> Path:
    """The manifest of prepared arrays: 64 to train, the rest to validate."""
    from repro.data.arrays import write_arrays

    parts = {"train": slice(64), "valid": slice(64, None)}
    arrays = {k: {"inputs": inputs[v], "labels": labels[v]} for k, v in parts.items()}
    write_arrays(arrays, {}, folder / "manifest.json")
    return folder / "manifest.json"


def table(folder: Path) -> Path:
    """Prepared rows of 6 features in 3 classes, 64 to train and 16 to validate."""
    import numpy as np

    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(80, 6)).astype(np.float32)
    return in_splits(inputs, np.argmax(inputs[:, :3] + inputs[:, 3:], axis=1), folder)


def pictures(folder: Path) -> Path:
    """Prepared images, 3 x 8 x 8, in 3 classes told apart by a channel's brightness."""
    import numpy as np

    rng = np.random.default_rng(5)
    labels = np.arange(96) % 3
    inputs = rng.integers(0, 200, size=(96, 3, 8, 8), dtype=np.uint8)
    inputs[np.arange(96), labels] += 40
    return in_splits(inputs, labels, folder)


def inputs_of(task: str, folder: Path) -> dict:
    """What a task's golden run reads, prepared."""
    from repro.data.tokenization import tokenize

    inputs = {}
    for need in TASKS[task].needs(SPECS[task]):
        if isinstance(need, Arrays):
            inputs[need] = pictures(folder) if task == "image_classification" else table(folder)
            continue
        if isinstance(need, Text):
            inputs[need] = corpus(folder)
            continue
        inputs[Tokens(need.dataset, need.vocab_size)] = folder / "bpe" / "tokens.json"
        tokenize(corpus(folder), need.vocab_size, folder / "bpe" / "tokens.json")
    return inputs


def records(task: str, folder: Path, device: str = "cpu") -> list[dict]:
    """Carry out a task's golden run."""
    return TASKS[task].run(
        SPECS[task],
        inputs=inputs_of(task, folder),
        device=device,
        progress=lambda step, loss: None,
        checkpoint=folder / "state",
    )


def saved(task: str) -> dict:
    """What was written for a task."""
    return read_json(FOLDER / f"{task}.json")


def text_inputs(folder: Path) -> dict:
    """The golden text, and its tokens."""
    from repro.data.tokenization import tokenize

    text, manifest = corpus(folder), folder / "bpe" / "tokens.json"
    tokenize(text, 160, manifest)
    return {Text("golden"): text, Tokens("golden", 160): manifest}


def near(record: dict) -> dict:
    """A record's numbers within 1e-4: processors differ in the last digits, a change of method
    moves far more."""
    import pytest

    return {k: v if isinstance(v, str) else pytest.approx(v, rel=1e-4) for k, v in record.items()}


def is_due(task: str, named: Sequence[str]) -> bool:
    """Whether a task's golden cell is to be written."""
    there = (FOLDER / f"{task}.json").exists()
    return not there or task in named or saved(task)["version"] != TASKS[task].version


def main(named: Sequence[str]) -> None:
    """Write the golden cells that are due, and hold the others against what is written. Raises
    SystemExit on a name that is no task's."""
    import tempfile

    if unknown := sorted({*named} - {*SPECS}):
        raise SystemExit(f"{unknown[0]} is no task with a tiny run in SPECS of tests/golden.py")
    arithmetic.apply(arithmetic.DEFAULT)
    for task in SPECS:
        file, due = FOLDER / f"{task}.json", is_due(task, named)
        with tempfile.TemporaryDirectory() as folder:
            found = records(task, Path(folder))
        if due:
            write_json(file, {"version": TASKS[task].version, "records": found})
            print(f"{file.name}: written")
        else:
            agrees = found == [near(record) for record in saved(task)["records"]]
            print(f"{file.name}: {'agrees' if agrees else 'DIFFERS; raise the task version'}")


if __name__ == "__main__":
    main(sys.argv[1:])
