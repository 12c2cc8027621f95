"""Entries of the board: a file, its runs, the JSON of their losses, read, and trained anew."""

import copy
import json

import pandas as pd
import pytest

from figures.transfer import _board, scores
from repro.__main__ import main
from repro.core import config, discovery, entry
from repro.core.entry import FIGURE, WORKLOADS, parse
from repro.core.suite import Suite
from repro.errors import UserError
from repro.files import read_sealed, write_sealed
from repro.lineage import checkout
from repro.transfer_bench import entries, leaders

MINE = '''"""muP whose readout's rate is SP's."""

from dataclasses import replace

from widthwise.parametrization import ONE, table

NAME = "muP, loud readout"


def rules(family):
    own = table("muP", family)
    return own | {"output": replace(own["output"], lr=ONE, weight_decay=ONE)}
'''
MADE = {"device": "cpu", "host_cpu": "a CPU", "versions": {}, "seconds": 1.0, "commit": None}


def suite_with(path, scale="smoke"):
    return Suite(config.parse({"scale": scale, "entry": str(path)}, discovery.dataset_names()))


@pytest.fixture
def honest(tmp_path, monkeypatch):
    """(path, content) of an entry whose losses are made up and all else is as `record` has it."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    suite = suite_with(file)
    runs = entries.planned(suite, lambda run, point: point and 3.0, file)
    rows = [
        [
            *(each.run.id, each.point.workload),
            entries.PROXY if each.point.narrow else "muP, loud readout",
            *(each.point.width, each.point.ratio, each.point.rate, each.point.seed, 3.0, 5.5),
        ]
        for each in runs
    ]
    own = suite.config.entry
    content = {
        "format": entries.FORMAT,
        "version": _board.VERSION,
        "scale": "smoke",
        "data": "embedded",
        "file": {"name": "mine.py", "sha256": own.digest, "text": MINE},
        "columns": [*entries.COLUMNS],
        "losses": rows,
        "made": [MADE],
    }
    return file.with_suffix(".json"), content


def nodes(value, place=()):
    """The places of a JSON value; of the table's rows the first and the last."""
    yield place
    listed = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else listed:
        if place != ("losses",) or key in (0, len(value) - 1):
            yield from nodes(inner, (*place, key))


def mutants(content):
    """(place, what, a copy) for every place and every way to break it."""
    ways = {"null": None, "number": -7.5, "whole": 10**30, "text": "a\x1b[2J|b", "list": [[1]]}
    for place in [*nodes(content)][1:]:
        for way in [*ways, "duplicate", "deletion"]:
            changed = copy.deepcopy(content)
            above = changed
            for key in place[:-1]:
                above = above[key]
            if way == "deletion":
                del above[place[-1]]
            elif way == "duplicate":
                if not isinstance(above, list):
                    continue
                above.insert(place[-1], copy.deepcopy(above[place[-1]]))
            else:
                above[place[-1]] = ways[way]
            yield place, way, changed


def refusal(path, content):
    """Why an entry is refused, "" where it is not."""
    try:
        entries.of_content(path, content)
    except UserError as error:
        return str(error)
    return ""


def test_a_file_that_is_broken_at_any_place_is_refused_in_a_line_that_names_it(honest):
    path, content = honest
    assert entries.of_content(path, content).file.name == "muP, loud readout"
    tried = 0
    for place, way, changed in mutants(content):
        tried += 1
        said = refusal(path, changed)
        # Where and how long it was made is nothing that a row is computed from.
        assert said or (place[0] == "made" and len(place) > 2), (place, way)
        assert not said or (str(path) in said and "\n" not in said), (place, way, said)
    assert tried > 300


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["losses"].pop(), "lacks a planned run"),
        (lambda c: c["losses"][-1].__setitem__(6, 9001), "lacks a planned run"),
        (lambda c: c["losses"].append(["0" * 64, *c["losses"][-1][1:6], 9001, 1.0, 5.5]), "not pl"),
        (lambda c: c["losses"].append([*c["losses"][0][:7], 1.0, 5.5]), "an earlier row has"),
        (lambda c: c["losses"].append(["0" * 64, *c["losses"][0][1:]]), "an earlier row has"),
        (lambda c: c["losses"][-1].__setitem__(7, -1.0), "one below 0"),
        (lambda c: c["losses"][-1].__setitem__(7, float("nan")), "no number"),
        (lambda c: c["losses"][-1].__setitem__(2, "muP"), "no run, workload or parametrization"),
        (lambda c: c["columns"].reverse(), "its columns are not"),
        (lambda c: c.__setitem__("scores", {}), "no entry of this suite's format"),
        (lambda c: c["file"].__setitem__("text", MINE + "#"), "not that of its digest"),
        (lambda c: c["losses"].pop(0), "lacks a planned run"),
    ],
)
def test_what_a_forger_would_change_is_refused(honest, change, said):
    path, content = honest
    change(content)
    with pytest.raises(UserError, match=said):
        entries.of_content(path, content)


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
        (f"NAME = {'a' * 41!r}\nPARAMETRIZATION = 'muP'", "NAME must be"),
        ("NAME = ''\nPARAMETRIZATION = 'muP'", "NAME must be"),
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
    with pytest.raises(UserError, match=said) as error:
        parse(text, "mine.py")
    assert str(error.value).startswith("mine.py") and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[1]", "1" * 5000, "[" * 200_000, '{"a": NaN}'])
def test_what_is_no_entry_s_json_is_to_be_made_again(tmp_path, text):
    path = tmp_path / "e.json"
    path.write_text(text)
    for reading in (entries.read, suite_with):
        with pytest.raises(UserError) as error:
            reading(path)
        assert "\n" not in str(error.value) and str(error.value).startswith(str(path))
        assert str(error.value).endswith(f"; {entries.REMEDY}")


def test_reading_carries_nothing_out(honest):
    path, content = honest
    text = MINE + '\nraise SystemExit("carried out")\n'
    own = parse(text, str(path))
    content["file"] |= {"text": text, "sha256": own.digest}
    assert entries.of_content(path, content).file.name == own.name


def test_runs_are_known_by_the_file_s_digest_and_no_others_are(honest, tmp_path):
    suite = suite_with(tmp_path / "mine.py")
    digest = suite.config.entry.digest
    plain = Suite(config.parse({"scale": "smoke"}, discovery.dataset_names()))
    own, others = (
        {r.id: r.spec for cells in s.figure_cells(FIGURE).values() for c in cells for r in c.runs}
        for s in (suite, plain)
    )
    assert {spec["entry"] for spec in own.values()} == {digest}
    assert not any("entry" in spec for spec in others.values()) and not own.keys() & others.keys()
    assert {stage.split("/")[1] for stage in suite.figure_cells(FIGURE)} == {*WORKLOADS}
    # A job is given the copy, whatever becomes of the file.
    (tmp_path / "mine.py").write_text("NAME = 3")
    again = [word.partition("=") for word in suite.config.arguments()]
    values = {key: value for key, _, value in again}
    assert config.parse(values, discovery.dataset_names()).entry.digest == digest


def test_another_figure_shows_no_entry(honest, tmp_path):
    suite = suite_with(tmp_path / "mine.py")
    with pytest.raises(UserError, match="shows no entry"):
        suite.figure_cells("transfer/leaderboard")
    with pytest.raises(UserError, match="config key entry"):
        config.parse({"entry": "mine.py", "figures": "fig2"}, discovery.dataset_names())
    with pytest.raises(UserError, match="nothing.py' is no file"):
        config.parse({"entry": "nothing.py"}, discovery.dataset_names())


def test_an_entry_s_own_runs_are_a_figure(honest):
    """What Snakemake draws of them. Found in review: `measure failed: KeyError: 'muP, AdamW'`."""
    path, content = honest
    table = entries.table_of(entries.of_content(path, content))
    shown = scores.table(table, "smoke")
    assert len(shown.rows) == len(scores.asides(table, "smoke").rows) == len(WORKLOADS)
    assert {(row[1], row[2]) for row in shown.rows} == {("AdamW", "muP, loud readout")}
    assert [*scores.measure(table, "smoke")] == ["scores.median-lost"]
    own = parse(MINE, str(path))
    read = table.replace({"parametrization": {own.name: own.copy.as_posix()}})
    assert entry.named(own, read.drop(columns="optimizer")).equals(table)


def renamed(content, name):
    """An entry's JSON of which every place says another name."""
    text = content["file"]["text"].replace('NAME = "', f'NAME = "{name}"  # "', 1)
    file = {"name": "x.py", "sha256": parse(text, "x.py").digest, "text": text}
    rows = [
        [*row[:2], entries.PROXY if row[2] == entries.PROXY else name, *row[3:]]
        for row in content["losses"]
    ]
    return content | {"file": file, "losses": rows}


def test_names_are_unlike_any_other_row_s(honest, tmp_path):
    path, content = honest
    write_sealed(path, content)
    assert [*entries.sent_in("smoke", "embedded", _board.VERSION, scores.NAMES, [path])]
    for name, said in (("MUP", "the suite's own"), ("s-p", "the suite's own")):
        write_sealed(path, renamed(content, name))
        with pytest.raises(UserError, match=said):
            entries.sent_in("smoke", "embedded", _board.VERSION, scores.NAMES, [path])


def test_entries_on_file_and_one_s_own_are_read_and_move_no_other_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = sorted(entries.FOLDER.glob("*.json"))
    mine = tmp_path / "mine.json"
    write_sealed(mine, renamed(read_sealed(files[0]), "mine"))
    suite = suite_with(mine, "reduced")
    data = pd.read_csv(leaders._on_record(suite))
    before = {row.name: row.scores for row in scores.matrix(data, "reduced").rows}
    after = {row.name: row for row in leaders.board(suite).rows}
    sources = {row.name: row.source for row in after.values() if row.source}
    assert sorted(sources.values()) == sorted(p.name for p in [mine, *files])
    assert {name: after[name].scores for name in before} == before


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
    (tmp_path / "mine.py").write_text(MINE)
    words = ["--config", "scale=smoke", "entry=mine.py"]
    assert main(["run", FIGURE, *words]) == 0
    assert main(["board", *words]) == 1
    assert "mine.json: is missing; make it by repro record" in capsys.readouterr().err
    assert main(["make", FIGURE, *words]) == 0
    assert main(["record", *words]) == 0
    capsys.readouterr()
    assert main(["verify", *words]) == 0
    said = capsys.readouterr().out
    assert said.index(MINE) < said.index("drawn by the system's randomness") < said.index("anew")
    content = read_sealed(tmp_path / "mine.json")
    for row in content["losses"]:
        row[7] -= 1e-3
    write_sealed(tmp_path / "mine.json", content)
    assert main(["verify", *words]) == 1
    assert "mine.json" in (error := capsys.readouterr().err) and "ends at" in error
    assert json.dumps(content)
