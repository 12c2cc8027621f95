"""A file of an author's that is not what the suite asks for: one line that says what to mend."""

import math
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from golden import SPECS
from refusals import refused

from repro.core import catalog, cells, contracts, discovery
from repro.core.contracts import (
    check_dataset,
    check_studies,
    task_arguments,
)
from repro.core.study import SCALES, Best, Checkpoint, Scale, Study
from repro.core.suite import load
from repro.cost import Cost
from repro.data.needs import Arrays
from repro.lineage.checkout import ROOT, misplaced
from repro.products import forecast, run_table
from repro.tasks import TASKS, Task, recorded
from repro.verdicts import drawing, judging
from repro.verdicts.answers import OURS, Test, all_scales, at_most, exact
from repro.verdicts.figure import Figure
from repro.verdicts.power import Laws
from widthwise.parametrization import named

pytestmark = pytest.mark.long

SMOKE = ("--config", "scale=smoke")


BOUND = at_most(1.0, OURS, "a round figure")


def claim(name="mine.one", bound=BOUND, **changes):
    bounds = all_scales(bound)
    return Test(name, "theory", "holds", "MLP", "its size", bounds, **changes)


def a_figure(**changes):
    """A figure, but for the changes."""
    fields = {
        "title": "Figure 9. Mine",
        "caption": "A line.",
        "studies": ("embedding_lr/parametrizations",),
        "answers": (claim(),),
        "reduce": lambda runs: runs["embedding_lr/parametrizations"],
        "measure": lambda data, scale: {"mine.one": exact(0.5)},
        "draw": lambda data, scale: drawing.panels(1)[0],
    }
    return Figure(**(fields | changes))


LAWS = {"mine.one": Laws("effect", ("no effect",))}


def draw_tables(law, recorded, scale, rng):
    return recorded


TESTED = {"laws": LAWS, "simulate": draw_tables}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draw": None}, "give draw or table, the one that it is"),
        ({"table": lambda data, scale: 0}, "give draw or table, the one that it is"),
        ({"draw": None, "table": lambda data: 0}, r"table\(data\) is called as table\(data, scale"),
        ({"title": 9}, "title is an int, not a text"),
        ({"caption": None}, "caption is a NoneType, not a text"),
        ({"studies": "embedding_lr/width"}, "studies is 'embedding_lr/width'; give names: "),
        ({"studies": ()}, "studies is empty; give names"),
        ({"answers": claim()}, "answers is a Test; give a tuple of Test and Reading"),
        ({"answers": ("mine.one",)}, "answers holds a str, not a Test or a Reading"),
        ({"answers": (claim("fig9.one"),)}, "'fig9.one' must be named 'mine.<name>'"),
        ({"answers": (claim(), claim())}, "'mine.one' is there twice"),
        (
            {"answers": (claim(bound=at_most(1.0)),)},
            "test 'mine.one': at most 1: says not where the bound comes from; give it a basis",
        ),
        ({"measure": 1}, r"measure is an int, not a function measure\(data, scale\)"),
        ({"measure": lambda data: {}}, r"is called as measure\(data, scale\): too many"),
        ({"reduce": lambda runs, scale: runs}, r"as reduce\(runs\): missing a required arg"),
        ({"draw": lambda data, scale, size: 0}, r"as draw\(data, scale\): missing a required"),
        ({"laws": LAWS}, "laws and simulate go together; give both or neither"),
        ({"view": ("lr", "loss")}, "view is a tuple; give a View of repro/verdicts/figure.py"),
        ({"outcome": ("a", "b")}, r"outcome is a tuple; give one line of text"),
        ({"outcome": "it is {f.slop}"}, r"outcome names 'f.slop', which is none of its"),
        ({"small": lambda data: 0}, r"small\(data\) is called as small\(data, scale"),
        (
            {"draw": None, "table": lambda data, scale: 0, "small": lambda data, scale: 0},
            "has small but no draw, whose picture it says shortly",
        ),
        ({"simulate": draw_tables}, "laws and simulate go together; give both or neither"),
        ({"laws": ("mine.one",)}, "laws is a tuple; give a mapping, test id to Laws"),
        (
            TESTED | {"laws": {"mine.on": 1}},
            "laws names 'mine.on', which is none of its: did you mean",
        ),
        (TESTED | {"laws": {"mine.one": "null"}}, "laws of 'mine.one' is a str, not a Laws"),
        ({"laws": LAWS, "simulate": lambda law: 0}, r"as simulate\(law, recorded, scale, rng\)"),
    ],
)
def test_a_figure_that_is_none_is_one_line(changes, message):
    a_figure().check("figures/p/mine.py")
    with refused(message) as found:
        a_figure(**changes).check("figures/p/mine.py")
    assert str(found.value).startswith("figures/p/mine.py: ")


def test_a_claim_for_a_scale_there_is_not():
    wrong = Test("mine.one", "theory", "holds", "MLP", "its size", {"reducd": BOUND})
    with refused("unknown scale 'reducd', did you mean 'reduced'"):
        a_figure(answers=(wrong,)).check("figures/p/mine.py")


SPEC = {"width": 8, "data": {"batch_size": 4}, "lr": 0.1, "seed": 0}


@pytest.fixture(autouse=True)
def _mine(monkeypatch):
    """A task `mine` with these settings."""
    needs = lambda spec: [Arrays(spec["data"])]  # noqa: E731
    task = Task(1, "repro.tasks.mine", needs, lambda spec: Cost(), recorded.LANGUAGE_MODEL)
    monkeypatch.setitem(TASKS, "mine", task)
    found = contracts.task_arguments
    arguments = lambda name: frozenset(SPEC) if name == "mine" else found(name)  # noqa: E731
    monkeypatch.setattr(contracts, "task_arguments", arguments)


def test_a_task_s_settings_are_read_from_its_text():
    assert contracts.task_arguments("training_costs") == frozenset()
    assert {"data", "parametrization", "lr", "seed"} < contracts.task_arguments("language_model")
    for task in TASKS.keys() - {"mine"}:
        assert set(SPECS[task]) == contracts.settings_of(task, SPECS[task])


EVERYWHERE = dict.fromkeys(SCALES, Scale())
ALONE = {"scales": EVERYWHERE, "grid": {"seed": [0, 1]}}


def studies(**names):
    return SimpleNamespace(**names)


def a_study(task="mine", spec=(), **changes):
    return Study(**{"task": task, "spec": SPEC | dict(spec)} | ALONE | changes)


def at(scale, **changes):
    return {"scales": EVERYWHERE | {scale: Scale(**changes)}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "languge_model"}, "unknown task 'languge_model': did you mean 'language_model'"),
        ({"spec": {"lr": math.nan}}, "spec: lr: is nan; a setting is a finite number"),
        ({"spec": {"data": {"x": [1.0, math.inf]}}}, "spec: data: x: is inf;"),
        ({"spec": {"data": {1, 2}}}, "spec: data: is a set; a setting is a number, a text or a"),
        ({"grid": {"lr": [0.1, math.nan]}}, "grid: lr: is nan"),
        ({"spec": {"lr": -0.1}}, "spec: lr: is -0.1; a learning rate is 0 or more"),
        ({"spec": {"lr": {"embedding": -1}}}, "spec: lr: embedding: is -1; a learning rate is"),
        ({"grid": {"size": [{"model.lr_output": -1e-3}]}}, "model.lr_output: is -0.001; a learn"),
        ({"grid": {"lr": [0.1, -0.1]}}, "grid: lr: is -0.1; a learning rate is 0 or more"),
        ({"grid": {"size": [{"width": math.inf}]}}, "grid: size: width: is inf"),
        ({"grid": {"seed": 3}}, "axis seed is 3; give a list of values"),
        ({"grid": {"size": "small"}}, "axis size is 'small'; give a list of values"),
        ({"grid": {"seed": []}}, "an axis of its grid is empty at every scale: it has no runs"),
        ({"grid": {"wdth": [1, 2]}}, "no setting 'wdth': did you mean 'width'"),
        ({"grid": {"size": [{"data.batch": 1}]}}, "no setting 'data.batch': did you mean 'data.b"),
        ({"search": ("wd",)}, "search names 'wd', no axis of its grid"),
        (at("reduced", spec={"lr": math.inf}), "spec of scale reduced: lr: is inf"),
        (at("paper", grid={"seed": [0.0, -math.inf]}), "grid of scale paper: seed: is -inf"),
        (at("smoke", spec={"lrr": 1.0}), "scale smoke: the spec has no setting 'lrr': did you m"),
        ({"spec": {"lr": Best("tune", "lr")}}, "lr: takes from 'tune', no stage above its own"),
        ({"task": "language_model"}, "the spec lacks '.*', which task language_model asks for"),
        ({"spec": {"sed": 0}}, "'sed' is no setting of task mine: did you mean 'seed'"),
    ],
)
def test_a_study_that_is_none_is_one_line(changes, message):
    check_studies("studies/p/mine.py", studies(STUDY=a_study()))
    with refused(message) as found:
        check_studies("studies/p/mine.py", studies(STUDY=a_study(**changes)))
    assert str(found.value).startswith("studies/p/mine.py: ")


def test_a_scale_is_checked_where_it_is_asked_for():
    mine = studies(STUDY=a_study(**at("paper", spec={"lrr": 1.0})))
    check_studies("studies/p/mine.py", mine, ("smoke",))
    with refused("scale paper: the spec has no setting 'lrr'"):
        check_studies("studies/p/mine.py", mine, ("paper",))


TUNE = a_study(grid={"lr": [0.1, 0.2], "seed": [0]})


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ({"base": a_study(spec={"lr": Best("tun", "lr")})}, "'tun', no stage above its own: did y"),
        ({"base": a_study(spec={"lr": Best("tune", "lrr")})}, "no setting 'lrr': did you mean"),
        ({"base": a_study(spec={"lr": Best("tune", "lr", where={"wd": 0})})}, "no setting 'wd'"),
        (
            {"base": a_study(spec={"lr": Checkpoint("tune", join={"sed": "seed"})})},
            "stage tune has no axis 'sed': did you mean 'seed'",
        ),
        ({"base": {"task": "x"}}, "stage base: is a dict, not a Study"),
        ({"base+1": TUNE}, r"stage 'base\+1': give a name without"),
        ({"base": a_study(task="trainin_costs")}, "stage base: unknown task 'trainin_costs'"),
    ],
)
def test_a_stage_that_is_none_is_named(stages, message):
    check_studies("studies/p/mine.py", studies(STAGES={"tune": TUNE, "base": a_study()}))
    with refused(message) as found:
        check_studies("studies/p/mine.py", studies(STAGES={"tune": TUNE, **stages}))
    assert str(found.value).startswith("studies/p/mine.py: stage ")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "defines neither STUDY nor STAGES"),
        ({"STUDYS": a_study()}, r"neither STUDY nor STAGES \(there is 'STUDYS'\)"),
        ({"STUDY": a_study(), "STAGES": {}}, "defines STUDY and STAGES"),
        ({"STAGES": {}}, "STAGES is not a mapping"),
    ],
)
def test_a_file_of_studies_without_one_is_one_line(names, message):
    with refused(message):
        check_studies("studies/p/mine.py", studies(**names))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"arrays": lambda source: {}}, "does not define identity, describe; see repro/data/pre"),
        ({"identity": dict, "describe": str}, "defines none of splits, arrays, CORPUS"),
        (
            {"identity": lambda: {}, "describe": str, "CORPUS": 1},
            r"is called as identity\(source\): too many",
        ),
    ],
)
def test_a_dataset_that_is_none_is_one_line(names, message):
    module = ModuleType("mine")
    vars(module).update(names)
    with refused(message):
        check_dataset("data/mine.py", module)


def test_every_file_of_the_suite_is_what_its_contract_says():
    assert not misplaced() and not discovery.broken_studies()
    for name in catalog.figure_names():
        assert discovery.figure_stages(name)
    for name in discovery.dataset_names():
        discovery.dataset(name)


PROVENANCE = {
    **{"scale": "smoke", "embedded": True, "label": "embedded", "data": "none", "made": []},
    "chosen_after_seeing": "",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measure": lambda data, scale: None}, "measure returned a NoneType, not a mapping"),
        ({"measure": lambda data, scale: {}}, "measure returned nothing for 'mine.one'"),
        (
            {"measure": lambda data, scale: {"mine.one": 0.5}},
            "measure returned a float, not a Measurement for 'mine.one'",
        ),
        (
            {"measure": lambda *_: dict.fromkeys(("mine.one", "mine.two"), exact(0))},
            "measure returned 'mine.two', which is no test or reading of its",
        ),
        ({"draw": lambda data, scale: None}, "draw returned a NoneType, no figure; return the"),
        ({"draw": lambda data, scale: drawing.panels(1)}, "draw returned a tuple, no figure"),
        (
            {"draw": None, "table": lambda data, scale: [["a"]]},
            "table returned a list, not a Table",
        ),
        (
            {"draw": lambda data, scale: drawing.plt.subplots()[0]},
            "draw returned a figure of another layout; return the figure of repro.verdicts.drawing",
        ),
    ],
)
def test_what_a_figure_gives_back_is_one_line_where_it_is_none(
    tmp_path, monkeypatch, changes, message
):
    monkeypatch.setattr(catalog, "figure", lambda name: a_figure(**changes))
    monkeypatch.setattr(judging.statements, "check", lambda *_: None)
    (tmp_path / "data.csv").write_text("step,train_loss\n1,2.0\n")
    with refused(message) as found:
        judging.render("p/mine", tmp_path / "data.csv", PROVENANCE, tmp_path / "mine")
    assert str(found.value).startswith("figures/p/mine.py: ")
    drawing.plt.close("all")


def test_a_reduce_that_returns_no_table_is_one_line(suite, monkeypatch):
    name = "embedding_lr/table2"
    figure = a_figure(reduce=lambda runs: None)
    monkeypatch.setattr(cells, "read_cell", lambda path, cell: {"runs": []})
    monkeypatch.setattr(catalog, "figure", lambda name: figure)
    with refused("table2.py: reduce returned a NoneType, not a DataFrame"):
        run_table.reduce(suite, name, Path())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the suite's own files with files of every way to be broken."""
    target = tmp_path_factory.mktemp("broken") / "checkout"
    ignore = shutil.ignore_patterns("*.pdf", "*.png", "__pycache__")
    kept = ("config", "data", "figures", "profiles", "repro", "studies", "widthwise", "workflows")
    for name in kept:
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    shutil.copy(ROOT / "Snakefile", target)
    good = (target / "figures/embedding_lr/table2.py").read_text()
    needs_broken = good.replace("(_exponents.STUDY,)", "('embedding_lr/broken',)")
    frequencies = (target / "studies/embedding_lr/frequencies.py").read_text()
    files = {
        "figures/mine.py": good,
        "figures/embedding_lr/syntax.py": good + "\ndef draw(:\n",
        "figures/embedding_lr/unnamed.py": good.replace("caption=", "capton="),
        "figures/embedding_lr/failing.py": needs_broken.replace("table2.", "failing."),
        "studies/embedding_lr/broken.py": "from repro.core.study import Sudy\n",
        "studies/embedding_lr/misspelt.py": frequencies.replace("_frequencies", "_frequencys"),
    }
    for name, text in files.items():
        (target / name).write_text(text)
    return target


def call(checkout, *words, folder=None):
    env = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    env["PYTHONPATH"] = str(checkout)
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=folder or checkout, env=env, capture_output=True, text=True, check=False
    )


BROKEN = {
    "embedding_lr/syntax": (
        "figures/embedding_lr/syntax.py, line {syntax}: SyntaxError: invalid syntax"
    ),
    "embedding_lr/unnamed": (
        "figures/embedding_lr/unnamed.py, line {unnamed}: TypeError: Figure.__init__() got an "
        "unexpected keyword argument 'capton'"
    ),
    "embedding_lr/failing": (
        "figures/embedding_lr/failing.py: studies: studies/embedding_lr/broken.py, line 1: "
        "ImportError: cannot import name 'Sudy'"
    ),
    "mine": ("figures/mine.py: lies in no paper's folder; move it to figures/<paper>/mine.py"),
}
MISSPELT = "studies/embedding_lr/misspelt.py: unknown task 'token_frequencys': did you mean"


def lines_of(checkout):
    """Where each of these files is broken."""
    at = {"syntax": "def draw(:", "unnamed": "FIGURE = Figure("}
    texts = {name: (checkout / f"figures/embedding_lr/{name}.py").read_text() for name in at}
    return {name: text[: text.index(at[name])].count("\n") + 1 for name, text in texts.items()}


def test_list_shows_the_others_and_names_the_broken(checkout):
    done = call(checkout, "repro", "show")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == [f"figures/{name}.pdf" for name in catalog.figure_names()]
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    for message in [*BROKEN.values(), MISSPELT]:
        assert sum(message.format(**lines_of(checkout)) in line for line in warnings) == 1
    assert len(done.stderr.splitlines()) == len(BROKEN) + 1


@pytest.mark.slow
def test_a_broken_figure_is_in_no_other_s_way(checkout, tmp_path):
    words = ["--snakefile", str(checkout / "Snakefile"), "--directory", str(tmp_path)]
    done = call(checkout, "snakemake", "figures/embedding_lr/table2.pdf", *SMOKE, *words, "-c2")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures/embedding_lr/table2.pdf").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["figures/embedding_lr/syntax.pdf"], "embedding_lr/syntax"),
        ([], "embedding_lr/"),
    ],
)
def test_a_call_that_needs_a_broken_figure_ends_in_one_line(checkout, tmp_path, words, name):
    where = ["--snakefile", str(checkout / "Snakefile"), "--directory", str(tmp_path)]
    done = call(checkout, "snakemake", *words, *SMOKE, *where, "-c2")
    assert done.returncode == 1
    (error,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    expected = [text for key, text in BROKEN.items() if key.startswith(name)]
    assert any(text.format(**lines_of(checkout)) in error for text in expected)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_whoever_asks_for_some_figures_reads_no_study_of_others(monkeypatch):
    """Planning every figure takes longer than all else that a call for one does."""
    fresh, planned = load(["scale=smoke"]), []
    plan = type(fresh).cells
    monkeypatch.setattr(
        type(fresh), "cells", lambda self, name: planned.append(name) or plan(self, name)
    )
    assert fresh.fault("embedding_lr/table2") == ""
    found = forecast.figures_of(fresh, plan(fresh, "embedding_lr/frequencies"))
    assert found and all(name.startswith("embedding_lr/") for name in found)
    shown = (*found, "embedding_lr/table2")
    assert {*planned} <= {stage for name in shown for stage in discovery.figure_stages(name)}
    asked = planned.copy()
    assert fresh.fault("embedding_lr/table2") == "" and planned == asked, "once a figure"


@pytest.mark.parametrize(
    "words", [["show", "cost"], ["run", "embedding_lr"], ["train", "embedding_lr/broken", "x"]]
)
def test_a_command_that_needs_a_broken_file_ends_in_one_line(checkout, tmp_path, words):
    done = call(checkout, "repro", *words, *SMOKE, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "embedding_lr/" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def biuld(*, lr): pass", "decoder.py: defines neither run nor build; see repro/tasks"),
        ("x = 1\ndef (", "decoder.py, line 2: invalid syntax"),
    ],
)
def test_a_task_s_file_that_is_broken_is_named(tmp_path, monkeypatch, source, message):
    monkeypatch.setitem(TASKS, "mine", SimpleNamespace(module="repro.tasks.decoder"))
    (tmp_path / "decoder.py").write_text(source)
    found = SimpleNamespace(origin=tmp_path / "decoder.py")
    monkeypatch.setattr(contracts, "find_spec", lambda module: found)
    with refused(f"^repro/tasks/{message}"):
        task_arguments.__wrapped__("mine")


def test_a_parametrization_s_file_that_is_broken_is_named_and_takes_no_other_with_it(monkeypatch):
    def load(name):
        if name.endswith(".lvp"):
            raise SyntaxError("invalid syntax")
        return SimpleNamespace() if name.endswith(".hybrid") else import_module(name)

    monkeypatch.setattr(named, "import_module", load)
    found = named._read.__wrapped__()
    monkeypatch.setattr(named, "_read", lambda: found)
    assert "muP" in named.shipped() and callable(named.find("muP").rules)
    for name in ("LVP", "hybrid"):
        with refused("hybrid.py defines no NAME.*lvp.py: SyntaxError"):
            named.find(name)
