"""Muon for hidden matrices, and the rates of embedding and readout both as width^-1/2.

So karpathy/nanochat has them (92d63d4, nanochat/gpt.py, line 433: `(model_dim / 768) ** -0.5`). All
else is as in `muon_original.py`, initial values too: these two rates are what is judged.

Prediction: more is lost than in `muon_original.py`, since a readout's rate should fall as 1/width.
Known before: a trial on the decoder lost 45 % of the gain, and `transfer/muon_rules` has readout
and not embedding as its cause; of the other workloads nothing was known.
"""

from dataclasses import replace

from widthwise.parametrization import Power, table

NAME = "nanochat rates"
OPTIMIZER = {"name": "muon", "momentum": 0.95, "adjust_lr_fn": "original"}
OCTAVES = 1  # as in `muon_original.py`


def rules(family):
    """muP's, with two other rates; the product of rate and weight decay stays."""
    rows = table("muP", family)
    rates = {"embedding": Power(n_out=-1 / 2), "output": Power(n_in=-1 / 2)}
    return rows | {
        kind: replace(rows[kind], lr=lr, weight_decay=lr.inverse) for kind, lr in rates.items()
    }
