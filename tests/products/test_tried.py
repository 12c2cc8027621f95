"""`repro try`: a test alone, its settings' dependents, what is refused, and what it says."""

import math
from dataclasses import replace

import pytest

from repro.core import discovery
from repro.core.axes import FIRST_SEED
from repro.core.suite import Suite, load
from repro.core.tried import Tried
from repro.core.tried import load as load_try
from repro.errors import UserError
from repro.files import write_json
from repro.lineage.checkout import load as load_file
from repro.lineage.checkout import of_papers
from repro.products import alone, beside, tried
from repro.products.explain import find_test
from repro.verdicts.answers import TRAINING, exact, over_seeds
from repro.verdicts.figure import figure_named

RATE = "upscaling/fig3.transfer-lr-mlp"
GPT2 = ["upscaling/gpt2_transfer/by_lr_narrow", "upscaling/gpt2_transfer/by_lr_wide"]
LOSS = ["tune", "scratch", "tune_upscaled", "upscaled"]


@pytest.fixture(autouse=True)
def studies_as_they_are(monkeypatch, tmp_path):
    """In a work folder of its own, and with no try left in the place of studies."""
    monkeypatch.chdir(tmp_path)
    yield
    discovery.put({})


def suite_of(scale="reduced", **asked):
    """The suite under a try."""
    base = load([f"scale={scale}"])
    return Suite(replace(base.config, tried=Tried(**asked), tried_file="x"))


def gpt2(**asked):
    return {"figure": "upscaling/fig3", "test": "fig3.transfer-lr-gpt2", "stages": GPT2, **asked}


def runs(suite, *stages):
    cells = [cell for stage in stages for cell in suite.cells(stage)]
    return [run for cell in suite.with_upstream(cells) for run in cell.runs]


@pytest.mark.parametrize(
    ("word", "stages"),
    [
        (RATE, ["upscaling/mlp_adamw_transfer/by_lr"]),
        ("upscaling/fig3.transfer-lr-gpt2", GPT2),
        ("transfer/decay_width.inverse", ["transfer/decay_by_width"]),
        (
            "embedding_lr/fig3.sqrt-d-rule-as-printed",
            [f"embedding_lr/figure3/{name}" for name in ("narrow", "middle", "wide")],
        ),
    ],
)
def test_a_test_alone_is_measured_of_the_stages_that_it_reads(word, stages):
    _, figure, test = find_test(word)
    assert alone.needed(load([]), figure, test) == stages


@pytest.mark.slow
def test_a_loss_is_of_its_own_network_s_stages():
    """Of 77 stages and rounds those that its verdict hangs on: the two losses, and the sweeps at
    whose edge nothing is told."""
    _, figure, test = find_test("upscaling/fig2.upscaled-wins-mlp")
    found = alone.needed(load([]), figure, test)
    assert [stage.rsplit("/", 1)[1] for stage in found] == LOSS
    assert len({alone.module_of(stage) for stage in found}) == 1


@pytest.mark.parametrize("study", of_papers("studies"))
def test_a_design_that_takes_widths_is_one_at_them(study):
    """Found when two branches met: a field that `at_widths` set was gone."""
    file = load_file(f"studies/{study}.py")
    designs = getattr(file, "SCALES", None)
    design = designs.get("reduced") if isinstance(designs, dict) else None
    if not hasattr(design, "at_widths"):
        pytest.skip("it has no design, or none that knows what hangs on its widths")
    stages = file.stages(design.at_widths([64]))
    assert {*stages} == {*file.stages(design)} and stages != file.stages(design.at_widths([128]))


def test_what_a_stand_in_would_have_a_say_in_is_no_number():
    """Of two stages one is left out: then a number would be one of made-up runs."""
    base = load([])
    _, figure, test = find_test("upscaling/fig3.transfer-lr-gpt2")
    made = alone.stand_ins(base, figure)
    found, _ = alone.alone(base, figure, test, {stage: made[stage] for stage in GPT2})
    assert math.isfinite(found.value) and found.n >= 3
    with pytest.raises(alone.NeedsMore, match=f"also hangs on {GPT2[1]}"):
        alone.alone(base, figure, test, {GPT2[0]: made[GPT2[0]]})


def test_a_target_takes_its_base_along_and_arms_share_out_the_widths():
    suite = suite_of(**gpt2(widths=[32, 64, 128], seeds=3))
    for run in runs(suite, *GPT2):
        model, start = run.spec["model"], run.spec["start"]
        assert start is None or model["width"] == 2 * start["width"]
    by_stage = {s: {r.spec["model"]["width"] for c in suite.cells(s) for r in c.runs} for s in GPT2}
    assert by_stage == {GPT2[0]: {32, 64}, GPT2[1]: {128}}
    bases = {run.spec["model"]["width"] for run in runs(suite, *GPT2)} - {128}
    assert bases == {16, 32, 64}


def test_a_target_takes_base_and_small_model_along_by_the_same_factor():
    with_a_lacking_stage = "upscaling/mlp_adamw_asked/tune"  # Sweep 2 by the code has no runs
    asked = {"figure": "upscaling/fig2", "test": "fig2.upscaled-wins-mlp"}
    suite = suite_of(**asked, stages=[with_a_lacking_stage], widths=[128])
    assert {run.spec["model"]["width"] for run in runs(suite, with_a_lacking_stage)} == {32}
    stages = [f"upscaling/mlp_adamw/{stage}" for stage in LOSS]
    suite = suite_of(**asked, stages=stages, widths=[128])
    assert {run.spec["model"]["width"] for run in runs(suite, *stages)} == {8, 32, 128}
    suite = suite_of(**asked, stages=stages, changes={"factor": 2})
    assert {run.spec["model"]["width"] for run in runs(suite, *stages)} == {16, 32, 64, 128}


def test_a_width_takes_its_vocabulary_along_and_a_fixed_one_stays():
    stages = [f"embedding_lr/figure3/{name}" for name in ("narrow", "middle", "wide")]
    suite = suite_of(
        figure="embedding_lr/fig3",
        test="fig3.sqrt-d-rule-as-printed",
        stages=stages,
        widths=[16, 32, 128],
    )
    sizes = {(r.spec["model"]["width"], r.spec["data"]["vocab_size"]) for r in runs(suite, *stages)}
    assert sizes == {(16, 128), (32, 256), (128, 1024)}
    stages = [f"embedding_lr/decoder_step/large_{d}" for d in (32, 64, 128, 256)]
    suite = suite_of(
        figure="embedding_lr/mechanism", test="mechanism.ratio", stages=stages, widths=[64, 512]
    )
    sizes = {(r.spec["model"]["width"], r.spec["data"]["vocab_size"]) for r in runs(suite, *stages)}
    assert sizes == {(64, 512), (64, 4096), (512, 4096)}, "m = 8d and m = 4096"


def test_an_optimizer_is_that_of_the_paper_s_other_study_with_its_rates():
    stage = "upscaling/mlp_adamw_transfer/by_lr"
    asked = {"figure": "upscaling/fig3", "test": "fig3.transfer-lr-mlp", "stages": [stage]}
    found = runs(suite_of(**asked, optimizer="sgd", seeds=5), stage)
    own = discovery.declared("upscaling/mlp_sgd_transfer/by_lr").at("reduced").grid["lr"]
    assert {run.spec["optimizer"]["name"] for run in found} == {"sgd"}
    swept = [run for run in found if run.spec["start"]]
    assert sorted({run.spec["lr"] for run in swept}) == own
    assert {run.spec["seed"] for run in found} == {*range(FIRST_SEED, FIRST_SEED + 5)}


def test_steps_take_window_and_schedule_along():
    stages = ["effective_theory/bart/standard", "effective_theory/bart/neural_tangent"]
    asked = {"figure": "effective_theory/fig3", "test": "fig3.robust-to-low-lr", "stages": stages}
    (spec,) = {
        (r.spec["steps"], r.spec["schedule"]["steps"])
        for r in runs(suite_of(**asked, steps=50), *stages)
    }
    assert spec == (50, 50)
    assert discovery.study(stages[0]).settings("reduced")["steps"] == 50
    discovery.put({})
    assert discovery.study(stages[0]).settings("reduced")["steps"] == 200


def test_a_stage_that_only_tunes_keeps_its_number_of_seeds():
    stages = [f"growth/grown/mlp_{name}" for name in ("rates_shrink", "shrink")]
    asked = {"figure": "growth/ways", "test": "ways.budget-mlp", "stages": stages}
    suite = suite_of(**asked, seeds=2)
    seeds = {s: {r.spec["seed"] for c in suite.cells(s) for r in c.runs} for s in stages}
    assert [*map(len, seeds.values())] == [1, 2] and not seeds[stages[0]] & seeds[stages[1]]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"widths": [34, 64]}, "4 heads do not divide it; the nearest that can: --widths 32 64"),
        ({"widths": [33]}, "16.5 units, which must be whole; the nearest that can: --widths 32"),
        ({"seeds": 201}, "--seeds 201: give a number from 1 to 200"),
        ({"optimizer": "sgd"}, "has settings of adamw alone"),
        ({"changes": {"wdith": 3}}, "no study here has it, "),
        ({"changes": {"depth": "two"}}, "--set depth=two: is 1, give one like it"),
        ({"changes": {"depth": 1.5}}, "give a whole number"),
        ({"changes": {"base_lr": -1.0}}, "a learning rate is 0 or more"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_anything_runs(asked, said, monkeypatch):
    monkeypatch.setattr(tried, "stages_of", lambda *_: tuple(GPT2))
    monkeypatch.setattr(tried, "run", lambda *_: pytest.fail("a job began"))
    with pytest.raises(UserError, match=said) as error:
        tried.planned(load(["scale=smoke"]), "upscaling/fig3.transfer-lr-gpt2", **asked)
    assert "\n" not in str(error.value)


def test_data_that_a_test_does_not_read_are_named(tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_text("a b c " * 100)
    monkeypatch.setattr(tried, "stages_of", lambda *_: tuple(GPT2))
    base = load(["scale=smoke", f"wikitext2={tmp_path}"])
    with pytest.raises(
        UserError, match="wikitext2: it does not read that dataset; it reads fineweb"
    ):
        tried.planned(base, "upscaling/fig3.transfer-lr-gpt2")


def test_a_try_has_no_figure_so_that_nothing_can_record_it():
    with pytest.raises(UserError, match="a try has no figures"):
        suite_of(**gpt2(seeds=2)).figure_cells("upscaling/fig3")


def test_a_try_is_read_back_as_it_was_written(tmp_path):
    own = Tried(**gpt2(widths=(32, 64), changes={"depth": 2}))
    write_json(tmp_path / "settings.json", own.as_json())
    assert load_try(tmp_path / "settings.json").key == own.key
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(
        UserError,
        match=r"settings\.json: was not written by this suite, it lacks 'figure'; give the",
    ):
        load_try(tmp_path / "settings.json")


def came(value, scale, n, problem="", word=RATE):
    """What a try says of a measurement."""
    _, figure, test = find_test(word)
    base = load([f"scale={scale}"])
    found = tried.Try(Tried(figure=figure, test=test.id, stages=()), base, base, None)

    def measure(*_):
        spread = over_seeds(lambda s: value + 0.01 * (s[0] % 2), range(n), problem)
        return (spread if n > 1 else exact(value, 1, problem)), ()

    return found, measure


@pytest.mark.parametrize(
    ("value", "scale", "n", "problem", "said"),
    [
        (0.1, "reduced", 5, "", "agrees"),
        (-0.9, "reduced", 5, "", "differs"),
        (0.25, "reduced", 5, "", "open: the interval crosses the bound"),
        (0.1, "reduced", 2, "", "open: 2 seeds, fewer than 3"),
        (0.1, "reduced", 5, "at an edge", "open: at an edge"),
        (0.1, "smoke", 5, "", "open: runs at smoke scale are too short to tell"),
    ],
)
def test_a_try_agrees_differs_or_is_open_and_reproduces_nothing(
    value, scale, n, problem, said, monkeypatch
):
    found, measure = came(value, scale, n, problem)
    monkeypatch.setattr(alone, "alone", measure)
    monkeypatch.setattr(tried, "tables", lambda _: {})
    result = tried.measured(found)
    assert beside.words_of(result) == said
    lines = [*beside.statement(found, result)]
    assert not any("reproduced" in line for line in lines if "on record" not in line)
    assert any("on record" in line and "reproduced" in line for line in lines)


def judged():
    """Every test about training that binds at the default scale."""
    for name in discovery.loadable_figures():
        for test in figure_named(name).tests:
            if test.kind == TRAINING and test.binds("reduced", True):
                yield name, test


WIDTHS = ([32, 64, 128], [32, 128], [128], [64], [0.5])  # of which a test takes one


@pytest.mark.slow  # each is asked which stages it reads
def test_every_judged_test_takes_seeds_and_most_take_widths():
    """By planning alone. What takes no widths says why in one line."""
    of_widths, refused = 0, {}
    for name, test in judged():
        discovery.put({})
        stages = alone.needed(load([]), name, test)
        asked = {"figure": name, "test": test.id, "stages": stages}
        before, after = (runs(suite_of(**asked, seeds=n), *stages) for n in (0, 4))
        old, new = ({run.spec["seed"] for run in each} for each in (before, after))
        assert new - old and min(new - old) >= FIRST_SEED, test.id
        for widths in WIDTHS:
            try:
                found = runs(suite_of(**asked, widths=widths), *stages)
            except UserError as error:
                refused[test.id] = f"{error}"
                continue
            if {run.id for run in found} == {run.id for run in before}:
                continue  # its own width
            refused.pop(test.id, None)
            of_widths += 1
            break
    assert of_widths >= 40
    assert all(why and "\n" not in why for why in refused.values())
