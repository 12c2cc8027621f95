"""muP with AdamW's weight decay as torch has it: multiplied with the group's own rate.

So it falls with the width where the rate does (Kosson et al., arXiv 2510.19093, say that this, and
not muP's rates, is what makes them transfer). As strong on the narrow model as in
`independent_decay.py`.
"""

from dataclasses import replace

from widthwise.parametrization import ONE, table

NAME = "muP, decay plain"
OPTIMIZER = {"weight_decay": 1.0}


def rules(family):
    """muP's, with a factor of 1 on the decay."""
    return {kind: replace(rule, weight_decay=ONE) for kind, rule in table("muP", family).items()}
