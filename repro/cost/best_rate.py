"""Task `best_rate`: forward and backward products of deep linear networks."""

from collections.abc import Mapping

from repro.cost import BYTES, Cost

RATES = 65  # that several steps are tried with


def best_rate_cost(spec: Mapping) -> Cost:
    """One run: each matrix is drawn, and multiplied with what a pass takes through it."""
    width, depth, steps, draws = (spec[key] for key in ("width", "depth", "steps", "draws"))
    columns = spec["samples"] * (1 + depth) if steps == 1 else RATES * (spec["samples"] + 1) * steps
    parameters = depth * width**2
    return Cost(
        flops=2 * draws * parameters * (columns + 2),
        parameters=parameters,
        state_bytes=BYTES * parameters,
        activation_bytes=BYTES * width * columns * (depth + 1),
        steps=draws * steps,
        layers=depth,
        precision="float32",
    )
