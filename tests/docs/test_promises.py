"""docs/promises.md: every promise names a test, and the tests are there."""

import importlib
import re
from importlib.metadata import distribution
from pathlib import Path

import pytest

from repro.core import discovery
from repro.lineage.checkout import ROOT
from repro.report import datasets, marks

PAGE = ROOT / "docs" / "promises.md"
TEXT = PAGE.read_text()
TESTS = re.findall(r"\[`(test_\w+)`\]\(([^)]+)\)", TEXT)


def section(title):
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def source(package, path):
    """A file of an installed package; importing some takes seconds."""
    return Path(str(distribution(package).locate_file(path))).read_text()


def test_every_test_named_is_there():
    assert len(TESTS) > 30
    missing = {
        f"{name} in {path}"
        for name, path in TESTS
        if f"\ndef {name}(" not in (PAGE.parent / path).read_text()
    }
    assert not missing


def test_every_promise_names_a_test():
    for title in ("What survives what", "What is detected"):
        promises = re.split(r"\n- ", section(title))[1:]
        assert len(promises) > 8
        assert not [promise for promise in promises if "[`test_" not in promise]


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert all((PAGE.parent / link).is_file() for link in links)
    for page in ("README.md", "CONTRIBUTING.md"):
        assert "](docs/promises.md)" in (ROOT / page).read_text()


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("config/README.md", datasets.names),
        ("docs/promises.md", datasets.downloads),
        ("docs/own-data.md", datasets.folders),
        ("docs/cost.md", datasets.sizes),
    ],
)
def test_pages_list_every_dataset_as_its_file_says(page, lines):
    """After a new dataset: python -m repro new pages"""
    made = marks.filled(ROOT / page, "datasets", lines)
    assert (ROOT / page).read_text() == made, f"python -m repro {marks.COMMAND}"
    assert all(f"`{name}`" in "".join(lines()) for name in discovery.dataset_names())


def test_the_table_of_downloads_has_what_the_packages_publish():
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", section("Downloads"), re.MULTILINE))
    assert sorted(rows) == discovery.dataset_names()
    covtype = source("scikit-learn", "sklearn/datasets/_covtype.py")
    assert re.search(r"SHA-256 `(\w+)`", rows["covtype"])[1] in covtype
    cifar100 = source("torchvision", "torchvision/datasets/cifar.py").split("class CIFAR100(")[1]
    md5 = re.search(r"MD5 `(\w+)`", rows["cifar100"])[1]
    assert f'tgz_md5 = "{md5}"' in cifar100
    for name, row in rows.items():
        module = importlib.import_module(f"data.{name}")
        pinned = getattr(module, "CORPUS", module)
        revision = getattr(pinned, "revision", getattr(pinned, "REVISION", None))
        assert (f"`{revision}`" if revision else "") in row
        locked = hasattr(pinned, "lock") or hasattr(pinned, "LOCK")
        assert ("trusted on first use" in row) == locked
