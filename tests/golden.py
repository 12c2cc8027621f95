"""Golden cells: a tiny run of every task.

A test holds fresh results against them, so a change that moves a result without raising the
task's version fails. `python tests/golden.py` writes those that are missing, or of another version
than the task's, or named after it, and says of all others whether they agree.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.data.needs import Arrays, Text, Tokens  # noqa: E402
from repro.files import read_json, sha256, write_bytes, write_json, write_sealed  # noqa: E402
from repro.lineage import arithmetic  # noqa: E402
from repro.tasks import TASKS  # noqa: E402

FOLDER = Path(__file__).parent / "golden"

DECODER = {
    "name": "decoder",
    "depth": 1,
    "head_dim": 8,
    "expansion": 2,
    "norm": "post",
    "positional_rms": {"factor": 1.0, "power": -0.5},
    "base_width": 1,
}
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
SPECS = {
    "language_model": {
        "data": {
            "dataset": "golden",
            "batch_size": 4,
            "sequence_length": 16,
            "vocab_size": 160,
            "tokenizer": "bpe",
            "validation_blocks": 0,
        },
        "steps": 12,
        "evaluations": 3,
        "model": DECODER | {"width": 16},
        "parametrization": "muP",
        "init": {"embedding": "LVP"},
        "lr": {"embedding": 0.05, "hidden": 0.2, "output": 0.1},
        "optimizer": {"name": "adam", "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01},
        "microbatches": 1,
        "precision": "float32",
        "threads": 1,
        "seed": 3,
    },
    "decoder_sign_step": {
        "data": {
            "dataset": "golden",
            "batch_size": 4,
            "sequence_length": 16,
            "vocab_size": 160,
            "tokenizer": "bpe",
            "validation_blocks": 0,
        },
        "model": DECODER | {"width": 16},
        "parametrization": "muP",
        "init": {"embedding": "LVP", "output": "LVP"},
        "microbatches": 1,
        "threads": 1,
        "seed": 3,
    },
    "transfer": {
        "data": {
            "dataset": "golden",
            "batch_size": 4,
            "sequence_length": 16,
            "vocab_size": 160,
            "tokenizer": "bpe",
            "validation_blocks": 0,
        },
        "model": DECODER | {"width": 16},
        "parametrization": "muP",
        "lr": 2.0**-6,
        "embedding_ratio": 4.0,
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.95],
            "eps": 1e-8,
            "weight_decay": 0.0,
            "clip": None,
        },
        "schedule": {"name": "linear", "warmup": 0.25, "final": 0.0},
        "steps": 8,
        "evaluations": 2,
        "microbatches": 1,
        "precision": "float32",
        "threads": 1,
        "seed": 3,
    },
    "token_frequencies": {
        "data": {"dataset": "golden", "vocab_size": 160, "tokenizer": "bpe"},
        "split": "train",
        "points": 12,
    },
    "sign_sgd_step": {
        "width": 24,
        "vocab_size": 128,
        "zipf_exponent": 1.0,
        "residual": "independent",
        "rows": 16,
        "columns": 16,
        "threads": 1,
        "seed": 3,
    },
    "parametrization_exponents": {
        "parametrization": "LVP",
        "width": 16,
        "vocab_size": 32,
        "model": DECODER,
        "lr": 1.0,
        "threads": 1,
        "seed": 3,
    },
    "width_scalings": {
        "parametrization": "muP-multiplier",
        "width_in": 8,
        "width_out": 16,
        "factor": [2, 3],
        "draws": 2,
        "threads": 1,
        "seed": 3,
    },
    "equal_runs": {
        "workload": "decoder",
        "name": "muP",
        "data": {"dataset": "random", "batch_size": 2, "sequence_length": 8, "vocab_size": 20},
        "model": DECODER | {"width": 16},
        "parametrization": "muP",
        "lr": 2.0**-6,
        "embedding_ratio": 4.0,
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.95],
            "eps": 1e-20,
            "weight_decay": 0.0,
        },
        "steps": 4,
        "threads": 1,
        "seed": 3,
    },
    "own_equivalence": {
        "kind": "summing",
        "optimizer": {"name": "adamw", "betas": [0.9, 0.99], "eps": 1e-3, "weight_decay": 0.1},
        "lr": 0.01,
        "factor": 3,
        "steps_before": 3,
        "steps": 3,
        "threads": 1,
        "seed": 3,
    },
    "dynamic_equivalence": {
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
        "optimizer": {"name": "adamw", "betas": [0.9, 0.99], "eps": 1e-3, "weight_decay": 0.1},
        "lr": 0.01,
        "factor": 3,
        "steps_before": 5,
        "steps": 10,
        "clip": {"norm": 0.01, "width_aware": False},
        "threads": 1,
        "seed": 3,
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
    "deep_linear": {
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
        "threads": 1,
        "seed": 3,
    },
    "image_classification": {
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
        "model": {
            "name": "vit",
            "width": 16,
            "depth": 1,
            "heads": 2,
            "expansion": 2,
            "patch": 4,
            "resolution": 8,
            "classes": 3,
            "base_width": 1,
        },
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
        "steps": 12,
        "evaluations": 3,
        "microbatches": 2,
        "precision": "float32",
        "threads": 1,
        "seed": 3,
    },
    "span_denoising": {
        "data": {
            "dataset": "golden",
            "batch_size": 4,
            "sequence_length": 24,
            "vocab_size": 160,
            "tokenizer": "bpe",
            "mask_share": 0.3,
            "span_mean": 3.0,
            "validation_blocks": 8,
        },
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
        "steps": 12,
        "evaluations": 3,
        "microbatches": 2,
        "precision": "float32",
        "threads": 1,
        "seed": 3,
    },
    "pretraining": {
        "data": {
            "dataset": "golden",
            "batch_size": 4,
            "sequence_length": 24,
            "vocab_size": 160,
            "tokenizer": "bpe",
            "validation_blocks": 8,
            "text": {"dataset": "golden", "split": "valid", "stride": 10, "limit": 150},
        },
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
        "optimizer": {
            "name": "adamw",
            "betas": [0.9, 0.95],
            "eps": 1e-8,
            "weight_decay": 0.1,
            "decayed": ["hidden", "output"],
            "clip": {"norm": 1.0, "width_aware": False},
        },
        "lr": 0.01,
        "schedule": {"name": "cosine", "warmup": 4, "final": 0.1},
        "steps": 12,
        "evaluations": 3,
        "microbatches": 2,
        "precision": "float32",
        "threads": 1,
        "seed": 3,
    },
    "parameter_table": {
        "model": {
            "name": "vit",
            "width": 16,
            "depth": 1,
            "heads": 2,
            "expansion": 2,
            "patch": 4,
            "resolution": 8,
            "classes": 3,
            "base_width": 1,
        },
        "data_settings": {},
        "parametrization": "hybrid, M",
        "family": "adam",
        "draw": True,
        "threads": 1,
        "seed": 3,
    },
    "warm_start": {
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
        "steps": 12,
        "microbatches": 1,
        "evaluations": 3,
        "precision": "float32",
        "threads": 1,
        "seed": 3,
    },
    "transformer_kernels": {
        "model": VISION,
        "width": 8,
        "input_seed": 0,
        "draws": 900,
        "points": 256,
        "scrambles": 2,
        "threads": 1,
        "seed": 3,
    },
    "tangent_kernels": {
        "model": LANGUAGE,
        "width": 8,
        "input_seed": 0,
        "draws": 3,
        "channels": 2,
        "every_block": True,
        "parametrization": "neural-tangent, M",
        "points": 256,
        "scrambles": 2,
        "threads": 1,
        "seed": 3,
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


def table(folder: Path) -> Path:
    """Prepared rows of 6 features in 3 classes, 64 to train and 16 to validate."""
    import numpy as np

    from repro.data.arrays import write_arrays

    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(80, 6)).astype(np.float32)
    labels = np.argmax(inputs[:, :3] + inputs[:, 3:], axis=1)
    parts = {"train": slice(64), "valid": slice(64, None)}
    arrays = {k: {"inputs": inputs[v], "labels": labels[v]} for k, v in parts.items()}
    write_arrays(arrays, {}, folder / "manifest.json")
    return folder / "manifest.json"


def pictures(folder: Path) -> Path:
    """Prepared images, 3 x 8 x 8, in 3 classes told apart by a channel's brightness."""
    import numpy as np

    from repro.data.arrays import write_arrays

    rng = np.random.default_rng(5)
    labels = np.arange(96) % 3
    inputs = rng.integers(0, 200, size=(96, 3, 8, 8), dtype=np.uint8)
    inputs[np.arange(96), labels] += 40
    parts = {"train": slice(64), "valid": slice(64, None)}
    arrays = {k: {"inputs": inputs[v], "labels": labels[v]} for k, v in parts.items()}
    write_arrays(arrays, {}, folder / "manifest.json")
    return folder / "manifest.json"


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
