"""Fixtures shared by the tests: a small text folder and a suite over it."""

import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")

import pytest
import workflow

from repro.core import config, discovery
from repro.core.suite import Suite
from repro.lineage import arithmetic, checkout
from repro.workflow import bytecode

arithmetic.apply(arithmetic.DEFAULT)  # before a test imports torch
# Or each of the hundreds of processes here would compile the suite and its libraries anew.
BYTECODE = tempfile.TemporaryDirectory(prefix="repro-tests-")
bytecode.keep(Path(BYTECODE.name))


@pytest.fixture(scope="session", autouse=True)
def studies_of_this_checkout():
    """Studies read their seeds when they are first asked for, and stay: here before a test puts
    another folder in the checkout's place."""
    for name in discovery.study_names():
        discovery.study(name)


@pytest.fixture(scope="module")
def children_hear_ctrl_c():
    """A script that starts the tests in the background has all that they start deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def small_text() -> str:
    """20,000 words of the synthetic language."""
    from repro.data.synthetic_text import zipf_mandelbrot_text

    return zipf_mandelbrot_text(20_000, seed=7)


@pytest.fixture
def text_folder(tmp_path, small_text):
    """A user's folder in the documented layout, without valid.txt and test.txt."""
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "train.txt").write_text(small_text)
    return folder


@pytest.fixture
def suite(tmp_path, text_folder, monkeypatch):
    """The suite at smoke scale on the small folder, in a work folder of its own."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    values = {"scale": "smoke", "wikitext2": str(text_folder)}
    return Suite(config.parse(values, discovery.dataset_names()))


@pytest.fixture
def measured_alone(monkeypatch):
    """Claims are judged by what is measured: of made-up tables the power is another, and there is
    no second arithmetic."""
    from repro.verdicts import power  # import numpy, which takes the arithmetic set above

    monkeypatch.setattr(power, "trials", lambda paper: [])


@pytest.fixture(scope="session")
def lasting_text(tmp_path_factory, small_text):
    """The same folder for all tests, for what is built of it once."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "train.txt").write_text(small_text)
    return folder


@pytest.fixture(scope="session")
def built_once(tmp_path_factory):
    """(target, configuration) -> the work folder where Snakemake built it, the first time."""
    folders = {}

    def built(*words):
        if words not in folders:
            folders[words] = tmp_path_factory.mktemp("built")
            workflow.build(*words, directory=folders[words])
        return folders[words]

    return built


@pytest.fixture
def copied(built_once, tmp_path):
    """(target, configuration) -> a copy of what Snakemake built, to change; `to`: the folder."""

    def copy(*words, to=tmp_path / "work"):
        shutil.copytree(built_once(*words), to, dirs_exist_ok=True)
        return to

    return copy


@pytest.fixture
def clone(tmp_path):
    """A copy of the suite's own files, to change."""
    target = tmp_path / "clone"
    kept = (
        *("Snakefile", "config", "data", "figures", "profiles", "repro", "studies"),
        *("widthwise", "workflows"),
    )
    ignore = shutil.ignore_patterns("*.pdf", "*.png", "__pycache__")
    for name in kept:
        source = checkout.ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        else:
            target.mkdir(exist_ok=True)
            shutil.copy(source, target / name)
    return target


def pytest_configure():
    gc.disable()  # what is imported stays: looking through it again and again frees nothing


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    """Mark what calls Snakemake by its folder; `-m quick` is the rest that is neither slow nor
    long."""
    for item in items:
        if item.path.parent.name == "workflows":
            item.add_marker("workflow")
        if not any(item.get_closest_marker(name) for name in ("slow", "long", "workflow")):
            item.add_marker("quick")
