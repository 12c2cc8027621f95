import os
import subprocess
import sys

from repro.core import discovery
from repro.lineage import arithmetic
from repro.lineage.checkout import ROOT


def test_parsing_loads_every_study_and_figure_without_torch():
    code = """
import sys
from repro.core import catalog, config, discovery
from repro.core.suite import Suite
suite = Suite(config.parse({}, discovery.dataset_names()))
names = catalog.figure_names()
assert len(names) > 5
for name in names:
    for cells in suite.figure_cells(name).values():
        assert cells
heavy = {"torch", "pandas", "matplotlib", "seaborn", "tokenizers", "datasets"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_folder_of_any_dataset_is_looked_at_before_a_process_takes_its_arithmetic(tmp_path):
    """NumPy must not be loaded by then: every job on images from a folder refused to start."""
    folders = {name: tmp_path / name for name in discovery.dataset_names()}
    for name, folder in folders.items():
        for part in ("train/a", "train/b", "val/a", "val/b") if name == "imagenet" else ("",):
            (folder / part).mkdir(parents=True, exist_ok=True)
            (folder / part / "1.png").touch()
    known = {
        "wikitext2": ["train.txt"],
        "fineweb": ["train.jsonl", "valid.jsonl"],
        "fineweb_edu": ["train.parquet", "valid.parquet"],
        "fineweb_100b": ["train.jsonl", "valid.jsonl"],
        "fineweb_head": ["train.txt", "valid.txt"],
        "ccnews": ["train.txt", "valid.txt"],
        "covtype": ["covtype.data"],
        "covtype_long": ["covtype.data"],
        "cifar100": ["train.npz", "test.npz"],
    }
    every = sorted({file for files in known.values() for file in files})
    for name in folders:
        for file in known.get(name, [] if name == "imagenet" else every):
            (folders[name] / file).write_text("some text")
    words = [f"{name}={folder}" for name, folder in folders.items()]
    call = [sys.executable, "-m", "repro", "show", "--config", *words]
    # As a shell has it: this process has the variables of its arithmetic set already.
    taken = arithmetic.SETTINGS["avx2"]
    env = {name: value for name, value in os.environ.items() if name not in taken}
    # A work folder without results, in which so many folders' label would be too long a name.
    (work := tmp_path / "work").mkdir()
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(call, cwd=work, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
