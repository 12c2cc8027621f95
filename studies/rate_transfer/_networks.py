"""Deep linear networks of Hayou (arXiv 2511.01734) on data sets of eight unequal inputs.

The paper's own sizes were not read: these are ours at every scale. A seed is a data set; on each
there are as many networks as `draws`.
"""

SPEC = {
    "parametrization": "muP",
    "width": 64,
    "depth": 3,
    "features": 16,
    "samples": 8,
    "largest": 4.0,
    "steps": 1,
    "draws": 16,
    "threads": 1,
    "seed": 0,
}
