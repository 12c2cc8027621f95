"""Widening and upscaling of trained models: Ma et al. (arXiv 2602.10545), Table 1 and Appendix D.

`widen` makes a wider model and optimizer that train exactly as the narrow ones would. All copies of
a unit then stay equal: training never leaves the subspace of duplicated units, and the new width is
of no use. `perturb` adds the noise that lets the wide model leave that subspace.

growth.py     how each tensor grows, and its factors by Table 1
widening.py   a model, its buffers, its optimizer and the optimizer's state, widened
checks.py     what cannot be widened, and whether what was widened computes the same
noise.py      the noise of Algorithm 2 and of the released code, distance from the subspace
"""

from repro.upscaling.checks import check_module, check_state, compare
from repro.upscaling.growth import Growth, growth_by, growths, width_axes
from repro.upscaling.noise import CONVENTIONS, noise_std, perturb, subspace_distance
from repro.upscaling.widening import DEGREE, RATES, STATE_POWER, widen

__all__ = [
    "CONVENTIONS",
    "DEGREE",
    "RATES",
    "STATE_POWER",
    "Growth",
    "check_module",
    "check_state",
    "compare",
    "growth_by",
    "growths",
    "noise_std",
    "perturb",
    "subspace_distance",
    "widen",
    "width_axes",
]
