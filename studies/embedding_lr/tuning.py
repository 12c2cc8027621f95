"""Figure 3's sweep at its smallest width, on seeds that judge nothing.

The constant of a rule is chosen on them, and carried to the largest width of
`width_and_vocabulary`. Overnight only: elsewhere there are too few seeds to keep some apart.
"""

from dataclasses import replace

from repro.core.study import studies
from studies.embedding_lr import _decoder
from studies.embedding_lr.width_and_vocabulary import OVERNIGHT, SWEEPS, stages

NONE = {name: replace(at, seeds=[]) for name, at in SWEEPS.items()}
NARROWEST = replace(OVERNIGHT, widths=OVERNIGHT.widths[:1], seeds=[*range(2010, 2020)])
SCALES = NONE | {"overnight": NARROWEST}
STUDY = studies(
    "language_model", _decoder.PAPER, stages, SCALES, chosen_after_seeing=_decoder.CHOSEN
)[""]
