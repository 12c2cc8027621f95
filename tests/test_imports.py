import subprocess
import sys

from repro.suite.registry import ROOT


def test_parsing_loads_every_study_and_figure_without_torch():
    code = """
import sys
from repro.suite import config, registry
from repro.suite.suite import Suite
suite = Suite(config.parse({}, registry.dataset_names()))
names = registry.figure_names()
assert len(names) > 5
for name in names:
    for cells in suite.figure_cells(name).values():
        assert cells
heavy = {"torch", "pandas", "matplotlib", "seaborn", "tokenizers", "datasets"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
