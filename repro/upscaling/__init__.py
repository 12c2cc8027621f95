"""Widening and upscaling of trained models: Ma et al. (arXiv 2602.10545), Table 1 and Appendix D.

`widen` makes a wider model and optimizer that train exactly as the narrow ones would. All copies of
a unit then stay equal: training never leaves the subspace of duplicated units, and the new width is
of no use. `perturb` adds the noise that lets the wide model leave that subspace.

growth.py       how each tensor grows, and its factors by Table 1
widening.py     a model and its buffers, widened
optimizers.py   its optimizer and the optimizer's state, widened
checks.py       what cannot be widened
noise.py        the noise of Algorithm 2 and of the released code, distance from the subspace
"""

from repro.upscaling.growth import Growth, growth_by, growths, width_axes
from repro.upscaling.noise import CONVENTIONS, noise_std, perturb, subspace_distance
from repro.upscaling.optimizers import UPDATES, Update
from repro.upscaling.widening import widen

__all__ = [
    "CONVENTIONS",
    "UPDATES",
    "Growth",
    "Update",
    "growth_by",
    "growths",
    "noise_std",
    "perturb",
    "subspace_distance",
    "widen",
    "width_axes",
]
