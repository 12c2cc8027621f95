"""`repro new`: what a study and a figure are with other values, and what is refused."""

import ast
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from repro.authoring import again as again_files
from repro.authoring import new
from repro.core import catalog, discovery
from repro.core.suite import load
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.products import verify
from repro.verdicts.answers import CONTROL, of_one_run
from repro.verdicts.figure import again, figure_named


@pytest.fixture
def written(monkeypatch):
    """The files that were to be written, and no page."""
    files = {}
    monkeypatch.setattr(new, "_written", lambda found, *_: files.update(found) or [*found])
    return files


def test_a_study_has_other_values_wherever_it_has_some():
    study = discovery.study("embedding_lr/width")
    other = study.along({"model.width": [8], "seed": [9000, 9001]})
    assert other.scales["smoke"] == study.scales["smoke"], "which proves the pipeline"
    assert {*other.scales} == {"smoke", "reduced", "paper"}
    for name in ("reduced", "paper"):
        assert other.scales[name].grid["model.width"] == [8]
    assert other.scales["paper"].grid["seed"] == [9000, 9001]
    assert other.scales["reduced"].grid["seed"] == [], "where a study has no runs it gets none"
    assert replace(other, scales=study.scales) == study


@pytest.mark.parametrize(
    ("name", "axes", "said"),
    [
        ("width", {"model.wdith": [8]}, "has no axis 'model.wdith': did you mean 'model.width'"),
        ("width_and_vocabulary", {"size": [8]}, "sets model.width, data.vocab_size"),
    ],
)
def test_an_axis_that_cannot_be_replaced_is_named(name, axes, said):
    with pytest.raises(UserError, match=said):
        discovery.study(f"embedding_lr/{name}").along(axes)


def test_a_figure_again_shows_other_runs_by_the_same_claims():
    original = figure_named("transfer/muon_rules")
    seen = []
    bare = replace(
        original,
        reduce=lambda runs: seen.extend(runs),
        measure=lambda data, scale: {each.id: of_one_run(1.0) for each in original.answers},
    )
    found = again(bare, "mine", {"transfer/decoder_muon_rules": "transfer/mine_runs"})
    found.check("figures/transfer/mine.py")
    assert {s.rsplit("/", 1)[0] for s in found.studies} == {
        "transfer/mine_runs"
    } and "{mine." in found.outcome
    for mine, its in zip(found.tests, original.tests, strict=True):
        assert mine.kind == CONTROL and mine.statement == its.statement
        assert [*map(str, mine.expected.values())] == [*map(str, its.expected.values())]
    assert {*found.measure(pd.DataFrame(), "reduced")} == {each.id for each in found.answers}
    found.reduce({"transfer/mine_runs/muP": 0, "transfer/mine_runs/muP+2": 0})
    assert seen == ["transfer/decoder_muon_rules/muP", "transfer/decoder_muon_rules/muP+2"]


def test_what_is_written_is_python_and_names_what_was_asked(written):
    new.figure("upscaling/mine", of="upscaling/fig8", seeds=2)
    new.figure("transfer/own", of="transfer/shift", widths=[8, 16], rates=[0.5])
    new.figure("embedding_lr/bare", widths=[32, 64], seeds=4)
    new.paper("another", "2511.01734v2")
    for file, text in written.items():
        assert not file.endswith(".py") or ast.parse(text)
        assert not (ROOT / file).exists()
    assert "STAGES = {" in written["studies/upscaling/mine_runs.py"]
    assert '"seed": [9000, 9001]' in written["studies/upscaling/mine_runs.py"]
    axes = written["studies/transfer/own_decoder.py"]
    assert '"model.width": [8, 16]' in axes and '"lr": [0.5]' in axes
    assert '"width": [32, 64], "seed": [0, 1, 2, 3]' in written["studies/embedding_lr/bare_runs.py"]
    assert "version = 2" in written["studies/another/paper.toml"]


SEVERAL = [
    name
    for name in catalog.figure_names()
    if len({study.split("/")[1] for study in catalog.figure(name).studies}) > 1
]


@pytest.mark.parametrize("name", SEVERAL)
def test_a_figure_of_several_studies_is_had_again_with_own_seeds(name, written):
    """Found in review: 20 figures were refused, all headlines among them. Studies that share seeds
    go on sharing them, and one that tunes on seeds of its own goes on doing so."""
    slug = name.split("/")[0]
    stages = [stage for stage in discovery.figure_stages(name) if "+" not in stage]
    trained = [stage for stage in stages if "seed" in discovery.study(stage).grid]
    if not trained:
        pytest.skip("its runs have no seeds")
    new.figure(f"{slug}/mine", of=name, seeds=2)
    text = written.pop(f"figures/{slug}/mine.py")
    studies = {"/".join(stage.split("/")[:2]) for stage in stages}
    made = [study for study in studies if f'"{study}": "{slug}/mine_' in text]
    assert len(written) == len(made) > 0
    left = [stage for stage in stages if not stage.startswith(tuple(made))]
    # The original's, which has runs overnight or on a GPU alone.
    assert not any(again_files.has_runs(discovery.study(stage)) for stage in left)
    for each in written.values():
        compile(each, "study", "exec")


def test_a_study_that_tunes_on_seeds_of_its_own_goes_on_doing_so(written):
    new.figure("embedding_lr/mine", of="embedding_lr/fig3", seeds=2)
    text = written["studies/embedding_lr/mine_figure3.py"]
    judged, of_tuning = re.findall(r'"seed": (\[[\d, ]+\])', text)
    assert of_tuning != judged and f'"tuning": {{"seed": {of_tuning}}}' in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody/fig1",), "unknown paper 'nobody'"),
        (("fig1",), "write <paper>/<figure>"),
        (("embedding_lr/Fig",), "in small letters"),
        (("embedding_lr/x", "zzz"), r"no figure shows it: choose .* and \d+ more$"),
        (("embedding_lr/x", "fig1"), "is shown by .*, embedding_lr/fig1, .*; name one of these"),
        (("embedding_lr/x", "embedding_lr/fig1", 201), "--seeds 201: give a number from 1 to 200"),
        (
            ("embedding_lr/x", "embedding_lr/fig3", 0, [8, 16]),
            "sets model.width, data.vocab_size at once",
        ),
        (("embedding_lr/x", "embedding_lr/fig2", 0, [], [0.5]), "has no axis of --rates; it has"),
        (("embedding_lr/x", "", 0, [], [0.5]), "name it with --of"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(words, said, written):
    with pytest.raises(UserError, match=said) as error:
        new.figure(*words)
    assert "\n" not in str(error.value) and not written


@pytest.mark.slow  # another process looks at all figures
def test_a_dry_run_says_files_jobs_and_minutes_and_leaves_nothing():
    before = {*ROOT.glob("studies/*/*"), *ROOT.glob("figures/*/*")}
    *files, last = new.figure("embedding_lr/mine", "embedding_lr/fig1", seeds=3, dry=True)
    assert files[-1] == "would write figures/embedding_lr/mine.py"
    assert re.match(r"\d+ jobs, \d+ of them training: .* minutes? on 2 cores", last)
    assert {*ROOT.glob("studies/*/*"), *ROOT.glob("figures/*/*")} == before


def test_a_figure_that_cannot_be_built_is_not_written(tmp_path, monkeypatch):
    """Found in review: its files stayed, and were in the way of every later one."""
    monkeypatch.setattr(new, "ROOT", tmp_path)
    calls = []

    def run(call, **_):
        calls.append((call[2:], (tmp_path / "figures/upscaling/mine.py").exists()))
        return SimpleNamespace(returncode=1, stderr="error: 0 runs agree\n")

    monkeypatch.setattr(new.subprocess, "run", run)
    with pytest.raises(UserError, match="'upscaling/mine': 0 runs agree; nothing was written"):
        new._written({"figures/upscaling/mine.py": ""}, "upscaling/mine")
    # Pages that were written name it, and are made again without.
    assert calls == [(["repro", "new", "pages"], True), (["repro", "new", "pages"], False)]


def test_no_file_is_written_over():
    with pytest.raises(UserError, match=r"figures/embedding_lr/fig1.py: is there already"):
        new._written({"figures/embedding_lr/fig1.py": ""}, "embedding_lr/fig1")


def test_a_paper_that_is_not_run_yet_fails_no_verification_of_the_others():
    suite = load(["scale=smoke"])
    missing = verify.Outcome("a_new_paper/fig1", verify.NO_RECORD, "")
    verify.check(suite, [missing, verify.Outcome("embedding_lr/fig1", "identical", "")])
    lost = verify.Outcome("embedding_lr/fig2", verify.NO_RECORD, "")
    for outcomes in ([missing], [missing, lost], [lost, replace(lost, tier="identical")]):
        with pytest.raises(UserError, match="have no record"):
            verify.check(suite, outcomes)
