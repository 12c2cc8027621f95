"""Entries of the board that are sent in: run, written, read, held against themselves, made anew."""

import json
import math

import pandas as pd
import pytest

from figures.transfer import _board, scores
from repro.__main__ import main
from repro.errors import UserError
from repro.files import read_sealed, sha256, write_sealed
from repro.judge import entries, leaders
from repro.judge.records import recorded_at
from repro.suite import checkout, config, registry
from repro.suite.entry import CHEAP, Entered, EntryFile, Point, drawn, read
from repro.suite.suite import Suite

pytestmark = pytest.mark.long

MINE = '''"""muP whose readout's rate is SP's."""

from dataclasses import replace

from widthwise.parametrization import ONE, table

NAME = "muP, loud readout"


def rules(family):
    own = table("muP", family)
    return own | {"output": replace(own["output"], lr=ONE, weight_decay=ONE)}
'''
SMOKE = ["--config", "scale=smoke"]


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """A folder in which a stranger's file was submitted at the smallest scale, on one workload."""
    folder = tmp_path_factory.mktemp("stranger")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "mine.py").write_text(MINE)
        made = ["submit", "mine.py", "--workloads", "mlp", "--folder", "out", *SMOKE]
        assert main(made) == 0
    return folder


def test_a_stranger_s_file_becomes_one_json_and_a_pack_and_verify_trains_a_cell_anew(
    sent, monkeypatch, capsys
):
    monkeypatch.chdir(sent)
    file = "out/mup-loud-readout.json"
    assert sorted(p.name for p in (sent / "out").iterdir()) == [
        "mup-loud-readout.json",
        "mup-loud-readout.tar.gz",
    ]
    content = read_sealed(sent / file)
    assert content["file"]["text"] == MINE and content["version"] == _board.VERSION
    assert len(content["losses"]) == 8 + 4, "two rates, two seeds: two ratios narrow, one wide"
    assert content["scores"]["mlp"]["lost"] == [None] * 3
    assert "hardly learned" in content["scores"]["mlp"]["problem"]
    for seed in "01":
        assert main(["verify", "--entry", file, "--seed", seed, *SMOKE]) == 0
    said = capsys.readouterr().out
    assert said.count("trained anew, end where it says") == 2


def test_a_loss_that_was_bettered_is_found_by_the_cell_that_has_it(sent, monkeypatch, capsys):
    monkeypatch.chdir(sent)
    content = read_sealed(sent / "out/mup-loud-readout.json")
    points = [point for point, _ in entries.points_of(content)]
    row = points.index(drawn(points, 3)[0])
    column = content["columns"].index("train_loss")
    content["losses"][row][column] -= 1e-4
    row_again = entries.row_of(content, "")
    content["scores"] = {c: entries.in_numbers(each) for c, each in row_again.scores.items()}
    write_sealed(sent / "bettered.json", content)
    assert main(["verify", "--entry", "bettered.json", "--seed", "3", *SMOKE]) == 1
    assert "ends at " in capsys.readouterr().err


def test_a_run_that_was_left_out_is_missed(sent, monkeypatch, capsys):
    monkeypatch.chdir(sent)
    content = read_sealed(sent / "out/mup-loud-readout.json")
    rate = content["columns"].index("lr")
    worst = max(row[rate] for row in content["losses"])
    content["losses"] = [row for row in content["losses"] if row[rate] != worst]
    row_again = entries.row_of(content, "")
    content["scores"] = {c: entries.in_numbers(each) for c, each in row_again.scores.items()}
    write_sealed(sent / "short.json", content)
    assert main(["verify", "--entry", "short.json", *SMOKE]) == 1
    assert "lacks a run of transfer/mlp/" in capsys.readouterr().err


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A folder of entries with one: muP's rows on record, under another name."""
    (base,) = recorded_at("reduced", "embedded", "transfer/scores")
    data = pd.read_csv(base.with_suffix(".csv"))
    own = data["workload"].isin(["decoder", "mlp", "gru", "vit"])
    table = data[own & data["parametrization"].isin([entries.PROXY, "muP"])].replace(
        {"parametrization": {"muP": "mine"}}
    )
    content = {
        "format": entries.FORMAT,
        "version": _board.VERSION,
        "name": "mine",
        "optimizer": "AdamW",
        "scale": "reduced",
        "data": "embedded",
        "workloads": ["decoder", "mlp", "gru", "vit"],
        "file": {"name": "mine.py", "sha256": sha256(MINE.encode()), "text": MINE},
        "columns": [*table.columns],
        "losses": [[*map(entries._plain, row)] for row in table.itertuples(index=False)],
        "scores": {},
        "made": [],
    }
    row = entries.row_of(content, "")
    content["scores"] = {column: entries.in_numbers(each) for column, each in row.scores.items()}
    write_sealed(tmp_path / "mine.json", content)
    monkeypatch.setattr(entries, "FOLDER", tmp_path)
    return tmp_path / "mine.json", content, data


def test_a_row_that_was_sent_in_stands_on_the_board_and_moves_no_other(recorded):
    file, _, data = recorded
    suite = Suite(config.parse({"scale": "reduced"}, registry.dataset_names()))
    before = {row.name: row for row in scores.matrix(data, "reduced").rows}
    after = {row.name: row for row in leaders.board(suite).rows}
    assert after.keys() - before.keys() == {"mine, AdamW"}
    assert {name: after[name].scores for name in before} == {
        name: row.scores for name, row in before.items()
    }
    mine = after["mine, AdamW"]
    assert mine.source == file.name
    for column, each in mine.scores.items():
        same = before["muP, AdamW"].scores[column]
        assert each.lost.value == pytest.approx(same.lost.value, nan_ok=True)
        assert each.regret.reach == pytest.approx(same.regret.reach)
    assert any("mine, AdamW" in line for line in leaders.lines(suite))


def test_a_file_that_was_changed_or_is_none_is_refused_by_name(recorded):
    file, content, _ = recorded
    assert entries.read(file)["name"] == "mine"
    file.write_text(file.read_text().replace('"mine"', '"yours"', 1))
    with pytest.raises(UserError, match="mine.json"):
        entries.read(file)
    for change, said in (
        ({"format": 2}, "no entry of this suite's format 1"),
        ({"losses": []}, "no table of 8 columns"),
        ({"losses": [[1]]}, "no table of 8 columns"),
        ({"file": {"text": "other", "sha256": "0" * 64}}, "not that of its digest"),
        ({"name": "a\x1b[2J"}, "was not written by this suite, name is"),
        ({"workloads": None}, "workloads is None"),
    ):
        write_sealed(file, content | change)
        with pytest.raises(UserError, match=said):
            entries.read(file)


def test_scores_that_are_not_those_of_the_losses_are_refused(recorded):
    file, content, _ = recorded
    better = json.loads(json.dumps(content["scores"]))
    better["decoder"]["lost"][0] -= 1.0
    write_sealed(file, content | {"scores": better})
    suite = Suite(config.parse({"scale": "reduced"}, registry.dataset_names()))
    with pytest.raises(UserError, match="its scores are not those of its losses"):
        entries.verify(suite, file, 0)


def test_a_name_that_is_on_the_board_is_refused(recorded, tmp_path):
    taken = EntryFile("x.py", "mine", "muP"), EntryFile("x.py", "SP", "SP")
    for found in taken:
        with pytest.raises(UserError, match="is on the board; give another"):
            entries.refuse_taken(found, scores.NAMES, tmp_path / "elsewhere")
    entries.refuse_taken(taken[0], scores.NAMES, tmp_path)  # its own file may be made anew


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PARAMETRIZATION = 'muP'", "NAME must be a line"),
        ("NAME = 'a'", "define rules"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muq'", "unknown parametrization 'muq'"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muP'\nOPTIMIZER = 3", "OPTIMIZER must be a mapping"),
        ("NAME = 'a'\nPARAMETRIZATION = 'muP'\nOCTAVES = 99", "OCTAVES must be a number"),
        ("NAME = 'a'\nrules = lambda family: {}\nPARAMETRIZATION = 'muP'", "define rules"),
        ("NAME = 'a'\nPARAMETRIZATION = 'as-made'", "leaves initial values as made"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_file_that_is_no_entry_is_refused_in_a_line(tmp_path, text, said):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(UserError, match=said):
        read(str(file))


def test_a_cell_that_is_drawn_has_all_rates_of_one_model_and_seed():
    points = [
        Point("mlp", narrow, width, ratio, rate, seed)
        for narrow, width, ratio in ((True, 64, 1.0), (True, 64, 4.0), (False, 128, 4.0))
        for rate in (0.1, 0.2)
        for seed in (1, 2)
    ]
    cells = [drawn(points, seed) for seed in range(60)]
    assert all({p.rate for p in cell} == {0.1, 0.2} and len(cell) == 2 for cell in cells)
    assert len({cell[0] for cell in cells}) == 6, "every cell is drawn by some seed"
    assert drawn(points, 7) == drawn(points[::-1], 7)[::-1]


def test_infinite_losses_keep_their_place_in_json():
    assert [entries._plain(x) for x in (math.inf, -math.inf, math.nan, 2.0, 0.5, "a")] == [
        *("inf", "-inf", None, 2, 0.5, "a")
    ]
    content = {"columns": ["lr", "train_loss"], "losses": [[1, "inf"], [2, 0.5]]}
    assert [*entries.table_of(content)["train_loss"]] == [math.inf, 0.5]


EXAMPLES = sorted((checkout.ROOT / "examples" / "entries").glob("*.py"))


def planned(path, workload="decoder", scale="smoke"):
    """Width of a run's model -> the ids of an entry's runs."""
    suite = Suite(config.parse({"scale": scale}, registry.dataset_names()))
    entered = Entered(suite, read(str(path)), [workload])
    found = {}
    for run in (r for cells in entered.entered_cells().values() for c in cells for r in c.runs):
        found.setdefault(run.spec["model"]["width"], set()).add(run.id)
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("scale", ["smoke", "reduced"])
def test_an_example_is_an_entry_that_can_be_planned_on_every_cheap_workload(path, scale):
    for workload in CHEAP:
        found = planned(path, workload, scale)
        assert len(found) == (2 if scale == "smoke" or workload == "vit" else 3)


def test_what_the_examples_differ_in_is_what_they_say():
    ids = {path.stem: planned(path) for path in EXAMPLES}
    plain, independent = ids["plain_decay"], ids["independent_decay"]
    assert plain[32] == independent[32], "on the narrow model they are one"
    assert not plain[64] & independent[64]
    original, matched = ids["muon_original"], ids["muon_match_rms"]
    assert not original[32] & matched[32], "two adjustments are two trainings at every width"


def test_an_entry_s_grids_are_moved_and_nobody_else_s():
    suite = Suite(config.parse({"scale": "smoke"}, registry.dataset_names()))
    entered = Entered(suite, EntryFile("x.py", "x", "muP", {}, 1.0), ["decoder"])
    rates = [
        {run.spec["lr"] for cell in which.cells("transfer/decoder/proxy") for run in cell.runs}
        for which in (suite, entered)
    ]
    assert {2 * rate for rate in rates[0]} == rates[1]


def test_a_price_is_said_before_anything_is_trained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["submit", str(EXAMPLES[0]), "--price"]) == 0
    said = capsys.readouterr().out
    minutes = float(said.partition(" core-minutes")[0].rpartition(" ")[2])
    assert 1 < minutes < 15, said
    assert not (tmp_path / "results").exists()
