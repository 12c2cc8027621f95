"""Workload: an encoder-decoder that restores corrupted text, its readout tied to the embedding.

BART as Dinan et al. train it, without dropout; blocks of news are seen once, each with its own
noise. Matrices start at fan_in^-1/2, embeddings at 1 / 8, so that at the base width logits start
near the size that GPT-2's have. The heads are as many at every width.
Paper scale: 256 blocks of 512 tokens, 10,000 steps = 1.3 billion tokens.
On a workstation 32 blocks of 256 tokens for 1,000 steps, three widths: 1.5 hours.
"""

from dataclasses import replace

from repro.core.study import octaves, studies
from studies.transfer import _workload
from studies.transfer._workload import ONE_SEEN, RUN, TIED, no_night, stages

SMALL = {
    "data.dataset": "ccnews",
    "data.batch_size": 16,
    "data.sequence_length": 48,
    "data.vocab_size": 256,
    "data.tokenizer": "bpe",
    "model.depth": 1,
    "model.heads": 4,
    "microbatches": 1,
    "precision": "float32",
}
OWN = {"parametrizations": TIED, "ratios": [1.0, 4.0, 16.0]}
PAPER = replace(_workload.PAPER, **OWN, widths=[256, 512, 1024])
WORKSTATION = replace(
    _workload.WORKSTATION,
    **OWN,
    widths=[64, 256, 1024],
    steps=1_000,
    settings={
        "data.dataset": "ccnews",
        "data.batch_size": 32,
        "data.sequence_length": 256,
        "data.vocab_size": 8_192,
        "data.tokenizer": "bpe",
        "model.heads": 8,
        "microbatches": 1,
    },
)
REDUCED = replace(
    _workload.REDUCED, **OWN, widths=[32, 96], steps=200, settings=SMALL, lr=octaves(-9, -5)
)
SMOKE = replace(_workload.SMOKE, parametrizations=TIED, widths=[32, 64], settings=SMALL)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": no_night(REDUCED),
    "workstation": WORKSTATION,
    "paper": PAPER,
}
SPEC = {
    "data": {
        "dataset": "fineweb_100b",
        "batch_size": 256,
        "sequence_length": 512,
        "vocab_size": 50_257,
        "tokenizer": "gpt2",
        "mask_share": 0.3,
        "span_mean": 3.0,
        "validation_blocks": 1,
    },
    "model": {
        "name": "bart",
        "width": 256,
        "depth": 6,
        "heads": 16,
        "expansion": 4,
        "base_width": 256,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "matrix_std": None,
        "position_std": 0.125,
        "embedding_std": 0.125,
    },
    "steps": PAPER.steps,
    "microbatches": 4,  # 157 GB at width 1,024 in one
    "precision": "bfloat16",
}
STAGES = studies("transfer", RUN | SPEC, stages, SCALES, chosen_after_seeing=ONE_SEEN)
