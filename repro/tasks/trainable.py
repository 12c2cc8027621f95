"""What the specs of all tasks that train say, and the run that comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from repro import models
from repro.data.loading import Data
from repro.training import clipping, evaluation
from repro.training.loop import Training
from repro.training.optimizer import make_groups, make_optimizer


@dataclass(frozen=True)
class Trainable:
    """Settings of a spec that every task has, its data, and the device where they lie.

    data: see `load_data` of the task. model: see `models.build`. parametrization: sets the factors
    on init, learning rate, decay and eps. optimizer: see `make_groups`; and "clip", see
    `clipping.clipper`, none if left out. seed: of initial parameters, order, noise and dropout.
    lr: the constant of every role, or kind of role -> constant. Others: see `Training`.
    """

    data: Mapping
    model: Mapping
    parametrization: str
    optimizer: Mapping
    lr: Any
    steps: int
    evaluations: int
    microbatches: int
    precision: str
    threads: int
    seed: int
    loaded: Data
    device: torch.device | str

    def network(self, init: Mapping[str, str] = MappingProxyType({})) -> Any:
        """The model as it starts; init: see `models.draw`."""
        with torch.device(self.device):
            net = models.build(self.model, self.parametrization, **self.loaded.data_settings)
        models.draw(net, self.parametrization, self.seed, init)
        return net

    def updates(self, net: torch.nn.Module, **rates) -> torch.optim.Optimizer:
        """The optimizer of a model. rates: `lr` in place of the spec's, and `factors`, both as
        `make_groups` takes them."""
        rates = {"lr": self.lr} | rates
        groups = make_groups(net, self.parametrization, self.optimizer, **rates)
        return make_optimizer(groups, self.optimizer)

    def training(
        self, net: torch.nn.Module, updates: torch.optim.Optimizer, loss=evaluation.loss, **own
    ) -> Training:
        """The untrained run. own: what else `Training` takes."""
        return Training(
            net,
            updates,
            loss,
            self.loaded.batches,
            steps=self.steps,
            evaluations=self.evaluations,
            precision=self.precision,
            seed=self.seed,
            microbatches=self.microbatches,
            clip=clipping.clipper(net, self.optimizer.get("clip")),
            **own,
        )
