"""The pretrained decoder of Hayou & Liu (arXiv 2506.15025), Section 4.2 and Table 3.

The paper states Table 3, the corpus (Phi-3's, not public), 1.75T tokens (Figure 4a) and 65B
(Figure 4b), and the two learning-rate ratios. Everything else is our choice:
- FineWeb-Edu (1.75T tokens are about 1.35 epochs), and a BPE tokenizer with Table 3's vocabulary,
  trained on the corpus' beginning; a global batch of 2^22 tokens;
- AdamW with betas 0.9 and 0.95, eps 1e-8, clipping at 1; weight decay 0.1 on matrices but not on
  the embedding, so that a ratio changes only the embedding's learning rate;
- peak rate 3e-4, linear warm-up over 2,000 steps, cosine decay to a tenth at the end of each run;
- init fan_in^-1/2 for matrices, d^-1/2 for the embedding (0.022 at d = 2048);
- bfloat16 autocast; one seed; the ratios around sqrt(d).

Word-level perplexity: WikiText-2's test split as published, including `<unk>`; windows as long as
the training context, moved by half of it; negative log-likelihood of all tokens divided by the
number of words (`repro.tasks.pretraining.load_text`). The paper states no window or normalization.

Below workstation scale: Table 3's proportions (`size`), four layers. Sizes and numbers of steps
were set for time; ratio 1's rate is tuned in the study itself.
"""

CHOSEN = (
    "widths, the number of steps, the rates that ratio 1 is tuned among and the further ratios "
    "were set with pilots' losses in sight"
)
PAPER = {
    "data": {
        "dataset": "fineweb_edu",
        "batch_size": 1_024,  # 1_024 sequences * 4_096 tokens = 2^22 tokens
        "sequence_length": 4_096,
        "vocab_size": 32_064,
        "tokenizer": "bpe",
        "validation_blocks": 1_280,
        "text": {"dataset": "wikitext2", "split": "test", "stride": 2_048, "limit": None},
    },
    "model": {
        "name": "llm",
        "depth": 24,
        "width": 2_048,
        "heads": 32,
        "kv_heads": 8,
        "head_dim": 128,
        "rotary_dim": 128,
        "window": 2_048,
        "inner": 8_192,
        "base_width": 1,
    },
    "parametrization": "SP",
    "init": {"embedding": "LVP"},
    "embedding_lr": {"factor": 1.0, "power": 0.0},
    "optimizer": {
        "name": "adamw",
        "betas": [0.9, 0.95],
        "eps": 1e-8,
        "weight_decay": 0.1,
        "decayed": ["hidden", "output"],
        "clip": {"norm": 1.0, "width_aware": False},
    },
    "lr": 3e-4,
    "schedule": {"name": "cosine", "warmup": 2_000, "final": 0.1},
    "steps": 417_233,  # * 2^22 = 1.75T tokens
    "evaluations": 100,
    "microbatches": 1_024,  # one sequence at a time: affects memory only
    "precision": "bfloat16",
    "threads": 1,
    "seed": 0,
}

SMALL = {
    "data.batch_size": 4,
    "data.sequence_length": 64,
    "data.vocab_size": 2_048,
    "data.validation_blocks": 32,
    "model.depth": 4,
    "model.width": 128,
    "model.heads": 8,
    "model.kv_heads": 2,
    "model.head_dim": 32,
    "model.rotary_dim": 32,
    "model.window": 32,
    "model.inner": 512,
    "lr": 2.0**-7,
    "schedule.warmup": 15,
    "microbatches": 1,
    "precision": "float32",
}
TINY = SMALL | {
    "data.vocab_size": 256,
    "data.validation_blocks": 8,
    "model.depth": 2,
    "model.width": 16,
    "model.head_dim": 4,
    "model.rotary_dim": 4,
    "model.inner": 64,
    "schedule.warmup": 2,
    "steps": 6,
    "evaluations": 3,
}

# Table 3's proportions at a quarter of its width and half of its depth, as above, m = 16 d.
# 128 sequences * 1_024 tokens = 2^17 tokens a step; of 774 kB of activations each, so 4 parts of a
# step of 25 GB. The reduced rate, 2^-7 at width 128, goes as 1/width.
WORKSTATION = {
    "data.dataset": "fineweb_head",
    "data.batch_size": 128,
    "data.sequence_length": 1_024,
    "data.vocab_size": 8_192,
    "data.validation_blocks": 320,
    "model.depth": 12,
    "model.width": 512,
    "model.heads": 8,
    "model.kv_heads": 2,
    "model.window": 512,
    "model.inner": 2_048,
    "lr": 2.0**-9,
    "schedule.warmup": 100,
    "microbatches": 4,
}
WORKSTATION_SEEDS = [120, 121, 122]

BASELINE = {"embedding_lr.factor": 1.0, "embedding_lr.power": 0.0}  # ratio 1, "slope 0"


def sqrt_d(factor: float) -> dict[str, float]:
    """The ratio factor * sqrt(d); factor 1 is the paper's rule, "slope -1/2"."""
    return {"embedding_lr.factor": factor, "embedding_lr.power": 0.5}


def size(d: int) -> dict[str, int]:
    """Table 3's proportions at width d, at half of its heads' number: attention twice as wide as
    the model, SwiGLU 4 times, 16 words per unit of width."""
    return {
        "model.width": d,
        "model.head_dim": d // 4,
        "model.rotary_dim": d // 4,
        "model.inner": 4 * d,
        "data.vocab_size": 16 * d,
    }
