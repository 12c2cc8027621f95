"""MLP and GPT-2, both with AdamW and under muP, and the ways to grow them that their layers allow.

mlp_<stage>: on the table, a target of width 64. The smaller budget shows it ten rows a parameter,
    the larger 30; overnight, at width 128, nine and 35.
gpt2_<stage>: on text, a target of width 32. The smaller budget shows it five tokens a parameter;
    overnight, at width 64, so does the smaller, and the larger above 20. LayerNorm takes statistics
    over the axis that grows, which zeros would change: `zeros` is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.core.seeds import of_arm
from repro.core.study import Stage, octaves, studies
from studies.growth._ways import CHOSEN, WAYS, Growth, ways
from widthwise.parametrization import KINDS

MLP = {
    "data": {"dataset": "covtype", "batch_size": 500},
    "model": {
        "name": "mlp",
        "inputs": 54,
        "classes": 7,
        "hidden_layers": 3,
        "width": 64,
        "base_width": 16,
    },
    "parametrization": "muP-multiplier",
    "start": None,
    "optimizer": {
        "name": "adamw",
        "betas": [0.9, 0.999],
        "eps": 1e-8,
        "weight_decay": 1e-4,
        "decayed": list(KINDS),
        "clip": None,
    },
    "lr": 2.0**-6,
    "steps": 240,
    "microbatches": 1,
    "evaluations": 10,
    "precision": "float32",
    "threads": 1,
    "seed": 90,
}
GPT2 = {
    "data": {
        "dataset": "wikitext2",
        "batch_size": 16,
        "sequence_length": 32,
        "vocab_size": 256,
        "tokenizer": "bpe",
        "validation_blocks": 32,
    },
    "model": {
        "name": "gpt2",
        "depth": 2,
        "heads": 2,
        "width": 32,
        "base_width": 4,
        "attention_constant": 4.0,
        "embedding_std": 0.02,
    },
    "parametrization": "muP-multiplier",
    "start": None,
    "optimizer": {
        "name": "adamw",
        "betas": [0.9, 0.95],
        "eps": 1e-8,
        "weight_decay": 0.1,
        "decayed": ["embedding", "hidden", "output"],
        "clip": {"norm": 1.0, "width_aware": False},
    },
    "lr": 2.0**-6,
    "steps": 300,
    "microbatches": 1,
    "evaluations": 10,
    "precision": "float32",
    "threads": 1,
    "seed": 90,
}
# Network -> the ways to grow it.
NAMES = {"mlp": (*WAYS,), "gpt2": tuple(name for name in WAYS if name != "zeros")}


@dataclass(frozen=True, kw_only=True)
class Grown:
    """What is run at one scale, of either network."""

    mlp: Growth
    gpt2: Growth

    def at_widths(self, widths: Sequence[float]) -> "Grown":
        """Of targets of this width."""
        return Grown(mlp=self.mlp.at_widths(widths), gpt2=self.gpt2.at_widths(widths))


REDUCED = Grown(
    mlp=Growth(
        target=64,
        steps=[240, 720],  # the target has 12 thousand parameters
        window=24,
        rates=octaves(-8, -3),
        seeds=of_arm("growth", "mlp-fair", 6),
    ),
    gpt2=Growth(
        target=32,
        steps=[300],
        window=30,
        rates=octaves(-8, -4),
        seeds=of_arm("growth", "gpt2-fair", 7),
    ),
)
OVERNIGHT = Grown(
    mlp=replace(
        REDUCED.mlp,
        target=128,
        steps=[720, 2_880],  # the target has 41 thousand parameters
        window=72,
        seeds=of_arm("growth", "mlp-night", 6),
    ),
    gpt2=replace(
        REDUCED.gpt2,
        target=64,
        settings={"data.batch_size": 32},
        steps=[500, 2_300],
        window=50,
        seeds=of_arm("growth", "gpt2-night", 4),
    ),
)
SMOKE = Grown(
    mlp=Growth(target=64, steps=[24, 48], window=12, rates=octaves(-6, -6), seeds=[0, 1]),
    gpt2=Growth(target=32, steps=[4, 8], window=2, rates=octaves(-6, -6), seeds=[0, 1]),
)
# The paper's sizes were not read: what runs overnight stands for them.
SCALES = {"smoke": SMOKE, "reduced": REDUCED, "overnight": OVERNIGHT, "paper": OVERNIGHT}


def stages(at: Grown) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    mlp, gpt2 = ways("mlp", MLP, NAMES["mlp"], at.mlp), ways("gpt2", GPT2, NAMES["gpt2"], at.gpt2)
    return mlp | gpt2


STAGES = studies("warm_start", {}, stages, SCALES, chosen_after_seeing=CHOSEN)
