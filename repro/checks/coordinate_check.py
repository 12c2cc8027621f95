"""Coordinate check with a numeric verdict: do activations keep their size as width grows?

Yang et al. (arXiv 2203.03466), Appendix D.1, judge by plots. Here, after a few steps, log
activation size is fitted against log width in each layer; the slope has an interval over seeds.
"""

from collections.abc import Mapping, Sequence

from repro.checks.tiny import tiny_run
from repro.data.random_data import random_data
from repro.errors import UserError
from repro.suite.spec import override
from repro.tasks import TASKS
from repro.training.loop import Training
from widthwise.checks.coordinates import CoordinateCheck
from widthwise.checks.slopes import activations, fit_slopes


def model_sizes(task: str, spec: Mapping, *, steps: int):
    """The argument `sizes` of `fit_slopes` for a training task, trained on one random batch.

    Width and seed of the spec are replaced; all its other settings hold, also the data's shape.
    """

    def sizes(width: float, seed: int) -> dict[tuple[str, str], float]:
        changed = override(spec, {"model.width": width, "seed": seed})
        data = random_data(changed, "cpu")
        return train_and_measure(TASKS[task].build(changed, data, "cpu"), steps)

    return sizes


def train_and_measure(training: Training, steps: int) -> dict[tuple[str, str], float]:
    """(layer, "activation" | "change") -> root mean square after `steps` steps on the first batch.

    The steps use neither clipping nor a schedule.
    """
    model, optimizer = training.model, training.optimizer
    batch = next(iter(training.batches.from_step(0)))
    inputs = batch[:-2] if len(batch) > 2 else batch[:1]  # an encoder-decoder has two inputs
    before = activations(model, *inputs)
    for _ in range(steps):
        optimizer.zero_grad()
        training.loss(model, batch).backward()
        optimizer.step()
    after = activations(model, *inputs)
    result = {}
    for layer in before:
        result[layer, "activation"] = float(after[layer].square().mean().sqrt())
        result[layer, "change"] = float((after[layer] - before[layer]).square().mean().sqrt())
    return result


def check(
    name: str, model: str, widths: Sequence[float] | None, steps: int, seeds: int
) -> CoordinateCheck:
    """The check of a model of the suite, with its verdict over all changes.

    name: a parametrization. model: one of `repro.checks.tiny.MODELS`. widths: None: the model's.
    """
    if steps < 1:
        raise UserError(f"coordinate-check: steps {steps}: without a step nothing changes; give 1")
    task, spec, its_widths = tiny_run(model, name)
    widths = widths or its_widths
    found = fit_slopes(model_sizes(task, spec, steps=steps), widths, range(seeds))
    return CoordinateCheck(tuple(found), tuple(widths), {})
