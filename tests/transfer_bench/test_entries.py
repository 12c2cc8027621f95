"""Entries of the board: a file, its runs, their record, read, and a cell of it trained anew."""

import math
import shutil

import pandas as pd
import pytest
import torch
from refusals import refused
from suites import suite_of

from figures.transfer import leaderboard
from repro.__main__ import main
from repro.core import config, discovery, entry
from repro.core.entry import FIGURE, WORKLOADS, parse
from repro.files import read_json, sha256_file, write_json
from repro.lineage import checkout
from repro.products import records, retrain_cell, verify
from repro.products.run_table import cell_ids
from repro.training import settings
from repro.training.optimizer import make_optimizer
from repro.transfer_bench import leaders
from studies.transfer import _workload
from widthwise.optimizers import _muon_adamw

MINE = '''"""muP whose readout's rate is SP's."""

from dataclasses import replace

from widthwise.parametrization import ONE, table

NAME = "muP, loud readout"


def rules(family):
    own = table("muP", family)
    return own | {"output": replace(own["output"], lr=ONE, weight_decay=ONE)}
'''
ON_FILE = sorted(records.RECORDS.glob(f"*/*+entry=*/*/{FIGURE}.json"))


def suite_with(path, scale="smoke"):
    return suite_of(scale=scale, entry=str(path))


def seal(base):
    records._note_digests(base.parents[1], [base.with_suffix(s) for s in records.KEPT])


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """Puts a changed copy of the first entry on record in the place of records/."""
    monkeypatch.setattr(leaders, "RECORDS", tmp_path / "records")

    def put(change=lambda saved, data: None, stem="muon_match_rms"):
        path = tmp_path / f"records/reduced/embedded+entry={stem}/cpu/{FIGURE}.json"
        shutil.copytree(ON_FILE[0].parents[1], path.parents[1])
        saved, data = read_json(path), pd.read_csv(path.with_suffix(".csv"))
        table = change(saved, data)
        (data if table is None else table).to_csv(path.with_suffix(".csv"), index=False)
        digest = sha256_file(path.with_suffix(".csv"))
        saved["data_sha256"] = saved["provenance"]["data_sha256"] = digest
        saved["provenance"]["label"] = path.parts[-4]
        write_json(path, saved)
        seal(path.with_suffix(""))
        return path

    return put


def renamed(name):
    def change(saved, data):
        lines = saved["provenance"]["entry"]["lines"]
        place = next(n for n, line in enumerate(lines) if line.startswith("NAME"))
        lines[place] = f"NAME = {name!r}"
        data.loc[data["parametrization"] != entry.PROXY, "parametrization"] = name

    return change


def to(column, value):
    return lambda saved, data: data.assign(**{column: value})


def test_an_entry_on_record_is_a_row(changed):
    path = changed()
    (row,) = leaders.entered("reduced", "embedded", leaderboard.NAMES)
    assert row.name == "muP (match_rms), Muon" and {*row.scores} == {*WORKLOADS}
    assert path.as_posix().endswith(row.source) and row.source.startswith("records/")
    assert not leaders.entered("smoke", "embedded", leaderboard.NAMES)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s, d: s["provenance"].pop("entry"), "holds no entry of the board"),
        (lambda s, d: s["provenance"].update(entry={"file": "a.py"}), "holds no entry"),
        (lambda s, d: s["provenance"]["entry"].update(file="../a.py"), "holds no entry"),
        (lambda s, d: s["provenance"]["entry"].update(lines=["NAME = 3"]), "NAME must be"),
        (to("workload", "bart"), "no run of this entry"),
        (to("optimizer", "AdamW"), "no run of this entry"),
        (to("train_loss", -1.0), "no run of this entry"),
        (to("train_loss", math.nan), "no run of this entry"),
        (to("lr", "high"), "no run of this entry"),
        (lambda s, d: d.drop(columns="chance"), "no run of this entry"),
        (lambda s, d: pd.concat([d, d[:1]]), "no run of this entry"),
    ],
)
def test_a_record_that_is_no_entry_s_is_refused_in_a_line_that_names_it(changed, change, said):
    def once(saved, data):
        found = change(saved, data)
        return found if isinstance(found, pd.DataFrame) else None

    path = changed(once)
    with refused(said) as error:
        leaders.row_of(path, "reduced")
    assert str(path) in str(error.value)


def test_a_record_changed_after_it_was_sealed_is_refused(changed):
    path = changed()
    path.with_suffix(".csv").write_text("workload\n")
    with refused("is not what SHA256SUMS says"):
        leaders.row_of(path, "reduced")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PARAMETRIZATION = 'muP'", "NAME must be"),
        ("NAME = 'a'", "define rules"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muq'", "unknown parametrization 'muq'"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muP'\nOPTIMIZER = 3", "OPTIMIZER must be a mapping"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muP'\nOCTAVES = 99", "OCTAVES must be a number"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muP'\nOCTAVES = 1 / 1", "OCTAVES must be a literal"),
        ("NAME = 'a'\nrules = print\nPARAMETRIZATION = 'muP'", "define rules"),
        ("NAME = 'a'\nNAME = 'b'\nPARAMETRIZATION = 'muP'", "given twice"),
        *(
            (f"NAME = 'a'\nPARAMETRIZATION = 'muP'\nOPTIMIZER = {given}", f"OPTIMIZER {said}")
            for given, said in (
                ("{'weight_decy': 5.0}", "has 'weight_decy', which adamw .*'weight_decay'"),
                ("{'lr': 0.5}", "has 'lr', which adamw does not use: rates are the grid's"),
                ("{'name': 'lion'}", "has no optimizer 'lion': choose from adam, adamw, muon, sgd"),
                ("{'name': 'muon', 'amsgrad': True}", "has 'amsgrad', which muon does not use"),
                ("{'name': 'sgd'}", "lacks 'momentum', which sgd needs"),
                ("{'name': 'sgd', 'momentum': 0, 'nesterov': True}", "has nesterov without a mom"),
                ("{'betas': [0.9, 1]}", "has betas .*: give two numbers"),
                *(
                    (f"{{'weight_decay': {odd}}}", "has weight_decay .*: give a finite number")
                    for odd in ("1e999", "{1}", "b'x'", "1j", "[0.1]", "True", "-1", "9" * 400)
                ),
            )
        ),
        *(
            (f"NAME = 'a'\nPARAMETRIZATION = 'SP'\n{line}", "given twice, or not as")
            for line in (
                *("PARAMETRIZATION, _ = 'muP', 0", "PARAMETRIZATION += ''", "import os as NAME"),
                *("for PARAMETRIZATION in 'ab': pass", "from os import *", "(NAME := 'b')"),
                *("OPTIMIZER = OCTAVES = {}", "def f():\n  global NAME", "class NAME: pass"),
            )
        ),
        (f"NAME = {'a' * 41!r}\nPARAMETRIZATION = 'muP'", "NAME must be"),
        ("NAME = 'a|b'\nPARAMETRIZATION = 'muP'", "NAME must be"),
        ("NAME = '<b>a'\nPARAMETRIZATION = 'muP'", "NAME must be"),
        ("NAME = 'a\\n| 1 | b'\nPARAMETRIZATION = 'muP'", "NAME must be"),
        ("# coding: unicode_escape\nNAME = 'a'", "says another coding"),
        ("#!/x\n# vim: set fileencoding=utf-7 :\nNAME = 'a'", "says another coding"),
        ("NAME = 'a'  # \u202e", "line 1: has '.u202e'"),
        ("NAME = 'a'\n\x0cimport os", "line 2: has '.x0c'"),
        ("NAME = (", "is no Python"),
        ("(" * 5000, "is no Python"),
        ("NAME = 'a'\0", "cannot be seen"),
    ],
)
def test_a_text_that_is_no_entry_is_refused_in_a_line(text, said):
    with refused(said) as error:
        parse(text, "mine.py")
    assert str(error.value).startswith("mine.py")


@pytest.mark.parametrize("text", ["", "[1]", "1" * 5000, "[" * 200_000, '{"a": NaN}'])
def test_what_is_no_entry_s_json_is_to_be_made_again(tmp_path, text):
    path = tmp_path / "e.json"
    path.write_text(text)
    with refused() as error:
        suite_with(path)
    assert str(error.value).startswith(str(path))
    assert str(error.value).endswith(f"; {entry.REMEDY}")


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return suite_with(tmp_path / "mine.py")


def test_reading_carries_nothing_out(changed):
    def change(saved, data):
        saved["provenance"]["entry"]["lines"] += ["raise SystemExit('carried out')"]

    assert leaders.row_of(changed(change), "reduced").parametrization == "muP (match_rms)"


def test_runs_are_known_by_the_file_s_digest_and_no_others_are(mine, tmp_path):
    digest = mine.config.entry.digest
    plain = suite_of(scale="smoke")
    own, others = (
        {r.id: r.spec for cells in s.figure_cells(FIGURE).values() for c in cells for r in c.runs}
        for s in (mine, plain)
    )
    assert {spec["entry"] for spec in own.values()} == {digest}
    assert not any("entry" in spec for spec in others.values()) and not own.keys() & others.keys()
    assert {stage.split("/")[1] for stage in mine.figure_cells(FIGURE)} == {*WORKLOADS}
    assert (plain.label, mine.label) == ("embedded", "embedded+entry=mine")
    # A job is given the copy, whatever becomes of the file.
    (tmp_path / "mine.py").write_text("NAME = 3")
    again = [word.partition("=") for word in mine.config.arguments()]
    values = {key: value for key, _, value in again}
    found = config.parse(values, discovery.dataset_names()).entry
    assert (found.digest, found.stem) == (digest, "mine")


def test_another_figure_shows_no_entry(mine):
    with refused("shows no entry"):
        mine.figure_cells("transfer/shift")
    with refused("config key entry"):
        config.parse({"entry": "mine.py", "figures": "fig2"}, discovery.dataset_names())
    with refused("nothing.py' is no file"):
        config.parse({"entry": "nothing.py"}, discovery.dataset_names())


def test_there_is_one_list_of_optimizers_and_of_what_they_use():
    assert entry.OWN == _workload.ADAMW and {*entry.WORDS} == {*settings.OPTIMIZERS}
    assert {*settings.ADJUSTMENTS} == {*_muon_adamw.ADJUSTMENTS}
    net = torch.nn.Linear(2, 2)
    for name, its in settings.OPTIMIZERS.items():
        given = {"momentum": 0.9, "nesterov": True, "adjust_lr_fn": "original"} | entry.OWN
        given = {key: value for key, value in given.items() if key in its} | {"name": name}
        assert settings.misfit(given) == ""
        group = {"params": [*net.parameters()], "lr": 0.1, "weight_decay": 0.0}
        assert make_optimizer([group | {"eps": 1e-8} if "eps" in its else group], given)


def test_a_file_s_name_can_be_a_folder_s(tmp_path):
    (tmp_path / "my entry.py").write_text(MINE)
    with refused("a folder is named by it"):
        suite_with(tmp_path / "my entry.py")


def test_names_are_unlike_any_other_row_s(changed):
    changed(renamed("mine"))
    assert [*leaders.entered("reduced", "embedded", leaderboard.NAMES)]
    for number, (name, said) in enumerate(
        [("MUP", "the suite's own"), ("m-i-n-e", "is .*=muon_match_rms/")]
    ):
        path = changed(renamed(name), f"z{number}")
        with refused(said):
            leaders.entered("reduced", "embedded", leaderboard.NAMES)
        shutil.rmtree(path.parents[2])


def test_entries_on_record_move_no_other_row(changed):
    suite = suite_of(scale="reduced")
    alone = {row.name: row.scores for row in leaders.board(suite).rows}
    path = changed()
    after = {row.name: row for row in leaders.board(suite).rows}
    (added,) = after.keys() - alone.keys()
    assert after[added].source == path.relative_to(path.parents[5]).as_posix()
    assert {name: after[name].scores for name in alone} == alone


@pytest.mark.parametrize("path", ON_FILE, ids=lambda path: path.parts[-4])
def test_an_entry_on_record_is_of_the_runs_that_its_file_plans(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = suite_with(path, path.parts[-5])
    assert suite.label == path.parts[-4]
    made_of = read_json(path)["provenance"]
    assert made_of["cells"] == cell_ids(suite, FIGURE) and not read_json(path)["tests"]
    planned = {
        (study.split("/")[1], run.spec["model"]["width"], run.spec["seed"])
        for study, cells in suite.figure_cells(FIGURE).items()
        for cell in cells
        for run in cell.runs
    }
    data = pd.read_csv(path.with_suffix(".csv"))
    assert {*zip(data["workload"], data["model.width"], data["seed"], strict=True)} == planned


EXAMPLES = sorted((checkout.ROOT / "examples" / "entries").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_can_be_planned(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    widths = {
        run.spec["model"]["width"]
        for cells in suite_with(path).figure_cells(FIGURE).values()
        for cell in cells
        for run in cell.runs
    }
    assert widths == {32, 64, 128}


@pytest.mark.slow
def test_a_stranger_s_file_is_run_recorded_and_trained_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for module in (records, verify, leaders):
        monkeypatch.setattr(module, "RECORDS", tmp_path / "records")
    (tmp_path / "mine.py").write_text(MINE)
    words = ["--config", "scale=smoke", "entry=mine.py"]
    assert main(["run", FIGURE, *words]) == 0
    assert main(["make", FIGURE, *words]) == 0
    assert main(["record", "--unclean", *words]) == 0
    base = tmp_path / f"records/smoke/embedded+entry=mine/cpu/{FIGURE}"
    assert not (tmp_path / "records/claims.json").exists(), "it claims nothing"
    (row,) = leaders.entered("smoke", "embedded", leaderboard.NAMES)
    assert row.name == "muP, loud readout, AdamW"
    capsys.readouterr()
    asked = ["verify", "--cell", "--config", "scale=smoke", f"entry={base}.json"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert said.index(MINE) < said.index("drawn by chance") < said.index("are what is trained here")
    saved, data = read_json(f"{base}.json"), pd.read_csv(f"{base}.csv")
    for change, found in (
        (data.assign(train_loss=data["train_loss"] * (1 - 1e-3)), "column train_loss"),
        (data[data["seed"] != data["seed"].max()], "lacks"),
    ):
        change.to_csv(f"{base}.csv", index=False)
        digest = {"data_sha256": sha256_file(f"{base}.csv")}
        write_json(f"{base}.json", saved | digest | {"provenance": saved["provenance"] | digest})
        seal(base)
        monkeypatch.setattr(retrain_cell.random, "SystemRandom", Last)
        assert main(asked) == 1
        assert found in (error := capsys.readouterr().err) and "leaderboard.csv" in error


class Last:
    """Draws the last cell: the GRU's wide models."""

    def choice(self, each):
        return each[-1]
