"""Figure 3's sweep on the network as the paper prints it (equation 1): no LayerNorm.

The suite's other sweeps of the decoder have one, a choice made when the slopes of both were known
(`_decoder`). Reduced: none, to save time.
"""

from dataclasses import replace

from studies.embedding_lr._decoder import OVERNIGHT_SEEDS, without_runs
from studies.embedding_lr.width_and_vocabulary import sweep

whole = sweep(changes={"model.norm": "none"})
night = whole.scales["overnight"]
scales = {
    # There the main sweep is as printed; at reduced scale `figure3` is.
    **{name: without_runs(whole.scales[name]) for name in ("reduced", "workstation", "paper")},
    "overnight": replace(night, grid={**night.grid, "seed": OVERNIGHT_SEEDS[:8]}),
}
STUDY = replace(whole, scales=whole.scales | scales)
