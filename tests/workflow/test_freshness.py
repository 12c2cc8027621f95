"""What is made anew is decided by contents: of settings, of code, of what lies there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_workflow import FIGURE
from workflow import SMOKE, build, snakemake

from repro.files import read_json, sha256, sha256_file
from repro.judge import code
from repro.suite import registry
from repro.suite.registry import ROOT

NOTHING = "Nothing to be done"
LONG_AGO = (1_577_836_800,) * 2  # 2020


def planned(*words, **where):
    """Names of the rules a dry run would carry out."""
    told = build(*words, "--dry-run", **where)
    table = told.split("Job stats:")[-1].split("Reasons:")[0]
    return set() if NOTHING in told else set(table.split())


def contents(folder):
    """Path -> SHA-256 and time of every file; Snakemake's own, under .snakemake/, left out."""
    files = (p for p in folder.rglob("*") if p.is_file())
    return {
        p: (sha256_file(p), p.stat().st_mtime_ns)
        for p in files
        if ".snakemake" not in p.parts and "__pycache__" not in p.parts
    }


@pytest.mark.slow
def test_code_that_a_figure_imports_is_noticed_whatever_its_time(clone):
    """Found in review: `tied_multiplier` changed, and nothing to be done."""
    figure, name = "figures/effective_theory/table_bart.pdf", "effective_theory/table_bart"
    build(figure, *SMOKE, root=clone)
    folder = clone / "results/smoke/embedded" / name
    (listing,) = folder.glob("code-*")
    digest = read_json(folder / "manifest.json")["code"]
    assert digest == read_json(folder / "provenance.json")["code"] == sha256_file(listing)
    assert listing.name == f"code-{digest[:12]}"

    shutil.rmtree(clone / ".snakemake")
    assert not planned(figure, *SMOKE, root=clone)
    source = clone / "widthwise/parametrization/named.py"
    before = source.read_text()
    assert "def matrices(" in before
    source.write_text(before.replace("def matrices(", "def matrices( ", 1))
    os.utime(source, LONG_AGO)
    first = planned(figure, *SMOKE, root=clone)
    assert first >= {"code", "reduce", "draw", "publish"} and not {"train", "fetch"} & first

    build(figure, *SMOKE, root=clone)
    assert [p.name for p in folder.glob("code-*")] != [listing.name]
    assert not planned(figure, *SMOKE, root=clone)
    shutil.rmtree(clone / ".snakemake")
    source.write_text(before)
    os.utime(source, LONG_AGO)
    assert "draw" in planned(figure, *SMOKE, root=clone), "the code before is another one again"


@pytest.mark.slow
def test_what_is_only_asked_about_changes_no_file(clone):
    """A dry run, a list, a lint and a refused call: found in review, they deleted and stamped."""
    build(FIGURE, *SMOKE, root=clone)
    results = clone / "results/smoke/embedded/embedding_lr/table2"
    (results / "data.csv").unlink()
    (clone / FIGURE).write_bytes(b"of another scale")
    study = clone / "studies/embedding_lr/parametrizations.py"
    study.write_text(study.read_text().replace('"vocab_size": 1024', '"vocab_size": 512'))
    before = contents(clone)
    assert "train" in planned(FIGURE, *SMOKE, root=clone)
    assert "train" in planned(FIGURE, "--config", "scale=reduced", root=clone)
    snakemake("--list-rules", root=clone)
    snakemake("--lint", root=clone)
    locks = clone / ".snakemake" / "locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text(f"{FIGURE}\n")
    done = snakemake(FIGURE, *SMOKE, root=clone)
    assert done.returncode and "cannot be locked" in done.stdout
    assert contents(clone) == before


@pytest.mark.slow
def test_products_are_held_against_what_they_say_they_are_made_of(tmp_path):
    """Without Snakemake's memory, and with times that say nothing: lost, overwritten, old."""
    words = (FIGURE, "scoreboard", *SMOKE, "figures=embedding_lr/table2")
    build(*words, directory=tmp_path)
    results = tmp_path / "results/smoke/embedded"
    folder = results / "embedding_lr/table2"
    shutil.rmtree(tmp_path / ".snakemake")

    def plan_with(path, content):
        """The plan with a file changed, or lost, and as old as it was; then it is put back."""
        before, time = path.read_bytes(), path.stat().st_mtime_ns
        path.unlink()
        if content is not None:
            path.write_bytes(content)
            os.utime(path, ns=(time, time))
        found = planned(*words, directory=tmp_path)
        path.write_bytes(before)
        os.utime(path, ns=(time, time))
        return found & {"code", "train", "reduce", "draw", "publish", "scoreboard"}

    drawn = {"draw", "publish", "scoreboard"}
    assert plan_with(folder / "data.csv", None) == {"reduce", *drawn}
    assert plan_with(folder / "provenance.json", b"{}") == {"reduce", *drawn}
    assert plan_with(folder / "figure.png", None) == drawn
    assert plan_with(folder / "manifest.json", b"{}") == drawn
    assert plan_with(folder / "data.csv", b"junk") == {"reduce", *drawn}
    for suffix in (".pdf", ".md", ".csv"):
        assert plan_with((tmp_path / FIGURE).with_suffix(suffix), b"junk") == {"publish"}
    assert plan_with(results / "manifest.json", b"{}") == {"scoreboard"}
    assert plan_with(results / "scoreboard.csv", b"junk") == {"scoreboard"}
    assert not planned(*words, directory=tmp_path)


@pytest.mark.parametrize("name", registry.figure_names())
def test_a_figure_s_code_is_what_it_imports_and_nothing_that_trains(name):
    files = code.files(name)
    assert f"figures/{name}.py" in files
    assert {f"repro/judge/{part}.py" for part in ("judging", "claims", "drawing")} <= set(files)
    trains = ("repro/training/", "repro/models/", "repro/checks/", "widthwise/upscaling/")
    assert not [f for f in files if f.startswith(trains)]
    assert [f for f in files if f.startswith("repro/tasks/")] in ([], ["repro/tasks/__init__.py"])


def test_imports_within_functions_count_and_studies_read_by_name():
    assert "widthwise/parametrization/named.py" in code.files("effective_theory/table_bart")
    files = code.files("effective_theory/fig1")  # reads the sweep's grid from its study
    assert {"studies/effective_theory/vit.py", "studies/effective_theory/_vit.py"} <= set(files)
    assert "repro/judge/drawing.py" in code.files("embedding_lr/table3"), "imported in draw()"


def test_every_module_loaded_while_a_figure_is_judged_is_listed(tmp_path):
    """By what Python itself loaded, beside the checks of the suite's files and what those need."""
    script = """
import sys
import repro.suite.contracts
checked = set(sys.modules)
from pathlib import Path
from repro.files import read_json
from repro.judge import judging
from repro.suite.registry import ROOT
name = "embedding_lr/fig3"
base = ROOT / "records/smoke/embedded/cpu" / name
provenance = read_json(base.with_suffix(".json"))["provenance"]
judging.render(name, base.with_suffix(".csv"), provenance, Path())
modules = [module for name, module in sys.modules.items() if name not in checked]
files = [getattr(module, "__file__", None) or "" for module in modules]
print(*(f for f in files if f.startswith(f"{ROOT}/") and "site-packages" not in f), sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {Path(line).relative_to(ROOT).as_posix() for line in done.stdout.splitlines()}
    assert "repro/judge/judging.py" in loaded
    missing = loaded - set(code.files("embedding_lr/fig3"))
    assert {Path(file).name for file in missing} <= {"__init__.py"}, missing


def test_the_listing_replaces_that_of_other_code(tmp_path):
    (tmp_path / "code-000000000000").write_text("")
    found = code.keep(tmp_path, "embedding_lr/table3")
    (left,) = tmp_path.iterdir()
    assert left.name == f"code-{found[:12]}" and sha256(left.read_bytes()) == found
    left.write_bytes(b"")  # Found in review: one that was cut stayed so for ever.
    assert code.keep(tmp_path, "embedding_lr/table3") == sha256_file(left)
    file = "figures/embedding_lr/table3.py"
    assert f"{sha256_file(ROOT / file)}  {file}" in left.read_text().splitlines()


def test_a_changed_file_of_the_library_moves_all_that_knows_of_code(clone):
    """The digest of a run's code, its commit's `+dirty`, the digest of a figure's code."""
    script = """
from repro.judge import code
from repro.suite.provenance import code_of
run = code_of("width_scalings", {})
dirty = run["commit"].endswith("+dirty")
print(run["code_sha256"], dirty, code.digest("embedding_lr/table2"))
"""

    def told():
        call = [sys.executable, "-P", "-c", script]
        env = os.environ | {"PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(call, cwd=clone, env=env, capture_output=True, text=True, check=True)

    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    run, dirty, figure = told().stdout.split()
    assert dirty == "False"
    with open(clone / "widthwise/parametrization/rules.py", "a") as file:
        file.write("# another line\n")
    changed_run, dirty, changed_figure = told().stdout.split()
    assert dirty == "True" and changed_run != run and changed_figure != figure
