"""The window of a final loss: how evaluations share it, and that all who ask for an end use it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from repro.core import discovery
from repro.core.names import StageName
from repro.core.schedule import cells
from repro.core.study import SCALES, Best, Checkpoint, Scale, Study, final, in_window
from repro.verdicts.run_sweeps import at_end

SPEC = {"lr": 0.1, "start": {"checkpoint": None}, "steps": 40, "evaluations": 4, "seed": 0}
SEEDS = [1, 2]
# Rate -> losses at four evaluations; by the last alone 0.2 is the best, by the last two 0.1.
CURVES = {0.1: (9.0, 4.0, 2.0, 2.0), 0.2: (9.0, 4.0, 3.0, 1.5)}


def study(spec, grid, window):
    return Study("fake", SPEC | spec, grid, dict.fromkeys(SCALES, Scale(window=window)))


def runs(of, upstream=lambda stage: []):
    return [run for cell in cells("p/s/stage", of, "reduced", 1, {}, upstream) for run in cell.runs]


def result(run):
    losses = CURVES[run.spec["lr"]]
    records = [
        {"step": 10 * (k + 1), "train_loss": loss, "valid_loss": loss}
        for k, loss in enumerate(losses)
    ]
    identity = {"id": run.id, "file": run.id, "sha256": run.id, "spec": run.spec, "axes": run.axes}
    return identity | {"records": records}


def test_evaluations_share_a_window_by_their_steps():
    assert in_window([10, 20, 30], 0) == [1.0]
    assert in_window([10, 20, 30], 10) == in_window([10, 20, 30], 5) == [1.0]
    assert in_window([10, 20, 30], 20) == [0.5, 0.5]
    assert in_window([10, 20, 30], 15) == pytest.approx([1 / 3, 2 / 3])
    assert in_window([10, 30], 25) == pytest.approx([0.2, 0.8])
    assert in_window([1], 48) == [1.0] and sum(in_window([10, 20, 30], 99)) == pytest.approx(1)
    # The loss itself does not hang on how often it was recorded.
    fine, coarse = np.arange(1.0, 61), np.arange(1.0, 61).reshape(20, 3).mean(1)
    means = [
        np.dot(in_window([*steps], 12), of[-k:])
        for steps, of, k in ((range(1, 61), fine, 12), (range(3, 61, 3), coarse, 4))
    ]
    assert means[0] == pytest.approx(means[1])


def test_a_final_loss_is_the_mean_over_the_window():
    ended = {"records": [{"step": 10, "train_loss": 3.0}, {"step": 20, "train_loss": 1.0}]}
    assert final(ended, "train_loss") == 1.0
    assert final(ended | {"window": 20}, "train_loss") == 2.0
    lost = {"records": [*ended["records"][:1], {"step": 20, "train_loss": "inf"}], "window": 20}
    assert final(lost, "train_loss") == math.inf == final({"records": []}, "train_loss")


@pytest.mark.parametrize(("window", "rate"), [(0, 0.2), (10, 0.2), (20, 0.1)])
def test_a_sweep_chooses_by_the_window_of_its_study(window, rate):
    tune = runs(study({}, {"lr": [*CURVES], "seed": SEEDS}, window))
    checkpoint = Checkpoint("tune", "lowest", over=("lr",))
    later = study(
        {"lr": Best("tune", "lr"), "start": {"checkpoint": checkpoint}}, {"seed": SEEDS}, 0
    )
    run = runs(later, lambda stage: tune)[0]
    spec, _ = run.resolve(lambda taken: taken.choose(result))
    assert spec["lr"] == spec["start"]["checkpoint"]["spec"]["lr"] == rate
    searched = replace(
        study({}, {"lr": [*CURVES], "seed": [1]}, window), search=("lr",), neighbourhood=((1,),)
    )
    round_of = searched.round("tune")
    assert round_of.at("reduced").window == window
    proposed = runs(round_of, lambda stage: tune)[0]
    spec, _ = proposed.resolve(lambda taken: taken.choose(result))
    assert spec["lr"] == (0.4 if rate == 0.2 else None)  # above 0.1 nothing is untried


def test_the_window_is_no_part_of_a_run_but_of_what_it_takes():
    def ids(window):
        tune = runs(study({}, {"lr": [*CURVES], "seed": SEEDS}, window))
        later = study({"lr": Best("tune", "lr")}, {"seed": SEEDS}, window)
        return [run.id for run in tune], [run.id for run in runs(later, lambda stage: tune)]

    first, second = ids(0)
    assert ids(10) == (first, second)  # it is what an evaluation has anyway
    assert ids(20)[0] == first and not {*ids(20)[1]} & {*second}


def test_a_table_ends_where_its_runs_do():
    tune = [result(run) for run in runs(study({}, {"lr": [*CURVES], "seed": SEEDS}, 20))]
    rows = pd.DataFrame([{**one["axes"], **record} for one in tune for record in one["records"]])
    for window in (0, 10, 15, 20, 100):
        ended = at_end(rows, window, ("train_loss",))
        assert list(ended["lr"]) == [one["spec"]["lr"] for one in tune]
        expected = [final(one | {"window": window}, "train_loss") for one in tune]
        assert list(ended["train_loss"]) == pytest.approx(expected)


UPSCALING = [
    name
    for name in discovery.study_names()
    if StageName.parse(name).module.startswith("upscaling/")
]


def test_the_window_is_the_same_share_overnight_and_is_of_whole_evaluations():
    declared = set()
    for name in UPSCALING:
        of = discovery.study(name)
        windows = {scale: of.at(scale).window for scale in of.scales}
        steps = {scale: of.settings(scale).get("steps", 1) for scale in of.scales}
        begun = discovery.study(name.partition("+")[0])  # of a search's round
        grids = [begun.grid | begun.at(s).grid for s in ("reduced", "overnight") if s in windows]
        run = len(grids) == 2 and all(values for grid in grids for values in grid.values())
        # A design may lack a stage at a scale, and where a run starts is of one step.
        if run and steps["reduced"] > 1:
            longer = steps["overnight"] / steps["reduced"]
            assert windows["overnight"] == windows["reduced"] * longer, name
        for scale, window in windows.items():
            if window and steps[scale] > 1:
                evaluations = of.settings(scale)["evaluations"]
                assert window * evaluations % steps[scale] == 0, (name, scale)
                declared.add(StageName.parse(name).module)
    assert len(declared) >= 8
