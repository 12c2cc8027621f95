"""The cost of task `transfer`, by its model."""

from collections.abc import Mapping

from repro.cost import Cost
from repro.cost.bart import span_denoising_cost
from repro.cost.decoder import language_model_cost
from repro.cost.gru import gru_cost
from repro.cost.llm import pretraining_cost
from repro.cost.vit import image_classification_cost
from repro.cost.warm_start import warm_start_cost


def transfer_cost(spec: Mapping) -> Cost:
    """One run of task `transfer`: as the task that trains this model otherwise."""
    others = {
        "decoder": language_model_cost,
        "residual_decoder": language_model_cost,
        "llm": pretraining_cost,
        "vit": image_classification_cost,
        "gru": gru_cost,
        "bart": span_denoising_cost,
    }
    return others.get(spec["model"]["name"], warm_start_cost)(spec)
