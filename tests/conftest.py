"""Fixtures shared by the tests: a small text folder and a suite over it."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")

import pytest

from repro.suite import arithmetic, config, registry
from repro.suite.suite import Suite

arithmetic.apply(arithmetic.DEFAULT)  # before a test imports torch


@pytest.fixture(scope="session")
def small_text() -> str:
    """20,000 words of the embedded language."""
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
    return Suite(config.parse(values, registry.dataset_names()))


def pytest_collection_modifyitems(items):
    """`-m quick` is every test that is not marked to take long."""
    for item in items:
        if not any(item.iter_markers("slow")) and not any(item.iter_markers("workflow")):
            item.add_marker("quick")
