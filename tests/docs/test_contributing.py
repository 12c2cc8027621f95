"""CONTRIBUTING.md, followed word for word in a copy of the checkout."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repro.lineage.checkout import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
WALK = PAGE.split("## A figure\n")[1].split("\n## ")[0]
FILES = re.findall(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)```", PAGE, re.S | re.M)
ROWS = re.findall(r"^In `(\S+)` below the line of `(\S+)`:\n\n```\n(.*?)\n```", PAGE, re.S | re.M)
KEPT = (
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "README.md", "Snakefile"),
    *("action.yml", "pyproject.toml", "benchmarks", "config", "data", "docs", "examples"),
    *(".snakemake-workflow-catalog.yml", "AGENTS.md", ".ci"),
    *(".github", "figures", "profiles", "records", "repro", "studies", "tests", "widthwise"),
    "workflows",
)


def test_every_path_named_is_there():
    named = re.findall(r"`((?:repro|widthwise|data|tests|studies|figures)/[\w/.]+)`", PAGE)
    added = re.findall(r"`([\w/]+)(?:\.py|\.pdf)`", WALK)
    added += [file.removesuffix(".py") for file, _ in FILES]
    missing = [path for path in named if not (ROOT / path).exists()]
    assert len(named) > 10
    assert {Path(path).with_suffix("").as_posix() for path in missing} <= set(added)


@pytest.fixture
def checkout(tmp_path):
    """What lies here as a commit on top of this history, which says what was registered before."""
    target = tmp_path / "checkout"
    git = ["git", "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(target)]
    subprocess.run(git, check=True)
    ignore = shutil.ignore_patterns("*.pdf", "__pycache__", ".snakemake")
    for name in KEPT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, target)
    commit(target)  # for `record`, which asks for one
    return target


def commit(folder):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder)]
    for words in ("add .", "commit -qm all"):
        subprocess.run([*git, *words.split()], check=True)


def call(command, checkout):
    """A command of the page, by this interpreter's programs in place of uv's."""
    program, *words = shlex.split(command.removeprefix("uv run ").removeprefix("python -m "))
    env = os.environ | {"PYTEST_ADDOPTS": "-n 0", "PYTHONPATH": str(checkout)}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    words = [sys.executable, "-m", program, *words]
    return subprocess.run(
        words, cwd=checkout, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.slow
def test_a_figure_is_added_as_the_page_says(checkout):
    commands = [
        line for line in re.findall(r"^uv run .*$", WALK, re.M) if "rate_transfer" not in line
    ]
    assert len(commands) == 6
    *build, test = commands
    for number, command in enumerate(build):
        done = call(command, checkout)
        if number == 0:  # the code of its runs must be committed
            commit(checkout)
        assert done.returncode == 0, done.stdout
        assert "embedding: -0.5" in done.stdout or "snakemake figures" not in command
    assert (checkout / "figures/embedding_lr/lvp.pdf").exists()
    assert len(list(checkout.glob("records/*/embedded/*/embedding_lr/lvp.json"))) == 2

    listed = checkout / "docs" / "first-figure.md"
    assert "fig5, lvp, mechanism" in listed.read_text()
    done = call(test, checkout)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_figure_with_own_settings_is_built_as_the_page_says(checkout):
    page = (ROOT / "docs" / "own-settings.md").read_text()
    files = re.findall(r"`([\w/]+\.py)`(?:(?!```).)*?```python\n(.*?)```", page, re.S)
    assert len(files) == 2
    for name, text in files:
        (checkout / name).write_text(text)
    done = call("uv run python -m repro show", checkout)
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout
    first, *_ = re.findall(r"^uv run snakemake .*$", page, re.M)
    done = call(first, checkout)
    assert done.returncode == 0 and "figures/embedding_lr/fig3_ratio_2.pdf" in done.stdout
    page = (checkout / "figures/embedding_lr/fig3_ratio_2.md").read_text()
    assert "fig3_ratio_2.sqrt-d-rule" in page


# What looks at all papers, figures, datasets, models, parametrizations and pages.
HELD = (
    *("tests/docs", "tests/test_layers.py", "tests/test_imports.py", "tests/core/test_ids.py"),
    *(
        "tests/core/test_papers.py",
        "tests/verdicts/test_statements.py",
        "tests/verdicts/test_printed.py",
    ),
    *(
        "tests/verdicts/test_preregistration.py",
        "tests/products/test_known.py",
        "tests/authoring/test_untold.py",
    ),
    *("tests/parametrization/test_multipliers.py", "tests/studies/test_workstation.py"),
)


@pytest.mark.slow
def test_a_paper_figures_a_dataset_a_model_and_a_parametrization_are_added_as_said(checkout):
    """By the sections alone; nothing that lists them is left to be edited."""
    of_walk = {"studies/embedding_lr/lvp_widths.py", "figures/embedding_lr/lvp.py"}
    written = {file: text for file, text in FILES if file not in of_walk}
    assert {Path(file).parts[0] for file in written} == {"data", "repro", "widthwise"}
    for file, text in written.items():
        (checkout / file).write_text(text)
    for page, below, row in ROWS:
        add_below(checkout / page, below, row)
    section = PAGE.split("## A paper and its figures\n")[1].split("\n## ")[0]
    commands = re.findall(r"^uv run .*$", section, re.M)
    assert len(commands) == 4
    for command in commands:
        done = call(command, checkout)
        assert done.returncode == 0, done.stdout
    (check,) = re.findall(r"`(uv run widthwise check .*)`", PAGE)
    done = call(check, checkout)
    assert "wrong: 2 (stream change) grows" in done.stdout, done.stdout
    done = call(f"uv run pytest -n 2 -q -m 'not slow and not workflow' {' '.join(HELD)}", checkout)
    assert done.returncode == 0, done.stdout


def add_below(page, below, row):
    """A row below the first line that begins a cell or a line with a name."""
    lines = page.read_text().splitlines()
    name = f"`{below}`" if page.suffix == ".md" else f"{below} "
    place = next(i for i, line in enumerate(lines) if name in line)
    lines.insert(place + 1, row)
    page.write_text("\n".join(lines) + "\n")
