import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from golden import SPECS, pictures
from refusals import refused

from repro import models
from repro.cost.vit import image_classification_cost
from repro.data.needs import Arrays
from repro.data.recipe import MEAN, STD
from repro.tasks import TASKS
from repro.tasks.image_classification import load_images
from repro.training import loop
from widthwise import parametrization

GOLDEN = SPECS["image_classification"]
PLAIN = dict.fromkeys(("crop", "randaugment", "mixup", "cutmix", "evaluation_resize"))
PLAIN |= {"flip": False, "erasing": 0.0, "batch_size": 16}


def run(folder, progress=lambda step, loss: None, **changes):
    folder.mkdir(exist_ok=True)
    spec = copy.deepcopy(GOLDEN)
    for key, value in changes.items():
        spec[key] = spec[key] | value if isinstance(spec[key], dict) else value
    return TASKS["image_classification"].run(
        spec,
        inputs={Arrays("golden"): pictures(folder)},
        device="cpu",
        progress=progress,
        checkpoint=folder / "state",
    )


def test_a_run_is_the_same_every_time_and_another_with_another_seed(tmp_path):
    first = run(tmp_path / "a")
    assert run(tmp_path / "b") == first
    assert run(tmp_path / "c", seed=4) != first


def test_the_task_is_the_loop_written_out(tmp_path):
    """Plain images, no mixing: normalise, cosine schedule, AdamW, label smoothing, top-1."""
    records = run(
        tmp_path,
        data=PLAIN,
        factors={"positions": 1.0},
        microbatches=1,
        parametrization="SP",
        lr=0.01,
    )
    images = load_images("golden", tmp_path / "manifest.json")

    def pixels(part):
        x = torch.from_numpy(part.images).float() / 255
        return (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]

    x, y = pixels(images["train"]), torch.from_numpy(images["train"].labels)
    net = models.build(GOLDEN["model"], "SP")
    parametrization.plan(net, None, "SP").init_(torch.Generator().manual_seed(3))
    decayed = [p for name, p in net.named_parameters() if name != "head.bias"]
    optimizer = torch.optim.AdamW(
        [{"params": decayed}, {"params": [net.head.bias], "weight_decay": 0.0}],
        lr=0.01,
        weight_decay=1e-3,
    )
    losses = []
    for step in range(12):
        if step % 4 == 0:
            order = torch.from_numpy(np.random.default_rng((3, step // 4)).permutation(64))
        lr = 0.01 * (step + 1) / 4
        if step >= 4:
            lr = 1e-6 + (0.01 - 1e-6) * (1 + np.cos(np.pi * (step - 4) / 8)) / 2
        for group in optimizer.param_groups:
            group["lr"] = lr
        rows = order[step % 4 * 16 :][:16]
        log_p = F.log_softmax(net(x[rows]), 1)
        target = 0.9 * F.one_hot(y[rows], 3) + 0.1 / 3
        loss = -(target * log_p).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    means = [np.mean(losses[i : i + 4]) for i in (0, 4, 8)]
    assert [r["train_loss"] for r in records] == pytest.approx(means, rel=1e-5)
    valid = images["valid"]
    with torch.no_grad():
        logits = net(pixels(valid))
    labels = torch.from_numpy(valid.labels)
    assert records[-1]["valid_accuracy"] == float((logits.argmax(1) == labels).double().mean())
    assert records[-1]["valid_loss"] == pytest.approx(float(F.cross_entropy(logits, labels)), 1e-5)


class Killed(Exception):
    pass


@pytest.mark.parametrize("at", [2, 7])  # in the warm-up of 4 steps, and after it
def test_a_run_killed_resumes_to_the_same_curve(tmp_path, monkeypatch, at):
    expected = run(tmp_path / "whole", evaluations=12)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)

    def kill(step, loss):
        if step == at:
            raise Killed

    with pytest.raises(Killed):
        run(tmp_path / "killed", kill, evaluations=12)
    seen = []
    found = run(tmp_path / "killed", lambda step, loss: seen.append(step), evaluations=12)
    assert seen[0] == at, "the step whose state was not saved is taken again, no earlier one"
    assert found == expected


def test_the_head_s_bias_does_not_decay_and_everything_else_does(tmp_path, monkeypatch):
    """With gradients cut off only decay moves a parameter: by lr * wd * schedule, every group."""
    kept = {}

    def still(training, **settings):
        model = training.model
        with torch.no_grad():
            model.head.bias.fill_(0.5)
        kept["start"] = {n: p.detach().clone() for n, p in model.named_parameters()}
        records = original(replace(training, loss=lambda m, batch: _nothing(m)), **settings)
        kept["end"] = {n: p.detach().clone() for n, p in model.named_parameters()}
        return records

    original = loop.train
    monkeypatch.setattr(loop, "train", still)
    changes = {"optimizer": {"weight_decay": 0.1}, "lr": 0.5, "steps": 1, "evaluations": 1}
    for name in ("SP", "neural-tangent", "maximal-update"):
        run(tmp_path, parametrization=name, **changes, schedule={"warmup": 1})
        for key, start in kept["start"].items():
            factor = 1.0 if key == "head.bias" else 1 - 0.5 * 0.1
            torch.testing.assert_close(kept["end"][key], factor * start, rtol=1e-6, atol=1e-7)


def _nothing(model):
    return sum((p * 0).sum() for p in model.parameters())


def test_the_lowest_error_is_that_of_the_best_evaluation_so_far(tmp_path):
    records = run(tmp_path, evaluations=12)
    best = np.maximum.accumulate([r["valid_accuracy"] for r in records])
    assert [r["lowest_error"] for r in records] == pytest.approx(list(1 - best))


def test_a_diverged_run_has_no_accuracy_after_it_diverged(tmp_path):
    records = run(tmp_path, lr=1e30, parametrization="SP")
    assert len(records) == 3 and records[-1]["train_loss"] == float("inf")
    assert "valid_accuracy" not in records[-1] and "lowest_error" not in records[-1]


def test_a_factor_of_a_parameter_the_model_has_not_is_named(tmp_path):
    with refused(r"factors of \['position'\]"):
        run(tmp_path, factors={"position": 1.0})


def test_the_cost_is_that_of_the_built_model():
    """Parameters counted on the model; operations by counting the matrix products of one pass."""
    from torch.utils.flop_counter import FlopCounterMode

    net = models.build(GOLDEN["model"], "SP")
    cost = image_classification_cost(GOLDEN)
    assert cost.parameters == sum(p.numel() for p in net.parameters())
    assert (cost.seen, cost.unit) == (12 * 16, "samples")
    x = torch.zeros(16, 3, 8, 8, requires_grad=True)  # so that patchify's input gradient counts
    with (
        FlopCounterMode(display=False) as counter,
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
    ):
        net(x).sum().backward()
    assert cost.flops == pytest.approx(12 * counter.get_total_flops(), rel=1e-9)
