"""BART-large and R2C2 of Dinan, Yaida & Zhang (arXiv 2304.02034), II.2, at every scale.

Paper scale: exactly II.2.B to II.2.E, except for the corpus (`data/fineweb_100b.py`). A block has
at most 512 tokens including [begin] and [end], and the positional tables have 512 + 2 rows. This is
how fairseq reads "514", and gives the printed numbers of parameters. eps is added where fairseq's
Adam adds it; float16 with fairseq's least loss scale, below which a run has diverged (bfloat16 has
no scale, and nothing there overflows: Figure 3 (i)); microbatches fit one GPU.

Reduced: widths 48 and 96 replace 1,024 and 2,048, one and two blocks replace 12 and 22; head
dimension 12, generated text. Standard deviations of 0.02 become 0.02 * (1,024 / 48)^1/2, so that
C_Q, ..., C_X are the paper's. Chosen after looking at trial runs, to save time: these widths, and
200 steps of 16 blocks instead of 300 (4.5 s per run; 1.3 nats below the unigram entropy of 5.05).
"""

from studies.effective_theory._strategies import STRATEGIES as ALL
from studies.effective_theory._strategies import matrix_factor

PAPER_STD = 0.02
WIDTH = {
    "bart": {"smoke": 16, "reduced": 48, "workstation": 512, "paper": 1_024},
    "r2c2": {"smoke": 16, "reduced": 96, "workstation": 1_024, "paper": 2_048},
}
DEPTH = {
    "bart": {"smoke": 1, "reduced": 1, "workstation": 6, "paper": 12},
    "r2c2": {"smoke": 1, "reduced": 2, "workstation": 10, "paper": 22},
}
HEADS = {
    "bart": {"smoke": 2, "reduced": 4, "workstation": 8, "paper": 16},
    "r2c2": {"smoke": 2, "reduced": 8, "workstation": 16, "paper": 32},
}
STD = {
    "smoke": PAPER_STD * (1_024 / 16) ** 0.5,
    "reduced": PAPER_STD * (1_024 / 48) ** 0.5,
    "workstation": PAPER_STD * (1_024 / 512) ** 0.5,
    "paper": PAPER_STD,
}
# Of the paper's strategies those that it tries here: name in figures -> parametrization.
STRATEGIES = {name: ALL[name] for name in ("standard", "neural-tangent")}
DECAY = 0.01  # of the standard strategy
WARMUP, HORIZON = 5_000, 200_000

PAPER = {
    "data": {
        "dataset": "fineweb_100b",
        "batch_size": 512,
        "sequence_length": 512,
        "vocab_size": 50_257,
        "tokenizer": "gpt2",
        "mask_share": 0.3,
        "span_mean": 3.0,
        "validation_blocks": 4_096,  # ours
    },
    "model": {
        "name": "bart",
        "width": 1_024,
        "depth": 12,
        "heads": 16,
        "expansion": 4,
        "base_width": 1,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "matrix_std": PAPER_STD,
        "position_std": PAPER_STD,
        "embedding_std": PAPER_STD,
    },
    "parametrization": "SP",
    "optimizer": {
        "name": "adamw",
        "betas": [0.9, 0.998],
        "eps": 1e-6,
        "eps_convention": "fairseq",
        "weight_decay": DECAY,
        "clip": {"norm": 0.1, "width_aware": False},
    },
    "lr": 1e-3,
    "schedule": {"name": "linear", "warmup": WARMUP, "final": 0.0, "steps": HORIZON},
    "steps": HORIZON,
    "evaluations": 200,
    "microbatches": 32,
    "precision": "float16",
    "threads": 1,
    "seed": 0,
}
SMALL = {
    "data.dataset": "ccnews",
    "data.batch_size": 16,
    "data.sequence_length": 48,
    "data.vocab_size": 256,
    "data.tokenizer": "bpe",
    "data.validation_blocks": 128,
    "microbatches": 1,
    "precision": "float32",
}
SIZES = {
    "smoke": SMALL | {"data.batch_size": 8, "data.validation_blocks": 16},
    "reduced": SMALL,
    # 128 sequences * 256 tokens = 2^15 tokens a step
    "workstation": {
        "data.dataset": "ccnews",
        "data.batch_size": 128,
        "data.sequence_length": 256,
        "data.vocab_size": 16_384,
        "data.tokenizer": "bpe",
        "data.validation_blocks": 256,
        "microbatches": 2,
        "precision": "bfloat16",
    },
    "paper": {},
}


def shift(strategy: str, width: int) -> float:
    """Factor on the standard learning rate, and divisor of its weight decay, in II.2.E: what gives
    the matrices the standard rate, n^3/2 for neural-tangent."""
    return 1 / matrix_factor(strategy, width)


def settings(model: str, strategy: str, scale: str) -> dict:
    """Changes to PAPER for a model, a strategy and a scale: dotted key -> value."""
    width = WIDTH[model][scale]
    return SIZES[scale] | {
        "model.width": width,
        "model.depth": DEPTH[model][scale],
        "model.heads": HEADS[model][scale],
        "model.matrix_std": STD[scale],
        "model.position_std": STD[scale],
        "model.embedding_std": STD[scale] if strategy == "standard" else 1.0,
        "parametrization": ALL[strategy],
        "optimizer.weight_decay": DECAY / shift(strategy, width),
    }


def lengths(steps: int, evaluations: int, horizon: int) -> dict:
    """Settings of a run of `steps` on a schedule of `horizon`, with the paper's warm-up share."""
    return {
        "steps": steps,
        "evaluations": evaluations,
        "schedule.steps": horizon,
        "schedule.warmup": max(1, round(horizon * WARMUP / HORIZON)),
    }
