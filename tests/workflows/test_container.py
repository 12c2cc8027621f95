"""The container's recipe, as far as it can be tried without Apptainer."""

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from workflow import SMOKE, build, snakemake

from repro.lineage.checkout import ROOT


def section(name: str) -> str:
    """A section of the container's recipe, without its indent."""
    recipe = (ROOT / "container" / "suite.def").read_text()
    return textwrap.dedent(re.search(rf"^%{name}\n((?:(?: +.*)?\n)+)", recipe, re.M).group(1))


def test_the_container_is_built_of_files_that_are_there():
    recipe = (ROOT / "container" / "suite.def").read_text()
    sources = [line.split()[0] for line in section("files").splitlines() if line]
    assert sources == ["pyproject.toml", "uv.lock"]
    assert all((ROOT / source).is_file() for source in sources)
    assert "container/suite.def" in recipe and "uv sync --frozen" in recipe
    python = re.search(r"From: python:(3\.\d+)\.\d+-", recipe).group(1)
    assert tuple(map(int, python.split("."))) in [(3, 11), (3, 12), (3, 13)]


@pytest.mark.parametrize("name", ["post", "environment", "test", "runscript"])
def test_the_container_s_steps_are_shell(name):
    done = subprocess.run(["sh", "-n"], input=section(name), capture_output=True, text=True)
    assert not done.stderr


def test_the_container_installs_the_lock_as_it_is(tmp_path):
    """Its own call of uv, without network and without installing, into another folder."""
    (command,) = [line for line in section("post").splitlines() if line.startswith("uv sync")]
    words = [*command.replace("/usr/local/bin/python3", sys.executable).split(), "--dry-run"]
    for source in ("pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / source, tmp_path)
    words.remove("--no-cache")
    environment = os.environ | {"UV_PROJECT_ENVIRONMENT": str(tmp_path / "venv")}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        [*words, "--offline"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    for package in ("torch", "torchvision", "triton", "datasets", "snakemake"):
        assert re.search(rf"^ \+ {package}==", done.stderr, re.M), done.stderr


@pytest.mark.slow
def test_the_container_s_own_test_holds_here():
    """Its packages, a C compiler with Python's headers for Triton, and the suite's command."""
    test = section("test").replace("/opt/suite/.venv/bin/python", sys.executable)
    done = subprocess.run(["sh", "-e"], input=test, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    packages = section("post").replace("\\\n", "")
    assert re.search(r"apt-get install .*\bgcc\b.*\blibc6-dev\b", packages)


def test_the_container_pins_its_tools():
    """Found in review: another day gave another uv and another compiler."""
    post = section("post").replace("\\\n", "")
    assert re.search(r"pip install \S+ uv==[\d.]+\n", post)
    assert re.search(r"^day=20\d{6}T\d{6}Z$", post, re.M)
    sources = re.findall(r"\"deb \[\S+\] (\S+)", post)
    assert len(sources) == 2 and all(source.endswith("$day") for source in sources)


def test_a_container_that_would_not_be_used_is_said(tmp_path, monkeypatch):
    """Found in review: a figure was built by the Python of the PATH, without a word."""
    (tmp_path / "site.yaml").write_text("container: /nonexistent/suite.sif\n")
    monkeypatch.setenv("REPRO_SITE", str(tmp_path / "site.yaml"))
    words = ("figures/embedding_lr/table2.pdf", "-np", *SMOKE)
    said = build(*words, directory=tmp_path / "work")
    line = "warning: container /nonexistent/suite.sif of the site file is not used: add --sdm"
    assert line in said
    asked = snakemake(*words, "--sdm", "apptainer", directory=tmp_path / "work")
    assert "Python version" in asked.stdout and "not used" not in asked.stdout
