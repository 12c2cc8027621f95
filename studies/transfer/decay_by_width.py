"""The best weight decay of a network against its width, the horizon held.

The MLP of `upscaling` from scratch under muP, sixty epochs, AdamW's decay on the hidden matrices
alone, judged by the loss on rows held out: on those it trains on none is best. muP holds the
product of rate and decay at every width (`independent`), so the axis is that product over the rate
at the base. The rate is constant.

Four public rules say how the product of a hidden matrix' rate and its decay goes with the width n:
constant (Wang & Aitchison, arXiv 2405.13698), n^-1/2 (Fan et al., arXiv 2510.15262: decay as n^1/2
beside a rate of 1/n), 1/n (Qiu et al., arXiv 2512.05620), n^-2 (nanochat, dev/LOG.md: decay as
n^-1.97 beside Muon's constant rate). All are of language models, the last two of horizons that grow
with the model. GPT-2 was tried first, on seeds from 1900: 1,500 steps on two cores are too few. Its
best rate x decay x steps was about 1.5 at width 64, where decay hardly acts.
"""

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study, octaves
from studies.upscaling._mlp import ADAMW, DRAWN_BIASES, SPEC

DECAY = "optimizer.weight_decay"
WIDTH = "model.width"
RATE = 2.0**-6
# 12_000 rows // 500 = 24 batches * 60 epochs = 1_440 steps; a final loss is over two epochs.
LONG = {
    "data.batch_size": 500,
    "model.base_width": 32,
    "lr": RATE,
    "steps": 1_440,
    "evaluations": 60,
}
WIDTHS = [100, 200, 500, 2_000]
GRID = [0.0, *octaves(-7, 3)]

STUDY = Study(
    task="warm_start",
    spec=SPEC | {"optimizer": ADAMW | {"decayed": ["hidden"]}},
    grid={WIDTH: WIDTHS, DECAY: GRID, "seed": [0, 1, 2, 3, 4]},
    scales={
        "smoke": Scale(
            LONG | {"steps": 24, "evaluations": 2},
            {WIDTH: [32, 64], DECAY: [0.0, *octaves(-4, 2, 2)], "seed": [0, 1]},
            same_job=(WIDTH, DECAY, "seed"),
        ),
        "reduced": Scale(
            LONG,
            {
                WIDTH: [64, 128, 256],
                DECAY: [0.0, *octaves(-4, 4)],
                "seed": of_arm("transfer", "decay-width", 12),
            },
            same_job=("seed",),
            window=48,
        ),
        "paper": Scale(DRAWN_BIASES, window=464),
    },
    chosen_after_seeing=(
        "network, epochs, rate and the loss that is judged, on seeds from 1900, so that decay acts "
        "at every width; width 32, whose curve is flat, was left out for its noise"
    ),
)
