"""The benchmark of transfer: its losses read as known laws, and the runs they come from."""

import math
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from refusals import refused
from suites import suite_of

from figures.transfer import (
    _board,
    _losses,
    _matrix,
    equal,
    leaderboard,
)
from figures.transfer import depth as depth_figure
from figures.transfer._losses import COLUMNS, PROXY, WORKLOADS, Losses
from repro import models
from repro.core import rows
from repro.data.batches import ArrayBatches
from repro.files import sha256
from repro.lineage import checkout
from repro.products.records import recorded_at
from repro.products.run_table import as_csv
from repro.report import marks
from repro.tasks.transfer import chance, check_single_pass, targets
from repro.transfer_bench import leaders, references
from widthwise.parametrization import KINDS, plan, recipe

pytestmark = pytest.mark.long

CHANCE, CURVATURE, GAIN = 6.0, 0.02, 0.25  # nats; nats per octave squared; nats a doubling
SLOPES = {"SP": -1.0, "muP": 0.0}
PENALTY = {"SP": 0.1, "muP": 0.0}


def loss(name, width, rate, seed, ratio=4.0):
    """A parabola in log2 of the rate, its vertex 2^-6 at width 32; seeds shift it up and down."""
    octaves = math.log2(width / 32)
    vertex = -6 + SLOPES.get(name, 0.0) * octaves
    off = CURVATURE * (math.log2(rate) - vertex) ** 2 + 0.05 * abs(math.log2(ratio / 4))
    return 4.5 - GAIN * octaves + PENALTY.get(name, 0.0) * octaves / 2 + off + 0.003 * seed


def table(**changes):
    rates, rows = [2.0**k for k in range(-9, -3)], []
    for seed in range(3):
        for rate in rates:
            for ratio in (1.0, 4.0, 16.0):
                rows.append([PROXY, 32, ratio, rate, 400 + seed, loss("", 32, rate, seed, ratio)])
            for name in SLOPES:
                for width in (64, 128):
                    found = loss(name, width, rate, seed)
                    rows.append([name, width, 4.0, rate, 410 + seed, found])
    columns = [column for column in COLUMNS if column not in ("workload", "chance")]
    return pd.DataFrame(rows, columns=columns).assign(chance=CHANCE, **changes)


def test_losses_of_a_known_law_give_its_slope_regret_penalty_and_gain():
    losses = Losses(table())
    assert (losses.ratio, losses.widths) == (4.0, [32, 64, 128])
    assert losses.proxy_rate() == 2.0**-6
    for name, slope in SLOPES.items():
        assert losses.of(name).slopes() == pytest.approx([slope] * 3)
        missed = CURVATURE * (2 * slope) ** 2  # two octaves of rate at four times the width
        np.testing.assert_allclose(losses.regret(name, 128), missed, atol=1e-12)
        np.testing.assert_allclose(losses.penalty(name), PENALTY[name], atol=1e-12)
    assert losses.gain() == pytest.approx(2 * GAIN)
    assert losses.problem("SP", "muP") == ""
    found = _losses.slope_measurement(losses, "SP")
    assert found.value == pytest.approx(-1) and found.low == pytest.approx(found.high)


@pytest.fixture
def frozen(monkeypatch, tmp_path):
    """Freeze the lowest tuned losses of a table as version v0 at reduced scale."""
    monkeypatch.setattr(rows, "ROOT", tmp_path)

    def freeze(data):
        taken = _board.references_of(data, "reduced", _board.VERSION, "embedded", "0" * 64)
        rows.write(references.PATH, references.Frozen, taken)

    return freeze


def on(*workloads, **changes):
    parts = [table(workload=name, **changes) for name in workloads]
    return pd.concat(parts, ignore_index=True)


def test_the_matrix_has_the_scores_of_a_known_law(frozen):
    """SP's rate is two octaves off at four times the width, and it ends 0.1 nats higher."""
    data = on("decoder", "mlp", "gru")
    frozen(data)
    board = _board.matrix(data, "reduced")
    assert [row.name for row in board.rows] == ["muP, AdamW", "SP, AdamW"]
    assert list(board.columns) == ["decoder", "mlp", "gru"]
    missed = CURVATURE * 4
    for column in board.columns:
        each = board.rows[1].scores[column]
        assert each.regret.value == pytest.approx(missed)
        assert each.penalty.value == pytest.approx(PENALTY["SP"])
        assert each.lost.value == pytest.approx(100 * (missed + PENALTY["SP"]) / (2 * GAIN))
        assert board.rows[0].scores[column].lost.value == pytest.approx(0)
    assert board.rows[0].median.value == pytest.approx(0)
    assert board.group == {"muP, AdamW": 1, "SP, AdamW": 2}
    assert heads(board) == ["decoder", "MLP", "GRU", "median"]
    none = replace(board.rows[0].median, value=math.nan)
    lone = [replace(row, median=none, scores={"mlp": row.scores["mlp"]}) for row in board.rows]
    assert heads(replace(board, rows=lone)) == ["MLP"], "what no entry has is left out"


def heads(board):
    """The panels of the matrix, drawn."""
    drawn = _matrix.draw_board(board)
    plt.close(drawn)
    return [panel.get_title().split("\n")[0] for panel in drawn.axes]


def test_a_claim_s_regret_is_by_the_grid_and_its_detail_has_the_board_s_by_parabolas():
    (base,) = recorded_at("reduced", "embedded", "transfer/leaderboard")
    data = pd.read_csv(base.with_suffix(".csv"))
    rows = {row.parametrization: row for row in _board.entries(data, "reduced")}
    measured = leaderboard.measure(data, "reduced")
    for workload in WORKLOADS:
        found = measured[f"leaderboard.sp-regret-{workload}"]
        said = re.findall(r"by (the grid|parabolas) SP ([-.\d]+), muP ([-.\d]+)", found.detail)
        (grid, *by_grid), (parabolas, *by_parabolas) = said
        assert (grid, parabolas) == ("the grid", "parabolas")
        assert float(by_grid[0]) - float(by_grid[1]) == pytest.approx(found.value, abs=1e-4)
        board = [rows[name].scores[workload].regret.value for name in ("SP", "muP")]
        if np.isfinite(board).all():
            assert [float(each) for each in by_parabolas] == pytest.approx(board, abs=1e-4)


def test_a_reference_is_of_its_data_widths_scale_and_version(frozen):
    data = on("decoder")
    frozen(data)
    (setting,) = _board.settings(data).values()
    asked = _board.VERSION, "reduced", "decoder", setting
    assert references.find(*asked).of == "muP, AdamW"
    assert references.find(*asked).loss == pytest.approx(4.5 - 2 * GAIN + 0.003)
    for change, said in (
        ((asked[0], "smoke", "decoder", setting), "no reference of decoder at smoke scale"),
        (("v9", *asked[1:]), "v9 has no reference of decoder"),
        ((*asked[:3], replace(setting, chance=5.0)), "on other data alone"),
        ((*asked[:3], replace(setting, wide=256)), "for widths 32 to 128 alone"),
    ):
        assert said in references.find(*change)


def test_the_board_in_the_study_s_page_is_what_the_command_writes():
    page = checkout.ROOT / "studies" / "transfer" / "README.md"
    suite = suite_of(scale="reduced")
    made = marks.filled(page, "board", lambda: leaders.lines(suite))
    assert page.read_text() == made, "uv run python -m repro new pages"


def test_the_references_in_the_repository_are_what_the_records_give():
    rows_of = references.frozen()
    assert {row.version for row in rows_of} == {_board.VERSION}
    for scale, label in dict.fromkeys((row.scale, row.data) for row in rows_of):
        (base,) = recorded_at(scale, label, leaders.FIGURE)
        data = pd.read_csv(base.with_suffix(".csv"))
        data = data.sort_values(COLUMNS[:6], ignore_index=True)
        digest = sha256(as_csv(data))
        fresh = _board.references_of(data, scale, _board.VERSION, label, digest)
        kept = [row for row in rows_of if (row.scale, row.data) == (scale, label)]
        for one, other in zip(fresh, kept, strict=True):
            for name, value in vars(one).items():
                assert vars(other)[name] == (
                    pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
                )


def everywhere(values):
    """A table like those of all workloads, with `values` as losses."""
    parts = [table(workload=name).assign(train_loss=values) for name in WORKLOADS]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("loss", [math.nan, 4.0, 1e9], ids=["diverged", "the same", "unlearned"])
def test_the_board_says_undefined_where_nothing_is_told(loss):
    figure = leaderboard.draw(everywhere(loss), "reduced")
    figure.canvas.draw()
    said = {text.get_text() for place in figure.axes for text in place.texts}
    plt.close(figure)
    assert said == {f"0 of {len(WORKLOADS)} defined"}, "no panel of what is undefined"


def test_names_of_the_same_training_are_found_and_no_others():
    found = {
        "one": np.array([3.0, 2.5]),
        "same": np.array([3.0, 2.5 * (1 + 1e-12)]),
        "other": np.array([3.0, 2.5 * (1 + 1e-7)]),
    }
    assert equal.classes(found) == [["one", "same"], ["other"]]


def test_a_diverged_run_is_infinitely_bad_and_no_hole():
    data = table()
    lost = (data["parametrization"] == "SP") & (data["model.width"] == 128) & (data["lr"] == 2**-6)
    data.loc[lost & (data["seed"] == 410), "train_loss"] = math.nan
    losses = Losses(data)
    assert losses.regret("SP", 128)[0] == math.inf
    assert np.isfinite(losses.tuned("SP", 128)).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.assign(chance=4.6), "hardly learned: 4.50 of 4.60"),
        (lambda d: d[d["embedding_ratio"] <= 4], "best ratio, 4, is at its grid's edge"),
        (lambda d: d[d["lr"] >= 2**-7], "edge: SP at 64, 128"),
        (
            lambda d: d[(d["parametrization"] == PROXY) | (d["lr"] < 2**-6)],
            "SP was not trained at the narrow model's best rate",
        ),
    ],
)
def test_what_makes_a_comparison_worthless_is_said(change, said):
    assert said in Losses(change(table())).problem("SP")


def decayed(best=0.1):
    """A table whose narrow model was tuned over weight decays too; any but the best costs 0.1."""
    wide = table()
    wide = wide[wide["parametrization"] != PROXY].assign(**{_losses.DECAY: best})
    narrow = table()
    narrow = narrow[narrow["parametrization"] == PROXY]
    parts = [
        narrow.assign(
            train_loss=narrow["train_loss"] + 0.1 * (decay != best), **{_losses.DECAY: decay}
        )
        for decay in (0.0, 0.1, 0.4)
    ]
    return pd.concat([*parts, wide], ignore_index=True)


def test_what_is_lost_is_read_at_the_tuned_weight_decay():
    tuned, without = Losses(decayed()), Losses(table())
    assert tuned.decay == 0.1 and tuned.problem("SP", "muP") == ""
    assert tuned.proxy_rate() == without.proxy_rate()
    assert tuned.gain() == pytest.approx(without.gain())
    assert Losses(decayed(0.0)).problem("muP") == "", "no decay is the least there is, no edge"
    assert "best weight decay, 0.4, is at its grid's edge" in Losses(decayed(0.4)).problem("muP")


def test_a_column_of_decays_is_kept_where_there_are_several():
    wide = {"transfer/mlp/wide": table(step=1)}
    several = {"transfer/mlp/proxy": decayed().assign(step=1), **wide}
    assert list(_losses.reduce(several).columns) == [*COLUMNS, _losses.DECAY]
    one = {"transfer/mlp/proxy": table(step=1, **{_losses.DECAY: 0.0}), **wide}
    assert list(_losses.reduce(one).columns) == COLUMNS


@pytest.mark.parametrize(("scale", "decays"), [("paper", {0.0, 0.1, 0.4}), ("reduced", {0.0})])
def test_the_weight_decay_is_tuned_narrow_and_handed_on_at_paper_scale_alone(scale, decays):
    suite = suite_of(scale=scale)
    narrow, wide = (
        [run for cell in suite.cells(f"transfer/decoder/{stage}") for run in cell.runs]
        for stage in ("proxy", "wide")
    )
    assert {run.spec["optimizer"]["weight_decay"] for run in narrow} == decays
    taken = [run.upstream.get(_losses.DECAY) for run in wide]
    stages = {each.reference.stage if each else None for each in taken}
    assert stages == ({"proxy"} if scale == "paper" else {None})


def test_chance_is_the_entropy_of_the_targets():
    assert chance(torch.arange(8).repeat(3)) == pytest.approx(math.log(8))
    rows = np.zeros((10, 2), np.float32), np.array([0] * 5 + [1] * 5)
    batches = ArrayBatches("rows", *rows, batch_size=5, seed=0, device="cpu")
    assert chance(targets(batches)) == pytest.approx(math.log(2))
    check_single_pass({"dataset": "rows", "batch_size": 5}, batches, 2)
    with refused("rows: 3 steps of 5 go through its 10 rows more than once"):
        check_single_pass({"dataset": "rows", "batch_size": 5}, batches, 3)


def deepened(law):
    """Losses of a decoder over depths: bowls with one vertex, `law(power, depth)` of height."""
    rows, rates = [], [2.0**k for k in range(-9, -3)]
    for seed in range(3):
        for rate in rates:
            off = CURVATURE * (math.log2(rate) + 6) ** 2 + 0.003 * seed
            for ratio in (1.0, 4.0, 16.0):
                bad = 0.05 * abs(math.log2(ratio / 4))
                rows.append(["proxy", 0.0, 2, ratio, rate, 1 + seed, 4.5 + off + bad])
            rows.append(["shallow", 0.0, 2, 4.0, rate, 11 + seed, 4.5 + off])
            for power in (0.0, 1.0):
                for depth in (4, 8):
                    found = law(power, depth) + off
                    rows.append(["deep", power, depth, 4.0, rate, 11 + seed, found])
    columns = [column for column in depth_figure.COLUMNS if column != "chance"]
    return pd.DataFrame(rows, columns=columns).assign(chance=CHANCE)


def test_what_depth_gains_is_read_off_losses_of_a_known_law():
    """A tenth of a nat a doubling, gained with 1/L and lost without."""
    data = deepened(lambda power, depth: 4.5 - 0.1 * (2 * power - 1) * math.log2(depth / 2))
    found = depth_figure.measure(data, "reduced")
    assert [each.problem for each in found.values()] == ["", ""]
    assert found["depth.better-with-1-over-l"].value == pytest.approx(0.2)
    assert found["depth.worse-without"].value == pytest.approx(-0.2)


def test_a_residual_branch_has_the_inverse_of_the_depth_over_the_base_s():
    settings = {
        "name": "residual_decoder",
        "width": 16,
        "base_depth": 2,
        "branch_power": 1.0,
        "head_dim": 8,
        "expansion": 4,
        "norm": "pre",
        "positional_rms": {"factor": 1.0, "power": 0.0},
        "base_width": 16,
    }
    tokens = torch.arange(8)[None]

    def logits(depth, **changes):
        net = models.build(
            {**settings, "depth": depth, **changes}, "SP", vocab_size=32, sequence_length=8
        )
        models.draw(net, "SP", 0)
        with torch.no_grad():
            own = net(tokens)
            for layer in (*net.attention, *net.mlp):  # what it adds, without a factor
                last = layer.out if hasattr(layer, "out") else layer.down
                last.weight *= net.branch_multiplier
            net.branch_multiplier = 1.0
            return own, net(tokens)

    torch.testing.assert_close(*logits(8))
    assert torch.equal(logits(2)[0], logits(2, branch_power=0.0)[0])
    assert not torch.allclose(logits(8)[0], logits(8, branch_power=0.0)[0])


def test_full_alignment_is_sp_with_the_embedding_s_rate_raised_by_the_width():
    settings = {
        "name": "decoder",
        "width": 64,
        "depth": 1,
        "head_dim": 16,
        "expansion": 4,
        "norm": "pre",
        "positional_rms": {"factor": 1.0, "power": 0.0},
        "base_width": 16,
    }
    net = models.build(settings, "SP", vocab_size=32, sequence_length=8)

    def rates(name, lr, embedding):
        groups = plan(net, None, recipe(name, "adamw")).groups(
            dict.fromkeys(KINDS, lr) | {"embedding": embedding}
        )
        return {id(p): group["lr"] for group in groups for p in group["params"]}

    assert rates("full-alignment", 4 * 2**-7, 4 * 2**-7) == rates("SP", 2**-7, 4 * 2**-7)
