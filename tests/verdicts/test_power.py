"""Whether claims' tests can tell the paper's law from its rivals, and the tables drawn for it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from parameters import kept
from recorded import listed
from refusals import refused
from suites import suite_of

from repro.authoring import trials
from repro.core import catalog
from repro.core import rows as files
from repro.lineage import checkout
from repro.products import records
from repro.verdicts import noise, power, words
from repro.verdicts.answers import TRAINING, Measurement, Test, above, below, over_seeds, within
from repro.verdicts.evidence import Evidence, judge
from repro.verdicts.figure import Figure
from repro.verdicts.power import EDGE, LOWER, PAPER, RIVAL, SIGN, UPPER, Laws, Trial
from repro.verdicts.results import AGREES, DIFFERS, NOT_REPRODUCED, REPRODUCED
from repro.verdicts.verdict import MOST, by_bound, doubt, doubted, factor_for, widened
from widthwise.checks.sweep import parabola_optimum

pytestmark = pytest.mark.long

SCALES = ("smoke", "reduced")


def suite(scale="reduced"):
    return suite_of(scale=scale)


def trial(law="effect", role=PAPER, agrees=190, differs=0, claim="mine.one", factor=1.0):
    return Trial("reduced", "embedded", claim, law, role, 200, agrees, differs, factor, "0" * 64)


# ---- tables with other seeds


def curves(seeds=3):
    """Losses over two curves of three points: seeds shift whole curves."""
    shift = {0: -0.1, 1: 0.0, 2: 0.1}
    rows = [
        {"arm": arm, "step": step, "seed": seed, "loss": 2.0 + step + shift[seed]}
        for seed in range(seeds)
        for arm in ("a", "b")
        for step in range(3)
    ]
    return pd.DataFrame(rows)


def test_new_seeds_are_as_far_apart_as_the_recorded_ones_and_shift_whole_curves():
    table = curves()
    design = noise.Design(table, ["loss"], ["arm", "step"], log=False)
    drawn = [design.draw(np.random.default_rng(i)) for i in range(400)]
    wide = np.array([t["loss"] for t in drawn]).reshape(400, 3, 6)
    assert wide.mean(axis=(0, 1)) == pytest.approx([2, 3, 4, 2, 3, 4], abs=0.02)
    assert wide.var(axis=1, ddof=1).mean() == pytest.approx(0.01, rel=0.15)
    assert np.ptp(wide - wide[:, :, :1] - [0, 1, 2, 0, 1, 2]) == pytest.approx(0, abs=1e-9)
    pd.testing.assert_frame_equal(drawn[0].drop(columns="loss"), table.drop(columns="loss"))


def test_curves_of_new_seeds_have_their_optimum_as_the_recorded_ones_do():
    """Also where one seed hardly learned at the lowest rates: a mixture bends its curve both ways,
    and moves optima much further than seeds do."""
    x, shifts = np.arange(9.0), (-0.2, 0.1, 0.0, 0.25, -0.15)
    rows = [
        {"width": width, "lr": lr, "seed": seed, "loss": 4 + 0.02 * (lr - 4 - shift) ** 2 + slow}
        for width in (1, 2)
        for seed, shift in enumerate(shifts)
        for lr, slow in zip(x, (3 - x).clip(0) ** 2 * 0.1 * (seed == 0), strict=True)
    ]
    design = noise.Design(pd.DataFrame(rows), ["loss"], ["width", "lr"])
    rng = np.random.default_rng(0)

    def optima(table):
        curves = table.pivot(index=["width", "seed"], columns="lr", values="loss")
        return [parabola_optimum(2**x, row) for row in curves.to_numpy()]

    recorded = np.std(shifts, ddof=1)
    drawn = np.array([optima(design.draw(rng, curve="width")) for _ in range(200)])
    assert np.isfinite(drawn).all()
    assert drawn.std() == pytest.approx(recorded, rel=0.3)
    mixed = np.array([optima(design.draw(rng)) for _ in range(200)])
    assert not np.isfinite(mixed).all() or mixed.std() > 2 * recorded


def test_a_law_changes_means_and_what_diverged_stays():
    table = curves()
    table.loc[(table["arm"] == "a") & (table["seed"] == 1), "loss"] = math.inf
    design = noise.Design(table, ["loss"], ["arm", "step"])
    design.mean[design.rows(arm="b")] = math.log(7)
    drawn = design.draw(np.random.default_rng(0))
    found = drawn[drawn["arm"] == "b"]["loss"]
    assert found.between(5, 9).all() and found.nunique() > 1
    first = drawn["arm"] == "a"
    assert (drawn["loss"][first] == table["loss"][first]).all()


def test_a_point_of_one_seed_has_no_noise():
    table = curves(seeds=1)
    drawn = noise.Design(table, ["loss"], ["arm", "step"]).draw(np.random.default_rng(0))
    assert drawn["loss"].to_numpy() == pytest.approx(table["loss"].to_numpy())


def test_a_curve_is_moved_as_it_is():
    x = np.arange(-8.0, 0.0)
    bowl = (x + 4) ** 2
    bowl[-1] = math.inf
    found = noise.moved(x, bowl, 0.75)
    assert found[1:-1] == pytest.approx((x[1:-1] + 3.25) ** 2)  # a cubic holds a parabola
    assert found[0] == pytest.approx(16 + 7 * 0.75)  # a line beyond the end
    assert math.isinf(found[-1])
    assert noise.moved(x, bowl, 0.0) == pytest.approx(bowl)


# ---- laws, trials and verdicts


@pytest.mark.parametrize("laws", [("law", ()), ("law", ("law",)), ("law", "null"), ("", ("null",))])
def test_laws_have_rivals_and_names(laws):
    with refused("^laws "):
        Laws(*laws)


def test_the_law_at_the_bound_s_edge_is_one_of_the_rivals():
    assert SIGN.edge in SIGN.rivals
    with refused("edge 'muP' is none of the rivals"):
        Laws("law", ("SP",), edge="muP")


def test_what_the_trials_say_is_said_in_words():
    edges = [trial(LOWER, EDGE, 3, 2), trial(UPPER, EDGE, 4, 12)]
    good = [trial(), trial("muP", RIVAL, 4), trial("SP", RIVAL, 0, 180), *edges]
    assert words.laws(as_laws(good)) == (
        "agrees under the paper's law 0.95; agrees under muP 0.02, SP 0.00; differs at the bound's "
        "lower edge 0.01, at the bound's upper edge 0.06, under the paper's law 0.00"
    )
    assert words.laws([]) == words.never([]) == ""


def test_a_bare_sign_has_no_power():
    """Its paper's law is an effect of the measured size: its share says what the p-value says."""
    trials = [trial("as claimed"), trial("no effect", RIVAL, 4, 5), trial("no effect", EDGE, 4, 5)]
    assert words.laws(as_laws(trials)) == "agrees under no effect 0.02; differs with no effect 0.03"


def as_laws(found):
    return [power.as_json(each) for each in found]


def measured(value, reach):
    return Measurement(value, value - reach, value + reach, 8)


@pytest.mark.parametrize(
    ("value", "found", "verdict", "ends"),
    [
        # However weak the test: what agrees is told when no rival agrees.
        (0.25, [trial(agrees=20), trial("muP", RIVAL, 5)], "reproduced", (0.15, 0.35)),
        # An interval too short for its seeds is widened, and then judged,
        (0.25, [trial(), trial(UPPER, EDGE, 5, 11, factor=2)], "reproduced", (0.05, 0.45)),
        (0.25, [trial(), trial(UPPER, EDGE, 5, 11, factor=3)], "inconclusive", (-0.05, 0.55)),
        # so that a verdict grows with its distance.
        (0.65, [trial(), trial(UPPER, EDGE, 5, 11, factor=2)], "inconclusive", (0.45, 0.85)),
        (0.95, [trial(), trial(UPPER, EDGE, 5, 11, factor=2)], "not reproduced", (0.75, 1.15)),
        # What a rival or the paper's law would give takes a verdict, and leaves the interval.
        (0.25, [trial(), trial("muP", RIVAL, 62, factor=4)], "inconclusive", (0.15, 0.35)),
        (0.25, [trial(), trial("muP", RIVAL, 8, factor=1.5)], "reproduced", (0.15, 0.35)),
        (0.95, [trial(agrees=99, differs=30, factor=5)], "inconclusive", (0.85, 1.05)),
        (0.95, [trial("muP", RIVAL, 62, factor=9)], "not reproduced", (0.85, 1.05)),
        (0.25, [], "reproduced", (0.15, 0.35)),
    ],
)
def test_an_interval_is_calibrated_by_its_trials_and_then_judged(value, found, verdict, ends):
    stated = claim({"reduced": within(0.25, 0.25)})
    known = Evidence("reduced", tuple(found))
    judgement = judge(stated, measured(value, 0.1), known)
    assert judgement.status == verdict
    assert (judgement.measurement.low, judgement.measurement.high) == pytest.approx(ends)


def test_a_calibrated_interval_has_a_larger_p():
    stated, loose = claim({"reduced": above(0)}), (trial("no effect", EDGE, 4, 11, factor=2),)
    plain = judge(stated, measured(0.5, 0.1), Evidence("reduced", ()))
    wide = judge(stated, measured(0.5, 0.1), Evidence("reduced", loose))
    assert plain.p < wide.p


@pytest.mark.parametrize(("seen", "truth"), [(DIFFERS, 0.5), (AGREES, 0.7)])
def test_the_factor_is_what_leaves_one_table_in_forty(seen, truth):
    """Of 400 intervals that are half as long as they should be, the truth at the edge or beyond."""
    rng, bound = np.random.default_rng(3), within(0, 0.5)
    found = [measured(v, 0.98 * 0.1) for v in truth + 0.1 * rng.standard_normal(400)]
    factor = factor_for(bound, found, seen)
    wide = [by_bound(bound, widened(m, factor)) for m in found]
    assert [each.seen for each in wide].count(seen) <= 10
    if seen == DIFFERS:
        assert 1.6 < factor < 2.6
        narrow = [by_bound(bound, widened(m, 0.95 * factor)) for m in found]
        assert [each.seen for each in narrow].count(seen) > 10


def test_no_width_helps_where_a_rival_lies_inside_the_bound():
    found = [Measurement(0.1, 0.1, 0.1, 8)] * 200
    assert factor_for(within(0, 0.5), found, AGREES) == MOST
    assert factor_for(within(0, 0.5), found, DIFFERS) == 1
    assert factor_for(within(0, 0.5), [Measurement(math.nan, math.nan, math.nan, 8)], AGREES) == 1


def test_a_design_of_which_one_verdict_can_hardly_come_out_is_named():
    both = [trial(), trial("muP", RIVAL, 0, 150), trial("SP", RIVAL, 0, 3)]
    assert words.never(as_laws(both)) == ""
    assert words.never(as_laws([trial(), trial("SP", RIVAL, 90, 10)])) == "not reproduced"
    assert words.never(as_laws([trial(agrees=10), trial("SP", RIVAL, 0, 11)])) == "reproduced"
    assert (
        words.never(as_laws([trial(agrees=0), trial("SP", RIVAL)]))
        == "reproduced or not reproduced"
    )


def test_what_was_measured_is_shifted_to_either_edge_unless_nothing_is_random():
    found = [Measurement(v, v - 1, v + 2, 3) for v in (1.0, 2.0, 6.0, math.inf)]
    edges = trials.at_edges(within(0, 0.5), found)
    assert list(edges) == [LOWER, UPPER]
    assert [m.value for m in edges[UPPER]] == [-1.5, -0.5, 3.5, math.inf]
    assert [m.high - m.low for m in edges[LOWER]][:3] == [3, 3, 3]
    assert list(trials.at_edges(below(1), found)) == [UPPER]
    assert trials.at_edges(below(1), found[:1] * 5) == {}


def claim(expected=None):
    bounds = expected or {"reduced": above(0)}
    return Test("mine.one", TRAINING, "It rises", "Figure 9", "gain", bounds)


def test_doubted_nothing_can_be_told_and_what_was_seen_stays():
    seen = by_bound(above(0), over_seeds(lambda s: 1.0 + s[0] / 9, range(3)))
    assert (seen.seen, seen.status) == ("agrees", "reproduced") and doubted(seen) == seen
    few = doubt("few seeds", 5)
    weak = doubted(seen, few)
    assert (weak.seen, weak.status, weak.doubts) == ("agrees", "inconclusive", (few,))
    alone = by_bound(above(0), over_seeds(lambda s: 1.0, [0]))
    assert doubted(alone, few).doubts == (doubt("one run"), few)


def seen(figure, found, scale="reduced"):
    """What was seen in every draw of `trials.measured`, by test."""
    bounds = {test.id: test.at(scale) for test in catalog.figure(figure).tests}
    return {
        name: [by_bound(bounds[name], m).seen for m in values] for name, values in found.items()
    }


@pytest.fixture
def mine(monkeypatch):
    """A figure of one claim, and a table for it, whose gain is 1 in every seed."""

    def simulate(law, recorded, scale, rng):
        gain = {"effect": 1.0, "no effect": 0.0}[law]
        return recorded.assign(gain=gain + 0.1 * rng.standard_normal(len(recorded)))

    def measure(data, scale):
        by_seed = data.set_index("seed")["gain"]
        return {"mine.one": over_seeds(lambda s: by_seed[s[0]], by_seed.index)}

    figure = Figure(
        title="Mine",
        caption="A line.",
        studies=("p/runs",),
        answers=(claim(),),
        laws={"mine.one": Laws("effect", ("no effect",))},
        reduce=lambda runs: runs["p/runs"],
        measure=measure,
        draw=lambda data, scale: None,
        simulate=simulate,
    )
    monkeypatch.setattr(catalog, "figure", lambda name: figure)
    return figure, pd.DataFrame({"seed": range(5), "gain": 1.0})


def test_trials_tell_an_effect_from_none_and_are_the_same_every_time(mine):
    _, table = mine

    def shares(law):
        found = trials.measured("p/mine", law, table, "reduced", True, 50)["mine.one"]
        assert found == trials.measured("p/mine", law, table, "reduced", True, 50)["mine.one"]
        others = trials.measured("p/mine", law, table, "reduced", True, 50, stream=1)["mine.one"]
        assert not {m.value for m in found} & {m.value for m in others}
        return seen("p/mine", {"mine.one": found})["mine.one"].count("agrees") / 50

    assert shares("effect") == 1.0 and shares("no effect") <= 0.1
    assert trials.tested("p/mine", "smoke", True) == []


@pytest.mark.parametrize(
    ("simulate", "message"),
    [
        (lambda *_: pd.DataFrame({"seed": [0]}), "columns of data.csv: seed,gain"),
        (lambda *_: None, "columns of data.csv: seed,gain"),
        (lambda *_: 1 / 0, "simulate.* failed: ZeroDivisionError"),
    ],
)
def test_a_simulate_that_does_not_is_one_line(mine, simulate, message, monkeypatch):
    figure, table = mine
    changed = replace(figure, simulate=simulate)
    monkeypatch.setattr(catalog, "figure", lambda name: changed)
    with refused(message) as found:
        trials.measured("p/mine", "effect", table, "reduced", True, 1)
    assert "effect" in str(found.value)


# ---- how often the rule is wrong


NOISES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "skewed": lambda rng, n: (rng.gamma(4.0, size=n) - 4) / 2,
}


@pytest.mark.parametrize("noise", kept(NOISES, first=1))
@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize(
    ("truth", "wrong"),
    [(-0.25, NOT_REPRODUCED), (-0.4, NOT_REPRODUCED), (0.0, REPRODUCED), (-1.0, REPRODUCED)],
    ids=["upper edge", "inside", "a rival", "another rival"],
)
def test_a_false_verdict_comes_out_in_one_of_twenty_at_most(noise, n, truth, wrong):
    """Tables of a known truth, each judged by the whole rule with trials drawn from itself, as a
    record is: a slope that should be within 1/4 of -1/2, rivals 0 and -1."""
    rng, bound, laws = np.random.default_rng(n), within(-0.5, 0.25), (-0.5, 0.0, -1.0)
    stated = Test("mine.one", TRAINING, "It falls", "Figure 9", "slope", {"reduced": bound})

    def judged(values):
        return by_bound(bound, over_seeds(lambda s: values[s[0]], range(n)))

    def counted(law, role, found):
        seen = [by_bound(bound, each).seen for each in found]
        here = (len(found), seen.count(AGREES), seen.count(DIFFERS))
        false = AGREES if role == RIVAL else DIFFERS
        here = (*here, factor_for(bound, found, false))
        return Trial("reduced", "embedded", stated.id, law, role, *here, "0" * 64)

    records, draws, false = 150, 40, 0
    for _ in range(records):
        values = truth + 0.2 * NOISES[noise](rng, n)
        verdict = judged(values)
        centred = values - values.mean()
        made = []
        for law in laws:
            tables = law + centred[rng.integers(n, size=(draws, n))] * math.sqrt(n / (n - 1))
            found = [judged(list(table)).measurement for table in tables]
            made.append(counted(str(law), PAPER if law == -0.5 else RIVAL, found))
            if law == -0.5:
                edges = trials.at_edges(bound, found)
        made += [counted(name, EDGE, found) for name, found in edges.items()]
        known = Evidence("reduced", tuple(made))
        false += judge(stated, verdict.measurement, known).status == wrong
    # What 150 records give in one of a thousand tries where 5 % is true.
    allowed = next(k for k in range(records) if binomial_tail(k + 1, records, 0.05) < 1e-3)
    assert false <= allowed, false / records


def binomial_tail(k, n, p):
    """Probability of k or more of n."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


# ---- the files


def test_a_paper_s_file_is_read_back_and_a_line_that_is_no_trial_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROOT", tmp_path)
    found = [trial(), trial("muP", RIVAL, 4)]
    assert power.trials("p") == []
    power.write("p", found)
    assert power.trials("p") == found
    file = tmp_path / power.path("p")
    whole = file.read_text()
    for line, message in (
        ("reduced,embedded,mine.one", "line 4: has 3 cells where 10 belong"),
        (
            f"reduced,embedded,mine.one,SP,rival,200,150,60,1,{'0' * 64}",
            "line 4: its counts do not",
        ),
    ):
        file.write_text(whole + line + "\n")
        with refused(f"^studies/p/power.csv, {message}"):
            power.trials("p")
    file.write_text("claim\n")
    with refused("line 1: the columns must be scale,data,claim,law,role,"):
        power.trials("p")


def test_making_trials_of_a_figure_leaves_those_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(trials, "DRAWS", 2)
    others = [trial(claim=name) for name in ("fig3.sqrt-d-rule", "fig9.no-claim")]
    stale = trial("no law any more", claim="fig1.optimum-falls")
    power.write("embedding_lr", [*others, stale])
    (line,) = trials.update(suite(), ["embedding_lr/fig1"])
    assert line.startswith("embedding_lr/fig1.optimum-falls: agrees under the paper's law ")
    found = [t for t in power.trials("embedding_lr") if t.role != EDGE]
    laws = catalog.figure("embedding_lr/fig1").laws
    assert [(t.claim, t.law) for t in found if t not in others] == [
        (claim, law) for claim, each in laws.items() for law in each.names
    ]
    assert others[0] in found and others[1] not in found


@pytest.mark.parametrize(
    "base",
    sorted((checkout.ROOT / "records" / "reduced").glob("*/cpu/embedding_lr/fig2.csv")),
    ids=lambda path: path.parts[-4],
)
def test_figure_2_tells_a_power_law_from_others_and_from_log_normal_frequencies(base):
    """Its claims bind on real data alone."""
    table = pd.read_csv(base)

    def agree(law, claim):
        name = "embedding_lr/fig2"
        found = trials.measured(name, law, table, "reduced", False, 5)
        return seen(name, found)[f"fig2.{claim}"].count("agrees")

    assert agree("Zipf", "zipf-exponent") == agree("Zipf", "zipf-fit") == 5
    assert agree("i^-1/2", "zipf-exponent") == agree("i^-2", "zipf-exponent") == 0
    assert agree("log-normal", "zipf-fit") == 0


FIGURES = [name for name in catalog.figure_names() if catalog.figure(name).laws]


@pytest.mark.parametrize("scale", SCALES)
def test_power_is_on_record_for_every_law(scale):
    lacking = [line for line in trials.outdated(suite(scale), FIGURES) if "no trials" in line]
    assert lacking == []


def test_a_law_named_for_an_edge_can_be_at_one_of_every_scale_s_bound():
    for name in FIGURES:
        figure = catalog.figure(name)
        for test in figure.tests:
            if (laws := figure.laws.get(test.id)) and laws.edge:
                bounds = [bound for bound in test.expected.values() if bound]
                ends = [{bound.low, bound.high} - {-math.inf, math.inf} for bound in bounds]
                assert set.intersection(*ends), f"{test.id}: no end that all scales share"


@pytest.mark.parametrize("paper", sorted({name.split("/")[0] for name in FIGURES}))
def test_what_is_on_record_is_of_claims_there_are(paper):
    laws = {}
    for name in FIGURES:
        laws |= catalog.figure(name).laws if name.startswith(f"{paper}/") else {}
    for each in power.trials(paper):
        its = laws[each.claim]
        wanted = {PAPER: (its.paper,), RIVAL: its.rivals, EDGE: (its.edge,)}
        if not its.edge:
            wanted[EDGE] = (LOWER, UPPER)
        assert each.law in wanted[each.role] and each.draws >= 200


def test_every_claim_about_training_that_is_judged_at_reduced_scale_has_laws():
    lacking = [
        claim.id
        for name in catalog.figure_names()
        for claim in catalog.figure(name).tests
        if claim.kind == TRAINING
        and claim.binds("reduced", suite().is_embedded(name))
        and claim.id not in catalog.figure(name).laws
    ]
    assert lacking == []


def test_a_table_that_is_no_longer_on_record_is_told(tmp_path, monkeypatch, capsys):
    from repro.__main__ import main

    monkeypatch.setattr(files, "ROOT", tmp_path)
    figure, name = "upscaling/fig6", "fig6.noise-nonzero"
    assert main(["power", "--check", figure]) == 0
    assert (
        f"{name}: has no trials of its laws: python -m repro power {figure}"
        in capsys.readouterr().out
    )
    laws = catalog.figure(figure).laws[name].names
    power.write("upscaling", [trial(law, claim=name) for law in laws])
    assert main(["power", "--check", figure]) == 0
    assert "was drawn from a table that is no longer on record" in capsys.readouterr().out


@pytest.mark.parametrize("figure", kept([name for name in FIGURES if name in listed()], first=3))
def test_a_few_fresh_draws_go_as_the_many_on_record(figure):
    """Each law's few draws are as likely as not under the share that agreed of many."""
    few, scale = 3, "reduced"
    here = suite(scale)
    (base,) = records.recorded(here, figure)
    table = pd.read_csv(base.with_suffix(".csv"))
    laws = catalog.figure(figure).laws
    claims = trials.tested(figure, scale, here.is_embedded(figure))
    for law in dict.fromkeys(law for c in claims for law in laws[c.id].names):
        embedded = here.is_embedded(figure)
        found = trials.measured(figure, law, table, scale, embedded, few, stream=1)
        for name, outcomes in seen(figure, found, scale).items():
            (many,) = [
                t
                for t in power.of_claim(figure.split("/")[0], name, scale, "embedded")
                if t.law == law and t.role != EDGE
            ]
            for of, count in (("agrees", many.agrees), ("differs", many.differs)):
                p = (count + 1) / (many.draws + 2)  # never 0 or 1: these are estimates
                k = outcomes.count(of)
                chance = [math.comb(few, i) * p**i * (1 - p) ** (few - i) for i in range(few + 1)]
                assert min(sum(chance[: k + 1]), sum(chance[k:])) > 1e-4, (name, law, of, k, p)
