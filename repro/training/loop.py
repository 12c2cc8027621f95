"""A training run that is built but not trained, and the training loop, the same for all tasks."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from repro import backend
from repro.errors import UserError
from repro.files import atomic_path
from repro.training import checkpoints, distributed, ending, evaluation, quick, ranks
from repro.training.loss_scale import LossScaler

CHECKPOINT_SECONDS = 300.0  # between two checkpoints: what a killed run loses at most
# Seconds of writing one checkpoint that double the interval. One that takes t times as long adds t
# intervals, so that writing takes less than SLOW_WRITE / CHECKPOINT_SECONDS, 1 %, of the time.
SLOW_WRITE = 3.0


class Batches(Protocol):
    """What a run draws its batches from: tuples of tensors with a row for each sample."""

    def from_step(self, step: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Batches number step, step + 1, ..."""


@dataclass(frozen=True)
class Training:
    """One run, ready for `fit`: a task's `build` made it, and no step was taken yet.

    model: on the device it trains on. optimizer: over its parameters, with each group's peak lr.
    loss: (model, batch) -> scalar tensor, nats; the mean over the microbatches of a batch must be
        the loss of the batch.
    batches: what to train on, a batch a step.
    steps, evaluations: how many. The run is divided into equal parts; each ends with an evaluation.
    precision: of the forward pass, one of `backend.PRECISIONS`; on a CPU tf32 is float32.
    seed: of torch's generators, which dropout draws from.
    microbatches: number of equal parts of a batch that go through forward and backward one after
        another (gradient accumulation), for models whose activations would not fit.
    clip: called between the backward pass and the optimizer's step.
    held_out: batches to evaluate on. score: what is summed over them (`evaluation.Score`).
    evaluate: called at every evaluation, the model in eval mode, with the means over `held_out`,
        none if there are none; what it returns joins the record. None: the means themselves.
    schedule: step -> factor on every group's learning rate; None: constant.
    finish: the loop's records -> the task's records, with columns derived from them.
    """

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[torch.nn.Module, tuple], torch.Tensor]
    batches: Batches
    steps: int
    evaluations: int
    precision: str
    seed: int
    microbatches: int = 1
    clip: Callable[[], object] | None = None
    held_out: Iterable[tuple] = ()
    score: evaluation.Score = evaluation.score
    evaluate: Callable[[dict[str, float]], dict] | None = None
    schedule: Callable[[int], float] | None = None
    finish: Callable[[list[dict]], list[dict]] = list


def fit(
    training: Training,
    *,
    progress: Callable[[int, float], None],
    checkpoint: Path,
    final: Path | None = None,
) -> list[dict]:
    """Train and return the records; write the final checkpoint to `final` if that is not None.

    Other arguments: see `train`.
    """
    with ending.at_its_steps():
        records = train(training, progress=progress, checkpoint=checkpoint)
    if final:
        checkpoints.save(final, training.model, training.optimizer)
    return training.finish(records)


def train(
    training: Training, *, progress: Callable[[int, float], None], checkpoint: Path
) -> list[dict]:
    """Train and return one record per evaluation: `step`, `train_loss` (nats, the mean since the
    last evaluation) and what `evaluate` adds.

    progress: called with a step and its loss, about once a second and at every evaluation.
    checkpoint: file of the resume state, read if it exists and rewritten at every
        `checkpoint_interval`, and where SIGTERM ends the run (`ending`). A resumed run gives the
        same result as an uninterrupted one. The caller removes the file after storing the result,
        so that a job killed in between does not start again from step 0.
    Several ranks share the microbatches of a batch; if there are fewer than ranks, more are made,
    and a GPU with memory to spare takes fewer and larger ones (`repro.cost.layout`).
    A loss that is not finite ends the run: train_loss is infinite in the remaining records. At
    float16 such a step is skipped and left out of train_loss, and `skipped` counts these steps;
    the run ends in the same way once the loss scale is exhausted (`LossScaler`).
    """
    model, optimizer, steps = training.model, training.optimizer, training.steps
    device = next(model.parameters()).device
    distributed.prepare(model)
    asked = ranks.current_layout().microbatches or training.microbatches
    microbatches, own = distributed.split_microbatches(asked)
    torch.manual_seed(training.seed)
    losses = torch.zeros(steps, device=device)  # on the device: reading one waits for its step
    rates = [group["lr"] for group in optimizer.param_groups]
    scaler = LossScaler(device, training.precision)
    # Restores everything, also torch's generators: no random number may be drawn before this.
    start, records = resume(checkpoint, model, optimizer, scaler, losses)
    boundaries = evaluation_steps(training)
    source = training.batches.from_step(start)
    saved = reported = time.monotonic()
    wrote = 0.0
    for step in range(start, steps):
        if training.schedule:
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * training.schedule(step)
        quick.zero_grad(optimizer)
        loss = losses[step]
        batch = split(next(source), microbatches)
        for number in own:
            distributed.seed_microbatch(training.seed, step, number, device)
            with backend.autocast(device, training.precision):
                value = training.loss(model, batch[number])
            value = value / microbatches if microbatches > 1 else value
            scaler.scale(value).backward()
            loss.add_(value.detach())
        distributed.all_reduce_gradients(loss, model)
        # The number of steps taken, as records count them.
        done = step + 1
        scaler.step(optimizer, clip=training.clip)
        if scaler.exhausted:
            progress(done, math.inf)
            break
        if done == boundaries[len(records)]:
            begin = records[-1]["step"] if records else 0
            since, skipped = losses[begin:done], {}
            if scaler.is_enabled():
                # Skipped steps overflowed float16, which is no sign that the run diverged.
                since, skipped = since[since.isfinite()], {"skipped": scaler.skipped}
            records.append({"step": done, "train_loss": mean(since), **skipped})
            diverged = math.isinf(records[-1]["train_loss"]) and not scaler.is_enabled()
            if not diverged:
                records[-1] |= evaluate(training)
            progress(done, records[-1]["train_loss"])
            if diverged:
                break
        now = time.monotonic()
        if now - reported > 1.0:
            progress(done, float(loss))
            reported = now
        ends = ending.is_asked() and done < steps
        due = now - saved > checkpoint_interval(wrote) and done < steps
        # Rank 0's clock decides: all wait until it has written.
        ends, due = ranks.broadcast_from_rank0(lambda decided=(ends, due): decided)
        if ends or due:
            save(checkpoint, model, optimizer, scaler, losses, done, records)
            saved = time.monotonic()
            wrote = saved - now
        if ends:
            raise ending.Terminated
    overflowed = {"skipped": scaler.skipped} if scaler.is_enabled() else {}
    return complete(records, boundaries, overflowed)


def evaluation_steps(training: Training) -> list[int]:
    """The steps after which a run is evaluated.

    Raises UserError where there are fewer steps than evaluations: a part without steps has no loss.
    """
    count = training.evaluations
    if count > training.steps:
        raise UserError(
            f"{count} evaluations in {training.steps} steps: give at most one evaluation a step"
        )
    return [training.steps * (i + 1) // count for i in range(count)]


def evaluate(training: Training) -> dict:
    """What an evaluation now adds to a run's record."""
    model = training.model
    found: dict = {}
    model.eval()
    if training.held_out:
        found = evaluation.means(model, training.score, training.held_out, training.precision)
    if training.evaluate:
        found = training.evaluate(found)
    model.train()
    return found


def complete(records: list[dict], boundaries: list[int], further: Mapping[str, int]) -> list[dict]:
    """The records of a run, with infinite losses where it had diverged; further: of these.

    A diverged run has as many records as any other: a missing row would look like a lost run.
    """
    lost = {"train_loss": math.inf, **further}
    return records + [{"step": b, **lost} for b in boundaries[len(records) :]]


def checkpoint_interval(wrote: float) -> float:
    """Seconds between two checkpoints: at least CHECKPOINT_SECONDS; if writing one took `wrote`
    seconds, so many that writing takes less than 1 % of the time."""
    return CHECKPOINT_SECONDS * (1 + wrote / SLOW_WRITE)


def split(batch, microbatches: int) -> list:
    """A batch, a tuple of tensors (rows, ...), as a list of microbatches of equally many rows.

    Raises UserError when the number of rows is not a multiple of `microbatches`.
    """
    if microbatches == 1:
        return [batch]
    if len(batch[0]) % microbatches:
        raise UserError(f"a batch of {len(batch[0])} rows has no {microbatches} equal parts")
    return list(zip(*(tensor.chunk(microbatches) for tensor in batch), strict=True))


def mean(losses: torch.Tensor) -> float:
    """Mean in float64; infinite if a loss is not finite."""
    mean = float(losses.double().cpu().mean())
    return mean if math.isfinite(mean) else math.inf


STATE = {"records", "model", "optimizer", "scaler", "losses", "step", "rng", "cuda_rng"}


def save(path: Path, model, optimizer, scaler, losses, step: int, records: list) -> None:
    """Write the resume state of a run that has taken `step` steps."""
    state = {  # the keys of STATE
        "records": records,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "losses": losses,
        "step": step,
        "rng": torch.get_rng_state(),
        "cuda_rng": backend.generator_state(losses.device),
    }
    ranks.broadcast_from_rank0(lambda: _write(path, state))


def _write(path: Path, state: dict) -> None:
    with atomic_path(path) as temporary:
        with open(temporary, "wb") as file:
            torch.save(state, file)


def resume(path: Path, model, optimizer, scaler, losses) -> tuple[int, list[dict]]:
    """Load the resume state if there is one; returns the next step and the records so far. Tensors
    only, never pickled code."""
    if not ranks.broadcast_from_rank0(path.exists):
        return 0, []
    try:
        state = torch.load(path, map_location=losses.device, weights_only=True)
        if not isinstance(state, dict) or state.keys() != STATE:
            raise ValueError("it is of another version of the suite")
    except Exception as error:  # truncated or foreign file: torch raises many kinds
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{path}: the resume state cannot be read ({reason}); delete it to start this run over"
        ) from error
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    losses.copy_(state["losses"])
    torch.set_rng_state(state["rng"].cpu())
    backend.set_generator_state(losses.device, state["cuda_rng"])
    if ranks.is_main():
        print(f"resumed a run at step {state['step']} of {len(losses)}")
    return state["step"], state["records"]
