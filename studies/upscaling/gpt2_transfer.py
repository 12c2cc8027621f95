"""Transfer of learning rate and noise, GPT-2 (Figure 3 a, d): Ma et al., Appendix F.5.

Paper scale: 8 layers, 8 heads, a BPE vocabulary of 8,192 trained on FineWeb-Edu, otherwise F.3.
The code's fixed noise, 0.005 before matrices are halved, is a standard deviation. Here it is a
constant of Algorithm 2 that gives most matrices the same noise at the middle target width, 512;
the code's noise is half as large as ours at 128, and twice as large at 2,048. Base models are
trained at panel d's rate, 2^-9 (F.5 names none); both grids are ours.

Reduced: one layer and 120 steps to save time; fixed rate and noise are close to the best of the
reduced Sweep 2 of `gpt2`. What is judged are the rates of two target widths a factor of 8 apart,
with six and four seeds: a seed's best scatters three times as far at the narrow one, where a run
costs a tenth. Noise is not swept.

Overnight: five widths over a factor of 8, and half octaves wherever the paper's law, SP's rate as
1/n or noise of one standard deviation could put an optimum.
"""

from repro.core.seeds import of_arm
from repro.core.study import octaves
from studies.upscaling._transfer import OVERNIGHT_SEEDS, transfer
from studies.upscaling.gpt2 import CHOSEN, DEPARTURES, PAPER, REDUCED

SMALLER = {
    "data": PAPER["data"] | {"vocab_size": 8_192, "tokenizer": "bpe"},
    "model": PAPER["model"] | {"depth": 8, "heads": 8, "base_width": 8 * 2},
    "lr": 2.0**-9,
}
SHORT = REDUCED | {
    "data.validation_blocks": 64,  # 512 took a third of the time
    "model.depth": 1,
    "steps": 120,
    "evaluations": 6,
    "lr": 2.0**-5,
}
# 64 sequences * 1_024 tokens = 2^16 tokens a step * 1_000 steps = 66 million tokens; 9 s a run at
# width 32 to 101 s at 1,024; 195 runs: 1.9 hours. Rate: the
# reduced 2^-5 at muP's base 2 is 2^-8 at the paper's base, 16.
WORKSTATION = {
    "data.dataset": "fineweb_head",
    "data.batch_size": 64,
    "data.validation_blocks": 320,
    "model.depth": 4,
    "lr": 2.0**-8,
    "steps": 1_000,
    "microbatches": 2,
    "evaluations": 10,
}

STAGES = transfer(
    PAPER | SMALLER,
    scales={
        "smoke": SHORT | {"data.validation_blocks": 32, "steps": 4, "evaluations": 1},
        "reduced": SHORT,
        "overnight": SHORT,
        "workstation": WORKSTATION,
        "paper": {},
    },
    windows={"reduced": 20, "overnight": 20, "workstation": 100, "paper": 100},
    widths={
        "smoke": [8, 16],
        "reduced": [16, 32],
        "overnight": [16, 32, 64, 128],
        "workstation": [32, 64, 128, 256, 512],
        "paper": [64, 128, 256, 512, 1_024],
    },
    seeds={
        "smoke": [0],
        "reduced": [],
        "overnight": OVERNIGHT_SEEDS,
        "workstation": [20, 21, 22],
        "paper": [0],
    },
    lr={
        "smoke": octaves(-6, -5),
        "reduced": octaves(-7, -3),
        "overnight": [2.0**-8, *octaves(-7, -2.5, 0.5), 2.0**-1.5],
        "workstation": octaves(-11, -6),
        "paper": octaves(-12, -6),
    },
    levels={
        "smoke": [0.0, 0.5],
        "reduced": [0.0, *octaves(-4, 0)],
        "overnight": [0.0, 2.0**-5.5, *octaves(-4.5, -0.5, 0.5), 2.0**0.5],
        "workstation": [0.0, *octaves(-6, -1)],
        "paper": [0.0, *octaves(-9, -1)],
    },
    fixed_lr={
        "smoke": 2.0**-5,
        "reduced": 2.0**-5,
        "overnight": 2.0**-5,
        "workstation": 2.0**-8,
        "paper": 2.0**-9,
    },
    fixed_level={
        "smoke": 0.25,
        "reduced": 0.25,
        "overnight": 0.25,
        "workstation": 0.25,
        "paper": 0.005 / 2 * 512**0.5,
    },
    lr_seeds={"smoke": []},
    arms={
        "narrow": {
            "smoke": (8, [0, 1], octaves(-6, -5)),
            "reduced": (16, of_arm("upscaling", "fig3-rates-narrow", 6), octaves(-7, -3)),
        },
        "wide": {
            "smoke": (16, [0], octaves(-6, -5)),
            "reduced": (128, of_arm("upscaling", "fig3-rates-wide", 4), octaves(-6, -3)),
        },
    },
    chosen_after_seeing=CHOSEN,
    departures=DEPARTURES,
)
