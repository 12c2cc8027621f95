"""A model trained once through its data, for how well tuned hyperparameters transfer over width."""

import math
from collections.abc import Mapping

import torch

from repro.data import denoising, loading
from repro.data.batches import ArrayBatches, Batches, Epochs, TokenBatches
from repro.data.denoising import DenoisingBatches
from repro.data.loading import Data
from repro.errors import UserError
from repro.models.bart import BART
from repro.tasks import span_denoising
from repro.tasks.trainable import Trainable
from repro.training.evaluation import loss
from repro.training.loop import Training
from repro.training.schedule import make_schedule
from widthwise.parametrization import KINDS


def load_data(spec: Mapping, inputs: Mapping, device: torch.device) -> Data:
    """What the model reads: blocks to denoise for BART, else as `repro.data.loading.load_data`."""
    of_task = span_denoising if spec["model"]["name"] == "bart" else loading
    return of_task.load_data(spec, inputs, device)


def chance(targets: torch.Tensor) -> float:
    """Entropy in nats of how often each target occurs: the loss of a model that knows no more.

    targets: whole numbers from 0, shape (n,). NaN on the meta device, where they have no values.
    """
    if targets.is_meta:
        return math.nan
    share = torch.bincount(targets).double() / len(targets)
    return float(torch.special.entr(share).sum())


COUNTED = 10_000_000  # targets that are counted at most, the first ones


def targets(batches: Batches) -> torch.Tensor:
    """What is to be predicted, from the beginning of the data; of other data, of one batch."""
    if isinstance(batches, ArrayBatches):
        return batches.labels[:COUNTED]
    if isinstance(batches, DenoisingBatches):
        tokens_BT, _ = batches.read(range(min(batches.rows, COUNTED // batches.denoising.longest)))
        return torch.from_numpy(tokens_BT[tokens_BT != denoising.PADDING])
    if not isinstance(batches, TokenBatches):
        return next(batches.from_step(0))[1].flatten()
    if batches.shards:
        return torch.from_numpy(batches.shards[0][:COUNTED].astype("int64"))
    return batches.targets.flatten()[:COUNTED]


def check_single_pass(data: Mapping, batches: Epochs, steps: int) -> None:
    """Raise UserError where a run would see its data more than once: a wide model that remembers
    them then has a lower training loss, whatever its learning rate does to what it learns."""
    if steps > batches.per_epoch:
        raise UserError(
            f"{data['dataset']}: {steps} steps of {data['batch_size']} go through its "
            f"{batches.rows:,} rows more than once; give at most {batches.per_epoch} steps or more "
            "data"
        )


def build(run: Trainable, *, embedding_ratio: float, schedule: Mapping) -> Training:
    """A model from scratch; records also have `chance`, the loss of one that knows only how often
    each target occurs.

    embedding_ratio: the embedding's rate over that of every other role, at every width.
    schedule: see `make_schedule`; its "warmup" is a share of the steps here.
    Raises UserError where the data would be seen more than once.
    """
    batches = run.loaded.batches
    if isinstance(batches, Epochs):
        check_single_pass(run.data, batches, run.steps)
    entropy = chance(targets(batches))
    net = run.network()
    if denoises := isinstance(net, BART):
        net.clear_padding()
    rates = dict.fromkeys(KINDS, run.lr) | {"embedding": embedding_ratio * run.lr}
    warmup = round(schedule["warmup"] * run.steps)
    return run.training(
        net,
        run.updates(net, lr=rates),
        span_denoising.make_loss(run.data["batch_size"]) if denoises else loss,
        schedule=make_schedule({**schedule, "warmup": warmup}, run.steps),
        finish=lambda records: [record | {"chance": entropy} for record in records],
    )
