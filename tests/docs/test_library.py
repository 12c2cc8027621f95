"""What a user imports from `widthwise`."""

import re
import subprocess
import sys
from pkgutil import walk_packages

import pytest
import torch

import widthwise
from repro.suite.registry import ROOT


def test_no_public_name_is_taken_by_a_submodule():
    """Importing a submodule sets it as an attribute of its package, over whatever had its name."""
    modules = {
        name.removeprefix("widthwise.")
        for _, name, _ in walk_packages(widthwise.__path__, "widthwise.")
    }
    assert len(modules) > 30 and not set(widthwise.PUBLIC) & modules
    for name in widthwise.PUBLIC:
        assert callable(getattr(widthwise, name)), name
    assert set(widthwise.PUBLIC) <= set(dir(widthwise))


def test_names_are_loaded_when_they_are_asked_for():
    code = "import sys, widthwise; assert 'torch' not in sys.modules; "
    code += "from widthwise import no_such_name"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "cannot import name 'no_such_name'" in done.stderr


@pytest.mark.parametrize(
    ("code", "now"),
    [
        ("import repro; repro.widen", "widthwise.widen"),
        ("from repro import param_groups", "widthwise.plan(model, roles, recipe).groups("),
        ("from repro.upscaling import widen", "widthwise.upscaling"),
        ("import repro.library.roles", "widthwise"),
        ("from repro.parametrization import Rule", "widthwise.parametrization"),
        ("import repro.parametrizations.mup", "widthwise.parametrization.tables"),
    ],
)
def test_a_name_of_version_0_1_ends_in_a_line_with_the_new_one(code, now):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and now in last, done.stderr


@pytest.mark.parametrize(("name", "count"), [("library", 5), ("transfer", 1), ("widening", 1)])
def test_the_pages_of_the_library_run(name, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{name}.md").read_text(), re.S)
    assert len(blocks) == count
    torch.manual_seed(0)
    exec("\n".join(blocks), {"__name__": "page"})


def test_every_public_name_is_on_a_page():
    pages = "".join(
        (ROOT / "docs" / f"{name}.md").read_text() for name in ("library", "transfer", "widening")
    )
    named = r"(ww|widthwise)\.{0}\b|`{0}`"
    shown = {name for name in widthwise.PUBLIC if re.search(named.format(name), pages)}
    returned = {"CoordinateCheck", "Growths", "Plan", "Recipe", "Roles", "Transfer"}
    assert shown | returned == set(widthwise.PUBLIC)
