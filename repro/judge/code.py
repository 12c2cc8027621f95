"""The code that makes a figure: its files, and one digest of them all."""

from pathlib import Path

from repro.files import sha256, write_bytes
from repro.suite import code, registry
from repro.suite.registry import ROOT

JUDGING = "repro/judge/judging.py"
# Imported by these files, but without influence on what a figure shows: the training code, and the
# checks of figures' files, which accept a figure unchanged or stop.
LEFT_OUT = ("repro/training/", "repro/tasks/identity.py", "repro/suite/contracts.py")


def files(figure_name: str) -> list[str]:
    """Every file of the checkout whose code makes a figure's table, verdicts and picture.

    These are all files imported, directly or not, also within functions, by the figure's file and
    by `repro.judge.judging`, which calls it; and the files of its studies, which say what was
    chosen after seeing results, what the paper prints, and what its claims' tests can tell. Not
    included are
      the training code: LEFT_OUT, and modules of tasks, which are imported by name at run time. Its
        results reach a figure as cells, whose ids contain the task's version;
      what finds the cells and writes files (`repro.judge.products`): cells are compared by id;
      a package's __init__.py where only a module of the package is imported;
      libraries: uv.lock fixes their versions.
    """
    named = registry.figure(figure_name).studies
    from_figure = code.reached([f"figures/{figure_name}.py"], LEFT_OUT)
    studies = ["studies/" + "/".join(name.split("/")[:2]) + ".py" for name in named]
    folder = f"studies/{figure_name.split('/')[0]}"
    data = [f"{folder}/{name}.csv" for name in ("printed", "power", "second")]
    existing = [file for file in data if (ROOT / file).exists()]
    return sorted([*code.reached([*from_figure, *studies, JUDGING], LEFT_OUT), *existing])


def digest(figure_name: str) -> str:
    """SHA-256 of the files' listing: one digest for all the code of a figure."""
    return sha256(code.listing(files(figure_name)).encode())


def path(folder: Path, digest: str) -> Path:
    """The file in a figure's folder for the listing with this digest, an input of the workflow."""
    return folder / f"code-{digest[:12]}"


def keep(folder: Path, figure_name: str) -> str:
    """Write the listing into a figure's folder, replacing older ones; returns its digest."""
    content = code.listing(files(figure_name)).encode()
    current = sha256(content)
    target = path(folder, current)
    for other in set(folder.glob("code-*")) - {target}:
        other.unlink()
    if not (target.is_file() and target.read_bytes() == content):
        write_bytes(target, content)
    return current
