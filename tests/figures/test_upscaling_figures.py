"""Figures of the upscaling protocol on made-up data: what diverged, what lies at a grid's edge."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from judged import READ, of_figure, seen

from figures.upscaling import _drawing, _runs, _target, _transfer, fig3
from figures.upscaling._transfer import WIDTH
from repro.core import catalog, discovery
from repro.core.study import OVERNIGHT
from repro.statistics import student
from repro.verdicts import drawing
from repro.verdicts.answers import Test
from repro.verdicts.run_sweeps import Grid

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("measured_alone"),
    pytest.mark.filterwarnings("ignore:No artists with labels"),  # where all curves are missing
]
LRS, LEVELS, SEEDS = (0.1, 0.2, 0.4), (0.0, 0.5, 1.0), (0, 1, 2)
RATE, LEVEL = 0.2, 0.5
ENDS = {
    "base": 1.2,
    "scratch": 1.0,
    "upscaled": 0.8,
    "upscaled_without_noise": 0.9,
    "upscaled_start": 1.5,
    "upscaled_without_noise_start": 1.2,
    "upscaled_tuned": 0.78,
    "upscaled_tuned_without_noise": 0.85,
    "small_upscaled": 1.0,
    "small_without_noise": 1.1,
    "small_most_noise": 1.3,
    "scratch_long": 0.7,
}
INF = math.inf


def runs(study, stage, loss, **axes):
    """The records of one run that falls to a loss, all infinite and nothing else where it is."""
    lost = not math.isfinite(loss)
    return [
        {
            "study": study,
            "stage": stage,
            "step": step,
            "train_loss": loss + more,
            "valid_loss": math.nan if lost else loss + more,
            "valid_accuracy": math.nan if lost else 0.5 - more,
            **axes,
        }
        for step, more in ((100, 0.5), (200, 0.1), (300, 0.0))
    ]


def made_up(key, ends=None, **sweeps):
    """A data.csv of one architecture; ends: stage -> loss, or one a seed. sweeps: stage -> loss of
    (lr, level), the lowest in the middle by default."""
    study = _runs.SETTINGS[key].study
    rows = []

    def bowl(lr, level=LEVEL):
        return 1 + abs(math.log2(lr / RATE)) / 10 + abs(level - LEVEL) / 10

    for stage in ("tune", "scratch_rates", "tune_target_without_noise"):
        for lr in LRS:
            rows += runs(study, stage, sweeps.get(stage, bowl)(lr), lr=lr)
    for stage in ("tune_upscaled", "tune_upscaled_code", "tune_target"):
        for lr in LRS:
            for level in LEVELS:
                loss = sweeps.get(stage, bowl)(lr, level)
                rows += runs(study, stage, loss, lr=lr, **{_runs.LEVEL: level})
    for stage, end in (ENDS | (ends or {})).items():
        for seed in SEEDS:
            loss = end[seed] if isinstance(end, tuple) else end
            rows += runs(study, stage, loss, lr=RATE, seed=seed)
    return pd.DataFrame(rows).reindex(columns=_runs.COLUMNS)


def judged(figure, data, scale="reduced"):
    """Claim's name -> its row."""
    return of_figure(f"upscaling/{figure}", data, scale)


def verdicts(figure, data, scale="reduced"):
    return {name: row["status"] for name, row in judged(figure, data, scale).items()}


def wins(ends=None, **sweeps):
    """Figure 4's claims without the architecture's name."""
    found = judged("fig4", made_up("mlp-sgd", ends, **sweeps))
    return {name.removesuffix("-mlp-sgd"): row for name, row in found.items()}


def tuned_at_target(ends=None, **sweeps):
    """Figure 10's claims."""
    return judged("fig10", made_up("gpt2", ends, **sweeps), "overnight")


def test_made_up_data_are_judged():
    found = wins()
    for name in ("upscaled-wins", "noise-nonzero"):
        assert found[name]["status"] == "reproduced"
    own = tuned_at_target()
    for name in ("noise-nonzero", "noise-at-target", "initial-jump"):
        assert seen("upscaling/fig10", own[name]) == "agrees"
    assert found["upscaled-wins"]["measured"] == pytest.approx(0.8)
    assert found["validation"]["measured"] == pytest.approx(0.8)
    assert found["validation"]["status"] == READ


def longer(key, ends, **changed):
    """Made-up data of which the runs from scratch with the base's steps end a third of them at each
    of these losses; changed: as of `made_up`."""
    data = made_up(key, **changed)
    study = _runs.SETTINGS[key].study
    rows = []
    for seed in SEEDS:
        for step, loss in zip(range(100, 700, 100), ends, strict=True):
            rows += [
                run
                | {
                    "step": step,
                    "train_loss": loss,
                    "valid_loss": 2 * loss,
                    "valid_accuracy": 0.62 - loss / 10,
                }
                for run in runs(study, "scratch_long", loss, lr=RATE, seed=seed)[:1]
            ]
    kept = data[data["stage"] != "scratch_long"]
    return pd.concat([kept, pd.DataFrame(rows)], ignore_index=True).reindex(columns=data.columns)


FALLING = (3.0, 2.0, 1.0, 0.9, 0.8, 0.7)


def as_run(data):
    """Without the sweep of the released code, which the ResNet has none of."""
    return data[(data["study"] != "upscaling/resnet") | (data["stage"] != "tune_upscaled_code")]


def of_figure_2(gpt2):
    """Figure 2's data; gpt2: those of its third panel."""
    return as_run(pd.concat([made_up("mlp"), made_up("resnet"), gpt2], ignore_index=True))


def test_upscaled_is_held_against_scratch_at_equal_steps_and_at_equal_operations():
    """GPT-2's base costs a quarter of the wide run overnight, so that equal operations from scratch
    are 1.28 of 300 steps, and the evaluation after these is at 400."""
    setting = _runs.SETTINGS["gpt2"]
    share = _runs.flops_ratio(setting.study, OVERNIGHT)
    assert 100 / 300 > share > 0
    found = judged("fig2", of_figure_2(longer("gpt2", FALLING)), OVERNIGHT)
    for name, loss in (("equal-steps", 1.0), ("equal-flops", 0.9), ("more-steps", 0.7)):
        row = found[f"{name}-tuned-gpt2"]
        assert row["measured"] == pytest.approx(0.78 / loss)
        assert seen("upscaling/fig2", row) == ("agrees" if loss > 0.78 else "differs")
        held_out = found[f"{name}-tuned-valid-gpt2"]
        assert held_out["measured"] == pytest.approx(0.78 / (2 * loss))
    assert "equal-steps-tuned-resnet" not in found  # which another study tunes at the target


@pytest.mark.parametrize(
    ("law", "sides"), [("as claimed", -1), ("no effect", 0), ("the opposite", 1)]
)
def test_a_law_puts_every_comparison_on_its_side(law, sides):
    """Drawn without noise: of every claim whose rival is a sign, the mean lies where the law has
    it."""
    data = longer("mlp-sgd", FALLING)
    data.loc[data["stage"] == "scratch", "valid_accuracy"] += 0.7  # all above 0
    figure = catalog.figure("upscaling/fig4")
    drawn = figure.simulate(law, data, "reduced", np.random.default_rng(0))
    found = figure.measure(drawn, "reduced")
    for claim in filter(lambda each: isinstance(each, Test), figure.answers):
        if claim.id in figure.laws and claim.binds("reduced", embedded=False):
            bound, value = claim.at("reduced"), found[claim.id].value
            end = bound.high if math.isfinite(bound.high) else bound.low
            away = (value - end) * (1 if math.isfinite(bound.high) else -1)
            assert (abs(away) < 1e-9) if sides == 0 else (np.sign(away) == sides), claim.id


def test_the_jump_is_held_against_the_base_and_is_gone():
    found = tuned_at_target()
    # At the first evaluation the upscaled runs, which end at 0.8, are at 1.3.
    assert found["jump-above-base"]["measured"] == pytest.approx((1.5 + 0.6 / 3) / 1.2, rel=0.2)
    assert seen("upscaling/fig10", found["jump-above-base"]) == "agrees"
    assert found["jump-gone"]["measured"] == pytest.approx(1.3 / 1.2)
    assert seen("upscaling/fig10", found["jump-gone"]) == "differs"
    lower = tuned_at_target({"upscaled": 0.6})["jump-gone"]
    assert seen("upscaling/fig10", lower) == "agrees"


def test_a_sweep_that_selects_no_noise_is_noticed():
    found = judged("fig5", made_up("mlp-sgd"))["nonzero-selected"]
    assert (found["measured"], found["status"]) == (pytest.approx(-0.1), "reproduced")
    none = judged("fig5", made_up("mlp-sgd", {"small_upscaled": 1.1}))["nonzero-selected"]
    assert (none["measured"], none["status"]) == (0, "not reproduced")


def test_regret_is_a_share_of_the_gain():
    found = tuned_at_target()
    share, nats = found["regret"], found["regret-nats"]
    assert share["measured"] == pytest.approx((0.8 - 0.78) / (1.0 - 0.78))
    assert nats["measured"] == pytest.approx(0.02) and nats["status"] == READ
    assert share["status"] == READ
    assert share["detail"] == "transferred lr 0.2, noise 0.5; tuned at the target lr 0.2, noise 0.5"
    more = tuned_at_target({"upscaled_tuned": 0.7})["regret"]
    assert more["measured"] == pytest.approx(0.1 / 0.3)
    none = tuned_at_target({"scratch": 0.8, "upscaled_tuned": 0.8})["regret"]
    assert none["measured"] is None  # there was no gain to keep
    edge = tuned_at_target(tune_target=lambda lr, level: lr + abs(level - LEVEL))["regret"]
    assert edge["reason"].startswith("Sweep 2 at the target: search limit")
    # That sweep tries one step along either axis, none along both.
    cross = {(0.2, 0.5), (0.1, 0.5), (0.4, 0.5), (0.2, 0.0), (0.2, 1.0)}
    data = made_up("gpt2")
    corner = [p not in cross for p in zip(data["lr"], data[_runs.LEVEL], strict=True)]
    found = judged("fig10", data[(data["stage"] != "tune_target") | ~pd.Series(corner)])
    assert not found["regret"]["reason"]


def test_arms_are_compared_on_the_seeds_they_share():
    data = made_up("mlp-sgd", {"scratch_long": (1.0, 1.0, 9.0)})
    found = judged("fig4", data[(data["stage"] != "scratch_long") | (data["seed"] != 2)])
    assert found["upscaled-wins-long-mlp-sgd"]["n"] == 2
    assert found["upscaled-wins-long-mlp-sgd"]["measured"] == pytest.approx(0.8)


def test_curves_begin_where_upscaling_starts():
    stages = _runs.by_stage(made_up("gpt2"), "reduced")
    curve = _drawing.spread(stages, "upscaled", "train_loss")["mean"]
    assert list(curve.index) == [0, 100, 200, 300] and curve[0] == pytest.approx(1.5 + 0.6 / 3)
    assert 0 not in _drawing.spread(stages, "upscaled", "valid_loss").index


@pytest.mark.parametrize(("own", "left"), [(1.0, 1.0), (0.85, 0.25)])
def test_a_baseline_s_own_rate_leaves_the_gain_or_takes_it(own, left):
    found = wins(scratch_rates=lambda lr: own + abs(lr - RATE))["baseline-near-optimal"]
    assert (found["measured"], found["status"]) == (pytest.approx(left), READ)
    none = wins({"scratch": 0.8})["baseline-near-optimal"]
    assert none["measured"] is None  # there was no gain


def adamw(**changes):
    """Figure 6's claims; changes: metric -> what is added to it in the runs upscaled with AdamW."""
    data = pd.concat([made_up("mlp"), made_up("mlp-sgd")], ignore_index=True)
    own = data["study"] == _runs.SETTINGS["mlp"].study
    data.loc[own & (data["stage"] == "upscaled"), list(changes)] += list(changes.values())
    return judged("fig6", data, "paper")


def test_adamw_is_held_against_sgd():
    found = adamw(valid_accuracy=0.1)
    assert found["more-accurate"]["measured"] == pytest.approx(0.1)
    assert found["more-accurate"]["status"] == "reproduced"
    assert found["overfits"]["status"] == "not reproduced"  # losses of 1.3, 0.9, 0.8
    assert adamw(valid_accuracy=-0.1)["more-accurate"]["status"] == "not reproduced"


def test_held_out_data_are_shown_and_judged_as_in_the_paper():
    shown = {key: setting.validation for key, setting in _runs.SETTINGS.items()}
    assert shown.pop("gpt2") == "valid_loss" and set(shown.values()) == {"valid_accuracy"}
    found = judged("fig2", of_figure_2(made_up("gpt2")))
    assert found["mirrors-gpt2"]["measured"] == pytest.approx(0.8)
    assert found["mirrors-mlp"]["status"] == "not reproduced"  # accuracies are equal
    assert "validation-gpt2" not in found and "mirrors-resnet" not in found


@pytest.mark.parametrize("lost", [INF, (1.0, INF, 1.0)])
@pytest.mark.parametrize("up", [0.8, INF])
def test_a_baseline_that_diverged_is_nothing_to_win_against(lost, up):
    found = wins({"scratch": lost, "upscaled": up})
    count = 1 if isinstance(lost, tuple) else 3
    for name in ("upscaled-wins", "faster", "end-to-end", "validation"):
        assert found[name]["status"] in ("inconclusive", READ)
        assert found[name]["reason"].startswith(f"{count} of 3 runs of scratch diverged")
    found = wins({"scratch_long": lost})
    assert f"{count} of 3 runs of scratch_long" in found["upscaled-wins-long"]["reason"]
    found = wins({"upscaled_without_noise": lost})
    assert f"{count} of 3 runs of upscaled_without" in found["noise-nonzero"]["reason"]
    found = wins(scratch_rates=lambda lr: INF)
    assert "every run diverged" in found["equal-steps-tuned"]["reason"]


def test_an_upscaled_run_that_diverged_loses():
    """Also where it had been below the target before."""
    found = wins({"upscaled": (0.8, 0.8, INF)})
    for name in ("upscaled-wins", "noise-nonzero"):
        assert found[name]["status"] == "not reproduced"
        assert found[name]["detail"].startswith("1 of 3 runs of upscaled diverged")
    data = made_up("mlp-sgd")
    data.loc[(data["stage"] == "upscaled") & (data["step"] == 300), "train_loss"] = INF
    data.loc[(data["stage"] == "upscaled") & (data["step"] == 200), "train_loss"] = 0.1
    assert judged("fig4", data)["faster-mlp-sgd"]["measured"] is None  # it is never there


def test_an_early_crossing_that_does_not_last_is_none():
    data = made_up("mlp-sgd", {"upscaled": 0.4})
    data.loc[(data["stage"] == "upscaled") & (data["step"] == 200), "train_loss"] = 1.1
    assert judged("fig4", data)["faster-mlp-sgd"]["measured"] == pytest.approx(1.0)


def test_upscaling_is_cheaper_where_it_is_below_scratch_for_all_operations_it_has_paid():
    """GPT-2's base costs more than a quarter, so that 200 of 300 steps are left, where it is 0.1
    above its end."""
    assert 1 / 3 > _runs.flops_ratio("upscaling/gpt2", "reduced") > 0.25
    for end, status in ((0.8, "reproduced"), (0.95, "not reproduced")):
        row = judged("fig2", of_figure_2(made_up("gpt2", {"upscaled": end})))["cheaper-gpt2"]
        assert row["measured"] == pytest.approx(end + 0.1)
        assert seen("upscaling/fig2", row, "reduced") == (
            "agrees" if status == "reproduced" else "differs"
        )


def test_a_seed_s_start_is_held_against_its_own_base():
    """Where each has one what bases share leaves the interval; one base for all does not."""
    start, base = pd.Series({1: 1.2, 2: 1.8, 3: 1.5}), pd.Series({1: 1.0, 2: 1.5, 3: 1.25})
    own = _target.over_base(start, base, "")
    assert [own.low, own.value, own.high] == pytest.approx([1.2] * 3)
    others = _target.over_base(start, base.rename({1: 7, 2: 8, 3: 9}), "")
    assert others.value == pytest.approx(1.2) and others.high > 1.4


def test_an_early_crossing_is_known_to_the_time_between_two_evaluations():
    """Where it stays below, at steps 100, 200, 300; of the base's cost F.4 says a share of the wide
    run."""
    for steps, up in ((100, 0.4), (200, 0.85), (300, 1.0)):
        found = wins({"upscaled": up})
        row = found["faster"]
        ends = [(steps - 100) / 300, steps / 300, steps / 300]
        assert [row["low"], row["measured"], row["high"]] == pytest.approx(ends)
        whole = found["end-to-end"]
        assert whole["low"] == pytest.approx(whole["measured"])
        shares = [1 / whole["measured"] - 1 / whole["high"], 100 / 300]
        assert shares[0] == pytest.approx(shares[1])


def test_accuracies_of_runs_that_diverged_are_not_compared():
    data = made_up("resnet", {"upscaled": (0.8, INF, 0.8)})
    gain = fig_measure("fig8", as_run(data))["fig8.generalisation"]
    assert gain.problem == "1 of 3 runs of upscaled diverged"


def fig_measure(name, data):
    return catalog.figure(f"upscaling/{name}").measure(data, "reduced")


@pytest.mark.parametrize(
    ("stage", "loss", "words", "claims"),
    [
        ("tune", lambda lr: lr, "Sweep 1: ", ("upscaled-wins", "faster", "noise-nonzero")),
        (
            "tune_upscaled",
            lambda lr, level: lr + abs(level - LEVEL),
            "Sweep 2: ",
            ("upscaled-wins", "faster", "noise-nonzero"),
        ),
        (
            "tune_upscaled",
            lambda lr, level: lr if level == 0 else abs(lr - RATE) + abs(level - LEVEL) / 10,
            "Sweep 2 at zero noise: ",
            ("noise-nonzero",),
        ),
    ],
)
def test_a_claim_that_rests_on_an_optimum_at_the_edge_is_not_judged(stage, loss, words, claims):
    found = wins(**{stage: loss})
    for name in claims:
        assert found[name]["status"] in ("inconclusive", READ)
        assert found[name]["reason"].startswith(f"{words}search limit")
    resting = {name for name, row in found.items() if words in row["reason"]}
    assert resting >= set(claims)
    if words == "Sweep 2 at zero noise: ":
        assert resting == {"noise-nonzero"}


def test_a_sweep_of_which_every_run_diverged_selects_nothing():
    problems = fig_measure("fig4", made_up("mlp-sgd", tune_upscaled_code=lambda lr, level: INF))
    for name in ("selected-noise", "selected-lr-upscaled"):
        assert "every run diverged" in problems[f"fig4.{name}"].problem


def test_runs_that_diverged_count_where_the_validation_loss_selects():
    """They have none, and must not pass for runs that were not made, nor for the best."""
    data = made_up("gpt2", tune=lambda lr: INF if lr == 0.4 else lr)
    rows = _runs.stage_rows(_runs.by_stage(data, "reduced"), "tune")
    assert (rows.loc[rows["lr"] == 0.4, "valid_loss"] == INF).all()
    assert Grid(["lr"], "valid_loss").edge(rows).startswith("search limit")


def test_the_optimal_noise_is_judged_over_seeds_where_there_are_some():
    found = judged("fig11", made_up("gpt2"))["optimal-noise"]
    assert (found["measured"], found["n"]) == (pytest.approx(1.1), 3)
    assert found["status"] == "reproduced"
    lower = judged("fig11", made_up("gpt2", {"small_without_noise": 0.9}))["optimal-noise"]
    assert lower["status"] == "not reproduced"
    repeated = judged("fig5", made_up("mlp-sgd"))["optimal-noise"]
    assert (repeated["status"], repeated["n"]) == ("reproduced", 3)
    data = made_up("mlp-sgd")  # as at reduced scale
    found = judged("fig5", data[~data["stage"].isin(_runs.SMALL)])["optimal-noise"]
    assert found["measured"] > 1 and found["reason"].startswith("one run")
    assert "4.8% below zero noise, 4.8% below the largest" in found["detail"]
    edge = judged("fig5", made_up("mlp-sgd", tune_upscaled=lambda lr, level: lr - level))
    assert edge["optimal-noise"]["reason"].startswith("Sweep 2: search limit")


def test_sweep_1_selects_by_the_setting_s_metric_and_sweep_2_by_training_loss():
    by = _runs.SETTINGS["gpt2"].metric_of
    assert by("tune") == "valid_loss"
    assert by("scratch_rates") == "train_loss"  # where it is the training loss that is judged
    assert by("tune_upscaled") == by("tune_upscaled_code") == by("tune_target") == "train_loss"


def test_the_best_rate_is_chosen_by_the_training_loss_which_judges():
    """By validation loss GPT-2's best is RATE, and nothing of the gain would be lost."""
    data = of_figure_2(made_up("gpt2"))
    rates = (data["stage"] == "scratch_rates") & (data["lr"] == RATE * 2)
    data.loc[rates, "train_loss"] -= 0.2
    found = judged("fig2", data)["baseline-near-optimal-gpt2"]
    assert found["measured"] == pytest.approx(0.5)
    assert f"own best {RATE * 2:.3g} by training loss, of one run a rate" in found["detail"]
    assert "scratch, best rate 0.9" in found["detail"]


@pytest.mark.parametrize("key", _runs.SETTINGS)
def test_the_paper_s_selection_is_on_its_grids(key):
    study = _runs.SETTINGS[key].study
    names = discovery.study_names()
    code = f"{study}/tune_upscaled_code"
    second = discovery.study(code if code in names else f"{study}/tune_upscaled").grid
    grids = (discovery.study(f"{study}/tune").grid["lr"], second["lr"], second[_runs.LEVEL])
    for value, grid in zip(_runs.SETTINGS[key].selected, grids, strict=True):
        assert value in grid


@pytest.mark.parametrize(("value", "printed"), _runs.ROUNDED.items())
def test_what_the_paper_prints_is_the_grid_s_value_rounded(value, printed):
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    assert abs(float(printed) - value) <= half * (1 + 1e-9)


VALUES = [2.0 ** (k / 2) for k in range(-8, 3)]


def transfer(lost=(), width=64, seeds=(0, 1, 2), slope=0.0, steeper=1.0, apart=0.02):
    """A data.csv of Figure 3, every curve a parabola about an optimum that goes with the width as
    its power `slope` from 2^-2 at 64, a little to either side by seed.

    lost: seeds all of whose runs at one width diverged. steeper: above 1 where the cost rises
    faster above the optimum than below it. apart: octaves from seed to seed.
    """
    rows = []
    for study in {study: None for _, study, _ in fig3.MODELS.values()}:
        for stage, axis in (("by_lr", "lr"), ("by_noise", _runs.LEVEL)):
            values = [*VALUES, *([0.0] if axis != "lr" else [])]
            for n, seed, value in product((32, 64, 128), seeds, values):
                best = -2 + slope * np.log2(n / 64) + apart * (seed - 1) * (n != 64)
                from_best = np.log2(value or VALUES[0] / 2) - best
                loss = 1 + 0.1 * from_best**2 * (1 + 0.1 * (steeper - 1) * from_best)
                rows.append(
                    {
                        "study": study,
                        "stage": stage,
                        WIDTH: n,
                        axis: value,
                        "seed": seed,
                        "step": 10,
                        "train_loss": INF if n == width and seed in lost else loss,
                    }
                )
    return pd.DataFrame(rows)


def of_two_widths(seeds, slope=0.0):
    """The same of GPT-2's rates, with seeds of each width's own; the last of the narrow one's has
    no best rate."""
    data = transfer(slope=slope, seeds=range(max(seeds)))
    rows = data[(data["study"] == fig3.MODELS["gpt2"][1]) & (data["stage"] == "by_lr")]
    parts = []
    for stage, width, number in zip(fig3.ARMS["gpt2", "lr"], (32, 128), seeds, strict=True):
        own = rows[(rows[WIDTH] == width) & (rows["seed"] < number)]
        parts.append(own.assign(stage=stage, seed=own["seed"] + width))
    narrow = parts[0]
    narrow.loc[narrow["seed"] == narrow["seed"].max(), "train_loss"] = -narrow["lr"]
    kept = data[(data["study"] != fig3.MODELS["gpt2"][1]) | (data["stage"] != "by_lr")]
    return pd.concat([kept, *parts], ignore_index=True)


def test_widths_with_seeds_of_their_own_are_compared_by_welch():
    row = judged("fig3", of_two_widths((9, 4)))["transfer-lr-gpt2"]
    assert (row["status"], row["n"]) == ("reproduced", 4)
    assert "width 32: 1 of 9 seeds have no lowest point" in row["detail"]
    # Places scatter by 0.02 a seed in either width, two octaves of width apart.
    variance = sum(np.var(0.02 * np.arange(n), ddof=1) / n for n in (8, 4)) / 4
    widths = (row["high"] - row["low"]) / 2 / math.sqrt(variance)
    assert student(12) < widths < student(4)  # freedom between that of all and of the fewest
    assert judged("fig3", of_two_widths((9, 4), 0.5))["transfer-lr-gpt2"]["status"] == (
        "not reproduced"
    )
    lost = judged("fig3", of_two_widths((9, 4), 0.5))["lost-lr-gpt2"]
    assert lost["n"] == 4 and lost["measured"] == pytest.approx(0.1, abs=0.03)
    fig3.draw(of_two_widths((9, 4)), "reduced")


OF_PAPER = ("-code", "-printed")  # settings of paper scale, judged nowhere else


@pytest.mark.parametrize("lost", [(0, 1), (1,)])
def test_a_width_that_diverged_has_no_optimum(lost):
    found = verdicts("fig3", transfer(steeper=2.0, seeds=range(5), apart=0.005), "overnight")
    of_paper = {name for name in found if name.endswith(OF_PAPER)}
    of_paper |= {"transfer-noise-mlp-sgd", "asymmetric-mlp-sgd"}
    assert len(of_paper) == 2 and {found.pop(name) for name in of_paper} == {READ}
    reported = {name for name, status in found.items() if status == READ}
    assert reported == {name for name in found if name.startswith("lost-")}
    assert {found[name] for name in {*found} - reported} == {"reproduced"}
    data = transfer(lost, seeds=range(5))
    for name, row in judged("fig3", data, "overnight").items():
        if name in of_paper | reported:
            continue
        assert row["status"] == "inconclusive"
        assert "a seed diverged at every value: width 64" in row["reason"]


@pytest.mark.parametrize(
    ("slope", "told"), [(0.0, "reproduced"), (0.5, "not reproduced"), (-1.0, "not reproduced")]
)
def test_how_a_best_value_goes_with_the_width_is_a_slope(slope, told):
    found = judged("fig3", transfer(slope=slope, seeds=range(5)), "overnight")
    for key, sweep in (("gpt2", "lr"), ("gpt2", "noise"), ("mlp", "lr"), ("mlp-sgd", "lr")):
        row = found[f"transfer-{sweep}-{key}"]
        assert row["status"] == told
        assert row["measured"] == pytest.approx(slope, abs=0.03)


def test_a_carried_value_is_chosen_on_seeds_that_do_not_judge_it():
    data = transfer(slope=0.5, seeds=range(6))
    row = judged("fig3", data)["lost-lr-gpt2"]
    # From the best at 32 to that at 128 is an octave, which costs 0.1.
    assert row["measured"] == pytest.approx(0.1, abs=0.02)
    # Runs of a seed at the narrowest choose for the other half, and not for itself.
    curves = _transfer.sweeps(fig3.rows_of(data, "gpt2", "lr"), "lr")
    before = _transfer.lost_by_seed(curves)
    curves[32].losses[1] = 100 * curves[32].rates
    after = _transfer.lost_by_seed(curves)
    changed = {seed for seed in before if before[seed] != after[seed]}
    assert changed == {0, 2, 4}


@pytest.mark.parametrize(
    ("steeper", "told"), [(2.0, "reproduced"), (1.0, "inconclusive"), (0.5, "not reproduced")]
)
def test_noise_above_the_best_is_held_against_noise_below_it(steeper, told):
    data = transfer(steeper=steeper, seeds=range(5), apart=0.005)
    assert verdicts("fig3", data, "overnight")["asymmetric-gpt2"] == told


@pytest.mark.parametrize("lost", [(), (1,), (0, 1)])
def test_a_width_that_diverged_is_drawn_as_arrows(lost):
    figure = fig3.draw(transfer(lost), "reduced")
    for panel in figure.axes:
        arrows = [
            text for text in panel.texts if text.get_text() == "\N{BLACK UP-POINTING TRIANGLE}"
        ]
        values = len(VALUES) + (panel not in figure.axes[:3])
        assert len(arrows) == (values if lost else 0)


def test_everything_diverged_is_drawn():
    every = transfer((0, 1), 64)
    every["train_loss"] = INF
    fig3.draw(every, "reduced")
    lost = made_up(
        "resnet",
        dict.fromkeys(ENDS, INF),
        tune=lambda lr: INF,
        scratch_rates=lambda lr: INF,
        tune_upscaled=lambda lr, level: INF,
    )
    lost = as_run(lost)
    for name in ("fig8", "fig9"):
        catalog.figure(f"upscaling/{name}").draw(lost, "reduced")
        assert not {row["status"] for row in judged(name, lost).values()} & {
            "reproduced",
            "not reproduced",
        }


def test_a_seed_that_diverged_ends_the_mean():
    data = _runs.by_stage(made_up("mlp-sgd", {"scratch": (1.0, INF, 1.0)}), "reduced")
    for metric in ("train_loss", "valid_loss", "valid_accuracy"):
        assert _drawing.spread(data, "scratch", metric)["mean"].isna().all()


def test_curves_that_are_cut_or_diverged_are_named():
    study = _runs.SETTINGS["mlp-sgd"].study
    data = made_up("mlp-sgd", tune_upscaled=lambda lr, level: INF if level == 1 else 1 + level)
    spiked = (data["stage"] == "tune_upscaled") & (data[_runs.LEVEL] == 0.5)
    data.loc[spiked & (data["step"] == 100), "train_loss"] = 200.0
    data = data[data["study"] == study]
    panel = catalog.figure("upscaling/fig5").draw(data, "reduced").axes[2]
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert labels == ["0", "$2^{-1}$, from 200", "$2^{0}$: diverged"]
    assert panel.get_yscale() == "linear"
    assert panel.get_ylim()[1] < 3


def test_the_ends_are_drawn_with_their_rates_intervals_and_what_diverged():
    data = made_up("mlp-sgd", {"upscaled": (0.7, 0.8, 0.9), "base": (1.0, INF, 1.0)})
    panel = catalog.figure("upscaling/fig4").draw(data, "reduced").axes[1]
    words = [text.get_text() for text in panel.texts]
    assert words[:3] == ["base", f"rate {RATE}", "1 of 3 diverged"]
    assert words[-2:] == ["upscaled, tuned at target", f"rate {RATE}"]
    assert f"rate {RATE}, one run" in words
    mark, _, (ends,) = panel.containers[-2]
    assert mark.get_xdata().tolist() == pytest.approx([0.8])
    assert ends.get_segments()[0][:, 0].tolist() == pytest.approx([0.5516, 1.0484], abs=1e-3)


def test_where_upscaled_is_as_low_as_from_scratch_is_marked_beside_the_paper_s():
    training = catalog.figure("upscaling/fig4").draw(made_up("mlp-sgd"), "reduced").axes[0]
    labels = [text.get_text() for text in training.get_legend().get_texts()]
    assert labels == [
        "upscaled reaches scratch's final loss at 67% of its steps",
        "in the paper at 5%",
    ]  # 598 of 11,326


def test_a_start_far_from_the_rest_leaves_the_axis_and_only_then():
    for first, cut in ((2.0, False), (9.0, True)):
        _, ((panel,),) = drawing.panels(1)
        curve = pd.Series([first, *np.linspace(1.9, 1.0, 10)], index=range(0, 110, 10))
        panel.plot(curve)
        _drawing.leave_out_start(panel, [curve, curve[:0]])
        assert (panel.get_ylim()[1] < first) == cut
        drawing.plt.close(panel.figure)


def test_no_shade_of_a_heatmap_holds_half_of_it():
    """Losses of a sweep are near the best in its middle, and many times that at its ends."""
    above = np.append(np.geomspace(0.3, 900, 50), [0, INF, np.nan])
    steps = _drawing.shades(above)
    assert steps[0] == 0.2 and steps[-1] == 1000 and all(np.diff(np.log(steps)) < 1)
    assert len(_drawing.shades(np.array([0.0, INF]))) > 1, "nothing is worse than the best"
    table = _drawing.above_best(
        pd.DataFrame(
            {"lr": [1.0, 2.0, 4.0], _runs.LEVEL: 0.5, "step": 1, "train_loss": [2.0, 3.0, INF]}
        ),
        _runs.SETTINGS["mlp"],
    )
    assert table.to_numpy().tolist() == [[0, 50, INF]]


def test_the_paper_s_selection_is_drawn_where_it_lies_on_the_grid():
    assert _drawing.where(0.3, [0, 0.1, 0.3, 0.9]) == 2
    assert _drawing.where(0.01, [0, 0.1, 0.3]) is None
    assert [_drawing.on_grid(v) for v in (0, 0.25, 0.1)] == ["0", "$2^{-2}$", "0.1"]
