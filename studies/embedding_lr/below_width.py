"""Theorem 1's step of the decoder with a vocabulary below every width: muP's regime (Theorem 2).

`decoder_step` has that vocabulary at widths from 32, which it is not below; at scales for a GPU its
widths are these.
"""

from repro.core.seeds import of_arm
from repro.core.study import Scale, Study
from studies.embedding_lr.decoder_step import SMOKE, SPEC, below

WIDTHS = [64, 128, 256, 512]
JOB = ("seed",)
STUDY = Study(
    task="decoder_sign_step",
    spec=SPEC,
    grid={"case": below(WIDTHS), "seed": [*range(105, 116)]},  # of `decoder_step`'s `claimed`
    scales={
        "smoke": Scale(SMOKE, {"case": below([48, 64]), "seed": [0, 1]}, ("case", *JOB)),
        "reduced": Scale(
            grid={"seed": of_arm("embedding_lr", "below-width-again", 12)}, same_job=JOB
        ),
        "workstation": Scale(same_job=JOB),
        "paper": Scale(same_job=JOB),
    },
)
