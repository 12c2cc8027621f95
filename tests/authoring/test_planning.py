"""`repro plan`: the fewest seeds that tell, their price, and how often what is planned is wrong."""

import math

import numpy as np
import pandas as pd
import pytest

from repro.authoring import planning, trials
from repro.core import catalog
from repro.core.suite import Suite, load
from repro.errors import UserError
from repro.files import read_json
from repro.products import records
from repro.verdicts.answers import TRAINING, Measurement, Test, above, over_seeds
from repro.verdicts.evidence import Evidence, judge
from repro.verdicts.figure import Figure
from repro.verdicts.power import Laws
from repro.verdicts.results import NOT_REPRODUCED, REPRODUCED

NOISE = 0.5  # standard deviation of a seed's gain, which is 1 by the paper
SUITE = load(["scale=reduced"])


def simulate(law, recorded, scale, rng):
    gains, size = recorded["gain"].to_numpy(), len(recorded)
    centre = gains.mean() * (law == "effect")
    return recorded.assign(gain=centre + gains.std(ddof=1) * rng.standard_normal(size))


def measure(data, scale):
    by_seed = dict(zip(data["seed"], data["gain"], strict=True))
    return {"mine.one": over_seeds(lambda s: by_seed[s[0]], by_seed)}


@pytest.fixture
def claim(monkeypatch):
    """That of a figure whose runs have a gain each."""
    made = Test("mine.one", TRAINING, "gains", "MLP", "gain", {"reduced": above(0)})
    figure = Figure(
        title="Mine",
        caption="A line.",
        studies=("p/runs",),
        answers=(made,),
        laws={"mine.one": Laws("effect", ("no effect",), edge="no effect")},
        reduce=lambda runs: runs["p/runs"],
        measure=measure,
        draw=lambda data, scale: None,
        simulate=simulate,
    )
    monkeypatch.setattr(catalog, "figure", lambda name: figure)
    monkeypatch.setattr(Suite, "is_embedded", lambda suite, name: True)
    return made


def table(gain, seeds, rng):
    return pd.DataFrame({"seed": range(seeds), "gain": gain + NOISE * rng.standard_normal(seeds)})


def source(rows):
    """Every run takes ten seconds."""
    priced = [(np.array([row]), 10.0, False) for row in range(len(rows))]
    return planning.Source(SUITE, "p/mine", rows, priced)


def test_the_fewest_seeds_that_tell_are_found_beside_their_price(claim):
    rows = table(1.5, 12, np.random.default_rng(3))
    tried = [*planning.designs(source(rows), [claim.id], 40)]
    told = [each for each in tried if each.tells([claim.id])]
    best = min(told, key=lambda each: each.seconds)
    assert tried[0].seeds == {"all": 12} and 4 <= best.seeds["all"] < 12
    assert best.seconds == pytest.approx(10 * best.runs) and best.runs == best.seeds["all"]
    fewer = [each for each in tried if each.seeds["all"] < best.seeds["all"]]
    assert best.seeds["all"] == 4 or (fewer and not any(each.tells([claim.id]) for each in fewer))
    assert source(rows).price({"all": 6}) == (6, 60.0)


def test_a_design_has_the_seeds_that_arms_share_first_and_more_than_the_table():
    rows = pd.DataFrame(
        {"arm": [*"aaaa", *"bb", *"cc"], "seed": [1, 2, 3, 4, 2, 4, 2, 4], "loss": range(8)}
    )
    mine = planning.Source(SUITE, "p/mine", rows, [])
    assert mine.recorded == {"a": 4, "b + c": 2}
    few = mine.cut({"a": 3, "b + c": 1})([rows])
    assert few["seed"].tolist() == [1, 2, 4, 2, 2]
    asked = {"a": 4, "b + c": 5}
    more = mine.cut(asked)([rows] * mine.copies(asked))
    assert more.groupby("arm")["seed"].nunique().to_dict() == {"a": 4, "b": 5, "c": 5}
    assert planning.named(mine, "c 6") == {"a": 4, "b + c": 6}
    with pytest.raises(UserError, match="write ARM N, of the arms a, b . c"):
        planning.named(mine, "d 6")


def test_rows_of_no_seed_are_in_every_design_once():
    """Found: what a sweep chose has no seed, and planning divided by none of them."""
    rows = pd.DataFrame(
        {"arm": [*"aab"], "seed": [1, 2, math.nan], "loss": range(3), "lr": [1.0] * 3}
    )
    mine = planning.Source(SUITE, "p/mine", rows, [])
    assert mine.recorded == {"a": 2}
    found = mine.cut({"a": 3})([rows] * mine.copies({"a": 3}))
    assert found["arm"].tolist() == [*"aab", "a"]


@pytest.mark.parametrize(("freedom", "times"), [(2, 2.12), (5, 1.46), (7, 1.35), (23, 1.15)])
def test_the_upper_bound_is_chi_squared_s(freedom, times):
    assert planning.upper(freedom) == pytest.approx(times, rel=0.02)
    found = planning.noisier([Measurement(v, v - 1, v + 2, 4) for v in (1.0, 2.0, 3.0)], 2)
    assert [m.value for m in found] == [0.0, 2.0, 4.0]
    assert [(m.value - m.low, m.high - m.value) for m in found] == [(2, 4)] * 3


def test_runs_of_a_record_have_their_prices_and_those_they_start_from():
    whole = planning.of_figure(SUITE, "effective_theory/updates", None)
    made = sum(each for _, each, is_base in whole.priced if not is_base)
    record = records.recorded(SUITE, "effective_theory/updates")[0].with_suffix(".json")
    spent = sum(each["seconds"] for each in read_json(record)["provenance"]["made"])
    assert made == pytest.approx(spent)
    assert whole.price(whole.recorded)[1] == pytest.approx(sum(p[1] for p in whole.priced))


def tail(k, n, p):
    """How often k or more of n come out."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gain", "least", "wrong"), [(1.0, 0.8, NOT_REPRODUCED), (0.0, 0, REPRODUCED)]
)
def test_the_whole_rule_on_fresh_draws(claim, gain, least, wrong, monkeypatch):
    """A pilot of eight seeds, the cheapest design by it, fresh runs of that design with trials of
    their own, the verdict: where the effect is there it is told as often as planned, and where it
    is not, whatever the pilot had, a false verdict comes out in one of twenty at most."""
    monkeypatch.setattr(trials, "DRAWS", 80)
    rng, verdicts = np.random.default_rng(11), []
    for _ in range(40):
        pilot = table(1.0, 8, rng)
        tried = [*planning.designs(source(pilot), [claim.id], 40)]
        told = [each for each in tried if each.tells([claim.id])]
        seeds = min(told, key=lambda each: each.seconds).seeds["all"] if told else 16
        fresh = table(gain, seeds, rng)
        found = trials.of_table(SUITE, "p/mine", fresh, "0" * 64)
        evidence = Evidence("reduced", tuple(found))
        verdicts.append(judge(claim, measure(fresh, "reduced")["mine.one"], evidence).status)
    assert verdicts.count(REPRODUCED) >= least * len(verdicts)
    assert tail(verdicts.count(wrong), len(verdicts), 0.05) > 0.01


# ---- settings that seeds draw


def drawn(settings=3):
    """Two seeds of each setting, which have a word that no other has."""
    rows = [
        {"norm": f"norm {k}", "arm": arm, "seed": 10 * k + seed, "setting": k}
        for k in range(settings)
        for seed in range(2)
        for arm in ("wide", "narrow")
    ]
    return pd.DataFrame(rows)


def test_a_settings_own_words_tell_no_arm():
    """An arm is what is compared within a setting; both have the same seeds, so they are one."""
    assert {*planning.arms(drawn())} == {"wide + narrow"}
    assert {*planning.arms(drawn().drop(columns="setting"))} != {"wide + narrow"}


def test_a_design_of_more_settings_than_a_pilot_has_two_seeds_of_the_first_alone():
    table = drawn()
    here = planning.Source(SUITE, "mine/one", table, [])
    (arm,) = {*here.arm}
    asked = {arm: 11}
    assert here.copies(asked) == 3
    tables = [table.assign(setting=table["setting"] + 100 * k) for k in range(3)]
    rows = here.cut(asked)(tables)
    seeds = rows.groupby("setting")["seed"].nunique()
    assert [*seeds] == [2, 2, 2, 1, 1, 1, 1, 1] and rows["seed"].nunique() == 11
