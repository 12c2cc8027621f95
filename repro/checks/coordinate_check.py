"""Coordinate check of the suite's models, by the loop that `widthwise` has for any model.

Yang et al. (arXiv 2203.03466), Appendix D.1, judge by plots. Here sizes are fitted against the
width after a few steps, and each slope, with an interval over seeds, is held against its law.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from repro.checks.tiny import tiny_run
from repro.core.spec import override
from repro.data.random_data import random_data
from repro.errors import UserError
from repro.tasks import TASKS
from repro.training.loop import Training
from widthwise.checks.coordinates import CoordinateCheck, over_widths, train_and_measure
from widthwise.checks.slopes import Measured


def model_sizes(task: str, spec: Mapping, *, steps: int) -> Callable[[float, int], Measured]:
    """The argument `measure` of `over_widths` for a training task, trained on one random batch.

    Width and seed of the spec are replaced; all its other settings hold, also the data's shape.
    """

    def sizes(width: float, seed: int) -> Measured:
        changed = override(spec, {"model.width": width, "seed": seed})
        data = random_data(changed, "cpu")
        return training_sizes(TASKS[task].build(changed, data, "cpu"), steps)

    return sizes


def training_sizes(training: Training, steps: int) -> Measured:
    """What `train_and_measure` finds after `steps` steps on the first batch, with neither clipping
    nor a schedule."""
    batch = next(iter(training.batches.from_step(0)))
    inputs = batch[:-2] if len(batch) > 2 else batch[:1]  # an encoder-decoder has two inputs
    return train_and_measure(
        training.model,
        training.optimizer,
        [(tuple(inputs), batch)],
        lambda model, given: training.loss(model, given[1]),
        steps,
    )


def check(
    name: str, model: str, widths: Sequence[float] | None, steps: int, seeds: int
) -> CoordinateCheck:
    """The check of a model of the suite, with its verdict.

    name: a parametrization. model: one of `repro.checks.tiny.MODELS`. widths: None: the model's.
    """
    task, spec, its_widths = tiny_run(model, name)
    whole = all(float(width).is_integer() for width in its_widths)
    for width in widths or ():
        if not 0 < width < math.inf or (whole and not float(width).is_integer()):
            numbers = "whole numbers from 1" if whole else "numbers above 0"
            raise UserError(f"coordinate-check: width {width}: {model} takes {numbers}")
    return over_widths(model_sizes(task, spec, steps=steps), widths or its_widths, seeds)
