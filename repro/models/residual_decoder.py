"""The decoder with a factor on its residual branches that falls with its depth.

CompleteP (Dey et al., arXiv 2505.01618): x = x + (depth / base_depth)^-alpha f(LN(x)), alpha = 1,
where the rate of the blocks' weights has the factor (depth / base_depth)^(alpha - 1) = 1. Adam's
eps, which there falls as the gradients do, is left as it is.
"""

from repro.models.decoder import Decoder

ARCHITECTURE = {"class_name": "ResidualDecoder"}
TINY = None  # at the base's depth it is the decoder


class ResidualDecoder(Decoder):
    """A `Decoder` whose branches are multiplied by (depth / base_depth)^-branch_power.

    branch_power: 0 leaves the branches as they are, 1 is CompleteP's. At base_depth both are the
    same model. The other arguments are the decoder's.
    """

    def __init__(self, *, base_depth: int, branch_power: float, depth: int, **settings):
        super().__init__(depth=depth, **settings)
        self.branch_multiplier = (depth / base_depth) ** -branch_power
