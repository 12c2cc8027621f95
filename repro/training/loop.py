"""The training loop. It knows no model and no task."""

import math
import time
from collections.abc import Callable
from pathlib import Path

import torch

from repro.errors import UserError
from repro.files import atomic_path
from repro.training import distributed
from repro.training.device import LossScaler, autocast

CHECKPOINT_SECONDS = 300.0
CHECKPOINT_SHARE = 0.01  # of the time goes into writing checkpoints, at most


def train(
    model: torch.nn.Module,
    loss: Callable,
    batches,
    optimizer: torch.optim.Optimizer,
    *,
    steps: int,
    evaluations: int,
    precision: str,
    progress: Callable[[int, float], None],
    checkpoint: Path,
    clip: Callable[[], object] | None = None,
    evaluate: Callable[[], dict] | None = None,
    schedule: Callable[[int], float] | None = None,
    parts: int = 1,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> list[dict]:
    """Train and return one record per evaluation: `step`, `train_loss`, the mean since the last.

    loss: (model, batch) -> scalar tensor, of equal parts of a batch one whose mean is the batch's.
    batches: has `from_step(step)` -> iterator.
    evaluations: number of equal parts of the run.
    checkpoint: file of the resume state, rewritten every `checkpoint_seconds`, more rarely where
        that takes long (`patience`), read if it is there; a resumed run ends as an undisturbed
        one. Left for the caller to remove once the result is stored, so that a job killed in
        between does not start over.
    clip: called between the backward pass and the optimizer's step.
    evaluate: called at every evaluation, the model in eval mode; its entries join the record.
    schedule: step -> factor on every group's learning rate, constant if None.
    parts: a batch goes through forward and backward in so many equal parts, one after another,
        for a model whose activations would not fit.
    The state of torch's generators is kept, so dropout goes on as in an undisturbed run.
    Several ranks share the parts of every batch, more of them where there are too few.
    A loss that is not finite ends the run: its records from there on have train_loss infinite. At
    float16 such a step is skipped and left out of train_loss, and records have `skipped`, how many
    were so far (`LossScaler`); raises UserError where that does not end.
    """
    device = next(model.parameters()).device
    distributed.prepare(model, optimizer)
    count, own = distributed.share(parts)
    base = torch.initial_seed()
    losses = torch.zeros(steps, device=device)
    rates = [group["lr"] for group in optimizer.param_groups]
    scaler = LossScaler(device, precision)
    start, records = _resume(checkpoint, model, optimizer, scaler, losses)
    boundaries = [steps * (i + 1) // evaluations for i in range(evaluations)]
    source = batches.from_step(start)
    saved = reported = time.monotonic()
    wrote = 0.0
    for step in range(start, steps):
        if schedule:
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * schedule(step)
        optimizer.zero_grad(set_to_none=True)
        batch = cut(next(source), count)
        for part in own:
            distributed.seed_part(base, step, part, device)
            with autocast(device, precision):
                value = loss(model, batch[part]) / count
            scaler.scale(value).backward()
            losses[step] += value.detach()
        distributed.add_up(losses[step], model)
        done = step + 1
        scaler.take(done, optimizer, clip)
        if done == boundaries[len(records)]:
            begin = records[-1]["step"] if records else 0
            since, skipped = losses[begin:done], {}
            if scaler.is_enabled():
                since, skipped = since[since.isfinite()], {"skipped": scaler.skipped}
            records.append({"step": done, "train_loss": _mean(since), **skipped})
            diverged = math.isinf(records[-1]["train_loss"]) and not scaler.is_enabled()
            if evaluate and not diverged:
                model.eval()
                records[-1] |= evaluate()
                model.train()
            progress(done, records[-1]["train_loss"])
            if diverged:
                break
        now = time.monotonic()
        if now - reported > 1.0:
            progress(done, float(losses[step]))
            reported = now
        due = now - saved > patience(checkpoint_seconds, wrote) and done < steps
        if distributed.from_main(lambda due=due: due):
            _save(checkpoint, model, optimizer, scaler, losses, done, records)
            saved = time.monotonic()
            wrote = saved - now
    lost = dict.fromkeys(records[-1] if records else ["train_loss"], math.inf)
    records += [{**lost, "step": b} for b in boundaries[len(records) :]]
    return records


def patience(seconds: float, wrote: float) -> float:
    """Seconds to the next checkpoint where the last one took `wrote`: `seconds`, 300 by default,
    and then as many more as keep writing below CHECKPOINT_SHARE of the time."""
    return seconds * (1 + wrote / (CHECKPOINT_SHARE * 300))


def cut(batch, parts: int) -> list:
    """A batch, tensors of equally many rows, in equal parts; raises UserError where it has none."""
    if parts == 1:
        return [batch]
    if len(batch[0]) % parts:
        raise UserError(f"a batch of {len(batch[0])} rows has no {parts} equal parts")
    return list(zip(*(tensor.chunk(parts) for tensor in batch), strict=True))


def _mean(losses: torch.Tensor) -> float:
    """Mean in float64, infinite where a loss is not finite."""
    mean = float(losses.double().cpu().mean())
    return mean if math.isfinite(mean) else math.inf


def _save(path: Path, model, optimizer, scaler, losses, step: int, records: list) -> None:
    state = {
        "records": records,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "losses": losses,
        "step": step,
        "rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state() if losses.is_cuda else None,
    }
    state = distributed.whole_state(state)
    distributed.from_main(lambda: _write(path, state))


def _write(path: Path, state: dict) -> None:
    with atomic_path(path) as temporary:
        with open(temporary, "wb") as file:
            torch.save(state, file)


def _resume(path: Path, model, optimizer, scaler, losses) -> tuple[int, list[dict]]:
    """Load a resume state if there is one, tensors only: the step to go on from, and the records
    until there."""
    if not distributed.from_main(path.exists):
        return 0, []
    sharded = distributed.is_sharded()  # a rank then reads from the disk what it needs
    try:
        place = "cpu" if sharded else losses.device
        state = torch.load(path, map_location=place, mmap=sharded, weights_only=True)
    except Exception as error:  # truncated or foreign file: torch raises many kinds
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{path}: the resume state cannot be read ({reason}); delete it to start this run over"
        ) from error
    distributed.load_state(model, optimizer, state)
    scaler.load_state_dict(state["scaler"])
    losses.copy_(state["losses"])
    torch.set_rng_state(state["rng"].cpu())
    if losses.is_cuda:
        torch.cuda.set_rng_state(state["cuda_rng"].cpu())
    if distributed.is_main():
        print(f"resumed a run at step {state['step']} of {len(losses)}")
    return state["step"], state["records"]
