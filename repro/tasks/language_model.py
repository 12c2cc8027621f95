"""Next-token prediction with a decoder; learning rate and init are set per kind of role."""

from collections.abc import Mapping

import torch

from repro import models
from repro.data.loading import Data
from repro.data.loading import load_data as load_data  # called by `repro.tasks.Task`
from repro.training.evaluation import loss
from repro.training.loop import Training
from repro.training.optimizer import make_groups, make_optimizer


def build(
    *,
    data: Mapping,
    model: Mapping,
    parametrization: str,
    init: Mapping[str, str],
    lr: Mapping[str, float],
    optimizer: Mapping,
    steps: int,
    evaluations: int,
    microbatches: int,
    precision: str,
    threads: int,
    seed: int,
    loaded: Data,
    device: torch.device,
) -> Training:
    """A decoder; records also have `vocab_reached`, the tokenizer's actual vocabulary size.

    parametrization: sets the factors on learning rate, decay and eps. init: see `models.draw`.
    lr: kind of role -> constant.
    """
    with torch.device(device):
        net = models.build(model, parametrization, **loaded.data_settings)
    models.draw(net, parametrization, seed, init)
    reached = {"vocab_reached": loaded.data_settings["vocab_size"]}
    return Training(
        net,
        make_optimizer(make_groups(net, parametrization, optimizer, lr), optimizer),
        loss,
        loaded.batches,
        steps=steps,
        evaluations=evaluations,
        microbatches=microbatches,
        precision=precision,
        seed=seed,
        finish=lambda records: [record | reached for record in records],
    )
