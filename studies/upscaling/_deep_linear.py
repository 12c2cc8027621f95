"""Settings shared by the studies of the deep linear networks of E.3 and E.4.

x, sigma and gamma are not 1, because a wrong power of 1 would go unnoticed. Training stops while
every network's output is still well below its target.
"""

SIGMA, LR = 0.8, 0.1
SPEC = {
    "layers": 3,
    "width": 64,
    "factor": 2,
    "steps_before": 6,
    "steps_after": 4,
    "x": 1.25,
    "target": 1.0,
    "sigma": SIGMA,
    "lr": LR,
    "lr_up": LR,
    "noise": {},
    "draws": 100,
    "updates": "products",
    "threads": 1,
    "seed": 0,
}
