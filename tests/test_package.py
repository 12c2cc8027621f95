"""What is installed where: the library alone, and the group that reads records without torch."""

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from figure_files import make
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import widthwise
from repro.core.suite import load
from repro.lineage.checkout import ROOT

pytestmark = pytest.mark.long

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LIBRARY = PROJECT["project"]["dependencies"]

PAGE = (ROOT / "widthwise" / "README.md").read_text()  # of PyPI

# Hides installed modules from an interpreter.
HIDE = """
import sys
from importlib.machinery import PathFinder
class Visible:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in HIDDEN:
            return PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Visible()
"""


def closure(requirements):
    """Names of the packages that an installation of these requirements consists of."""
    found, left = set(), [Requirement(each) for each in requirements]
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate()):
            continue
        try:
            left += [Requirement(each) for each in requires(name) or ()]
        except PackageNotFoundError:
            continue  # of another platform
        found.add(name)
    return found


def run_with(requirements, code, folder, *words):
    """Run code where of all packages installed here only these requirements can be imported."""
    kept = closure(requirements)
    hidden = {
        module
        for module, packages in packages_distributions().items()
        if not kept & {canonicalize_name(package) for package in packages}
    } - {"widthwise"}
    call = [sys.executable, "-P", "-c", f"HIDDEN = {sorted(hidden)!r}" + HIDE + code, *words]
    # By its path the C compiler finds its parts, which an AMD CPU needs.
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """As a release has it, by the same call, without network: of the source archive, so that what
    that lacks it lacks."""
    into = tmp_path_factory.mktemp("dist")
    call = ["uv", "build", "--no-build-isolation", "--offline", "--out-dir", into]
    subprocess.run(call, cwd=ROOT, check=True, capture_output=True)
    name = f"widthwise-{widthwise.__version__}"
    packages = {path.name for path in into.iterdir()} - {".gitignore"}
    assert packages == {f"{name}.tar.gz", f"{name}-py3-none-any.whl"}
    return into / f"{name}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that holds the wheel's files, as site-packages would."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_is_the_library_typed_and_asks_for_three_packages(wheel, installed):
    info = f"widthwise-{widthwise.__version__}.dist-info"
    files = (p for p in (ROOT / "widthwise").rglob("*") if p.is_file())
    sources = {p.relative_to(ROOT).as_posix() for p in files if "__pycache__" not in p.parts}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.startswith(info)}
    assert names == sources and "widthwise/py.typed" in sources
    metadata = (installed / info / "METADATA").read_text()
    asked = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.M)
    assert asked == ["numpy", "safetensors", "torch"]
    assert "License-Expression: MIT" in metadata and "Classifier: Typing :: Typed" in metadata
    # Twine 6 of the action that publishes refuses 2.5.
    assert metadata.startswith("Metadata-Version: 2.4\n")
    page = metadata.partition("\n\n")[2]
    assert page == PAGE and not re.search(r"\]\((?!https://)", page), "PyPI has no other files"
    asked = re.search(r"^Requires-Python: <(3\.\d+),>=(3\.\d+)$", metadata, re.M)
    versions = re.findall(
        r"^Classifier: Programming Language :: Python :: 3\.(\d+)$", metadata, re.M
    )
    below, first = (int(each.split(".")[1]) for each in asked.groups())
    assert [int(each) for each in versions] == [*range(first, below)]
    assert (installed / info / "licenses" / "LICENSE").exists()
    assert (
        "widthwise = widthwise.__main__:main" in (installed / info / "entry_points.txt").read_text()
    )


@pytest.mark.slow
def test_the_library_is_imported_and_widens_with_its_three_packages_alone(installed):
    code = """
import torch
sys.modules["fcntl"] = None  # as where there is none
from pathlib import Path
from pkgutil import walk_packages
import widthwise
from widthwise import widen
assert Path(widthwise.__file__).is_relative_to(Path.cwd())
asking = set()  # for a package that the library does not bring
for _, name, _ in walk_packages(widthwise.__path__, "widthwise."):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        asking.add((name, error.name))
assert asking == {("widthwise.hugging_face", "transformers")}, asking
assert "repro" not in sys.modules

def make(width):
    return torch.nn.Sequential(
        torch.nn.Linear(5, width), torch.nn.ReLU(), torch.nn.Linear(width, 3)
    )

model = make(8)
optimizer = torch.optim.AdamW(model.parameters())
wide, _, _ = widen(model, optimizer, 4, lambda k: make(8 * k), torch.randn(2, 5))
assert wide[0].out_features == 32
"""
    done = run_with(LIBRARY, code, installed)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_pip_installs_it_in_an_environment_of_its_own(wheel, tmp_path):
    """Away from the clone; torch and its like, which are not downloaded here, are this one's."""
    venv.create(tmp_path / "env", with_pip=True)
    pip = [tmp_path / "env/bin/python", "-m", "pip", "install", "--no-index", "--no-deps", wheel]
    subprocess.run(pip, cwd=tmp_path, check=True, capture_output=True)
    (packages,) = (tmp_path / "env/lib").glob("python*/site-packages")
    ours = {Path(p) for p in sys.path if p.endswith("site-packages")}
    (packages / "others.pth").write_text("\n".join(map(str, ours)))
    model = ROOT / "examples" / "mlp.py"
    words = ["check", f"{model.name}:make", "--recipe", "muP", "--seeds", "2"]
    (tmp_path / model.name).write_text(model.read_text())
    done = subprocess.run(
        [tmp_path / "env/bin/widthwise", *words, "--widths", "32", "64"],
        cwd=tmp_path,
        env={"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert "over widths [32, 64]" in done.stdout, done.stderr
    python = tmp_path / "env/bin/python"
    examples = re.findall(r"```python\n(.*?)```", PAGE + (ROOT / "README.md").read_text(), re.S)
    assert len(examples) > 1
    for code in [*examples, "import importlib.util\nassert not importlib.util.find_spec('repro')"]:
        done = subprocess.run([python, "-c", code], cwd=tmp_path, env={}, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
    code = "import widthwise.parametrization as p; print(p.__file__, *p.shipped())"
    told = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env={}, check=True, capture_output=True, text=True
    )
    file, *names = told.stdout.split()
    assert Path(file).is_relative_to(packages) and {"muP", "LVP", "neural-tangent"} <= {*names}


MAIN = "\nfrom repro.__main__ import main\nsys.exit(main(sys.argv[1:]))"


REPORT = PROJECT["dependency-groups"]["report"]


FIGURE = "embedding_lr/table2"
CONFIG = ["--config", "scale=smoke", f"figures={FIGURE}"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A work folder that holds a figure's data and verdicts."""
    from repro.__main__ import main

    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["run", FIGURE, *CONFIG]) == 0
        make(load(CONFIG[1:]), FIGURE)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show"], "figures/upscaling/fig9.pdf"),
        (["show", "cost"], "upscaling/table4"),
        (["show", "table2.exponents", *CONFIG], "Reproduced: "),
        (["show", "statements"], "| statements |"),
        (["redraw", *CONFIG], f"figures/{FIGURE}.pdf"),
        (["report", *CONFIG], "1 test: reproduced; 1 figure of results/smoke/embedded"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_the_report_group_reads_and_draws_without_torch(built, words, said):
    assert not {"torch", "torchvision", "timm", "scikit-learn"} & closure(REPORT)
    code = f"\nsys.path.insert(0, {str(ROOT)!r})" + MAIN
    done = run_with(REPORT, code, built, *words)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_a_command_that_needs_more_than_the_environment_has_names_it(tmp_path):
    code = f"\nsys.path.insert(0, {str(ROOT)!r})" + MAIN
    done = run_with(REPORT, code, tmp_path, "run", FIGURE, *CONFIG[:2])
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: run: needs torch, which this environment has not: uv run")


def test_one_version_in_the_package_the_citation_and_the_changes():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == widthwise.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    newest = headings[1] if headings[0] == "Unreleased" else headings[0]
    assert newest == widthwise.__version__


def test_the_suite_s_tools_are_installed_by_default():
    assert PROJECT["tool"]["uv"]["default-groups"] == ["suite", "dev"]
    suite = PROJECT["dependency-groups"]["suite"]
    assert {"include-group": "report"} in suite
    named = {Requirement(each).name for each in suite if isinstance(each, str)}
    assert {"snakemake", "datasets", "tokenizers", "timm", "torchvision"} <= named
