import pickle

import pytest
import torch
from golden import SPECS, table
from refusals import refused

from repro import models
from repro.data.needs import Arrays
from repro.files import sha256_file
from repro.tasks import TASKS
from repro.training import checkpoints
from repro.training.optimizer import make_groups, make_optimizer

SPEC = SPECS["warm_start"]


def run(folder, **changes):
    final = folder / f"{len(list(folder.glob('*.safetensors')))}.final"
    records = TASKS["warm_start"].run(
        SPEC | changes,
        inputs={Arrays("golden"): table(folder)},
        device="cpu",
        progress=lambda step, loss: None,
        checkpoint=folder / "state",
        final=final,
    )
    return records, final


def start(final, **changes):
    checkpoint = {"id": "x", "file": str(final), "sha256": sha256_file(final), "spec": SPEC}
    noise = {"noise": "gaussian", "convention": "paper", "level": 0.0}
    return {"checkpoint": checkpoint, "width": 12, **noise, **changes}


def wider(width):
    return SPEC["model"] | {"width": width}


def test_zero_noise_goes_on_as_the_base_would(tmp_path):
    """24 steps at once, of all rows each, against 12, widened threefold with the optimizer's state,
    and 12 more."""
    whole = {"data": SPEC["data"] | {"batch_size": 64}}
    same, _ = run(tmp_path, steps=24, evaluations=6, **whole)
    _, final = run(tmp_path, **whole)
    wide, _ = run(tmp_path, start=start(final), model=wider(36), **whole)
    for narrow, grown in zip(same[3:], wide, strict=True):
        for key in ("train_loss", "valid_loss"):
            assert grown[key] == pytest.approx(narrow[key], rel=1e-4)
        assert grown["outside"] < 1e-4
    assert wide[-1]["inside"] > 0.01


@pytest.mark.parametrize("by", ["zeros", "shrink"])
def test_other_ways_to_grow_start_as_they_say(tmp_path, by):
    """Zeros at the loss that the base goes on from, what was shrunk elsewhere."""
    _, final = run(tmp_path)
    same, _ = run(tmp_path, start=start(final), steps=1, evaluations=1)
    grown = start(final, by=by, shrink=0.5)
    wide, _ = run(tmp_path, start=grown, model=wider(36), steps=1, evaluations=1)
    off = abs(wide[0]["train_loss"] / same[0]["train_loss"] - 1)
    assert off < 1e-5 if by == "zeros" else off > 1e-3


def test_all_state_of_a_loaded_optimizer_lies_beside_its_parameters(tmp_path):
    """The number of steps too, which torch's fused optimizers want there."""
    _, final = run(tmp_path)
    with torch.device("meta"):
        net = models.build(SPEC["model"], SPEC["parametrization"])
    groups = make_groups(net, SPEC["parametrization"], SPEC["optimizer"], SPEC["lr"])
    optimizer = make_optimizer(groups, SPEC["optimizer"])
    checkpoints.load(start(final)["checkpoint"], net, optimizer)
    states = list(optimizer.state.values())
    assert len(states) == len(list(net.parameters()))
    assert {value.device.type for state in states for value in state.values()} == {"meta"}


def test_noise_leaves_the_subspace_and_is_recorded(tmp_path):
    _, final = run(tmp_path)
    records, _ = run(tmp_path, start=start(final, level=0.5), model=wider(36))
    assert records[0]["outside"] > 0.1
    assert records[-1]["noise"] == {"input.weight": 0.5, "hidden.0.weight": 0.5}


def test_widths_that_do_not_divide_and_another_base_are_refused(tmp_path):
    _, final = run(tmp_path)
    with refused("width 12 cannot be widened to 30"):
        run(tmp_path, start=start(final), model=wider(30))
    with refused("the base has width 12, not 16"):
        run(tmp_path, start=start(final, width=16), model=wider(48))
    with refused("the base has hidden_layers 2, the run 5"):
        run(tmp_path, start=start(final), model=wider(36) | {"hidden_layers": 5})
    sgd = {"name": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.0, "clip": None}
    with refused("the base has optimizer 'adamw', the run 'sgd'"):
        run(tmp_path, start=start(final), model=wider(36), optimizer=sgd)


def test_labels_and_features_must_be_the_model_s(tmp_path):
    with refused("6 features for a model of 5"):
        run(tmp_path, model=SPEC["model"] | {"inputs": 5})
    with refused("label 2 for a model of 2 classes"):
        run(tmp_path, model=SPEC["model"] | {"classes": 2})


def pair(width=12):
    net = models.build(wider(width), "muP-multiplier")
    groups = make_groups(net, "muP-multiplier", SPEC["optimizer"], 0.1)
    return net, make_optimizer(groups, SPEC["optimizer"])


def test_a_checkpoint_holds_weights_and_optimizer_state(tmp_path):
    _, final = run(tmp_path)
    net, optimizer = pair()
    checkpoints.load({"file": final, "sha256": sha256_file(final)}, net, optimizer)
    assert all(
        set(optimizer.state[p]) == {"step", "exp_avg", "exp_avg_sq"} for p in net.parameters()
    )
    again = tmp_path / "again"
    checkpoints.save(again, net, optimizer)
    assert again.read_bytes() == final.read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "was changed after"),
    ],
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage, message):
    _, final = run(tmp_path)
    digest = sha256_file(final)
    damage(final)
    with refused(message):
        checkpoints.load({"file": final, "sha256": digest}, *pair())


def test_a_pickle_is_never_read(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("code of a checkpoint was run",))

    path = tmp_path / "pickle"
    path.write_bytes(pickle.dumps(Bomb()))
    with refused("is no safetensors file"):
        checkpoints.load({"file": path, "sha256": sha256_file(path)}, *pair())


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    _, final = run(tmp_path)
    with refused("is of another model"):
        checkpoints.load({"file": final, "sha256": sha256_file(final)}, *pair(24))


def test_optimizer_state_of_another_shape_or_parameter_is_refused(tmp_path):
    """torch's fused optimizers do not look at shapes, and would write past the end."""
    from safetensors.torch import load_file, save_file

    _, final = run(tmp_path)
    whole = load_file(final)
    key = "optimizer.exp_avg.input.weight"
    for changed in (
        whole | {key: whole[key][:3]},
        whole | {"optimizer.exp_avg.other": whole[key].clone()},
    ):
        path = tmp_path / "changed"
        save_file(changed, path)
        with refused(r"is of another model: optimizer.exp_avg"):
            checkpoints.load({"file": path, "sha256": sha256_file(path)}, *pair())


def test_a_diverged_run_is_recorded_to_its_end(tmp_path):
    records, _ = run(tmp_path, lr=1e30)
    assert [record["step"] for record in records] == [4, 8, 12]
    assert records[-1]["train_loss"] == float("inf")
