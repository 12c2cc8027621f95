"""The code that makes a figure: its files, and one digest of them all."""

import ast
from functools import cache
from pathlib import Path

from repro.files import sha256, sha256_file, write_bytes
from repro.suite import registry
from repro.suite.registry import ROOT

FOLDERS = ("data", "figures", "repro", "studies", "widthwise")
JUDGING = "repro/judge/judging.py"
# Imported by these files, but without influence on what a figure shows: the training code, and the
# checks of figures' files, which accept a figure unchanged or stop.
LEFT_OUT = ("repro/training/", "repro/tasks/identity.py", "repro/suite/contracts.py")


def files(figure_name: str) -> list[str]:
    """Every file of the checkout whose code makes a figure's table, verdicts and picture.

    These are all files imported, directly or not, also within functions, by the figure's file and
    by `repro.judge.judging`, which calls it; and the files of its STUDIES, which say what was
    chosen after seeing results, what the paper prints, and what its claims' tests can tell. Not
    included are
      the training code: LEFT_OUT, and modules of tasks, which are imported by name at run time. Its
        results reach a figure as cells, whose ids contain the task's version;
      what finds the cells and writes files (`repro.judge.products`): cells are compared by id;
      a package's __init__.py where only a module of the package is imported;
      libraries: uv.lock fixes their versions.
    """
    from_figure = _reached([f"figures/{figure_name}.py"])
    named = registry.figure(figure_name).STUDIES
    studies = ["studies/" + "/".join(name.split("/")[:2]) + ".py" for name in named]
    folder = f"studies/{figure_name.split('/')[0]}"
    data = [f"{folder}/{name}.csv" for name in ("printed", "power", "second")]
    existing = [file for file in data if (ROOT / file).exists()]
    return sorted([*_reached([*from_figure, *studies, JUDGING]), *existing])


def listing(figure_name: str) -> str:
    """A line `<SHA-256>  <file>` for each of the files, relative to the checkout, as `sha256sum`
    writes it."""
    return "".join(f"{sha256_file(ROOT / file)}  {file}\n" for file in files(figure_name))


def digest(figure_name: str) -> str:
    """SHA-256 of the listing: one digest for all the code of a figure."""
    return sha256(listing(figure_name).encode())


def path(folder: Path, digest: str) -> Path:
    """The file in a figure's folder for the listing with this digest, an input of the workflow."""
    return folder / f"code-{digest[:12]}"


def keep(folder: Path, figure_name: str) -> str:
    """Write the listing into a figure's folder, replacing older ones; returns its digest."""
    content = listing(figure_name).encode()
    current = sha256(content)
    target = path(folder, current)
    for other in set(folder.glob("code-*")) - {target}:
        other.unlink()
    if not target.exists():
        write_bytes(target, content)
    return current


def _reached(files: list[str]) -> set[str]:
    """These files and all they import, directly or not, without LEFT_OUT."""
    reached: set[str] = set()
    pending = list(files)
    while pending:
        file = pending.pop()
        if file not in reached and not file.startswith(LEFT_OUT):
            reached.add(file)
            pending += _imports(file)
    return reached


@cache
def _imports(file: str) -> frozenset[str]:
    """The checkout's files that a file imports, also within functions."""
    modules = set()
    for node in ast.walk(ast.parse((ROOT / file).read_bytes(), file)):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from a import b` means the module a.b if there is one, else a name defined in a.
            package = file.split("/")[: -node.level] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            names = {f"{base}.{name.name}" for name in node.names}
            modules |= {name if _file(name) else base for name in names}
    return frozenset(path for path in map(_file, modules) if path)


def _file(module: str) -> str | None:
    """The file of a module of the checkout; None for a library's module."""
    stem = module.replace(".", "/")
    if stem.split("/")[0] not in FOLDERS:
        return None
    candidates = (f"{stem}.py", f"{stem}/__init__.py")
    return next((file for file in candidates if (ROOT / file).is_file()), None)
