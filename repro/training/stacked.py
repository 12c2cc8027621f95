"""Runs that differ in numbers alone, trained as one along a leading axis.

A step of a small model on a GPU takes as long as it takes to launch its kernels, whatever they
compute: so many runs take hardly longer than one. Records, resume states and final checkpoints are
those of the runs trained one by one, within rounding.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from statistics import median

import torch
from torch.func import functional_call

from repro.training import evaluation, loop
from repro.training.checkpoints import save as write_final
from repro.training.device import LossScaler, autocast
from repro.training.loop import Training
from repro.training.stacked_optimizer import StackedOptimizer, side_by_side


class Stack:
    """Runs before a step: the parameters, buffers and optimizers of all, a row for each.

    trainings: of models, losses, precisions and optimizers that differ in numbers alone, without
        dropout. From the first step on the rows are ahead of the runs' own models and optimizers,
        until `write_models` and `write_back`.
    Raises ValueError on an optimizer that is not stacked.
    """

    def __init__(self, trainings: Sequence[Training]):
        self.trainings, self.first = trainings, trainings[0]
        model = self.first.model
        own = [[*training.model.parameters()] for training in trainings]
        self.optimizer = StackedOptimizer([t.optimizer for t in trainings], own)
        self.own = own
        self.sizes = [p.numel() for p in own[0]]
        self.weights = torch.stack([side_by_side(parameters) for parameters in own])
        # Every parameter of all runs, (runs, *shape): views of the weights.
        self.parameters = {
            name: part.view(-1, *parameter.shape).requires_grad_()
            for (name, parameter), part in zip(
                model.named_parameters(), self.weights.split(self.sizes, 1), strict=True
            )
        }
        self.buffers = {
            name: torch.stack([training.model.get_buffer(name) for training in trainings])
            for name, _ in model.named_buffers()
        }
        # How much each entry's square counts in the norm that is clipped.
        self.clip_weights: torch.Tensor | None = None
        if clip := self.first.clip:
            factors = zip(own[0], clip.factors, strict=True)
            self.clip_weights = side_by_side([torch.full_like(p, f) for p, f in factors])
        # Runs that read the same batches share them.
        self.sources = list({id(t.batches): t.batches for t in trainings}.values())
        self.source_of = [
            next(i for i, source in enumerate(self.sources) if source is training.batches)
            for training in trainings
        ]
        self.losses = self._stacked(self.first.loss, 0 if len(self.sources) > 1 else None)
        self.scores = self._stacked(self.first.score, None)

    def _stacked(self, function: Callable, batch_axis: int | None) -> Callable:
        """A function of (model, batch) for all runs: of a batch, or of one for each."""

        def of_one(parameters: dict, buffers: dict, batch: tuple):
            return function(
                lambda *inputs: functional_call(self.first.model, (parameters, buffers), inputs),
                batch,
            )

        stacked = torch.vmap(of_one, in_dims=(0, 0, batch_axis))
        return lambda batch: stacked(self.parameters, self.buffers, batch)

    def batches(self, step: int) -> Iterator[list[tuple]]:
        """The microbatches of step, step + 1, ...; of several orders along a leading axis."""
        iterators = [source.from_step(step) for source in self.sources]
        while True:
            drawn = [loop.split(next(it), self.first.microbatches) for it in iterators]
            if len(drawn) == 1:
                yield drawn[0]
                continue
            of_runs = [drawn[index] for index in self.source_of]
            yield [
                tuple(torch.stack(tensors) for tensors in zip(*parts, strict=True))
                for parts in zip(*of_runs, strict=True)
            ]

    def step(self, number: int, microbatches: list[tuple]) -> torch.Tensor:
        """Take step `number`, from 0; returns each run's loss, (runs,)."""
        parts = [self._backward(batch, len(microbatches)) for batch in microbatches]
        losses, gradient = (reduce(torch.add, tensors) for tensors in zip(*parts, strict=True))
        self.optimizer.step(self.weights, self._clipped(gradient), self._factors(number))
        return losses

    def _backward(self, batch: tuple, microbatches: int) -> tuple[torch.Tensor, torch.Tensor]:
        """A microbatch's part of each run's loss, (runs,), and of its gradient."""
        with autocast(self.weights.device, self.first.precision):
            losses = self.losses(batch) / microbatches
        found = torch.autograd.grad(losses.sum(), [*self.parameters.values()])
        return losses.detach(), torch.cat([part.flatten(1) for part in found], 1)

    def _factors(self, number: int) -> torch.Tensor:
        """Each run's factor on its rates in a step, (runs, 1)."""
        factors = [t.schedule(number) if t.schedule else 1.0 for t in self.trainings]
        made = torch.tensor(factors, dtype=self.weights.dtype)[:, None]
        # Copied without waiting for the step before.
        return made.to(self.weights.device, non_blocking=True)

    def _clipped(self, gradient: torch.Tensor) -> torch.Tensor:
        """`clipping.clip_grad_norm` of each row."""
        clip = self.first.clip
        if clip is None or self.clip_weights is None:
            return gradient
        norms = (gradient.square() * self.clip_weights).sum(1, keepdim=True).sqrt()
        return gradient * torch.clamp(clip.limit / (norms + 1e-6), max=1.0)

    def held_out_means(self) -> list[dict[str, float]]:
        """Each run's means over the held-out batches, whose models are brought up to date."""
        self.write_models()
        means: Mapping[str, torch.Tensor] = {}
        if self.first.held_out:
            self.first.model.eval()
            means = evaluation.means(self.scores, self.first.held_out, self.first.precision)
            self.first.model.train()
        return [
            {name: float(mean[row]) for name, mean in means.items()}
            for row in range(len(self.trainings))
        ]

    @torch.no_grad()
    def write_models(self) -> None:
        """Give every run's model its parameters and buffers as they are now."""
        for row, (own, training) in enumerate(zip(self.own, self.trainings, strict=True)):
            values = self.weights[row].split(self.sizes)
            for parameter, value in zip(own, values, strict=True):
                parameter.copy_(value.view_as(parameter))
            for name, buffer in training.model.named_buffers():
                buffer.copy_(self.buffers[name][row])

    def write_back(self) -> None:
        """Give every run its model and optimizer as they are now."""
        self.write_models()
        self.optimizer.write_back()


@dataclass
class Member:
    """A run of a stack between two stacks: what its resume state holds.

    step: how many it has taken. losses: of all its steps, zero where it took none yet.
    """

    training: Training
    checkpoint: Path
    losses: torch.Tensor
    step: int
    records: list[dict]

    @classmethod
    def resumed(cls, training: Training, checkpoint: Path) -> "Member":
        """From its resume state if there is one; see `loop.train`."""
        device = next(training.model.parameters()).device
        losses = torch.zeros(training.steps, device=device)
        scaler = LossScaler(device, training.precision)
        state = loop.resume(checkpoint, training.model, training.optimizer, scaler, losses)
        return cls(training, checkpoint, losses, *state)

    def save(self) -> None:
        """Write the resume state."""
        model, optimizer = self.training.model, self.training.optimizer
        scaler = LossScaler(self.losses.device, self.training.precision)
        loop.save(self.checkpoint, model, optimizer, scaler, self.losses, self.step, self.records)

    def diverged(self) -> bool:
        """Whether the last evaluation found a loss that was not finite."""
        return bool(self.records) and math.isinf(self.records[-1]["train_loss"])


def fit(
    trainings: Sequence[Training],
    *,
    progress: Callable[[int, float], None],
    checkpoints: Sequence[Path],
    finals: Sequence[Path | None],
) -> list[list[dict]]:
    """Train runs as one; returns the records of each. See `loop.fit`, and `Stack` of trainings.

    progress: called with a step and the median of the runs' losses. checkpoints, finals: a path
        for each run. Runs whose resume states are of other steps are trained apart.
    """
    members = [Member.resumed(*pair) for pair in zip(trainings, checkpoints, strict=True)]
    for step in sorted({member.step for member in members}):
        together = [member for member in members if member.step == step]
        while together:
            _train(together, progress)
            together = [m for m in together if m.step < m.training.steps and not m.diverged()]
    for member, final in zip(members, finals, strict=True):
        if final:
            write_final(final, member.training.model, member.training.optimizer)
    boundaries = loop.evaluation_steps(trainings[0])
    return [m.training.finish(loop.complete(m.records, boundaries)) for m in members]


def _train(members: Sequence[Member], progress: Callable[[int, float], None]) -> None:
    """Train runs that have taken equally many steps, to the end or to the first evaluation that
    finds one of them diverged."""
    boundaries = loop.evaluation_steps(members[0].training)
    stack = Stack([member.training for member in members])
    losses = torch.stack([member.losses for member in members])
    saved = reported = time.monotonic()
    wrote = 0.0

    def write_back(step: int) -> None:
        stack.write_back()
        for member, row in zip(members, losses, strict=True):
            member.losses.copy_(row)
            member.step = step

    for number, batch in enumerate(stack.batches(members[0].step), members[0].step):
        losses[:, number] = stack.step(number, batch)
        done = number + 1
        if done == boundaries[len(members[0].records)]:
            begin = members[0].records[-1]["step"] if members[0].records else 0
            for member, row in zip(members, losses[:, begin:done].cpu(), strict=True):
                member.records.append({"step": done, "train_loss": loop.mean(row)})
            for member, means in zip(members, stack.held_out_means(), strict=True):
                if not member.diverged():
                    member.records[-1] |= loop.evaluate(member.training, means)
            progress(done, median(member.records[-1]["train_loss"] for member in members))
            if done == boundaries[-1] or any(member.diverged() for member in members):
                write_back(done)
                return
        now = time.monotonic()
        if now - reported > 1.0:
            progress(done, median(losses[:, number].cpu().tolist()))
            reported = now
        if now - saved > loop.checkpoint_interval(wrote):
            write_back(done)
            for member in members:
                member.save()
            saved = time.monotonic()
            wrote = saved - now
