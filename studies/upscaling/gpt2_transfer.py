"""Transfer of learning rate and noise, GPT-2 (Figure 3 a, d): Ma et al., Appendix F.5.

Paper scale: 8 layers, 8 heads, a BPE vocabulary of 8,192 trained on FineWeb-Edu, otherwise F.3.
The code's fixed noise, 0.005 before matrices are halved, is a standard deviation. Here it is a
constant of Algorithm 2 that gives most matrices the same noise at the middle target width, 512;
the code's noise is half as large as ours at 128, and twice as large at 2,048. Base models are
trained at panel d's rate, 2^-9 (F.5 names none); both grids are ours.

Reduced: one layer and 120 steps to save time; fixed rate and noise are close to the best of the
reduced Sweep 2 of `gpt2`. What is judged are the rates of two target widths a factor of 8 apart,
with more seeds at the narrow one: there a seed's best scatters three times as far, and a run costs
a tenth. Noise is not swept.

Overnight: five widths over a factor of 8, and half octaves wherever the paper's law, SP's rate as
1/n or noise of one standard deviation could put an optimum.
"""

from dataclasses import replace

from repro.core.seeds import of_arm
from repro.core.study import octaves, studies
from studies.upscaling import gpt2
from studies.upscaling._transfer import OVERNIGHT_SEEDS, Arm, Transfer, stages
from studies.upscaling.gpt2 import CHOSEN, DEPARTURES

SMALL = gpt2.SMALL | {"model.depth": 1}
NO_ARMS = {"narrow": Arm(), "wide": Arm()}
REDUCED = Transfer(
    widths=[16, 32],
    steps=120,
    batch=16,
    evaluations=6,
    settings=SMALL | {"data.validation_blocks": 64},  # 512 took a third of the time
    base_lr=2.0**-5,
    window=20,
    lr=octaves(-7, -3),
    levels=[0.0, *octaves(-4, 0)],
    fixed_lr=2.0**-5,
    fixed_level=0.25,
    arms={
        "narrow": Arm(
            widths=[16], seeds=of_arm("upscaling", "rate-gpt2-narrow-again", 16), lr=octaves(-7, -3)
        ),
        "wide": Arm(
            widths=[128], seeds=of_arm("upscaling", "rate-gpt2-wide-again", 6), lr=octaves(-6, -3)
        ),
    },
)
OVERNIGHT = replace(
    REDUCED,
    widths=[16, 32, 64, 128],
    lr=[2.0**-8, *octaves(-7, -2.5, 0.5), 2.0**-1.5],
    levels=[0.0, 2.0**-5.5, *octaves(-4.5, -0.5, 0.5), 2.0**0.5],
    seeds=OVERNIGHT_SEEDS,
    arms=NO_ARMS,
    jobs="width",
)
SMOKE = replace(
    REDUCED,
    widths=[8, 16],
    steps=4,
    evaluations=1,
    settings=SMALL | {"data.validation_blocks": 32},
    window=0,
    lr=octaves(-6, -5),
    levels=[0.0, 0.5],
    seeds=[0],
    lr_seeds=[],
    arms={
        "narrow": Arm(widths=[8], seeds=[0, 1], lr=octaves(-6, -5)),
        "wide": Arm(widths=[16], seeds=[0], lr=octaves(-6, -5)),
    },
)
PAPER = Transfer(
    widths=[64, 128, 256, 512, 1_024],
    steps=gpt2.PAPER.steps,
    batch=gpt2.PAPER.batch,
    evaluations=gpt2.PAPER.evaluations,
    base_lr=2.0**-9,
    window=100,
    lr=octaves(-12, -6),
    levels=[0.0, *octaves(-9, -1)],
    fixed_lr=2.0**-9,
    fixed_level=0.005 / 2 * 512**0.5,
    seeds=[0],
    arms=NO_ARMS,
    jobs="run",
)
# 64 sequences * 1_024 tokens = 2^16 tokens a step * 1_000 steps = 66 million tokens; 9 s a run at
# width 32 to 101 s at 1,024; 195 runs: 1.9 hours. Rate: the
# reduced 2^-5 at muP's base 2 is 2^-8 at the paper's base, 16.
WORKSTATION = replace(
    PAPER,
    widths=[32, 64, 128, 256, 512],
    steps=1_000,
    batch=64,
    evaluations=10,
    settings={
        "data.dataset": "fineweb_head",
        "data.validation_blocks": 320,
        "model.depth": 4,
        "microbatches": 2,
    },
    base_lr=2.0**-8,
    lr=octaves(-11, -6),
    levels=[0.0, *octaves(-6, -1)],
    fixed_lr=2.0**-8,
    fixed_level=0.25,
    seeds=[20, 21, 22],
    jobs="width",
)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": OVERNIGHT,
    "workstation": WORKSTATION,
    "paper": PAPER,
}
SPEC = gpt2.SPEC | {
    "data": gpt2.SPEC["data"] | {"vocab_size": 8_192, "tokenizer": "bpe"},
    "model": gpt2.SPEC["model"] | {"depth": 8, "heads": 8, "base_width": 8 * 2},
    "lr": PAPER.base_lr,
}
STAGES = studies(
    "warm_start", SPEC, stages, SCALES, chosen_after_seeing=CHOSEN, departures=DEPARTURES
)
