"""New results against records/: what is accepted, what is refused, and with which exit status."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from figure_files import draw, make
from parameters import kept
from workflow import snakemake

from repro.__main__ import main
from repro.core import catalog, config, discovery
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import CELL_SEAL, read_json, read_sealed, sha256_file, write_json, write_sealed
from repro.lineage import code, history
from repro.lineage.checkout import ROOT
from repro.products import known, picture, published, records, run_table, verify
from repro.products.built import (
    outdated,
    page,
    page_files,
    page_note,
    page_of,
)
from repro.products.explain import explain
from repro.products.picture import folder_of
from repro.products.summary import summary

NAME = "upscaling/table4"
TEST = "table4.speedup-mlp"
WORDS = ("scale=smoke", f"figures={NAME}")


def load(**changes):
    values = dict(word.split("=") for word in WORDS) | changes
    return Suite(config.parse(values, discovery.dataset_names()))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A work folder with a cheap figure, built and on record."""
    work = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        patch.setattr(records, "RECORDS", work / "records")
        assert main(["run", NAME, "--config", *WORDS]) == 0
        make(load(), NAME)
        records.record(load(), unclean=True)  # whoever works on the suite has files changed
    return work


@pytest.fixture
def built(made, tmp_path, monkeypatch):
    """A copy of it to change, and the suite."""
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    for module in (records, verify):
        monkeypatch.setattr(module, "RECORDS", tmp_path / "work" / "records")
    return load()


@pytest.fixture
def base(built):
    (found,) = records.recorded(built, NAME)
    return found


def edit(path, old, new):
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))


def rewrite(base, *, factor=1.0, tests=None, arithmetic=None):
    """Another record, with digests that fit."""
    saved = read_json(base.with_suffix(".json"))
    table = pd.read_csv(base.with_suffix(".csv"))
    column = table.select_dtypes("number").columns[-1]
    table.assign(**{column: table[column] * factor}).to_csv(base.with_suffix(".csv"), index=False)
    saved["data_sha256"] = sha256_file(base.with_suffix(".csv"))
    saved["provenance"]["data_sha256"] = saved["data_sha256"]
    saved["tests"][0] |= tests or {}
    for entry in saved["provenance"]["made"]:
        entry |= {"arithmetic": arithmetic} if arithmetic else {}
    write_json(base.with_suffix(".json"), saved)
    records._seal([base])


def outcome(suite):
    (found,) = verify.verify(suite)
    return found


def exit_status(capsys, *words):
    status = main(["verify", "--config", *WORDS, *words])
    said = capsys.readouterr()
    assert "Traceback" not in said.err and said.err.count("\n") == (status != 0)
    return status, said.out, said.err


def test_the_same_again_is_identical(built, capsys):
    status, out, _ = exit_status(capsys)
    assert (status, out) == (0, f"{NAME}: identical (data, results and picture by SHA-256)\n")


def unknown_arithmetic(base):
    """As in records made before arithmetic was fixed, whose last digits may differ from any."""
    rewrite(base, arithmetic="unknown")


def test_numbers_within_the_tolerance_are_equal_where_digits_may_differ(built, base, capsys):
    rewrite(base, factor=1.01, arithmetic="portable")
    status, out, _ = exit_status(capsys)
    assert status == 0
    assert out.startswith(f"{NAME}: equal (numbers within 2%, the same statuses; arithmetic ")
    assert ", the record's portable)" in out


def test_verdicts_and_intervals_make_a_figure_consistent(built, base, capsys):
    rewrite(base, factor=1.05, arithmetic="portable")
    status, out, _ = exit_status(capsys)
    assert status == 0
    assert out.startswith(f"{NAME}: consistent (column ")
    assert "the same statuses, intervals overlap; arithmetic " in out


@pytest.mark.parametrize("factor", [1.01, 1.05])
def test_where_digits_cannot_differ_they_must_not(built, base, capsys, monkeypatch, factor):
    rewrite(base, factor=factor)
    monkeypatch.setattr(verify, "arithmetics", lambda provenance: {"avx2"})
    status, out, err = exit_status(capsys)
    assert status == 1 and f"{NAME}: differs (" in out
    assert "arithmetic and libraries are the record's: nothing may differ" in out
    assert "verify: 1 of 1 figures differ from records/" in err


def test_a_task_that_depends_on_the_cpu_may_differ(built, base, monkeypatch):
    rewrite(base, factor=1.01)
    monkeypatch.setattr(verify, "arithmetics", lambda provenance: {"avx2"})
    monkeypatch.setattr(Suite, "cpu_dependent", lambda suite, name: True)
    assert outcome(built).tier == "equal"
    assert "a task's results depend on the CPU's model" in outcome(built).reason


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ({"status": "not reproduced"}, "was not reproduced"),
        ({"measured": 1.0, "low": 1.0, "high": 1.0}, ", was 1"),
        ({"test": "table4.other"}, "not of the record"),
    ],
)
@pytest.mark.parametrize("factor", [1.0, 1.01, 1.05])
def test_another_verdict_or_number_differs_in_every_tier(built, base, tests, words, factor):
    rewrite(base, factor=factor, tests=tests, arithmetic="portable")
    assert outcome(built).tier == "differs" and words in outcome(built).reason


def test_a_quantity_measured_otherwise_from_the_same_data_differs(built, base, monkeypatch):
    """Found in review: with the data the record's, measured values were not looked at."""
    figure = catalog.figure(NAME)

    def doubled(table, scale):
        found = figure.measure(table, scale)
        wider = {k: replace(m, value=m.value + 1, high=m.high + 1) for k, m in found.items()}
        return found | {TEST: wider[TEST]}

    changed = replace(figure, measure=doubled)
    monkeypatch.setattr(catalog, "figure", lambda name: changed)
    draw(built, NAME)
    unknown_arithmetic(base)
    assert outcome(built).tier == "differs" and TEST.split(".")[0] in outcome(built).reason


def interval(measured, low, high):
    return {"measured": measured, "low": low, "high": high}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (interval(1.0, 0.5, 1.5), interval(2.0, 1.4, 3.0), True),
        (interval(1.0, 0.5, 1.3), interval(2.0, 1.4, 3.0), False),
        (interval(1.0, 1.0, 1.0), interval(1.01, 1.01, 1.01), True),
        (interval(1.0, 1.0, 1.0), interval(1.05, 1.05, 1.05), False),
        (interval(1.0, None, 1.3), interval(-9.0, -9.0, -9.0), True),
        (interval(None, None, None), interval(None, None, None), True),
        (interval(None, None, None), interval(1.0, 0.0, 2.0), False),
    ],
)
def test_intervals_overlap(new, old, expected):
    assert verify.overlap(new, old) is verify.overlap(old, new) is expected


def test_nothing_on_record_for_the_source_ends_with_2(built, capsys):
    shutil.rmtree("records/smoke")
    status, out, err = exit_status(capsys)
    assert status == 2 and out.startswith(f"{NAME}: no record (")
    assert "nothing on record for this source: scale smoke, data embedded" in err


def test_no_figures_asked_for_is_a_mistake(built, capsys):
    assert main(["verify", "--config", "scale=smoke", "figures="]) == 1
    err = capsys.readouterr().err
    assert "figures" in err and "empty" in err


def test_a_missing_record_where_there_are_others_fails(built, base, capsys):
    shutil.copytree(base.parent, base.parents[1] / "embedding_lr")
    for suffix in records.KEPT:
        base.with_suffix(suffix).unlink()
    sums = base.parents[1] / records.SUMS
    sums.write_text("".join(s for s in sums.open() if NAME not in s))
    status, out, err = exit_status(capsys)
    assert status == 1 and out.startswith(f"{NAME}: no record (")
    assert "verify: 1 of 1 figures have no record" in err


@pytest.mark.parametrize("suffix", records.KEPT)
@pytest.mark.parametrize("harm", ["edited", "deleted"])
def test_a_record_that_was_changed_is_named(built, base, capsys, suffix, harm):
    path = base.with_suffix(suffix)
    if harm == "edited":
        path.write_bytes(path.read_bytes() + b"\n")
    else:
        path.unlink()
    status, out, _ = exit_status(capsys)
    assert status == 1
    assert f"{path}: is not what SHA256SUMS says; restore records/ with git" in out
    for command in (records.redraw, records.rejudge):
        with pytest.raises(UserError, match="is not what SHA256SUMS says"):
            command(built)


@pytest.mark.parametrize(
    ("edited", "words"),
    [
        (lambda saved: [], "was not written by this suite, it is "),
        (
            lambda saved: saved | {"tests": [{}]},
            r"was not written by this suite, results\['tests'\]\[0\] lacks 'figure'",
        ),
        (lambda saved: saved | {"tests": 5}, "was not written by this suite, tests is 5"),
        (
            lambda saved: saved | {"provenance": saved["provenance"] | {"made": [{}]}},
            "was not written by this suite, it lacks 'device'",
        ),
        (
            lambda saved: with_run(saved, commit="\033[2J"),
            r"provenance has 'commit': '.x1b\[2J', which this suite never writes",
        ),
        (
            lambda saved: with_run(saved, host_cpu="<img src=x onerror=alert(1)>"),
            "provenance has 'host_cpu': '<img src=x",
        ),
        (
            lambda saved: saved | {"tests": [saved["tests"][0] | {"detail": "\033[2J"}]},
            r"was not written by this suite, results\['tests'\]\[0\]",
        ),
    ],
)
def test_a_record_that_this_suite_would_not_have_written_is_refused(built, base, edited, words):
    """Found in review: with digests that fit, its texts reached the terminal and the pages."""
    path = base.with_suffix(".json")
    write_json(path, edited(read_json(path)))
    records._note_digests(base.parents[1], [path])
    for call in (verify.verify, records.redraw, records.rejudge):
        if call is verify.verify:
            assert re.search(f"{words}.*; restore records/ with git", outcome(built).reason)
        elif call is records.rejudge and "tests" in words:
            assert call(built) == [base], "it writes them anew and reads none"
        else:
            with pytest.raises(UserError, match=f"{words}.*; restore records/ with git"):
                call(built)


def with_run(saved, **changes):
    """A record whose first entry of runs says something else."""
    first, *others = saved["provenance"]["made"]
    made = [first | changes, *others]
    return saved | {"provenance": saved["provenance"] | {"made": made}}


FILES = published.files(NAME)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("harm", ["edited", "deleted"])
def test_a_product_that_is_not_what_its_manifest_says_is_refused(built, capsys, file, harm):
    folder = folder_of(built, NAME)
    path = folder / file
    if harm == "edited":
        path.write_bytes(path.read_bytes() + b"\n")
    else:
        path.unlink()
    words = f"{path}: is not what manifest.json says"
    if file != "provenance.json" or harm == "edited":  # or there is no such figure
        status, out, _ = exit_status(capsys)
        assert status == 1 and f"{NAME}: differs ({words}" in out
    refuse = (
        lambda: published.publish(folder),
        lambda: explain(built, TEST),
        lambda: records.record(built, unclean=True),
    )
    for call in refuse:
        with pytest.raises(UserError, match="is not what manifest.json says") as error:
            call()
        assert "delete it and run the same command again" in str(error.value)
    assert words in summary(built, {NAME: True}, 1.0)


@pytest.mark.parametrize("line", ["<<<<<<< HEAD", "=======", "junk", "0" * 64, "0 a.csv", ""])
def test_sums_with_conflicts_of_a_merge_are_named_by_the_line(built, base, line):
    """Found in review: a traceback."""
    path = base.parents[1] / records.SUMS
    path.write_text(f"{line}\n{path.read_text()}")
    words = f"{path}, line 1: {line[:20]!r} is no digest and name, as after a merge with conflicts"
    with pytest.raises(UserError, match=f"^{re.escape(words)}; restore records/ with git"):
        records.redraw(built)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"data.csv": 1}', b"junk"])
def test_a_manifest_that_was_emptied_is_what_the_error_names(built, content):
    """Found in review: the message blamed data.csv."""
    path = folder_of(built, NAME) / published.MANIFEST
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"^{path}: was emptied or changed; delete it and run"):
        explain(built, TEST)


@pytest.mark.parametrize("file", published.in_figures(NAME), ids=str)
def test_a_published_file_is_held_to_what_was_made(built, file):
    """Found in review: the CSV and the Markdown were replaced by junk, and nothing to be done. As
    long and as old as what was made."""
    folder = folder_of(built, NAME)
    assert published.others(folder, NAME) == []
    source = (folder / file.name).stat()
    file.write_bytes(bytes(source.st_size))
    os.utime(file, ns=(source.st_mtime_ns,) * 2)
    assert published.others(folder, NAME) == [file]
    published.publish(folder)
    assert published.others(folder, NAME) == []


def test_an_edited_page_is_made_anew(built, monkeypatch):
    monkeypatch.setattr(catalog, "pages", lambda: {"table4": [NAME]})
    page(built, "table4")
    note, made = page_note(built, "table4"), page_files("table4")
    assert published.is_noted(note, made, page_of("table4"))
    figure = Path("figures", f"{NAME}.pdf")
    for path in (*made, figure):
        before = path.read_bytes()
        path.write_bytes(b"junk")
        assert not published.is_noted(note, made, page_of("table4")), path
        path.write_bytes(before)


def test_a_table_of_other_cells_is_noticed_whatever_their_age(built):
    """Of another device, brought with their old times."""
    (cell,) = run_table.cell_paths(built, NAME)
    assert outdated(built, NAME) == []
    content, times = read_sealed(cell, CELL_SEAL), (1_577_836_800,) * 2  # 2020
    for run in content["runs"]:
        run["provenance"]["device"] = "nvidia-h100"
    write_sealed(cell, content, CELL_SEAL)
    os.utime(cell, times)
    manifest = folder_of(built, NAME) / published.MANIFEST
    assert outdated(built, NAME) == [manifest]
    folder = make(built, NAME)
    assert outdated(built, NAME) == []
    assert "device: nvidia-h100" in (folder / "table4.md").read_text()


def test_records_are_drawn_and_judged_again(built, base, monkeypatch, tmp_path):
    pdf = Path(f"figures/{NAME}.pdf")
    original = pdf.read_bytes()
    pdf.unlink()
    assert records.redraw(built) == [str(pdf)]
    assert pdf.read_bytes() == original
    saved = read_json(base.with_suffix(".json"))["tests"]
    rewrite(base, tests={"status": "not reproduced", "measured": 0.5})
    assert records.rejudge(built) == [base]
    assert read_json(base.with_suffix(".json"))["tests"] == saved
    monkeypatch.setattr(records, "RECORDS", tmp_path / "none")
    with pytest.raises(UserError, match="no records for scale smoke, data embedded"):
        records.redraw(built)


def test_recording_one_figure_does_not_vouch_for_another_s_edited_record(built, base):
    other = base.with_name("table9.json")
    sums = base.parents[1] / records.SUMS
    other.write_text("{}")
    sums.write_text(sums.read_text() + f"{'0' * 64}  upscaling/table9.json\n")
    records.record(built, unclean=True)
    assert f"{'0' * 64}  upscaling/table9.json\n" in sums.read_text()


@pytest.mark.parametrize("folder", sorted(ROOT.glob("records/*/*/*")), ids=str)
def test_what_is_committed_is_what_its_sums_say(folder):
    """By sha256sum itself, and no file is left out."""
    subprocess.run(["sha256sum", "--check", "--quiet", records.SUMS], cwd=folder, check=True)
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert names - {records.SUMS} == set(records.sums(folder))


@pytest.fixture
def other_code(built, monkeypatch):
    """`measure`, or anything that it imports, is another one than when the figure was made."""
    listing = code.listing
    monkeypatch.setattr(code, "listing", lambda files: listing(files).replace("table4", "table4*"))
    built.keys.clear()
    yield
    built.keys.clear()


@pytest.mark.parametrize("command", ["verify", "record", "report", "show"])
def test_changed_code_of_a_figure_is_noticed_without_snakemake(built, other_code, capsys, command):
    """Found in review: `measure` doubled, and "identical"."""
    words = [command, TEST] if command == "show" else [command]
    before = {path: path.read_bytes() for path in Path("records").rglob("*.*")}
    assert main([*words, "--config", *WORDS]) == 1
    said = capsys.readouterr()
    first = command == "report"  # which says before it begins what it does
    assert said.out == "" and said.err.count("\n") == 1 + first
    assert f"figures/{NAME}.pdf was made by other code than the present; make anew" in said.err
    assert f"uv run snakemake figures/{NAME}.pdf --config scale=smoke" in said.err
    assert before == {path: path.read_bytes() for path in Path("records").rglob("*.*")}


def test_a_picture_of_other_code_is_in_another_folder_and_the_old_one_stays(built, other_code):
    (old,) = built.paths.figure(NAME).glob(f"*/{published.MANIFEST}")
    new = picture.make(built, NAME)
    assert new != old.parent and published.checked_manifest(new)["key"] == new.name
    published.publish(old.parent)
    assert explain(built, TEST)


def test_whoever_looks_while_a_picture_is_drawn_sees_no_half_of_it(built, base, monkeypatch):
    """As `report` beside a running call: until the manifest is there, the record stands in."""
    shutil.rmtree(built.paths.figure(NAME))
    seen, listed = [], picture.manifest_of

    def look(*given):
        seen.append(known.find(built, NAME))
        return listed(*given)

    monkeypatch.setattr(picture, "manifest_of", look)
    picture.make(built, NAME)
    assert [found.recorded for found in seen] == [True]
    assert not known.find(built, NAME).recorded


def test_code_that_changes_between_plan_and_table_is_one_line(built):
    with pytest.raises(UserError, match="its settings, code or evidence were changed since"):
        picture.make(built, NAME, "0" * 12)


def test_what_was_made_while_its_code_was_changed_is_made_again(built, monkeypatch):
    """The job had been given the folder's name before."""
    folder, write, listing = folder_of(built, NAME), picture.write_figure, code.listing

    def change(*given):
        monkeypatch.setattr(code, "listing", lambda files: listing(files) + "changed")
        return write(*given)

    monkeypatch.setattr(picture, "write_figure", change)
    assert picture.make(built, NAME) == folder
    with pytest.raises(UserError, match="its code or evidence was changed while it was made"):
        published.publish(folder)
    assert outdated(built, NAME) == [folder / published.MANIFEST]


def with_runs(built, *changes):
    """The figure's runs as if they came from this: a change for each part of them."""
    folder = folder_of(built, NAME)
    provenance = read_json(folder / "provenance.json")
    (entry,) = provenance["made"]
    clean = {"commit": "c" * 40, "runs": 2}
    provenance["made"] = [entry | clean | change for change in changes]
    write_json(folder / "provenance.json", provenance)
    draw(built, NAME)


DOUBTS = {
    "two versions of the code": (({}, {"code_sha256": "b" * 64}), "bbbbbbbbbbbb (2 runs)"),
    "changed files": (
        ({}, {"commit": f"{'c' * 40}+dirty"}),
        "2 of 4 runs of a commit with changed files (+dirty)",
    ),
    "no git": (({"commit": None},), "2 of 2 runs of no commit, made without git"),
}


@pytest.mark.parametrize("situation", kept(DOUBTS, first=1))
def test_what_is_of_no_one_clean_version_is_recorded_only_with_a_mark(
    built, base, capsys, situation
):
    """Found in review: 31 of 53 figures had runs of commits of no history, or of changed files."""
    changes, words = DOUBTS[situation]
    with_runs(built, *changes)
    before = base.with_suffix(".json").read_bytes()
    assert main(["record", "--config", *WORDS]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"record: {NAME}: " in error and words in error
    assert "uv run python -m repro record --unclean --config" in error
    assert base.with_suffix(".json").read_bytes() == before
    assert main(["record", "--unclean", "--config", *WORDS]) == 0
    (mark,) = read_json(base.with_suffix(".json"))["provenance"]["unclean"]
    assert words in mark and words in base.with_suffix(".md").read_text()
    shutil.rmtree(built.paths.figure(NAME))
    assert f"Recorded as it is: {mark}." in explain(built, TEST)
    records.rejudge(built)
    assert words in base.with_suffix(".md").read_text()


def test_runs_of_one_clean_version_are_recorded_without_a_mark(built, base):
    with_runs(built, {}, {"host_cpu": "another"})
    records.record(built)
    assert "unclean" not in read_json(base.with_suffix(".json"))["provenance"]
    assert "Recorded as it is" not in base.with_suffix(".md").read_text()


def test_a_mixture_is_told_where_a_figure_is_built(built, capsys, monkeypatch):
    made = read_json(folder_of(built, NAME) / "provenance.json")
    entry = made["made"][0]
    mixed = [entry, entry | {"code_sha256": "b" * 64}]
    monkeypatch.setattr(run_table, "provenances", lambda contents: mixed)
    picture.make(built, NAME)
    assert f"{NAME}: runs of several versions of their code: " in capsys.readouterr().out
    draw(built, NAME)
    assert "bbbbbbbbbbbb (" in summary(built, {NAME: True}, 1.0)
    assert "bbbbbbbbbbbb (" in outcome(built).reason and outcome(built).tier == "identical"
    assert "bbbbbbbbbbbb (" in explain(built, TEST)


def test_how_runs_stand_in_the_history_is_told_when_they_are_asked_about(built):
    with_runs(built, {"trees": {}})
    outside = "commits not in this history: 2 of 2 runs; dirty: 0"
    told = "unknown" if history.commits() is None else outside
    assert f"  in git: {told}\n" in explain(built, TEST)


def test_a_log_has_what_somebody_elsewhere_can_send_in(built, base, capsys):
    rewrite(base, tests={"status": "not reproduced"}, factor=1.0)
    assert main(["verify", "--log", "log.json", "--config", *WORDS]) == 1
    found = read_json("log.json")
    assert f"    {'format'}: 1. suite: " in verify.log.__doc__
    for key in found:
        assert re.search(rf"\b{key}\b", verify.log.__doc__), f"{key} is not described"
    assert found["total"] == {**dict.fromkeys(verify.TIERS, 0), "differs": 1, "no record": 0}
    (figure,) = found["figures"]
    assert figure["figure"] == NAME and figure["tier"] == "differs"
    assert "was not reproduced" in figure["reason"]
    assert found["machine"].keys() == {"cpu", "cores", "system"} and found["versions"]["torch"]
    assert (found["scale"], found["data"]) == ("smoke", "embedded")
    assert capsys.readouterr().out.startswith(f"{NAME}: differs")


@pytest.mark.slow
def test_snakemake_s_verify_fails_where_a_figure_differs(clone):
    """Found in review: it ended with 0, its status lost in a pipe."""
    shutil.copytree(ROOT / "records", clone / "records")
    done = snakemake("verify", "--config", *WORDS, root=clone)
    assert done.returncode == 0 and f"{NAME}: identical (" in done.stdout, done.stdout
    record = clone / "records/smoke/embedded/cpu" / f"{NAME}.json"
    edit(record, '"status": "reproduced"', '"status": "not reproduced"')
    done = snakemake("verify", "--config", *WORDS, root=clone)
    assert done.returncode == 1
    assert f"{NAME}: differs (" in done.stdout and "SHA256SUMS says" in done.stdout
    shutil.rmtree(clone / "records/smoke")
    done = snakemake("verify", "--config", *WORDS, root=clone)
    assert done.returncode == 1 and "nothing on record for this source" in done.stdout
