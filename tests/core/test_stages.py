import math
from statistics import median_low

import pytest
from refusals import refused

from repro.core.schedule import cells
from repro.core.study import SCALES, Best, Checkpoint, Scale, Study

SPEC = {"lr": 0.1, "start": {"checkpoint": None, "level": 0.0}, "seed": 0}
EVERYWHERE = {name: Scale() for name in SCALES}


def stage(spec, grid):
    return Study("fake", SPEC | spec, grid, EVERYWHERE)


def runs(study, upstream=None):
    found = cells("paper/study", study, "reduced", 1, {}, upstream)
    return [run for cell in found for run in cell.runs]


TUNE = stage({}, {"lr": [0.1, 0.2, 0.4], "seed": [0, 1]})


def result(run, loss, **record):
    records = [{"step": 1, "train_loss": loss, **record}]
    name = run.id[:4]
    return {"id": name, "file": name, "sha256": name, "spec": run.spec, "axes": run.axes} | {
        "records": records
    }


def resolve(run, read):
    """A run's spec and what is tuned in it. read: upstream run -> its result."""
    return run.resolve(lambda upstream: upstream.choose(read))


def test_the_best_is_of_the_mean_over_seeds():
    tune = runs(TUNE)
    losses = {(0.1, 0): 1.0, (0.1, 1): 5.0, (0.2, 0): 2.0, (0.2, 1): 2.0}
    base = stage({"lr": Best("tune", "lr", over=("seed",))}, {"seed": [0, 1]})
    for run in runs(base, lambda name: tune):
        spec, tuned = resolve(
            run, lambda r: result(r, losses.get((r.spec["lr"], r.spec["seed"]), math.inf))
        )
        assert spec["lr"] == tuned["lr"] == 0.2


def test_where_restricts_the_candidates():
    tune = runs(TUNE)
    base = stage({"lr": Best("tune", "lr", over=("seed",), where={"lr": 0.4})}, {})
    spec, _ = resolve(runs(base, lambda name: tune)[0], lambda r: result(r, r.spec["lr"]))
    assert spec["lr"] == 0.4


def test_a_sweep_that_diverged_everywhere_says_so():
    tune = runs(TUNE)
    base = runs(stage({"lr": Best("tune", "lr", over=("seed",))}, {}), lambda name: tune)
    with refused("stage tune: every run diverged, so no lr"):
        resolve(base[0], lambda r: result(r, math.inf))


def test_a_checkpoint_is_joined_on_the_axes_both_have():
    tune = runs(TUNE)
    spec = {"start": {"checkpoint": Checkpoint("tune"), "level": 0.0}}
    upscaled = runs(stage(spec, {"lr": [0.1, 0.2], "seed": [0, 1]}), lambda name: tune)
    for run in upscaled:
        (candidate,) = run.upstream["start.checkpoint"].runs
        assert candidate.axes == run.axes
    with refused("2 runs agree with"):
        runs(stage(spec, {"lr": [0.1]}), lambda name: tune)
    with refused("0 runs agree with"):
        runs(stage(spec, {"lr": [0.3], "seed": [0]}), lambda name: tune)


@pytest.mark.parametrize("count", [2, 3])
def test_the_median_checkpoint(count):
    """Of an even number, as four bases are, the lower of the two in the middle."""
    tune = [run for run in runs(TUNE) if run.spec["seed"] == 0][:count]
    losses = {0.1: 3.0, 0.2: 1.0, 0.4: 2.0}
    pick = Checkpoint("tune", pick="median", metric="valid_loss", over=("lr",))
    (run,) = runs(stage({"start": {"checkpoint": pick, "level": 0.0}}, {}), lambda name: tune)
    spec, tuned = resolve(run, lambda r: result(r, 0.0, valid_loss=losses[r.spec["lr"]]))
    middle = median_low(losses[run.spec["lr"]] for run in tune)
    assert losses[spec["start"]["checkpoint"]["spec"]["lr"]] == middle
    assert tuned == {}


def test_an_id_holds_the_ids_of_what_is_taken():
    base = stage({"lr": Best("tune", "lr", over=("seed",))}, {"seed": [0]})
    more = stage({}, {"lr": [0.1, 0.2, 0.4, 0.8], "seed": [0, 1]})
    first, again, other = (
        runs(base, lambda name, study=study: runs(study))[0].id for study in (TUNE, TUNE, more)
    )
    assert first == again != other
