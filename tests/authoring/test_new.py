"""`repro new`: what a study and a figure are with other values, and what is refused."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from repro.authoring import new
from repro.core.study import OPTIONAL_SCALES
from repro.core.suite import load
from repro.core.tried import Tried
from repro.errors import UserError
from repro.lineage.checkout import ROOT
from repro.products import verify
from repro.verdicts.answers import CONTROL, of_one_run
from repro.verdicts.figure import again, figure_named
from studies.upscaling import gpt2_transfer

TRIED = Tried(
    figure="upscaling/fig3",
    test="fig3.transfer-lr-gpt2",
    stages=["upscaling/gpt2_transfer/by_lr_narrow", "upscaling/gpt2_transfer/by_lr_wide"],
    widths=[32, 64, 128],
    seeds=3,
)


@pytest.fixture
def written(monkeypatch):
    """The files that were to be written, and no page."""
    files = {}
    monkeypatch.setattr(new, "_written", lambda found, *_: files.update(found) or [*found])
    return files


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


def test_a_test_of_a_figure_again_binds_where_its_studies_have_runs():
    """Found in review: at overnight, which a figure on own settings has not."""
    found = again(figure_named("upscaling/fig3"), "mine", {})
    assert {scale for test in found.tests for scale in test.expected}.isdisjoint(OPTIONAL_SCALES)
    assert len(found.answers) == len(figure_named("upscaling/fig3").answers)


def test_what_is_written_is_python_and_names_what_was_asked(written):
    new.kept("upscaling/mine", TRIED)
    new.figure("embedding_lr/bare", widths=[32, 64], seeds=4)
    new.paper("another", "2511.01734v2")
    for file, text in written.items():
        assert not file.endswith(".py") or ast.parse(text)
        assert not (ROOT / file).exists()
    kept = written["studies/upscaling/mine_runs.py"]
    assert "STAGES = Tried(" in kept and "widths=[32, 64, 128]" in kept and "seeds=3" in kept
    own = written["studies/embedding_lr/bare_runs.py"]
    assert '"width": [32, 64],\n        "seed": [0, 1, 2, 3],' in own
    assert "version = 2" in written["studies/another/paper.toml"]


@pytest.mark.parametrize(
    "asked",
    [
        ("embedding_lr/lvp",),
        ("embedding_lr/a_name_that_is_rather_long",),
        ("embedding_lr/many", 40, [*range(8, 400, 8)]),
        ("upscaling/mine", TRIED),
        ("upscaling/mine", replace(TRIED, widths=[*range(8, 400, 8)], rates=[0.5, 1 / 3])),
    ],
)
def test_what_is_written_passes_the_lint_that_is_asked_of_it(written, asked):
    """Found in review: CONTRIBUTING's own example, unedited, ended `.ci/run lint`."""
    (new.kept if isinstance(asked[-1], Tried) else new.figure)(*asked)
    new.paper("another", "2511.01734v2")
    for file, text in written.items():
        if file.endswith(".py"):
            for lint in (["check"], ["format", "--check"]):
                call = [sys.executable, "-m", "ruff", *lint, "--stdin-filename", file, "-"]
                done = subprocess.run(call, input=text, text=True, capture_output=True, cwd=ROOT)
                assert done.returncode == 0, (file, done.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody/fig1",), "unknown paper 'nobody'"),
        (("fig1",), "write <paper>/<figure>"),
        (("embedding_lr/Fig",), "in small letters"),
        (("embedding_lr/x", TRIED), "is of upscaling; give upscaling/x"),
        (("upscaling/x", replace(TRIED, seeds=201)), "--seeds 201: give a number from 1 to 200"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(words, said, written):
    with pytest.raises(UserError, match=said) as error:
        (new.kept if isinstance(words[-1], Tried) else new.figure)(*words)
    assert "\n" not in str(error.value) and not written


@pytest.mark.slow  # another process looks at all figures
def test_a_dry_run_says_files_jobs_and_minutes_and_leaves_nothing():
    before = {*ROOT.glob("studies/*/*"), *ROOT.glob("figures/*/*")}
    *files, last = new.kept("upscaling/mine", TRIED, dry=True)
    assert files[-1] == "would write figures/upscaling/mine.py"
    assert re.match(r"\d+ jobs, \d+ of them training: .* minutes? on 2 cores", last)
    assert {*ROOT.glob("studies/*/*"), *ROOT.glob("figures/*/*")} == before


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of a README, in whose copy pages are made that say so."""
    monkeypatch.setattr(new, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text("before")

    def run(call, cwd, **_):
        (cwd / "README.md").write_text("made anew")
        said = "3 jobs\n" if "snakemake" in call else "README.md\n"
        return SimpleNamespace(returncode=0, stdout=said, stderr="")

    monkeypatch.setattr(new.subprocess, "run", run)
    return tmp_path


FILES = {"studies/p/mine_runs.py": "a", "figures/p/mine.py": "b"}


def everything(folder):
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*.*")}


@pytest.mark.parametrize("dry", [False, True])
def test_a_figure_that_cannot_be_built_is_not_written(checkout, monkeypatch, dry):
    """Found in review: its files stayed, and were in the way of every later one; a dry run ended
    as if all were well."""
    failed = SimpleNamespace(returncode=1, stdout="", stderr="error: 0 runs agree\nmore\n")
    monkeypatch.setattr(new.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(UserError, match="'p/mine': 0 runs agree; nothing was written"):
        new._written(FILES, "p/mine", dry)
    assert everything(checkout) == {"README.md": "before"}


def test_a_dry_run_writes_nothing_while_it_runs_either(checkout, monkeypatch):
    """Found in review: another call in the checkout failed on files that were there for a while."""
    monkeypatch.setattr(new, "write_bytes", refuse_in(checkout, new.write_bytes))
    assert new._written(FILES, "p/mine", dry=True)[-1] == "3 jobs"
    assert everything(checkout) == {"README.md": "before"}


def refuse_in(folder, write):
    def writes(path, *given, **options):
        assert folder not in path.parents
        write(path, *given, **options)

    return writes


@pytest.mark.parametrize("at", range(3))
def test_a_call_that_was_killed_is_gone_on_with_by_the_same_call(checkout, monkeypatch, at):
    written, write = [], new.write_bytes

    def killed(path, *given, **options):
        if checkout in path.parents:
            written.append(path)
            if len(written) > at:
                raise KeyboardInterrupt
        write(path, *given, **options)

    monkeypatch.setattr(new, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        new._written(FILES, "p/mine")
    left = checkout / "figures/p/.mine-abcd1234"
    left.mkdir(parents=True)
    monkeypatch.setattr(new, "write_bytes", write)
    assert new._written(FILES, "p/mine")[:2] == [*FILES]
    assert everything(checkout) == FILES | {"README.md": "made anew"} and not left.exists()
    with pytest.raises(UserError, match="p/mine: is there already, as it would be written"):
        new._written(FILES, "p/mine")


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


def test_a_kept_try_is_a_study_of_its_scales():
    """Smoke proves the pipeline and stays; where the try cannot be, as at paper scale without that
    arm's seeds, there are no runs; scales of a night or a GPU are left out."""
    kept = TRIED.kept(gpt2_transfer)
    assert {*kept} == {*gpt2_transfer.STAGES}
    narrow, own = kept["by_lr_narrow"], gpt2_transfer.STAGES["by_lr_narrow"]
    assert {*narrow.scales} == {"smoke", "reduced", "paper"}
    assert narrow.scales["smoke"] == own.scales["smoke"]
    pairs = [{"model.width": 32, "start.width": 16}, {"model.width": 64, "start.width": 32}]
    assert narrow.scales["reduced"].grid["width"] == pairs
    assert not all(map(len, narrow.scales["paper"].grid.values()))
