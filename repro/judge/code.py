"""The code that a figure is made by: its files, and one digest over them."""

import ast
from functools import cache
from pathlib import Path

from repro.files import sha256, sha256_file, write_bytes
from repro.suite import registry
from repro.suite.registry import ROOT

FOLDERS = ("data", "figures", "repro", "studies")
JUDGING = "repro/judge/judging.py"
REGISTRY = "repro/suite/registry.py"
# Imported on the way, and never a part of what a figure shows: what trains, though a task's
# description names it, and the checks of files, which let a figure through as it is or stop it.
LEFT_OUT = ("repro/training/", "repro/suite/contracts.py")


def files(figure_name: str) -> list[str]:
    """Every file of the checkout whose code makes a figure's table, verdicts and picture.

    Followed are all imports, those within functions too, from the figure's file and from
    `repro.judge.judging`, which calls it. Left out, since none of it runs when a figure is judged
    and drawn, or shows by itself:
      what trains: modules of tasks, which are imported by a name made at run time, and LEFT_OUT.
        What they left are cells, whose ids hold the task's version;
      what finds the cells and writes files (`repro.judge.products`): the cells' ids are compared;
      a package's __init__.py where a module of the package is imported from it;
      libraries: uv.lock fixes them.
    Studies are found by name as well, and those in STUDIES count where the figure reads them.
    """
    own = _reached([f"figures/{figure_name}.py"])
    named = registry.figure(figure_name).STUDIES if REGISTRY in own else ()
    studies = ["studies/" + "/".join(name.split("/")[:2]) + ".py" for name in named]
    return sorted(_reached([*own, *studies, JUDGING]))


def listing(figure_name: str) -> str:
    """The files with their SHA-256 as `sha256sum` writes them, relative to the checkout."""
    return "".join(f"{sha256_file(ROOT / file)}  {file}\n" for file in files(figure_name))


def digest(figure_name: str) -> str:
    """SHA-256 of the listing: one for all the code."""
    return sha256(listing(figure_name).encode())


def path(folder: Path, found: str) -> Path:
    """The listing whose digest is `found` in a figure's folder: an input of the workflow."""
    return folder / f"code-{found[:12]}"


def keep(folder: Path, figure_name: str) -> str:
    """Write the listing into a figure's folder, instead of that of other code; its digest."""
    text = listing(figure_name)
    found = sha256(text.encode())
    target = path(folder, found)
    for other in set(folder.glob("code-*")) - {target}:
        other.unlink()
    if not target.exists():
        write_bytes(target, text.encode())
    return found


def _reached(files: list[str]) -> set[str]:
    """These files and all they import, directly or not."""
    reached: set[str] = set()
    ahead = list(files)
    while ahead:
        file = ahead.pop()
        if file not in reached and not file.startswith(LEFT_OUT):
            reached.add(file)
            ahead += _imports(file)
    return reached


@cache
def _imports(file: str) -> frozenset[str]:
    """The checkout's files that a file imports, anywhere in it."""
    modules = set()
    for node in ast.walk(ast.parse((ROOT / file).read_bytes(), file)):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from a import b`: the module a.b where there is one, else something of a's own
            package = file.split("/")[: -node.level] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            names = {f"{base}.{name.name}" for name in node.names}
            modules |= {name if _file(name) else base for name in names}
    return frozenset(found for found in map(_file, modules) if found)


def _file(module: str) -> str | None:
    """The file of a module of the checkout, None of a library's."""
    stem = module.replace(".", "/")
    if stem.split("/")[0] not in FOLDERS:
        return None
    candidates = (f"{stem}.py", f"{stem}/__init__.py")
    return next((file for file in candidates if (ROOT / file).is_file()), None)
