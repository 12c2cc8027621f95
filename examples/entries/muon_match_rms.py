"""muP with Muon for hidden matrices, whose updates have AdamW's size ("match_rms_adamw" in torch).

Prediction: the hidden matrices' best rate falls as width^-1/2 (Liu et al., arXiv 2502.16982). All
parts have one rate here, and the embedding's and readout's, which stay under muP, may hold it.
"""

NAME = "muP (match_rms)"
PARAMETRIZATION = "muP"
OPTIMIZER = {"name": "muon", "momentum": 0.95, "adjust_lr_fn": "match_rms_adamw"}
OCTAVES = 1  # as in `muon_original.py`
