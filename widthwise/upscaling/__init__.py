"""Widening and upscaling of trained models: Ma et al. (arXiv 2602.10545), Table 1 and Appendix D.

`widen` makes a wider model and optimizer that train exactly as the narrow ones would; by Table 1
alone, as the paper's own networks need it, with unchecked=True and averages=["*"]. All copies of a
unit then stay equal: training never leaves the subspace of duplicated units, and the new width is
of no use. `perturb` adds the noise that lets the wide model leave that subspace. Other ways of
growing are `by` of `widen`.

widening.py     any module and its optimizers, widened, and held against the narrow one on a batch
growth.py       how each tensor grows, and its factors by Table 1
blocks.py       how many units of each axis are copied together
dimensions.py   how each operator relates the dimensions that it is given and returns
relations.py    relations between the blocks along dimensions
calls.py        the operators of a pass
filling.py      a wide module, given the narrow one's values
optimizers.py   its optimizer and the optimizer's state, widened
untying.py      a readout that is the embedding too, given weights of its own
checks.py       what cannot be widened
compare.py      whether a widened module computes what the narrow one does
stored.py       weights in files
exactly.py      a module's function in float64 and without chance
alongside.py    what goes along: averages, schedulers, clipping, noise
noise.py        the noise of Algorithm 2 and of the released code, distance from the subspace
"""

from widthwise.upscaling.growth import Growth, width_axes
from widthwise.upscaling.noise import CONVENTIONS, noise_std, perturb, subspace_distance
from widthwise.upscaling.optimizers import resume
from widthwise.upscaling.widening import widen

__all__ = [
    "CONVENTIONS",
    "Growth",
    "noise_std",
    "perturb",
    "resume",
    "subspace_distance",
    "widen",
    "width_axes",
]
