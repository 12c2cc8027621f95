"""Which code a run depends on, read off imports: held against what Python executes."""

import shutil
import sys
from collections import OrderedDict
from pathlib import Path

import pytest
from golden import SPECS, records
from torch.optim import optimizer as hooks

from repro.core import code_of_run
from repro.files import sha256
from repro.lineage import code, uses
from repro.lineage.checkout import FOLDERS, ROOT
from repro.tasks import TASKS

pytestmark = pytest.mark.long


def files_of(task):
    return set(code_of_run.files_of_run(code_of_run.modules_of_run(task, SPECS[task])))


@pytest.mark.parametrize("task", TASKS)
def test_all_code_that_a_run_executes_is_named(task, tmp_path, monkeypatch):
    # What a model of one's own left in this process, which a run's does not have.
    monkeypatch.setattr(hooks, "_global_optimizer_post_hooks", OrderedDict())
    # What every run loads when it begins: the first test would see their classes made.
    import repro.data.tokenization
    import repro.training.loop  # noqa: F401

    executed = set()

    def note(frame, event, argument):
        if frame.f_code.co_name != "<module>":  # of packages on the way to a module
            executed.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        records(task, tmp_path)
    finally:
        sys.setprofile(None)
    folders = tuple(f"{ROOT}/{folder}/" for folder in FOLDERS)
    relative = {Path(n).relative_to(ROOT).as_posix() for n in executed if n.startswith(folders)}
    assert f"{TASKS[task].module.replace('.', '/')}.py" in relative
    # Preparing data is no part of a run, nor is who calls it and puts off loading torch's compiler,
    # nor what packages list as public.
    prepares = {f"repro/data/{name}.py" for name in ("prepare", "synthetic_text", "recipe")}
    calls = {code_of_run.CALLER, "repro/training/late_compiler.py"}
    lists = {"repro/__init__.py", "widthwise/__init__.py"}
    assert relative - files_of(task) <= prepares | calls | lists


# Rooms above the tasks: what plans, runs, judges and shows them.
ABOVE = tuple(f"repro/{room}/" for room in ("lineage", "core", "workflow", "verdicts", "products"))


def test_a_run_does_not_depend_on_every_file():
    every = [*(ROOT / "repro").rglob("*.py"), *(ROOT / "widthwise").rglob("*.py")]
    for task in TASKS:
        assert not {f for f in files_of(task) if f.startswith(ABOVE)}
        assert len(files_of(task)) < len(every) / 3
    language = files_of("language_model")
    assert "repro/models/vit.py" not in language
    assert "widthwise/parametrization/tables/mup.py" in language, "listed when it runs"
    assert "repro/tasks/span_denoising.py" in files_of("update_sizes"), "named by its settings"
    assert not {f for f in files_of("parameter_table") if f.endswith("loop.py")}, "trains nothing"


def test_the_digest_is_of_the_files_and_the_trees_are_git_s():
    found = code_of_run.code_of("language_model", SPECS["language_model"])
    assert found["modules"] == ["repro.tasks.language_model", "repro.models.decoder"]
    lines = code.listing(sorted(files_of("language_model")))
    assert found["code_sha256"] == sha256(lines.encode())
    assert set(found["trees"]) == {"repro", "widthwise"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import_module(f'{__name__}.{x}')", {"repro/lists/__init__.py", "repro/lists/one.py"}),
        ("importlib.import_module(f'repro.lists.{x}')", {"repro/lists/one.py"}),
        ("import_module(f'repro.models.{x}')", set()),
        (
            "from repro import lists as l\ndef f(): import_module(f'{l.__name__}.{x}')",
            {"repro/lists/__init__.py", "repro/lists/one.py"},
        ),
        ("import_module(x)", set()),
        ("import_module(f'elsewhere.{x}')", set()),
        ("from .one import y", {"repro/lists/one.py"}),
        ("def f():\n import repro.lists.one", {"repro/lists/one.py"}),
    ],
)
def test_imports_by_name_are_those_of_the_folder_that_is_named(
    tmp_path, monkeypatch, source, expected
):
    (tmp_path / "repro" / "lists").mkdir(parents=True)
    (tmp_path / "repro" / "models").mkdir()
    (tmp_path / "repro" / "lists" / "one.py").touch()
    (tmp_path / "repro" / "lists" / "__init__.py").write_text(source)
    in_checkout(monkeypatch, tmp_path)
    found = code.imports("repro/lists/__init__.py")
    forget()
    assert expected <= found and bool(found) == bool(expected)


def test_a_further_folder_with_code_is_followed_once_it_is_named(tmp_path, monkeypatch):
    for folder in ("repro", "further"):
        (tmp_path / folder).mkdir()
    (tmp_path / "repro" / "task.py").write_text("from further.plan import draw")
    (tmp_path / "further" / "plan.py").touch()
    in_checkout(monkeypatch, tmp_path)
    for folders, expected in ((FOLDERS, set()), ((*FOLDERS, "further"), {"further/plan.py"})):
        monkeypatch.setattr(code, "FOLDERS", folders)
        forget()
        assert code.reached(["repro/task.py"]) == {"repro/task.py"} | expected
    forget()


def test_what_is_kept_on_disk_is_of_that_content_alone(tmp_path, monkeypatch):
    file, kept = tmp_path / "repro" / "task.py", tmp_path / uses.KEPT / "repro" / "task.py.json"
    file.parent.mkdir()
    in_checkout(monkeypatch, tmp_path)

    def imported(text):
        file.write_text(text)
        forget()
        return uses.source("repro/task.py").imports

    assert imported("import json") == [("json", "")] and kept.exists()
    monkeypatch.setattr(uses, "read", None)
    assert imported("import json") == [["json", ""]]
    monkeypatch.undo()
    in_checkout(monkeypatch, tmp_path)
    assert imported("import os") == [("os", "")]
    kept.write_text("[]")
    assert imported("import os") == [("os", "")]
    shutil.rmtree(tmp_path / uses.KEPT)
    (tmp_path / uses.KEPT).write_text("a file where the folder would be")
    assert imported("import os") == [("os", "")], "a checkout that cannot be written to"
    forget()


def in_checkout(monkeypatch, folder):
    """Have another folder be the checkout."""
    for module in (code, uses):
        monkeypatch.setattr(module, "ROOT", folder)
    forget()


def forget():
    for kept in (code.imports, code.file_of, uses.source):
        kept.cache_clear()
