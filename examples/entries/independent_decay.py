"""muP with AdamW's weight decay, whose product with the rate is the same at every width.

The table's own rule: a factor f on the rate comes with 1 / f on the decay (Wang & Aitchison, arXiv
2405.13698). It is given, not tuned; at the board's rates and steps it halves what it acts on.
"""

NAME = "muP, decay independent"
PARAMETRIZATION = "muP"
OPTIMIZER = {"weight_decay": 1.0}
