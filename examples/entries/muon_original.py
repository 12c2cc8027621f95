"""muP with Muon for hidden matrices, whose updates keep their spectral norm ("original" in torch).

Prediction: the hidden matrices' best rate stays with the width (Jordan et al.,
kellerjordan.github.io/posts/muon).
"""

NAME = "muP (original)"
PARAMETRIZATION = "muP"
OPTIMIZER = {"name": "muon", "momentum": 0.95, "adjust_lr_fn": "original"}
OCTAVES = 1  # the narrow decoder's best rate is 2^-5, where the grids of AdamW are around 2^-6
