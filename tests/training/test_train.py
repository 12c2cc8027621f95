import math
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from refusals import refused
from torch import nn

from repro.__main__ import ended_by_sigterm
from repro.data.batches import TokenBatches
from repro.training import checkpoints, ending, loop
from repro.training.optimizer import make_optimizer
from repro.training.schedule import make_schedule

STEPS = 12


class Batches:
    """Regression batches that depend on the step alone."""

    def from_step(self, step):
        while True:
            rng = torch.Generator().manual_seed(step)
            x = torch.randn(8, 3, generator=rng)
            yield x, x.sum(1, keepdim=True)
            step += 1


def squared_error(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def parts(lr=0.1):
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    groups = [{"params": list(model.parameters()), "lr": lr, "eps": 1e-8, "weight_decay": 0.0}]
    return model, make_optimizer(groups, {"name": "adam", "betas": (0.9, 0.999)})


def run(
    model,
    optimizer,
    checkpoint,
    *,
    loss=squared_error,
    progress=lambda step, value: None,
    checkpoint_seconds=loop.CHECKPOINT_SECONDS,
    **changes,
):
    settings = {"steps": STEPS, "evaluations": 4, "precision": "float32", "seed": 0, **changes}
    training = loop.Training(model, optimizer, loss, Batches(), **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "CHECKPOINT_SECONDS", checkpoint_seconds)
        return loop.fit(training, progress=progress, checkpoint=checkpoint)


def test_the_loop_is_the_plain_loop(tmp_path):
    model, optimizer = parts()
    records = run(model, optimizer, tmp_path / "state")
    reference, plain = parts()
    losses = []
    for _, batch in zip(range(STEPS), Batches().from_step(0), strict=False):
        plain.zero_grad()
        value = squared_error(reference, batch)
        value.backward()
        plain.step()
        losses.append(value.item())
    assert torch.equal(model.weight, reference.weight)
    assert [r["step"] for r in records] == [3, 6, 9, 12]
    expected = np.reshape(losses, (4, 3)).mean(1)
    np.testing.assert_allclose([r["train_loss"] for r in records], expected, rtol=1e-6)


def test_a_run_killed_in_warm_up_resumes_with_its_schedule_and_its_dropout(tmp_path):
    def dropping(model, batch):
        return (model(torch.dropout(batch[0], 0.5, True)) - batch[1]).square().mean()

    schedule = make_schedule({"name": "cosine", "warmup": 8, "final": 0.1}, STEPS)
    model, optimizer = parts()
    undisturbed = run(model, optimizer, tmp_path / "a", loss=dropping, schedule=schedule)

    def killing(step, value):
        if step == 6:
            raise KeyboardInterrupt

    again, optimizer = parts()
    killed = dict(loss=dropping, schedule=schedule, checkpoint_seconds=0.0)
    with pytest.raises(KeyboardInterrupt):
        run(again, optimizer, tmp_path / "b", progress=killing, **killed)
    fresh, optimizer = parts()
    torch.manual_seed(99)
    resumed = run(fresh, optimizer, tmp_path / "b", loss=dropping, schedule=schedule)
    assert resumed == undisturbed
    assert torch.equal(fresh.weight, model.weight)


def test_a_run_that_sigterm_ends_saves_its_step(tmp_path, capsys):
    """Found in review: a preempted job lost up to five minutes, a run of less all of it."""

    def preempted(step, value):
        if step == 6:
            signal.raise_signal(signal.SIGTERM)

    model, optimizer = parts()
    undisturbed = run(model, optimizer, tmp_path / "a")
    again, optimizer = parts()
    with ended_by_sigterm(), pytest.raises(ending.Terminated):
        run(again, optimizer, tmp_path / "b", progress=preempted)
    fresh, optimizer = parts()
    assert run(fresh, optimizer, tmp_path / "b") == undisturbed
    assert "resumed a run at step 6" in capsys.readouterr().out
    with ended_by_sigterm(), pytest.raises(ending.Terminated):
        signal.raise_signal(signal.SIGTERM)


@contextmanager
def small_files(limit):
    """No file may grow past so many bytes: the disk's error, at a place of our choice."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_checkpoint_before_and_says_so(tmp_path, capsys):
    """torch and safetensors raise errors of their own, which are no OSError."""
    model, optimizer = parts()
    undisturbed = run(model, optimizer, tmp_path / "a")

    def interrupted(step, value):
        if step == 6:
            raise KeyboardInterrupt

    again, optimizer = parts()
    with pytest.raises(KeyboardInterrupt):
        run(again, optimizer, tmp_path / "b", progress=interrupted, checkpoint_seconds=0.0)
    before = (tmp_path / "b").read_bytes()
    for size in (0, 100, len(before) - 1):
        with small_files(size):
            fresh, optimizer = parts()
            with refused("b: could not be written .File too large.; free"):
                run(fresh, optimizer, tmp_path / "b", checkpoint_seconds=0.0)
        assert (tmp_path / "b").read_bytes() == before
        assert {path.name for path in tmp_path.iterdir()} == {"b"}
    with small_files(100):
        with refused("c: could not be written .File too large.; free"):
            checkpoints.save(tmp_path / "c", model, optimizer)
    assert not (tmp_path / "c").exists()
    fresh, optimizer = parts()
    assert run(fresh, optimizer, tmp_path / "b") == undisturbed
    assert "resumed a run at step 5" in capsys.readouterr().out


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_batch_in_parts_takes_the_same_steps(tmp_path, count):
    whole, optimizer = parts()
    expected = run(whole, optimizer, tmp_path / "state")
    cut, optimizer = parts()
    found = run(cut, optimizer, tmp_path / "state", microbatches=count)
    torch.testing.assert_close(cut.weight, whole.weight, rtol=0, atol=1e-5)
    for got, want in zip(found, expected, strict=True):
        assert got["train_loss"] == pytest.approx(want["train_loss"], rel=1e-4)


def test_a_batch_that_has_no_equal_parts_is_refused(tmp_path):
    with refused("a batch of 8 rows has no 3 equal parts"):
        run(*parts(), tmp_path / "state", microbatches=3)


def test_more_evaluations_than_steps_are_refused(tmp_path):
    """A part without a step has no loss, and looked like a run that diverged."""
    with refused("13 evaluations in 12 steps: give at most one"):
        run(*parts(), tmp_path / "state", evaluations=STEPS + 1)
    assert len(run(*parts(), tmp_path / "state", evaluations=STEPS)) == STEPS


@pytest.mark.parametrize("name", ["cosine", "linear", "constant"])
def test_schedules_are_torch_s(name):
    """SequentialLR of a linear warm-up and CosineAnnealingLR or LinearLR, final value reached."""
    steps, warmup, final, lr = 50, 10, 0.05, 3.0
    weight = nn.Parameter(torch.zeros(1))
    plain = torch.optim.SGD([weight], lr=lr)
    rest = steps - warmup
    first = torch.optim.lr_scheduler.LinearLR(plain, 1 / warmup, 1.0, warmup - 1)
    second = {
        "cosine": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(plain, rest, lr * final),
        "linear": lambda: torch.optim.lr_scheduler.LinearLR(plain, 1.0, final, rest),
        "constant": lambda: torch.optim.lr_scheduler.ConstantLR(plain, 1.0),
    }[name]()
    both = torch.optim.lr_scheduler.SequentialLR(plain, [first, second], [warmup])
    schedule = make_schedule({"name": name, "warmup": warmup, "final": final}, steps)
    for step in range(steps):
        assert lr * schedule(step) == pytest.approx(plain.param_groups[0]["lr"], rel=1e-9), step
        plain.step()
        both.step()
    assert schedule(warmup - 1) == schedule(warmup) == 1.0


def test_a_schedule_without_warm_up_starts_at_the_full_rate():
    assert make_schedule({"name": "linear", "warmup": 0, "final": 0.0}, 10)(0) == 1.0


def test_a_damaged_resume_state_is_named(tmp_path):
    (tmp_path / "state").write_bytes(b"PK\x03\x04 cut off")
    model, optimizer = parts()
    with refused("resume state cannot be read.*delete it"):
        run(model, optimizer, tmp_path / "state")


def test_a_pickle_in_place_of_a_resume_state_is_not_run(tmp_path):
    import pickle

    class Malicious:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    (tmp_path / "state").write_bytes(pickle.dumps(Malicious()))
    model, optimizer = parts()
    with refused("resume state cannot be read"):
        run(model, optimizer, tmp_path / "state")
    assert not (tmp_path / "owned").exists()


def test_a_resume_state_of_another_version_is_refused(tmp_path):
    torch.save({"step": 3, "model": {}}, tmp_path / "state")
    with refused("it is of another version of the suite.*delete it"):
        run(*parts(), tmp_path / "state")


def test_a_loss_that_is_not_finite_ends_the_run_as_diverged(tmp_path):
    calls = []

    def diverging(model, batch):
        calls.append(1)
        value = squared_error(model, batch)
        return value * math.inf if len(calls) == 5 else value

    model, optimizer = parts()
    records = run(model, optimizer, tmp_path / "state", loss=diverging)
    losses = [r["train_loss"] for r in records]
    assert math.isfinite(losses[0])
    assert losses[1:] == [math.inf] * 3
    assert len(calls) < STEPS


def test_an_unknown_optimizer_is_named():
    with refused("optimizer 'lion'"):
        make_optimizer([], {"name": "lion"})


class Overflowing:
    """1 % of the squared error, which fits float16 at the first scale; infinite in some calls."""

    def __init__(self, *calls):
        self.calls, self.count = calls, 0

    def __call__(self, model, batch):
        self.count += 1
        value = 0.01 * squared_error(model, batch).float()
        return value * math.inf if self.count in self.calls else value


OPTIMIZERS = {
    "sgd": ({"name": "sgd", "momentum": 0.9, "nesterov": False}, torch.optim.SGD),
    "adam": ({"name": "adam", "betas": (0.9, 0.999)}, torch.optim.Adam),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_float16_is_torch_s_recipe_for_it(tmp_path, name):
    """GradScaler with an optimizer that is not fused, which it steps or not; steps 1, 5, 6 skip."""
    settings, kind = OPTIMIZERS[name]
    model, _ = parts()
    groups = [{"params": [*model.parameters()], "lr": 0.1, "eps": 1e-8, "weight_decay": 0.0}]
    optimizer = make_optimizer(groups, settings)
    records = run(
        model, optimizer, tmp_path / "state", loss=Overflowing(1, 5, 6), precision="float16"
    )
    reference, _ = parts()
    plain = kind(reference.parameters(), 0.1, **{k: v for k, v in settings.items() if k != "name"})
    scaler, loss = torch.amp.GradScaler("cpu"), Overflowing(1, 5, 6)
    for _, batch in zip(range(STEPS), Batches().from_step(0), strict=False):
        plain.zero_grad()
        with torch.autocast("cpu", torch.float16):
            value = loss(reference, batch)
        scaler.scale(value).backward()
        scaler.step(plain)
        scaler.update()
    torch.testing.assert_close(model.weight, reference.weight, rtol=0, atol=1e-6)
    assert not torch.equal(model.weight, parts()[0].weight)
    assert [record["skipped"] for record in records] == [1, 3, 3, 3]
    assert all(math.isfinite(record["train_loss"]) for record in records)


def test_clipping_under_float16_sees_the_gradients_without_the_scale(tmp_path):
    norms = []

    def clip():
        norms.append(float(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])))

    model, optimizer = parts(lr=0.0)
    run(model, optimizer, tmp_path / "a", clip=clip, loss=Overflowing())
    exact = norms.copy()
    norms.clear()
    run(model, optimizer, tmp_path / "b", clip=clip, loss=Overflowing(), precision="float16")
    assert norms == pytest.approx(exact, rel=0.01)


def test_an_overflow_of_float16_that_persists_is_a_divergence(tmp_path):
    """2^16 halved 30 times is the first scale below 1e-4: at step 35 of 100."""
    model, optimizer = parts()
    loss = Overflowing(*range(6, 100))
    records = run(model, optimizer, tmp_path / "state", loss=loss, precision="float16", steps=100)
    assert loss.count == 35 and model.weight.isfinite().all()
    assert [record["train_loss"] for record in records[1:]] == [math.inf] * 3
    assert [record["skipped"] for record in records[1:]] == [30] * 3


def test_a_float16_run_killed_between_steps_ends_as_an_undisturbed_one(tmp_path):
    """Scale and count of skipped steps are part of the resume state."""
    half = {"precision": "float16"}
    model, optimizer = parts()
    undisturbed = run(model, optimizer, tmp_path / "a", loss=Overflowing(2, 10), **half)

    def killing(step, value):
        if step == 6:
            raise KeyboardInterrupt

    again, optimizer = parts()
    with pytest.raises(KeyboardInterrupt):
        run(
            again,
            optimizer,
            tmp_path / "b",
            loss=Overflowing(2),
            progress=killing,
            checkpoint_seconds=0.0,
            **half,
        )
    fresh, optimizer = parts(lr=123.0)  # what the checkpoint holds wins
    resumed = run(fresh, optimizer, tmp_path / "b", loss=Overflowing(10 - 5), **half)
    assert resumed == undisturbed
    assert resumed[-1]["skipped"] == 2
    assert torch.equal(fresh.weight, model.weight)


def batches(tokens=101, batch_size=3, length=5, seed=0):
    return TokenBatches("text", np.arange(tokens, dtype=np.uint16), batch_size, length, seed, "cpu")


def test_targets_are_the_next_tokens_and_every_block_comes_once_an_epoch():
    source = batches()
    assert source.per_epoch == 6
    seen = []
    for _, (x, y) in zip(range(6), source.from_step(0), strict=False):
        assert torch.equal(x + 1, y)
        seen += x[:, 0].tolist()
    assert len(set(seen)) == 18
    assert set(seen) <= set(range(0, 100, 5))


def test_a_batch_depends_on_seed_and_number_alone():
    stream = [x for _, (x, _) in zip(range(20), batches().from_step(0), strict=False)]
    for step in (0, 5, 6, 13):
        assert torch.equal(next(batches().from_step(step))[0], stream[step])
    assert not torch.equal(next(batches(seed=1).from_step(0))[0], stream[0])
    assert not torch.equal(stream[0], stream[6]), "the second epoch has another order"


def test_a_text_shorter_than_one_batch_says_so():
    with refused("text: 12 tokens make 2 blocks of 5, fewer than one batch of 3"):
        batches(tokens=12)


@pytest.mark.parametrize("wrote", [0.0, 0.1, 3.0, 60.0, 3600.0])
def test_writing_checkpoints_takes_at_most_a_hundredth_of_the_time(wrote, monkeypatch):
    found = loop.checkpoint_interval(wrote)
    assert found >= 300 and wrote <= 0.01 * found
    assert loop.checkpoint_interval(0.05) == pytest.approx(300, rel=0.02)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    assert loop.checkpoint_interval(wrote) == 0
