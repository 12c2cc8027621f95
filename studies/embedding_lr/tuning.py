"""Figure 3's sweep at its smallest width, on seeds that judge nothing.

The constant of a rule is chosen on them, and carried to the largest width of
`width_and_vocabulary`. Overnight only: elsewhere there are too few seeds to keep some apart.
"""

from dataclasses import replace

from studies.embedding_lr._decoder import TUNING_SEEDS, without_runs
from studies.embedding_lr.width_and_vocabulary import sweep

whole = sweep()
night = whole.scales["overnight"]
narrowest = replace(night, grid=night.grid | {"size": night.grid["size"][:1], "seed": TUNING_SEEDS})
scales = {name: without_runs(scale) for name, scale in whole.scales.items()}
STUDY = replace(whole, scales=scales | {"overnight": narrowest})
