"""MLP and GPT-2, both with AdamW and under muP, and the ways to grow them that their layers allow.

mlp_<stage>: on the table, a target of width 64. The smaller budget shows it ten rows a parameter,
    the larger 30; overnight, at width 128, nine and 35.
gpt2_<stage>: on text, a target of width 32. The smaller budget shows it five tokens a parameter;
    overnight, at width 64, so does the smaller, and the larger above 20. LayerNorm takes statistics
    over the axis that grows, which zeros would change: `zeros` is refused.
"""

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.growth._ways import WAYS, nights, ways
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
STAGES = ways(
    "mlp",
    MLP,
    NAMES["mlp"],
    targets=nights({"smoke": 64, "reduced": 64, "overnight": 128}),
    scales=nights({"smoke": {}, "reduced": {}, "overnight": {}}),
    # Of the target's parameters, 12 thousand; at the width 128 of the night they are 41 thousand.
    steps=nights({"smoke": [24, 48], "reduced": [240, 720], "overnight": [720, 2_880]}),
    window=nights({"smoke": 12, "reduced": 24, "overnight": 72}),
    rates=nights(
        {"smoke": octaves(-6, -6), "reduced": octaves(-8, -3), "overnight": octaves(-8, -3)}
    ),
    seeds=nights(
        {
            "smoke": [0, 1],
            "reduced": of_arm("growth", "mlp-fair", 6),
            "overnight": of_arm("growth", "mlp-night", 6),
        }
    ),
)
STAGES |= ways(
    "gpt2",
    GPT2,
    NAMES["gpt2"],
    targets=nights({"smoke": 32, "reduced": 32, "overnight": 64}),
    scales=nights({"smoke": {}, "reduced": {}, "overnight": {"data.batch_size": 32}}),
    steps=nights({"smoke": [4, 8], "reduced": [300], "overnight": [500, 2_300]}),
    window=nights({"smoke": 2, "reduced": 30, "overnight": 50}),
    rates=nights(
        {"smoke": octaves(-6, -6), "reduced": octaves(-8, -4), "overnight": octaves(-8, -4)}
    ),
    seeds=nights(
        {
            "smoke": [0, 1],
            "reduced": of_arm("growth", "gpt2-fair", 7),
            "overnight": of_arm("growth", "gpt2-night", 4),
        }
    ),
)
