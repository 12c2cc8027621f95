"""What is made anew is decided by contents: of settings, of code, of what lies there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_workflow import FIGURE
from workflow import SMOKE, build, snakemake

from repro.core import catalog
from repro.files import CELL_SEAL, read_json, read_sealed, sha256_file, write_sealed
from repro.lineage.checkout import ROOT
from repro.products.picture import code_of_figure

NOTHING = "Nothing to be done"
RULES = {"train", "make", "publish"}
LONG_AGO = (1_577_836_800,) * 2  # 2020


def planned(*words, **where):
    """Names of the rules a dry run would carry out."""
    told = build(*words, "--dry-run", **where)
    table = told.split("Job stats:")[-1].split("Reasons:")[0]
    return set() if NOTHING in told else set(table.split())


def keys(folder):
    """The keys of all that was made in a figure's folder."""
    return [path.parent.name for path in sorted(folder.glob("*/manifest.json"))]


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
    (key,) = keys(folder)
    assert read_json(folder / key / "manifest.json")["key"] == key

    shutil.rmtree(clone / ".snakemake")
    assert not planned(figure, *SMOKE, root=clone)
    source = clone / "widthwise/parametrization/named.py"
    before = source.read_text()
    assert "def matrices(" in before
    source.write_text(before.replace("def matrices(", "def matrices( ", 1))
    os.utime(source, LONG_AGO)
    assert planned(figure, *SMOKE, root=clone) & RULES == {"make", "publish"}

    build(figure, *SMOKE, root=clone)
    assert len(keys(folder)) == 2
    assert not planned(figure, *SMOKE, root=clone)
    shutil.rmtree(clone / ".snakemake")
    source.write_text(before)
    os.utime(source, LONG_AGO)
    (clone / figure).write_bytes(b"of the code between")
    assert planned(figure, *SMOKE, root=clone) & RULES == {"publish"}, "what was made is there"


@pytest.mark.slow
def test_what_is_written_while_a_figure_is_made_is_noticed(clone):
    """Found in review: a job refused, for a table of another claim's trials was written. Such a one
    changes no job of that call."""
    power = clone / "studies/embedding_lr/power.csv"
    row = power.read_text().splitlines()[-1]
    # Written by the figure's own `reduce`, when every job of the call is planned.
    file = clone / "figures/embedding_lr/table2.py"
    write = f"    open({str(power)!r}, 'a').write({row!r}.replace('reduced', 'smoke') + chr(10))\n"
    text = file.read_text()
    head = "def reduce(runs: Runs) -> Data:\n"
    file.write_text(text.replace(head, head + write, 1))
    assert file.read_text() != text
    before = power.read_text()
    build(FIGURE, *SMOKE, root=clone)
    assert power.read_text() != before
    assert not planned(FIGURE, *SMOKE, root=clone), "it is of no claim of this figure"

    # Code, once: what was loaded is not what lies there when the figure is finished.
    once = f"    open({str(file)!r}, 'w').write({text!r})\n"
    file.write_text(text.replace(head, head + once, 1))
    done = snakemake(FIGURE, *SMOKE, root=clone)
    assert done.returncode and "was changed while it was made" in done.stdout
    build(FIGURE, *SMOKE, root=clone)
    assert not planned(FIGURE, *SMOKE, root=clone)


@pytest.mark.slow
def test_going_back_to_another_scale_publishes_what_is_there(clone):
    """As smoke after reduced, here with the text as the other one: nothing is trained or drawn."""
    build(FIGURE, *SMOKE, root=clone)
    smoke = (clone / FIGURE).read_bytes()
    text = clone / "text"
    text.mkdir()
    (text / "train.txt").write_text("a b c d " * 5000)
    other = (*SMOKE, f"wikitext2={text}")
    build(FIGURE, *other, root=clone)
    assert (clone / FIGURE).read_bytes() != smoke
    shutil.rmtree(clone / ".snakemake")
    assert planned(FIGURE, *SMOKE, root=clone) & RULES == {"publish"}
    build(FIGURE, *SMOKE, root=clone)
    assert (clone / FIGURE).read_bytes() == smoke
    assert planned(FIGURE, *other, root=clone) & RULES == {"publish"}


@pytest.mark.slow
def test_cells_of_another_device_are_noticed_whatever_their_time(clone):
    build(FIGURE, *SMOKE, root=clone)
    (cell,) = (clone / "results/smoke/embedded/embedding_lr/parametrizations").glob("*.json")
    content = read_sealed(cell, CELL_SEAL)
    for run in content["runs"]:
        run["provenance"]["device"] = "nvidia-h100"
    write_sealed(cell, content, CELL_SEAL)
    os.utime(cell, LONG_AGO)
    shutil.rmtree(clone / ".snakemake")
    assert planned(FIGURE, *SMOKE, root=clone) & RULES == {"make", "publish"}
    build(FIGURE, *SMOKE, root=clone)
    assert "device: nvidia-h100" in (clone / FIGURE).with_suffix(".md").read_text()
    assert not planned(FIGURE, *SMOKE, root=clone)


@pytest.mark.slow
def test_what_is_only_asked_about_changes_no_file(clone):
    """A dry run, a list, a lint and a refused call: found in review, they deleted and stamped."""
    build(FIGURE, *SMOKE, root=clone)
    (data,) = (clone / "results/smoke/embedded/embedding_lr/table2").glob("*/data.csv")
    data.unlink()
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
def test_what_is_published_is_held_against_what_was_made(tmp_path):
    """Without Snakemake's memory, and with times that say nothing: lost, overwritten, old."""
    words = (FIGURE, *SMOKE, "figures=embedding_lr/table2")
    build(*words, directory=tmp_path)
    results = tmp_path / "results/smoke/embedded"
    (key,) = keys(results / "embedding_lr/table2")
    folder = results / "embedding_lr/table2" / key
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
        return found & RULES

    for file in ("data.csv", "table2.png"):
        assert plan_with(folder / file, None) == {"make", "publish"}
    for suffix in (".pdf", ".md", ".csv"):
        assert plan_with((tmp_path / FIGURE).with_suffix(suffix), b"junk") == {"publish"}
    edited = plan_with(folder / "table2.png", b"junk")
    assert edited == {"publish"}, "which refuses to publish it"
    assert not planned(*words, directory=tmp_path)


@pytest.mark.parametrize("name", catalog.figure_names())
def test_a_figure_s_code_is_what_it_imports_and_nothing_that_trains(name):
    files = code_of_figure(name)
    assert f"figures/{name}.py" in files
    assert {f"repro/verdicts/{part}.py" for part in ("tabulate", "judging", "answers")} <= set(
        files
    )
    trains = ("repro/training/", "repro/models/", "repro/tasks/")
    lists = {"repro/models/__init__.py", "repro/tasks/__init__.py"}  # of what there is
    assert {f for f in files if f.startswith((*trains, "widthwise/upscaling/"))} <= lists


def test_imports_within_functions_count():
    assert "widthwise/parametrization/named.py" in code_of_figure("effective_theory/table_bart")
    files = code_of_figure("effective_theory/fig1")  # reads the sweep's grid from its study
    assert {"studies/effective_theory/vit.py", "studies/effective_theory/_vit.py"} <= set(files)
    assert "repro/verdicts/drawing.py" in code_of_figure("embedding_lr/table3"), (
        "imported in draw()"
    )


@pytest.mark.slow
def test_every_module_loaded_while_a_figure_is_judged_is_listed(tmp_path):
    """By what Python itself loaded, beside the checks of the suite's files and what those need."""
    script = """
import sys
import repro.core.contracts
checked = set(sys.modules)
from pathlib import Path
from repro.files import read_json
from repro.verdicts import judging
from repro.lineage.checkout import ROOT
name = "embedding_lr/fig3"
base = ROOT / "records/smoke/embedded/cpu" / name
provenance = read_json(base.with_suffix(".json"))["provenance"]
provenance["chosen_after_seeing"] = ""
judging.render(name, base.with_suffix(".csv"), provenance, Path("picture"))
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
    assert "repro/verdicts/judging.py" in loaded
    missing = loaded - set(code_of_figure("embedding_lr/fig3"))
    assert {Path(file).name for file in missing} <= {"__init__.py"}, missing


def test_a_changed_file_of_the_library_moves_all_that_knows_of_code(clone):
    """The digest of a run's code, its commit's `+dirty`, the key of a figure."""
    script = """
from repro.core.suite import load
from repro.products.picture import folder_of
from repro.core.code_of_run import code_of
run = code_of("width_scalings", {})
dirty = run["commit"].endswith("+dirty")
print(run["code_sha256"], dirty, folder_of(load(["scale=smoke"]), "embedding_lr/table2").name)
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
