"""An effect in drawn settings: what is counted, and intervals that cover what they say."""

import math

import numpy as np
import pandas as pd
import pytest

from repro.core.population import SETTING
from repro.statistics import clopper_pearson
from repro.verdicts import settings
from repro.verdicts.answers import below
from repro.verdicts.power import SIGN
from repro.verdicts.settings import Effects
from repro.verdicts.verdict import widened

DRAWS = 4_000


def below_0(effect):
    return effect < 0


def above_0(effect):
    return effect > 0


def effects(*by_seed, levels=None):
    every = levels or [{"depth": place % 2} for place in range(len(by_seed))]
    return Effects(dict(enumerate(by_seed)), dict(enumerate(every)))


@pytest.mark.parametrize("n", [1, 4, 16, 48])
def test_clopper_and_pearsons_interval_is_scipys(n):
    stats = pytest.importorskip("scipy.stats")
    for there in range(n + 1):
        its = stats.binomtest(there, n).proportion_ci(0.95, method="exact")
        assert clopper_pearson(there, n) == pytest.approx((its.low, its.high), abs=1e-12)


@pytest.mark.parametrize("number", [0, 1, 38, 40])
def test_a_share_s_interval_stays_among_shares_however_wide(number):
    share = effects(*[[-1.0]] * number, *[[1.0]] * (40 - number)).share(below_0)
    wide = widened(share, 3.0)
    assert wide.low <= share.low <= share.value <= share.high <= wide.high
    assert wide.low >= 0 and wide.high <= 1


def test_a_share_of_sixteen_is_above_one_half_from_thirteen_on():
    """By the tables of the sign test: 12 of 16 is not significant at 5 %, two-sided, 13 is."""
    assert clopper_pearson(12, 16)[0] < 0.5 < clopper_pearson(13, 16)[0]


def test_a_setting_without_an_effect_is_counted_and_on_nobodys_side():
    found = effects([-1.0], [-2.0], [math.nan], [-1.0, math.nan], [3.0])
    share = found.share(below_0)
    assert (share.value, share.n) == (2 / 5, 5)
    assert share.detail.startswith("2 of 5, median -1") and "2 without" in share.detail
    assert found.share(above_0).value == 1 / 5
    mean = found.mean()
    assert (mean.value, mean.n) == (0.0, 3) and "2 without" in mean.detail


def test_where_no_setting_gave_one_nothing_is_told():
    found = effects([math.nan], [math.inf])
    assert found.share(above_0).value == 0 and found.share(above_0).n == 2
    assert found.mean().problem and math.isnan(found.mean().value)
    assert math.isnan(found.hangs_on().value)


def population(rng, count, between=1.0, noise=0.5, mean=0.3):
    """Effects of settings that scatter, the first eight on two seeds."""
    centre = mean + between * rng.normal(size=count)
    return effects(
        *([*(c + noise * rng.normal(size=2 if k < 8 else 1))] for k, c in enumerate(centre))
    )


def test_the_means_interval_covers_the_mean_over_settings():
    """In 95 % of populations, though settings of two seeds scatter less than those of one: within
    four standard errors of the simulation. A seed as the unit would cover less."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(DRAWS):
        found = population(rng, 16).mean()
        inside += found.low <= 0.3 <= found.high
    assert inside / DRAWS == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / DRAWS))


def test_the_deviation_between_settings_is_told_from_that_of_seeds():
    rng = np.random.default_rng(2)
    squares = [population(rng, 16).deviation().value ** 2 for _ in range(400)]
    assert np.mean(squares) == pytest.approx(1.0, rel=0.08)
    noise = [settings.of_seeds([*population(rng, 16).by_seed.values()]) ** 2 for _ in range(400)]
    assert np.mean(noise) == pytest.approx(0.25, rel=0.08)


def test_seeds_alone_leave_no_deviation_between_settings():
    assert effects([0.0, 2.0], [2.0, 0.0], [1.0, 1.0]).deviation().value == 0


def test_the_choice_that_matters_comes_first_and_is_named_as_not_tested():
    levels = [{"steps": k % 3, "norm": "pre" if k < 6 else "post"} for k in range(12)]
    found = effects(*([1.0 if k < 6 else -1.0] for k in range(12)), levels=levels)
    assert [*found.choices()] == ["norm", "steps"]
    assert found.choices()["norm"]["pre"][0] == 1 and [*found.choices()["norm"]] == ["post", "pre"]
    said = found.hangs_on()
    assert said.value == 2 and said.detail.startswith("seen, not tested: norm: post -1.00")


# ---- tables of runs


def test_a_tables_settings_are_told_apart_by_all_their_levels():
    rows = pd.DataFrame({"a": [1, 1, 2, 1], "b": ["x", "y", "x", "x"], "seed": [1, 2, 3, 4]})
    found = settings.numbered(rows, ("a", "b", "of another scale"), ("seed",))
    assert [*found[SETTING]] == [0, 1, 2, 0] and [*found] == ["a", "b", "seed", SETTING]


def test_the_last_evaluation_is_each_settings_own():
    steps = [(1, 10), (1, 20), (2, 10), (2, 20), (2, 40)]
    rows = pd.DataFrame([{"a": s, "seed": s, "step": step, "y": s * step} for s, step in steps])
    found = settings.gathered({"p/s": rows, "p/s+1": pd.DataFrame()}, ("a",), ("seed", "y"))
    assert [*found["y"]] == [20, 80]


def asked(of):
    words = {"statement": "s", "effect": "gain", "says": "it falls"}
    return settings.Asked(figure="mine", of=of, there=below_0, choices=("blocks",), **words)


def test_effects_of_a_table_are_each_seeds_own():
    data = pd.DataFrame({"blocks": [1, 1, 2], "seed": [5, 6, 7], "y": [1.0, 2.0, 4.0]})
    data = settings.numbered(data, ("blocks",), ("seed", "y"))
    mine = asked(lambda rows: rows["y"].sum())
    found = mine.found(data)
    assert [*found.by_seed.values()] == [[1.0, 2.0], [4.0]]
    assert found.levels[1] == {"blocks": 2}
    assert [mine.by_sign(law, data) for law in SIGN.names] == [-2.75, 0, 2.75]
    names = [each.id for each in mine.answers({"reduced": below(0)})]
    assert names == [*mine.measure(data)] and {*mine.laws} == {*names[:2]}


def sweep(places, log2_rates=range(-6, 0)):
    """Curves of one shape by width, whose best rates are 2^place."""
    rows = [
        {"width": 2.0**k, "lr": 2.0**r, "train_loss": 3 + 0.05 * (r - place) ** 2}
        for k, place in enumerate(places)
        for r in log2_rates
    ]
    return pd.DataFrame(rows)


def test_a_slope_that_was_put_in_comes_back_also_where_a_table_is_moved():
    table = sweep([-3.0, -3.5, -4.0])
    assert settings.slope(table, "width", "lr") == pytest.approx(-0.5, abs=1e-6)
    moved = table.assign(lr=table["lr"] * table["width"] ** 0.25)
    assert settings.slope(moved, "width", "lr") == pytest.approx(-0.25, abs=1e-6)


def test_a_best_rate_at_an_end_or_a_width_that_diverged_gives_no_slope():
    assert math.isnan(settings.slope(sweep([-3.0, -7.0]), "width", "lr"))
    table = sweep([-3.0, -3.5])
    table.loc[table["width"] == 2, "train_loss"] = math.inf
    assert math.isnan(settings.slope(table, "width", "lr"))


def test_other_settings_have_the_mean_that_a_law_asks_for_and_scatter_alike():
    found = effects([0.0], [1.0], [5.0], [math.nan])
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(3_000):
        moves = settings.drawn_anew(found, -2.0, rng)
        assert moves[3] == 0  # it stays without one
        drawn.append([found.by_seed[k][0] + moves[k] for k in range(3)])
    assert np.mean(drawn) == pytest.approx(-2, abs=0.1)
    assert np.var(drawn) == pytest.approx(np.var([0, 1, 5], ddof=1), rel=0.06)


def test_a_picture_has_a_row_a_setting_sorted_and_its_title_counts_them():
    from repro.verdicts import drawing

    drawing.style()
    found = effects([-0.4, -0.6], [0.2], [-0.9], [math.nan])
    figure = settings.draw(
        found, below_0, "it falls", "slope", {"paper": -0.5, "none": 0.0}, "paper"
    )
    drawing.check_panels("mine.py", figure)
    titles = [axes.get_title() for axes in figure.axes]
    assert "2 of 4 settings: it falls" in titles
    dots = figure.axes[3]
    points = [line for line in dots.lines if len(line.get_xdata()) == 1]
    rows = {line.get_ydata()[0]: line.get_xdata()[0] for line in points}
    assert rows == pytest.approx({0: -0.9, 1: -0.5, 2: 0.2})
    assert any("no effect told" in text.get_text() for text in dots.texts)
