"""`repro try --population`: what is counted of settings of one's own, and what is refused."""

import csv
import math

import numpy as np
import pytest
from refusals import refused

from repro.core import discovery
from repro.core.suite import load
from repro.products import alone, beside, drawn, tried
from repro.statistics import clopper_pearson, t_interval

TEST = "upscaling/fig3.transfer-lr-mlp"
STAGE = "upscaling/mlp_adamw_transfer/by_lr"
LAYERS = '["hidden_layers"]\nlevels = [2, 3]\nwhy = "two"\n'
STEPS = '["steps"]\nlevels = [20, 40]\nwhy = "two"\n'
BATCH = '["data.batch_size"]\nlevels = [250, 500]\nwhy = "two"\n'
NOTHING = "[nothing]\nlevels.a = {}\nlevels.b = {}\nwhy = 'none'\n"


@pytest.fixture(autouse=True)
def studies_as_they_are(monkeypatch, tmp_path):
    """In a work folder of its own, and with no try left in the place of studies."""
    monkeypatch.chdir(tmp_path)
    yield
    discovery.put({})


def lines_of(text, scale="reduced", word=TEST, dry=False, **given):
    """What a call says of a population."""
    with open("mine.toml", "w") as file:
        file.write(text)
    given = {"changes": {}, "widths": (), "rates": (), "steps": 0, "optimizer": "", **given}
    return drawn.carried_out(load([f"scale={scale}"]), word, "mine.toml", dry, **given)


@pytest.fixture
def moves(monkeypatch):
    """Tables in the place of runs: the best rate stays where a setting has three hidden layers, and
    halves as the width doubles where it has two. lost: steps with which every run diverged."""
    own = {"lost": None}

    def tables(found):
        table = alone.stand_ins(found.own, found.settings.figure)[STAGE]
        settings = found.settings
        width, lr = np.log2(table["model.width"] / 32), np.log2(table["lr"])
        place = -5 if settings.changes.get("hidden_layers") == 3 else -4 - width
        loss = 1 + 0.1 * (lr - place) ** 2
        return {STAGE: table.assign(train_loss=math.inf if settings.steps == own["lost"] else loss)}

    monkeypatch.setattr(tried, "tables", tables)
    monkeypatch.setattr(beside, "run", lambda _: 0)
    return own


def written():
    """(the table of settings, that of runs)."""
    (own,) = tried.Path().rglob("*.settings.csv")
    with open(own) as one, open(str(own).replace(".settings", "")) as other:
        return [*csv.DictReader(one)], [*csv.DictReader(other)]


def test_the_share_is_of_the_settings_whose_effect_is_on_the_expected_side(moves):
    """The measurement is the figure's own; a slope of -1 is not expected, 0 is."""
    lines = [*lines_of(LAYERS + STEPS + BATCH)]
    rows, runs = written()
    assert len(rows) == 8, "all of a small population"
    for row in rows:
        expected = 0 if row["hidden_layers"] == "3" else -1
        assert float(row["effect"]) == pytest.approx(expected, abs=0.01)
    low, high = clopper_pearson(4, 8)
    assert any(
        f"share      0.5 [{low:.3g}, {high:.3g}], n = 8  as expected in 4" in x for x in lines
    )
    mean, low, high = t_interval([0.0] * 4 + [-1.0] * 4)
    assert any(f"mean       {mean:.3g} [{low:.3g}, {high:.3g}], n = 8" in line for line in lines)
    assert any("on record" in line and "reproduced" in line for line in lines)
    effects = [float(row["effect"]) for row in rows]
    assert effects == sorted(effects)
    assert {row["seed"] for row in rows} == {row["seed"] for row in runs}
    assert len({row["seed"] for row in rows}) == 8, "each its own seed"


def test_a_setting_that_diverged_is_counted_and_on_nobodys_side(moves):
    moves["lost"] = 40
    lines = [*lines_of(LAYERS + STEPS)]
    assert any("as expected in 1 of 4" in line and "2 without" in line for line in lines)
    assert any(line.strip().startswith("no effect in 2: ") for line in lines)
    rows, _ = written()
    assert [row["steps"] for row in rows if row["why"]] == ["40", "40"]
    assert [row["effect"] for row in rows if row["why"]] == ["", ""]


def test_more_settings_begin_with_the_same(moves):
    few, many = (drawn.settings_of(drawn.read(file), "", n, {"changes": {}}) for file, n in pair())
    assert many[:3] == few


def pair():
    with open("mine.toml", "w") as file:
        file.write(LAYERS + STEPS + BATCH)
    return (tried.Path("mine.toml"), 3), (tried.Path("mine.toml"), 6)


def test_a_dry_run_says_how_many_and_runs_nothing(monkeypatch):
    monkeypatch.setattr(beside, "run", lambda *_: pytest.fail("a job began"))
    lines = [*lines_of(LAYERS + STEPS, dry=True, seeds=3)]
    assert "3 settings of mine.toml, a seed each" in lines[0]
    assert lines[-1].startswith("  42 runs in 6 jobs, 6 to do: "), "14 runs in 2 jobs each"


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        ("[depht]\nlevels = [1, 2]\nwhy = 'x'", {}, "mine.toml: depht [12]: depht: no study here"),
        ("levels = [", {}, "mine.toml: is no TOML file"),
        (LAYERS, {"seeds": 3}, "--seeds 3: mine.toml has 2 settings; give fewer, or more levels"),
        (STEPS, {"steps": 10}, "--steps: mine.toml sets steps; leave one out"),
        (LAYERS, {"changes": {"model.hidden_layers": 2}}, "--set model.hidden_layers: mine.toml"),
        ("[lr]\nlevels = [1, 2]\nwhy = 'x'", {"rates": (1.0,)}, "--rates: mine.toml sets lr"),
        ("[seed]\nlevels = [1, 2]\nwhy = 'x'", {}, "--seeds: mine.toml sets seed"),
        (LAYERS + NOTHING, {}, "mine.toml: nothing: changes nothing of upscaling/fig3"),
        ("[steps]\nlevels = ['a', 'b']\nwhy = 'x'", {}, "steps [ab]: is no whole number"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_anything_runs(text, given, said, monkeypatch):
    monkeypatch.setattr(beside, "run", lambda *_: pytest.fail("a job began"))
    with refused(said.replace("(", r"\(")):
        [*lines_of(text, "smoke", **given)]


def test_a_test_that_draws_settings_takes_no_other():
    with refused("draws settings of its own"):
        [*lines_of(STEPS, word="upscaling/settings.mean")]


@pytest.mark.slow
def test_a_population_is_trained_and_told_from_end_to_end():
    lines = [*lines_of(LAYERS, "smoke", seeds=2)]
    rows, runs = written()
    assert any("runs at smoke scale are too short to tell" in line for line in lines)
    assert {row["hidden_layers"] for row in rows} == {"2", "3"}
    assert len({row["train_loss"] for row in runs}) == len(runs), "each run was made"
    for end in (".png", ".txt"):
        assert [*tried.Path().rglob(f"fig3*{end}")]


@pytest.mark.slow
def test_a_setting_with_nothing_to_start_from_is_kept_as_diverged():
    """The base of one blows up, so that no job can widen it; the call goes on."""
    base = "[base]\nlevels.low = {base_lr = 0.01}\nlevels.high = {base_lr = 1e30}\nwhy = 'x'"
    lines = [*lines_of(base, "smoke")]
    assert any("no effect in 1: diverged" in line for line in lines)
    rows, _ = written()
    assert {row["base"]: row["why"] == "diverged" for row in rows} == {"low": False, "high": True}
