"""What a user imports from `repro`."""

import re
import subprocess
import sys
from pkgutil import walk_packages

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


def test_the_page_of_the_library_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "library.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 3
    torch.manual_seed(0)
    exec("\n".join(blocks), {"__name__": "page"})
    assert all(f"repro.{name}" in page for name in repro.PUBLIC if name.islower())
