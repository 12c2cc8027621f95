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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from repro.core.study import only_one, whole
from studies.effective_theory._strategies import STRATEGIES as ALL
from studies.effective_theory._strategies import matrix_factor

PAPER_STD = 0.02
# Of the paper's strategies those that it tries here: name in figures -> parametrization.
STRATEGIES = {name: ALL[name] for name in ("standard", "neural-tangent")}
DECAY = 0.01  # of the standard strategy
WARMUP, HORIZON = 5_000, 200_000


def std_at(width: int) -> float:
    """The standard deviation with which the paper's C_Q, ..., C_X are as at its 1,024 units."""
    return PAPER_STD * (1_024 / width) ** 0.5


@dataclass(frozen=True, kw_only=True)
class Network:
    """One of the two models at one scale, and how long it is trained.

    width: units. depth: blocks of either stack. heads: of attention.
    std_of: the width whose standard deviation initial values have, 0 its own; R2C2's is BART's.
    steps: of a run. evaluations: how many in a run. horizon: steps of the schedule, of which the
        paper's share is warm-up.
    settings: other changes to the settings at paper scale, dotted key -> value.
    """

    width: int
    depth: int
    heads: int
    std_of: int = 0
    steps: int
    evaluations: int
    horizon: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def at_widths(self, widths: Sequence[float]) -> "Network":
        """At this width, with the matrices' constants."""
        return replace(self, width=whole(only_one(widths), "it"))

    @property
    def std(self) -> float:
        """Of initial matrices and positions, under standard of the embedding too."""
        return std_at(self.std_of or self.width)

    @property
    def changes(self) -> dict[str, Any]:
        """What it changes of SPEC under every strategy."""
        return {
            **self.settings,
            "model.width": self.width,
            "model.depth": self.depth,
            "model.heads": self.heads,
            "model.matrix_std": self.std,
            "model.position_std": self.std,
            "steps": self.steps,
            "evaluations": self.evaluations,
            "schedule.steps": self.horizon,
            "schedule.warmup": max(1, round(self.horizon * WARMUP / HORIZON)),
        }

    def under(self, strategy: str) -> dict[str, Any]:
        """What a strategy changes of SPEC for it."""
        return {
            "parametrization": ALL[strategy],
            "model.embedding_std": self.std if strategy == "standard" else 1.0,
            "optimizer.weight_decay": DECAY / shift(strategy, self.width),
        }


SPEC = {
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
TINY = SMALL | {"data.batch_size": 8, "data.validation_blocks": 16}
# 128 sequences * 256 tokens = 2^15 tokens a step
WORKSTATION = {
    "data.dataset": "ccnews",
    "data.batch_size": 128,
    "data.sequence_length": 256,
    "data.vocab_size": 16_384,
    "data.tokenizer": "bpe",
    "data.validation_blocks": 256,
    "microbatches": 2,
    "precision": "bfloat16",
}


def shift(strategy: str, width: int) -> float:
    """Factor on the standard learning rate, and divisor of its weight decay, in II.2.E: what gives
    the matrices the standard rate, n^3/2 for neural-tangent."""
    return 1 / matrix_factor(strategy, width)
