"""What an expression reaches of the checkout: enough, and no more."""

import sys
from pathlib import Path

import pytest
from figure_files import make

from repro.core.cells import read_cell
from repro.core.suite import load
from repro.lineage import code, definitions, uses
from repro.lineage.checkout import FOLDERS, ROOT
from repro.lineage.definitions import reached
from repro.products.run_table import code_of_table, tabulate

FIRST = """
import json
from repro import second as other
from repro.second import SIZES, Base, wrapped

USED = SIZES + (1,)
UNUSED = 3
TABLE = {}
TABLE |= {"a": USED}


class Thing(Base):
    pass


@wrapped
def reduce(runs):
    \"\"\"Reduce.\"\"\"
    return helper(runs), TABLE, Thing


def helper(runs):
    from repro.third import late

    return late(runs) + other.called(json)


def draw(data):
    return UNUSED
"""
SECOND = """
SIZES = (1, 2)


def wrapped(function):
    return function


class Base:
    pass


def called(runs):
    return DEEP


DEEP = 4


def not_called():
    return 5


print("always")
"""
THIRD = "def late(runs):\n    return runs\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A checkout of three modules; a function that changes one of them."""
    (tmp_path / "repro").mkdir()
    for module in (uses, code):
        monkeypatch.setattr(module, "ROOT", tmp_path)

    def write(name, text):
        (tmp_path / "repro" / f"{name}.py").write_text(text)
        forget()

    for name, text in (("first", FIRST), ("second", SECOND), ("third", THIRD)):
        write(name, text)
    yield write
    forget()


def forget():
    """What this process keeps; what lies in the checkout stays."""
    for kept in (uses.source, code.file_of, definitions._definition):
        kept.cache_clear()


def found():
    return reached([("repro/first.py", "reduce")])


def test_what_a_function_reaches_is_followed_through_names_modules_and_classes(files):
    assert {key.replace("repro/", "").replace(".py", "") for key in found()} == {
        *("first:reduce", "first:helper", "first:TABLE", "first:USED", "first:Thing"),
        *("second:SIZES", "second:wrapped", "second:Base", "second:called", "second:DEEP"),
        "third:late",
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "reached"),
    [
        ("first", "return helper(runs)", "return helper(runs + 1)", True),
        ("first", "@wrapped", "@wrapped  # twice", True),
        ("first", 'TABLE |= {"a": USED}', 'TABLE |= {"b": USED}', True),
        ("second", "DEEP = 4", "DEEP = 5", True),
        ("second", "class Base:\n    pass", "class Base:\n    x = 1", True),
        ("second", 'print("always")', 'print("not always")', True),
        ("third", "return runs", "return 2 * runs", True),
        ("first", "return UNUSED", "return 2 * UNUSED", False),
        ("first", "UNUSED = 3", "UNUSED = 4", False),
        ("second", "return 5", "return 6", False),
    ],
)
def test_a_change_is_another_digest_where_it_is_reached_and_nowhere_else(
    files, name, old, new, reached
):
    before, text = found(), {"first": FIRST, "second": SECOND, "third": THIRD}[name]
    assert old in text
    files(name, text.replace(old, new))
    assert (found() != before) == reached


def test_what_is_kept_on_disk_is_what_is_read_and_no_other_content_takes_it(files, tmp_path):
    before = found()
    kept = tmp_path / uses.KEPT / "repro" / "first.py.json"
    assert kept.exists()
    forget()
    assert found() == before
    files("first", FIRST.replace("return helper(runs)", "return helper(other)"))
    assert found().keys() > before.keys(), "another module is used as a whole"
    kept.write_text("[]")
    files("first", FIRST)
    assert found() == before


def test_a_checkout_that_cannot_be_written_to_is_read_all_the_same(files, tmp_path):
    (tmp_path / uses.KEPT).write_text("a file where the folder would be")
    assert found()


def test_a_module_that_is_handed_on_is_reached_as_a_whole(files):
    files("first", FIRST.replace("other.called(json)", "str(other)"))
    assert "repro/second.py:not_called" in found()
    left_out = reached([("repro/first.py", "reduce")], left_out=("repro/second",))
    assert not [key for key in left_out if key.startswith("repro/second")]


NAMES = ("embedding_lr/table2", "effective_theory/table_bart", "upscaling/table4")


@pytest.mark.parametrize("name", NAMES)
def test_every_function_that_makes_a_table_is_reached(name, tmp_path, monkeypatch):
    """By what Python executes."""
    from repro.__main__ import main

    monkeypatch.chdir(tmp_path)
    suite = load(["scale=smoke", f"figures={name}"])
    assert main(["run", name, "--config", "scale=smoke"]) == 0
    make(suite, name)
    runs = {
        stage: [read_cell(suite.paths.cell(cell), cell) for cell in cells]
        for stage, cells in suite.figure_cells(name).items()
    }
    entered = set()

    def note(frame, event, argument):
        if event == "call":
            entered.add((frame.f_code.co_filename, frame.f_lineno))

    sys.setprofile(note)
    try:
        tabulate(name, runs)
    finally:
        sys.setprofile(None)
    lines = covered(code_of_table(name))
    folders = tuple(f"{ROOT}/{folder}/" for folder in FOLDERS)
    ours = {(Path(f).relative_to(ROOT).as_posix(), n) for f, n in entered if f.startswith(folders)}
    beside = (
        "repro/products/run_table.py",
        "repro/verdicts/judging.py",
        "repro/verdicts/figure.py",
    )
    checks = (*beside, "repro/core/catalog.py", "repro/lineage/checkout.py")
    missing = {place for place in ours if place not in lines and place[0] not in checks}
    assert not missing and any(file.startswith("figures/") for file, _ in ours)


def covered(found):
    """File and number of every line of some definitions."""
    lines = set()
    for key in found:
        file, name = key.split(":")
        whole = [(1, len((ROOT / file).read_text().splitlines()))]
        spans = whole if name == definitions.WHOLE else uses.source(file).lines[name]
        lines |= {(file, number) for first, last in spans for number in range(first, last + 1)}
    return lines
