"""Task name -> version, needed inputs, cost, what it records, and the module that runs it. No torch
at import.

A spec is the mapping of all settings of one run. A need names an input (`repro.data.needs`).
A module that trains has two functions. `load_data(spec, inputs, device) -> repro.data.loading.Data`
reads prepared files. `build(run, *, ...) -> repro.training.loop.Training` makes the untrained run
that `repro.training.loop.fit` takes. `run` is a `repro.tasks.trainable.Trainable`, what all tasks
that train are told, and makes model and optimizer of it; the task's own settings are the keywords,
without defaults: a setting that is missing or misspelt is an error. Benchmarks and checks call
`Task.build` with data of their own (`repro.data.random_data`).
A module that does not train has `run(*, ..., inputs, device, progress, checkpoint)` -> records;
`device` is a torch.device, or None if the spec names no threads.

A change of a task's results must raise its version: run ids contain the version, and the golden
cells in tests/golden fail if results change without it.

Tasks that train
  language_model.py             a decoder, with rates and initial values by kind of role
  pretraining.py                a decoder with a learning rate of its embedding's own
  image_classification.py       a Vision Transformer
  span_denoising.py             an encoder-decoder
  transfer.py                   any model once through its data
  warm_start.py                 from scratch or from a widened base

Tasks that measure
  deep_linear.py                deep linear networks, trained, widened and perturbed
  best_rate.py                  the best learning rate of deep linear networks
  dynamic_equivalence.py        whether a widened model trains as its base would
  own_equivalence.py            the same of modules of torch.nn, by `widthwise`
  width_scalings.py             how settings scale with two widths
  parameter_table.py            a model's parameters as built
  parametrization_exponents.py  initial variances and rates of one width
  sign_sgd_step.py              one SignSGD step of a linear model
  decoder_sign_step.py          the first sign step of a decoder
  update_sizes.py               how far training moves a Transformer
  transformer_kernels.py        forward kernels of Transformers
  tangent_kernels.py            their neural tangent kernels
  token_frequencies.py          token frequency against rank
  training_costs.py             the costs that Ma et al. print

What tasks share
  trainable.py                  what all that train are told: model, optimizer and run of it
  identity.py                   the numbers that a run is known by
  recorded.py                   what is in the records of each task
  counted.py                    what a model without a formula costs, by torch's counter
  equal_runs.py                 a few steps by which two names of one training are recognized
  named_network.py              a model of `repro.models` whose kernels are measured
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from repro.cost import Cost
from repro.cost.bart import span_denoising_cost
from repro.cost.best_rate import best_rate_cost
from repro.cost.by_model import formula
from repro.cost.decoder import language_model_cost
from repro.cost.kernels import tangent_kernels_cost, transformer_kernels_cost
from repro.cost.llm import pretraining_cost
from repro.cost.vit import image_classification_cost
from repro.data.needs import Arrays, Need, Text, Tokens
from repro.errors import UserError, did_you_mean
from repro.models import ARCHITECTURES
from repro.tasks import recorded
from repro.tasks.identity import trained

if TYPE_CHECKING:
    import torch

    from repro.data.loading import Data
    from repro.training.loop import Training


# Settings of every task that trains, the fields of `repro.tasks.trainable.Trainable`.
SHARED = (
    "data",
    "model",
    "parametrization",
    "optimizer",
    "lr",
    "steps",
    "evaluations",
    "microbatches",
    "precision",
    "threads",
    "seed",
)


def _unchanged(spec: Mapping) -> Mapping:
    return spec


def _never(spec: Mapping) -> bool:
    return False


def _cost_of_trained(spec: Mapping) -> Cost:
    return TASKS[spec["trains"]].cost(spec)


def _cost_of_model(task: str, spec: Mapping) -> Cost:
    """By the model's own formula; where it has none, torch counts."""
    name = spec["model"]["name"]
    if name not in ARCHITECTURES:
        raise UserError(f"model {name!r} is unknown: {did_you_mean(name, ARCHITECTURES)}")
    if known := formula(name):
        return known(spec)
    return import_module("repro.tasks.counted").counted(task, spec)


def _convolves(spec: Mapping) -> bool:
    return spec["model"]["name"] == "resnet"


@dataclass(frozen=True)
class Task:
    """version: of its results. needs: spec -> inputs. cost: spec -> Cost of one run. records: what
    they hold, against which every cell is held.

    identity: spec -> the settings that enter a run's id. The seed is handed on as it is: all
    runs of a grid point share the rest.

    cpu_dependent: spec -> whether results must not be expected to be equal to the last digit even
    under one arithmetic. So for oneDNN's convolutions, which it divides by the sizes of caches: on
    every CPU that was simulated they gave the same bits, on real ones that was not watched yet. As
    matrix products they would differ between AMD and Intel.
    """

    version: int
    module: str
    needs: Callable[[Mapping], Sequence[Need]]
    cost: Callable[[Mapping], Cost]
    records: recorded.Records
    identity: Callable[[Mapping], Mapping] = _unchanged
    cpu_dependent: Callable[[Mapping], bool] = _never

    def run(
        self,
        spec: Mapping,
        *,
        inputs: Mapping[Need, Path],
        device: str,
        progress: Callable[[int, float], None],
        checkpoint: Path,
        final: Path | None = None,
    ) -> list[dict]:
        """Carry out one run and return one record per evaluation.

        inputs: need -> path of its manifest. device: "cpu" or "cuda". progress, checkpoint, final:
        see `repro.training.loop.fit`; a task that does not train writes no checkpoint.
        """
        from repro import backend
        from repro.training.loop import fit

        module = import_module(self.module)
        if hasattr(module, "run"):
            # A task whose spec has no threads only counts or looks up: it needs no device.
            own = backend.select(device, spec["threads"]) if "threads" in spec else None
            context = {"inputs": inputs, "device": own}
            return module.run(**spec, **context, progress=progress, checkpoint=checkpoint)
        place = backend.select(device, spec["threads"])
        training = self.build(spec, module.load_data(spec, inputs, place), place)
        return fit(training, progress=progress, checkpoint=checkpoint, final=final)

    def build(self, spec: Mapping, loaded: "Data", device: "torch.device | str") -> "Training":
        """The untrained run of a task that trains.

        device: where `loaded` lies; "meta" gives shapes without values.
        """
        from repro.tasks.trainable import Trainable

        # An entry's digest (`repro.core.entry`) is what a run is known by, and trains nothing.
        own = {key: value for key, value in spec.items() if key != "entry"}
        run = Trainable(**{name: own.pop(name) for name in SHARED}, loaded=loaded, device=device)
        return import_module(self.module).build(run, **own)


def _data(spec: Mapping) -> list[Need]:
    data = spec["data"]
    if "vocab_size" in data:
        needs: list[Need] = [Tokens(data["dataset"], data["vocab_size"], data["tokenizer"])]
        return needs + ([Text(data["text"]["dataset"])] if data.get("text") else [])
    return [Arrays(data["dataset"])]


def _nothing(spec: Mapping) -> list[Tokens]:
    return []


def _free(spec: Mapping) -> Cost:
    return Cost()


TASKS = {
    "language_model": Task(
        2,
        "repro.tasks.language_model",
        _data,
        language_model_cost,
        recorded.LANGUAGE_MODEL,
        identity=trained,
    ),
    "pretraining": Task(
        2,
        "repro.tasks.pretraining",
        _data,
        pretraining_cost,
        recorded.PRETRAINING,
        identity=trained,
    ),
    "warm_start": Task(
        3,
        "repro.tasks.warm_start",
        _data,
        partial(_cost_of_model, "warm_start"),
        recorded.WARM_START,
        identity=trained,
        cpu_dependent=_convolves,
    ),
    "transfer": Task(
        1,
        "repro.tasks.transfer",
        _data,
        partial(_cost_of_model, "transfer"),
        recorded.TRANSFER,
        identity=trained,
        cpu_dependent=_convolves,
    ),
    "image_classification": Task(
        1,
        "repro.tasks.image_classification",
        _data,
        image_classification_cost,
        recorded.IMAGE_CLASSIFICATION,
        identity=trained,
    ),
    "span_denoising": Task(
        1,
        "repro.tasks.span_denoising",
        _data,
        span_denoising_cost,
        recorded.SPAN_DENOISING,
        identity=trained,
    ),
    "update_sizes": Task(
        1,
        "repro.tasks.update_sizes",
        _data,
        _cost_of_trained,
        recorded.UPDATE_SIZES,
        identity=trained,
    ),
    "parameter_table": Task(
        1, "repro.tasks.parameter_table", _nothing, _free, recorded.PARAMETER_TABLE
    ),
    "token_frequencies": Task(
        1, "repro.tasks.token_frequencies", _data, _free, recorded.TOKEN_FREQUENCIES
    ),
    "decoder_sign_step": Task(
        2, "repro.tasks.decoder_sign_step", _data, _free, recorded.DECODER_SIGN_STEP
    ),
    "sign_sgd_step": Task(2, "repro.tasks.sign_sgd_step", _nothing, _free, recorded.SIGN_SGD_STEP),
    "parametrization_exponents": Task(
        1,
        "repro.tasks.parametrization_exponents",
        _nothing,
        _free,
        recorded.PARAMETRIZATION_EXPONENTS,
    ),
    "width_scalings": Task(
        1, "repro.tasks.width_scalings", _nothing, _free, recorded.WIDTH_SCALINGS
    ),
    "dynamic_equivalence": Task(
        5, "repro.tasks.dynamic_equivalence", _nothing, _free, recorded.DYNAMIC_EQUIVALENCE
    ),
    "equal_runs": Task(1, "repro.tasks.equal_runs", _nothing, _free, recorded.EQUAL_RUNS),
    "own_equivalence": Task(
        1, "repro.tasks.own_equivalence", _nothing, _free, recorded.OWN_EQUIVALENCE
    ),
    "training_costs": Task(
        1, "repro.tasks.training_costs", _nothing, _free, recorded.TRAINING_COSTS
    ),
    "deep_linear": Task(1, "repro.tasks.deep_linear", _nothing, _free, recorded.DEEP_LINEAR),
    "best_rate": Task(1, "repro.tasks.best_rate", _nothing, best_rate_cost, recorded.BEST_RATE),
    "transformer_kernels": Task(
        2,
        "repro.tasks.transformer_kernels",
        _nothing,
        transformer_kernels_cost,
        recorded.TRANSFORMER_KERNELS,
    ),
    "tangent_kernels": Task(
        2, "repro.tasks.tangent_kernels", _nothing, tangent_kernels_cost, recorded.TANGENT_KERNELS
    ),
}
