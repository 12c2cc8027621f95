"""Settings that seeds draw: the same anywhere, others by another commit, each counted once."""

from collections import Counter
from itertools import product

import pytest
from refusals import refused

from repro.core import seeds
from repro.core.population import Choice, Population, each, read
from repro.core.schedule import cells
from repro.core.study import SCALES, Scale, Study
from repro.core.suite import load

CHOICES = {
    "norm": Choice(each("model.norm", "none", "post", "pre"), "either is used"),
    "rate": Choice({x: {"lr.hidden": x, "lr.output": x} for x in (0.1, 0.2)}, "around 0.2"),
    "steps": Choice(each("steps", 70, 140, 280), "longer training lowers it"),
}
POPULATION = Population(CHOICES, twice=2)
COMMITS = "a" * 40, "b" * 40


def drawn(commit, number=10):
    return POPULATION.drawn(seeds.derived(commit, "settings", number))


def test_a_commit_draws_the_same_settings_on_any_machine():
    """They are SHA-256's, written down: Python's own hashes change from process to process."""
    first = Population(CHOICES, twice=0).drawn([1900, 1901, 1902])
    assert [(s.seed, *s.settings.values()) for s in first] == [
        (1900, "pre", 0.1, 0.1, 70),
        (1901, "pre", 0.2, 0.2, 280),
        (1902, "post", 0.1, 0.1, 140),
    ]


def test_another_commit_draws_other_settings():
    one, other = ([each.levels for each in drawn(commit)] for commit in COMMITS)
    assert one != other and drawn(COMMITS[0]) == drawn(COMMITS[0])


def test_the_first_settings_have_two_seeds_and_no_setting_is_drawn_again():
    found = drawn(COMMITS[0])
    its = [setting.levels for setting in found]
    assert its[0] == its[1] and its[2] == its[3]
    assert len({tuple(levels.items()) for levels in its}) == 8
    assert len({setting.seed for setting in found}) == 10


def test_more_seeds_begin_with_the_same_settings():
    assert drawn(COMMITS[0], 12)[:10] == drawn(COMMITS[0], 10)


def test_every_level_is_as_likely():
    """By chi-squared at 0.1 %: of 3,000 draws of three levels with two degrees of freedom."""
    one = Population({"steps": CHOICES["steps"]}, twice=0)
    found = Counter(one.drawn([seed])[0].levels["steps"] for seed in range(3_000))
    assert set(found) == {70, 140, 280}
    assert sum((count - 1_000) ** 2 / 1_000 for count in found.values()) < 13.8


def test_all_of_a_small_population_can_be_drawn_and_no_more():
    every = Population(
        {"a": Choice(each("a", 1, 2), "two"), "b": Choice(each("b", 1, 2, 3), "three")}, twice=0
    )
    found = every.drawn(range(6))
    assert {(*setting.levels.values(),) for setting in found} == set(product((1, 2), (1, 2, 3)))
    with refused("a population of 6 settings"):
        every.drawn(range(7))


def study(population):
    spec = {"model": {"norm": "none"}, "lr": {"hidden": 0.0, "output": 0.0}, "steps": 1, "seed": 0}
    scales = {name: Scale({"steps": 5}, population=population) for name in SCALES}
    return Study("linear", spec, {"seed": [1, 2, 3, 4, 5]}, scales)


def runs(population):
    return [run for cell in cells("p/s", study(population), "reduced", 1, {}) for run in cell.runs]


def test_a_drawn_setting_is_part_of_a_runs_id_and_of_its_axes():
    with_, without = runs(POPULATION), runs(None)
    assert not {run.id for run in with_} & {run.id for run in without}
    assert all(run.spec["steps"] == 5 for run in without)
    for run, its in zip(with_, POPULATION.drawn([1, 2, 3, 4, 5]), strict=True):
        assert run.spec["steps"] == its.settings["steps"] and run.spec["seed"] == its.seed
        assert run.spec["lr"]["output"] == its.levels["rate"]
        assert run.axes == {"seed": its.seed, **its.levels}


def test_stages_of_the_same_choices_draw_the_same_levels():
    """Also where a level sets other things in each, and in one of them nothing."""
    norm, other = CHOICES["norm"].levels, {"none": {"a": 1}, "post": {"a": 1}, "pre": {}}
    one, two = (Population({"norm": Choice(its, "x")}, twice=0) for its in (norm, other))
    assert [s.levels for s in one.drawn(range(3))] == [s.levels for s in two.drawn(range(3))]


# ---- a population of one's own

FILE = """
["model.depth"]
levels = [1, 2]
why = "what I would train"

["rate"]
levels.low = {"lr" = 0.1, "wd" = 0.0}
levels.high = {"lr" = 0.2, "wd" = 0.1}
why = "they change together"
"""


def test_a_file_gives_the_settings_that_it_describes(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    found = read(path)
    its = [setting.settings for setting in found.drawn([1, 2, 3, 4])]
    assert {(s["model.depth"], s["lr"], s["wd"]) for s in its} == {
        (1, 0.1, 0.0), (1, 0.2, 0.1), (2, 0.1, 0.0), (2, 0.2, 0.1)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no choice"),
        ("depth = 3", "it is 3; a choice has levels and why"),
        ("[depth]\nlevels = [1, 2]", "lacks 'why'"),
        ("[depth]\nlevels = [1]\nwhy = 'x'", "give two or more"),
        ("[depth]\nlevels = [1, 1]\nwhy = 'x'", "give two or more"),
        ("[depth]\nlevels = [1, 2]\nwhy = ' '", "say in `why`"),
        ("[depth", "is no TOML file"),
        ("['a b']\nlevels = [1, 2]\nwhy = 'x'", "choice 'a b'"),
    ],
)
def test_a_file_that_describes_none_is_refused_by_name(tmp_path, text, words):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with refused(f"mine.toml: .*{words}"):
        read(path)


def test_a_missing_file_is_refused(tmp_path):
    with refused("none.toml: is missing"):
        read(tmp_path / "none.toml")


def test_a_figure_whose_studies_run_nothing_at_a_scale_is_not_offered_there():
    """Else `new pages`, which prices every figure at every scale, ends on it."""
    offers = load(["scale=workstation"]).offers
    assert not offers("effective_theory/positions_settings") and offers("effective_theory/fig2")
    assert load([]).offers("effective_theory/positions_settings")
