"""Files of others pass one gate: what a file is read as is written down, by kind, beside it."""

import ast

import golden
import pytest
from refusals import refused

from repro.core.discovery import stages as stages_of
from repro.core.discovery import study, study_names
from repro.files import write_json
from repro.lineage.checkout import ROOT
from repro.products import published
from repro.tasks import TASKS

# What reads JSON of its own making: of this process, of a package, of git's history.
OWN = {
    "repro/tasks/counted.py",
    "repro/tasks/transformer_kernels.py",
    "repro/workflow/worker.py",
    "repro/data/tokenization.py",
    "repro/verdicts/badge.py",
}
UNTYPED = {"json.load", "json.loads", "pd.read_csv", "read_json", "parse_json", "files.read_json"}


def calls(folder: str):
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield name, ast.unparse(node.func), node


@pytest.mark.parametrize("folder", ["repro", "data", "figures", "studies"])
def test_nothing_reads_json_or_a_table_but_the_gate(folder):
    for name, called, node in calls(folder):
        place = f"{name}, line {node.lineno}: {called}"
        if name not in {
            "repro/files.py",
            "repro/data/tables.py",
            "repro/products/retrain_cell.py",
            *OWN,
        }:
            assert called not in UNTYPED, place
        if name != "repro/files.py" and called == "read_sealed":
            assert "kind" in {word.arg for word in node.keywords}, place


def test_every_process_that_is_started_leaves_the_work_folder_s_code_alone():
    """Found in review: the report ran a docutils.py of the work folder."""
    for name, path in ((p.name, p) for p in (ROOT / "repro").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.List | ast.Tuple):
                words = [ast.unparse(word) for word in node.elts]
                starts = "sys.executable" in words and "'-m'" in words
                assert not starts or "'-P'" in words, f"{name}, line {node.lineno}"


@pytest.mark.parametrize("task", golden.SPECS)
def test_a_task_s_records_are_as_it_declares_them(task):
    """Found in review: a loss of true, of -5, one left out, all twice were taken as measured."""
    declared, spec = TASKS[task].records, golden.SPECS[task]
    honest = golden.saved(task)["records"]
    assert declared.misfit(honest, spec) == ""
    first, *rest = honest
    assert declared.misfit([*honest, *honest], spec), "all twice"
    for key in first:
        for what in (True, [], {"a": []}, "=1+1", None):
            changed = [first | {key: what}, *rest]
            words = what == "=1+1" and isinstance(first[key], str)
            words = words or (what is None and None in (*_forms(declared, key),))
            words = words or (what == [] and isinstance(first[key], list))
            assert bool(declared.misfit(changed, spec)) != words, (key, what)
        short = [{k: v for k, v in each.items() if k != key} for each in honest]
        assert declared.misfit(short, spec) or key in declared.some, key
    if "train_loss" in first:
        assert declared.misfit([first | {"train_loss": -5.0}, *rest], spec)
        assert not declared.misfit([first | {"train_loss": "inf"}, *rest], spec)
    assert declared.misfit([first | {"lr.embedding": 1.0}, *rest], spec)


def _forms(declared, key):
    form = {**declared.columns, **declared.evaluated, **declared.some}[key]
    return form if isinstance(form, tuple) else (form,)


def test_no_axis_of_a_study_is_in_its_records():
    for name in study_names():
        for stage in stages_of(name):
            found = study(stage)
            points = (p for values in found.grid.values() for p in values if isinstance(p, dict))
            axes = {axis for point in points for axis in point}
            assert not axes & TASKS[found.task].records.names, stage


@pytest.mark.parametrize("named", ["../AGENTS", "/README", "embedding_lr/table2", ""])
def test_a_figure_is_published_under_the_name_of_its_folder(tmp_path, monkeypatch, named):
    """Found in review: a manifest of somebody else's wrote AGENTS.md of the checkout."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "embedding_lr" / "table3" / "key"
    for name in published.files(f"a/{named.split('/')[-1]}"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(published.BEGINS.get(name[-4:], b"a\n1\n"))
    said = published.manifest_of(folder, f"a/{named.split('/')[-1]}", "key")
    write_json(folder / "manifest.json", said | {"figure": named})
    with refused("is of another figure than embedding_lr/table3; delete it"):
        published.publish(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data.csv", "a table without rows"),
        ("table3.png", "no picture"),
        ("table3.pdf", "no picture"),
        ("table3.md", "is a link"),
    ],
)
def test_what_is_no_picture_or_table_is_not_published(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "embedding_lr" / "table3" / "key"
    for each in published.files("embedding_lr/table3"):
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_bytes(published.BEGINS.get(each[-4:], b"a\n1\n"))
    (folder / name).unlink()
    if said == "is a link":
        (folder / name).symlink_to(__file__)
    else:
        (folder / name).write_bytes(b"")
    write_json(
        folder / "manifest.json", published.manifest_of(folder, "embedding_lr/table3", "key")
    )
    with refused(said):
        published.publish(folder)
    assert not (tmp_path / "figures").exists()
