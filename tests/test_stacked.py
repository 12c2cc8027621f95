"""Runs trained as one end as those trained one by one."""

import copy
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from golden import SPECS, STACKED, near, saved, stacked_records, table
from safetensors.torch import load_file
from torch import nn

from repro import models
from repro.cost import MAX_STACK, Cost, stack_size
from repro.data.needs import Arrays
from repro.data.random_data import Repeated, random_data
from repro.files import sha256_file
from repro.suite.cells import read_cell
from repro.suite.execute import run_cell
from repro.suite.plan import Cell, Run
from repro.suite.spec import override
from repro.tasks import ALONE, TASKS
from repro.training import loop, stacked
from repro.training.optimizer import make_optimizer
from repro.training.stacked_optimizer import StackedOptimizer, side_by_side

ADAMW = SPECS["warm_start"]["optimizer"]
SGD = {
    "name": "sgd",
    "momentum": 0.9,
    "nesterov": True,
    "weight_decay": 0.01,
    "clip": {"norm": 0.5, "width_aware": True},
}
WARM = SPECS["warm_start"]
IMAGES = {"resolution": 8}
TOKENS = {"vocab_size": 50, "sequence_length": 6, "validation_blocks": 8}
RESNET = {"name": "resnet", "classes": 3, "width": 0.0625, "base_width": 0.0625}
GPT2 = {
    "name": "gpt2",
    "depth": 2,
    "heads": 2,
    "width": 8,
    "base_width": 8,
    "attention_constant": 4.0,
    "embedding_std": 0.02,
}
RESIDUAL = SPECS["language_model"]["model"] | {
    "name": "residual_decoder",
    "depth": 2,
    "base_depth": 1,
    "branch_power": 1.0,
}
MODELS = {
    "mlp": ("warm_start", WARM),
    "resnet": ("warm_start", WARM | {"data": WARM["data"] | IMAGES, "model": RESNET}),
    "gpt2": ("warm_start", WARM | {"data": WARM["data"] | TOKENS, "model": GPT2}),
    "decoder": ("language_model", SPECS["language_model"]),
    "residual_decoder": (
        "language_model",
        SPECS["language_model"] | {"model": RESIDUAL},
    ),
    "llm": ("pretraining", override(SPECS["pretraining"], {"data.text": None})),
    "vit": ("image_classification", SPECS["image_classification"]),
    "bart": (
        "span_denoising",
        override(
            SPECS["span_denoising"],
            {
                "model.dropout": 0.0,
                "model.attention_dropout": 0.0,
                "optimizer.eps_convention": "torch",
            },
        ),
    ),
}
FACTORS = (1.0, 0.3, 2.0)  # on the rates of three runs


def times(rate, factor):
    return {k: v * factor for k, v in rate.items()} if isinstance(rate, dict) else rate * factor


def runs(name, dtype=torch.float64, **changes):
    """Three runs that differ in rate, weight decay and eps; the last in its seed as well."""
    task, spec = MODELS[name]
    result = []
    for factor, seed in zip(FACTORS, (3, 3, 4), strict=True):
        changed = {"steps": 6, "evaluations": 2, "seed": seed, **changes}
        own = copy.deepcopy(override(spec, changed))
        own["lr"] = times(own["lr"], factor)
        for key in {"weight_decay", "eps"} & own["optimizer"].keys():
            own["optimizer"][key] *= factor
        result.append(built(task, own, dtype))
    return result


def built(task, spec, dtype):
    training = TASKS[task].build(spec, loaded(spec, dtype), "cpu")
    training.model.to(dtype)
    return replace(training, loss=exact)


LOADED: dict = {}


def loaded(spec, dtype):
    """Data that runs share with those of the same seed, and of any seed what is held out."""
    key = str((spec["data"], spec["model"], dtype))
    if (key, spec["seed"]) not in LOADED:
        data = random_data(spec, "cpu")
        batch = tuple(t.to(dtype) if t.is_floating_point() else t for t in data.batches.batch)
        held_out = LOADED.setdefault((key, "held out"), [batch])
        LOADED[key, spec["seed"]] = replace(data, batches=Repeated(batch), held_out=held_out)
    return LOADED[key, spec["seed"]]


def exact(model, batch):
    """Cross-entropy in the model's own precision."""
    half = len(batch) // 2
    return F.cross_entropy(model(*batch[:half]).flatten(0, -2), batch[half].flatten())


def one_by_one(trainings, folder, **arguments):
    return [
        loop.fit(t, progress=lambda *_: None, checkpoint=folder / str(i), **arguments)
        for i, t in enumerate(trainings)
    ]


def together(trainings, folder, progress=lambda *_: None, finals=None):
    return stacked.fit(
        trainings,
        progress=progress,
        checkpoints=[folder / str(i) for i in range(len(trainings))],
        finals=finals or [None] * len(trainings),
    )


def values(training):
    """Everything a run ends with: parameters, buffers, the optimizer's state."""
    found = dict(training.model.named_parameters()) | dict(training.model.named_buffers())
    for name, parameter in training.model.named_parameters():
        for key, value in training.optimizer.state.get(parameter, {}).items():
            found[f"{name} {key}"] = value
    return found


def assert_equal(found, expected, tolerance):
    for one, other in zip(found, expected, strict=True):
        one, other = values(one), values(other)
        assert one.keys() == other.keys()
        for name, value in one.items():
            torch.testing.assert_close(value, other[name], rtol=tolerance, atol=tolerance, msg=name)


def largest_difference(some, others):
    """Of any parameter's entries."""
    pairs = (
        zip(one.model.parameters(), other.model.parameters(), strict=True)
        for one, other in zip(some, others, strict=True)
    )
    return max(float((a - b).detach().abs().max()) for pair in pairs for a, b in pair)


@pytest.mark.parametrize("name", MODELS)
def test_runs_trained_as_one_are_those_trained_one_by_one(tmp_path, name):
    """Weights, buffers, moments of the optimizer, records: in float64 to 1e-10; in float32 as near
    to float64's as one by one. (The losses on record are float32.)"""
    alone, as_one, start = runs(name), runs(name), runs(name)
    expected = one_by_one(alone, tmp_path)
    found = together(as_one, tmp_path)
    assert_equal(as_one, alone, 1e-10)
    moved = [largest_difference([a], [s]) for a, s in zip(alone, start, strict=True)]
    assert min(moved) > 1e-3
    for one, other in zip(found, expected, strict=True):
        assert one == [pytest.approx(record, rel=1e-6) for record in other]
    losses = [records[-1]["train_loss"] for records in found]
    assert len(set(losses)) == 3 and all(map(math.isfinite, losses))

    rounded, rounded_as_one = runs(name, torch.float32), runs(name, torch.float32)
    one_by_one(rounded, tmp_path)
    together(rounded_as_one, tmp_path)
    floor = largest_difference(rounded, alone)
    assert 0 < largest_difference(rounded_as_one, alone) <= 4 * floor


OPTIMIZERS = {
    "sgd": {"name": "sgd", "momentum": 0.0, "nesterov": False},
    "momentum": {"name": "sgd", "momentum": 0.9, "nesterov": False},
    "nesterov": {"name": "sgd", "momentum": 0.9, "nesterov": True},
    "adam": {"name": "adam", "betas": (0.9, 0.99)},
    "adamw": {"name": "adamw", "betas": (0.9, 0.99)},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_stacked_optimizer_is_torch_s_to_the_last_digits(name):
    """Groups of their own rates, decays and eps; a run that goes on from the state of another."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    settings, shapes = OPTIMIZERS[name], [(4, 3), (), (5,)]
    parameters = [[nn.Parameter(draw(*shape)) for shape in shapes] for _ in FACTORS]
    optimizers = []
    for own, factor in zip(parameters, FACTORS, strict=True):
        groups = [
            {"params": own[:1], "lr": 0.1 * factor, "weight_decay": 0.3 / factor, "eps": 1e-8},
            {"params": own[1:], "lr": 0.02, "weight_decay": 0.0, "eps": 0.1},
        ]
        groups = [group | {"peak": group["lr"]} for group in groups]
        optimizers.append(make_optimizer(groups, settings))
    for parameter in parameters[2]:  # the last run has taken a step
        parameter.grad = draw(*parameter.shape)
    optimizers[2].step()
    own, stacked_optimizers = copy.deepcopy((parameters, optimizers))
    stack = StackedOptimizer(stacked_optimizers, own)
    weights = torch.stack([side_by_side(of_one) for of_one in own])
    for factor in (0.5, 1.0, 0.1):
        for optimizer, of_one in zip(optimizers, parameters, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * factor
            for parameter in of_one:
                parameter.grad = draw(*parameter.shape)
        gradient = torch.stack([side_by_side([p.grad for p in of_one]) for of_one in parameters])
        stack.step(weights, gradient, torch.full((3, 1), factor, dtype=torch.float64))
        for optimizer in optimizers:
            optimizer.step()
    expected = torch.stack([side_by_side(of_one) for of_one in parameters])
    torch.testing.assert_close(weights, expected, rtol=1e-14, atol=1e-15)
    stack.write_back()
    for one, other in zip(stacked_optimizers, optimizers, strict=True):
        found, wanted = (o.state_dict()["state"] for o in (one, other))
        for index, state in wanted.items():
            kept = {key: value for key, value in state.items() if value is not None}
            assert kept.keys() == found.get(index, {}).keys()
            for key, value in kept.items():
                torch.testing.assert_close(found[index][key], value, rtol=1e-14, atol=1e-15)


def test_an_optimizer_that_is_not_stacked_is_refused():
    weight = nn.Parameter(torch.zeros(2))
    with pytest.raises(ValueError, match="optimizer RMSprop: is not stacked"):
        StackedOptimizer([torch.optim.RMSprop([weight])], [[weight]])


def test_a_diverged_run_does_not_stop_its_neighbours(tmp_path):
    """It ends where it would end alone; the others go on without it."""

    def with_one_lost():
        trainings = runs("mlp", optimizer=SGD, evaluations=3)
        for group in trainings[1].optimizer.param_groups:
            group["lr"] = 1e200
        return trainings

    alone, as_one = with_one_lost(), with_one_lost()
    expected, found = one_by_one(alone, tmp_path), together(as_one, tmp_path)
    assert [record["train_loss"] for record in found[1]] == [math.inf] * 3
    assert found[1] == expected[1]
    assert_equal(as_one[::2], alone[::2], 1e-10)
    assert found[::2] == [[pytest.approx(r, rel=1e-6) for r in run] for run in expected[::2]]


@pytest.mark.parametrize("lost", [False, True])
def test_runs_killed_between_steps_end_as_undisturbed_ones(tmp_path, monkeypatch, lost):
    """Together again; or, if the state of one was not written yet, apart."""
    undisturbed = runs("mlp")
    expected = together(undisturbed, tmp_path / "a")

    def killing(step, loss):
        if step == 6:
            raise KeyboardInterrupt

    (tmp_path / "b").mkdir()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        together(runs("mlp"), tmp_path / "b", killing)
    states = sorted((tmp_path / "b").iterdir())
    assert len(states) == 3 and len({path.stat().st_size for path in states}) == 1
    if lost:
        states[1].unlink()
    resumed = runs("mlp")
    found = together(resumed, tmp_path / "b")
    assert found == [[pytest.approx(r, rel=1e-9) for r in run] for run in expected]
    assert_equal(resumed, undisturbed, 1e-12)
    # A state does not say how the run was trained.
    alone = runs("mlp")[:1]
    one_by_one(alone, tmp_path / "b")
    assert_equal(alone, undisturbed[:1], 1e-12)


GOLDEN = Arrays("golden")


@pytest.fixture
def warm_starts(tmp_path):
    """(inputs, five specs from one base: three levels of noise, another seed, from scratch)."""
    inputs = {GOLDEN: table(tmp_path)}
    file = tmp_path / "base.safetensors"
    TASKS["warm_start"].run(
        WARM,
        inputs=inputs,
        device="cpu",
        progress=lambda *_: None,
        checkpoint=tmp_path / "state",
        final=file,
    )
    base = {"file": str(file), "sha256": sha256_file(file), "spec": WARM}
    start = {"checkpoint": base, "width": 12, "noise": "gaussian", "convention": "paper"}
    wide = override(WARM, {"model.width": 24, "steps": 8, "evaluations": 2})
    levels = [wide | {"start": start | {"level": level}} for level in (0.0, 0.5, 1.0)]
    return inputs, [*levels, levels[1] | {"seed": 7, "lr": 0.05}, wide | {"lr": 0.05}]


def assert_near(records, others):
    """Within float32's rounding; the constants of noise, which are a mapping, exactly."""
    for one, other in zip(records, others, strict=True):
        assert one.pop("noise", None) == other.pop("noise", None)
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6)


def test_upscaled_runs_of_several_noises_are_trained_as_one(tmp_path, warm_starts):
    inputs, specs = warm_starts
    task, folder = TASKS["warm_start"], tmp_path / "runs"
    folder.mkdir()
    assert len({task.stack_key(spec) for spec in specs}) == 1
    context = {"inputs": inputs, "device": "cpu", "progress": lambda *_: None}
    finals = [folder / f"{i}.safetensors" for i in range(5)]
    states = [folder / f"{i}.state" for i in range(5)]
    found = task.run_stacked(specs, **context, checkpoints=states, finals=finals)
    for index, spec in enumerate(specs):
        alone = folder / "alone.safetensors"
        expected = task.run(spec, **context, checkpoint=folder / "state", final=alone)
        assert_near(found[index], expected)
        mine, theirs = load_file(finals[index]), load_file(alone)
        assert mine.keys() == theirs.keys()
        for name, value in mine.items():
            torch.testing.assert_close(value, theirs[name], rtol=1e-4, atol=1e-6)


def test_a_cell_stacks_what_differs_in_numbers_alone(tmp_path, warm_starts):
    """By twos; runs that were finished before are taken over; each has its own file, as ever."""
    inputs, specs = warm_starts
    longer = specs[-1] | {"steps": 10}
    specs = [specs[0], longer, *specs[1:]]
    runs = [Run("warm_start", 3, spec, {"point": i}, {}) for i, spec in enumerate(specs)]
    shown = []

    def carry_out(runs, folder, size):
        def progress(done, together):
            shown.append((done, [run.axes["point"] for run in together]))
            return lambda step, loss: None

        cell = Cell("p/s", {}, tuple(runs))
        arguments = (cell, folder / "cell.json", folder / "runs", inputs, "cpu", progress)
        resumed = run_cell(*arguments, stack_size=lambda run: size)
        return resumed, read_cell(folder / "cell.json", cell)["runs"]

    _, alone = carry_out(runs, tmp_path / "alone", 1)
    assert shown == [(i, [i]) for i in range(6)]
    carry_out(runs[2:3], tmp_path / "as one", 2)
    shown.clear()
    resumed, found = carry_out(runs, tmp_path / "as one", 2)
    assert (resumed, shown) == (1, [(0, [0]), (2, [1]), (3, [3, 4]), (5, [5])])
    assert [run["provenance"].get("stacked") for run in found] == [None, None, None, 2, 2, None]
    for one, other in zip(found, alone, strict=True):
        assert (one["id"], one["axes"], one["spec"]) == (other["id"], other["axes"], other["spec"])
        assert_near(one["records"], other["records"])


@pytest.mark.parametrize("task", STACKED)
def test_a_golden_run_trained_as_one_with_another_is_the_golden_run(tmp_path, task):
    """With the data, schedules, augmentation and evaluations of every task that is stacked."""
    expected = [near(record) for record in saved(task)["records"]]
    assert stacked_records(task, tmp_path) == expected


def test_what_has_half_precision_a_gru_or_unequal_batches_is_trained_alone():
    for name, (task, spec) in MODELS.items():
        assert (TASKS[task].stack_key(spec) is None) == (name in ALONE)
    assert {*MODELS} == {*models.ARCHITECTURES} - {"gru"}
    for name in ALONE:
        spec = SPECS["transfer"] | {"model": {"name": name}}
        assert TASKS["transfer"].stack_key(spec) is None
    task, spec = MODELS["mlp"]
    key = TASKS[task].stack_key
    assert key(spec) == key(override(spec, {"optimizer.weight_decay": 0.5, "lr": 3.0}))
    assert key(spec) != key(override(spec, {"optimizer.betas": [0.9, 0.95]}))
    assert key(spec | {"precision": "float16"}) is None
    assert key(spec | {"precision": "bfloat16"}) is None
    assert TASKS["sign_sgd_step"].stack_key(SPECS["sign_sgd_step"]) is None


def test_runs_are_stacked_where_it_pays():
    """On a GPU, while a run's layers take longer to start than to compute; as many as fit."""
    small = Cost(flops=10**9, state_bytes=10**6, activation_bytes=3 * 10**6, steps=10, layers=4)
    large = replace(small, flops=10**15)

    def size(cost, stacking="auto", device="cuda", memory=1e9, runs=100):
        return stack_size(cost, runs, device, memory, stacking)

    assert size(small) == 95  # 950 MB / (7 x 1 + 3) MB
    assert size(large) == size(small, "never") == size(small, device="cpu") == 1
    assert size(small, runs=3) == 1 and size(small, "always", runs=3) == 3
    assert size(small, "always", "cpu", math.inf, runs=10**4) == MAX_STACK
    assert size(large, "always") == 95 and size(small, memory=1e6) == 1
    # Three that fit would take as long as one by one.
    assert size(small, memory=3.3e7) == 1 and size(small, "always", memory=3.3e7) == 3
