"""What a user imports from `repro`."""

import re
import subprocess
import sys
from pkgutil import walk_packages

import pytest
import torch

import repro
from repro.suite.registry import ROOT


def test_no_public_name_is_taken_by_a_submodule():
    """Importing a submodule sets it as an attribute of its package, over whatever had its name."""
    modules = {
        name.removeprefix("repro.") for _, name, _ in walk_packages(repro.__path__, "repro.")
    }
    assert len(modules) > 100 and not set(repro.PUBLIC) & modules
    for name in repro.PUBLIC:
        assert callable(getattr(repro, name)), name
    assert set(repro.PUBLIC) <= set(dir(repro))


def test_names_are_loaded_when_they_are_asked_for():
    code = "import sys, repro; assert 'torch' not in sys.modules; from repro import no_such_name"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "cannot import name 'no_such_name'" in done.stderr


@pytest.mark.parametrize(("name", "count"), [("library", 3), ("transfer", 1), ("widening", 1)])
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
    shown = {name for name in repro.PUBLIC if f"repro.{name}" in pages or f"`{name}`" in pages}
    returned = {"CoordinateCheck", "Growths", "Roles", "Transfer"}  # by functions shown
    assert shown | returned == set(repro.PUBLIC)
