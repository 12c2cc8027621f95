"""Figure 4b's ratios sqrt(d) and 2 sqrt(d), of which a claim is: more seeds at the default scale.

They share the runs of `pretraining_ratios` with the same seeds.
"""

from dataclasses import replace

from repro.core.study import Scale
from studies.embedding_lr._decoder import without_runs
from studies.embedding_lr._llm import sqrt_d
from studies.embedding_lr.pretraining_ratios import REDUCED, SEEDS
from studies.embedding_lr.pretraining_ratios import STUDY as EVERY

RATIOS = [sqrt_d(1.0), sqrt_d(2.0)]
ONLY = Scale(REDUCED, {"ratio": RATIOS, "seed": SEEDS}, same_job=("seed",))
NONE = {name: without_runs(scale) for name, scale in EVERY.scales.items()}
STUDY = replace(EVERY, scales=NONE | {"reduced": ONLY})
