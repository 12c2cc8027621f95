"""The files of the checkout that some code depends on, read off its imports. No torch: nothing is
imported."""

from collections.abc import Iterable
from functools import cache

from repro.lineage.checkout import FOLDERS, ROOT
from repro.lineage.uses import Import, source

# Folders whose modules the settings of a spec name: `model.name`, and `trains`, another task.
NAMED = ("repro/models", "repro/tasks")
# Imported by what shows a figure, but without influence on it: the training code, and the checks of
# files, which accept a figure unchanged or stop.
NOT_SHOWN = (
    *("repro/training/", "repro/tasks/identity.py", "repro/tasks/trainable.py"),
    *("repro/core/contracts.py", "repro/tasks/recorded.py"),
)


def listing(files: Iterable[str]) -> str:
    """A line `<SHA-256>  <file>` for each file, relative to the checkout, as `sha256sum` writes
    it."""
    return "".join(f"{source(file).digest}  {file}\n" for file in files)


def reached(files: Iterable[str], left_out: tuple[str, ...] = ()) -> set[str]:
    """These files and all they import, directly or not, also within functions.

    left_out: how the files and folders begin that are not followed. A package's __init__.py is not
    included where only a module of the package is imported; nor are libraries.
    """
    found: set[str] = set()
    pending = list(files)
    while pending:
        file = pending.pop()
        if file not in found and not file.startswith(left_out):
            found.add(file)
            pending += imports(file)
    return found


@cache
def imports(file: str) -> frozenset[str]:
    """The checkout's files that a file imports, also within functions. A folder whose modules it
    imports by names that are made up when it runs is imported as a whole, unless it is of NAMED."""
    said = source(file)
    found = (inner or outer for inner, outer in map(files_of, said.imports))
    return frozenset(filter(None, found)).union(*map(files_by_name, said.folders))


def files_of(imported: Import) -> tuple[str | None, str | None]:
    """(the file of what is imported, if it is a module; that of the module it is a name of)."""
    module, name = imported
    return (file_of(f"{module}.{name}") if name else None), file_of(module)


def files_by_name(folder: Import) -> list[str]:
    """The modules of a folder that are imported by names that are made up."""
    module, name = folder
    path = f"{module}.{name}".rstrip(".").replace(".", "/")
    if path in NAMED or path.split("/")[0] not in FOLDERS:
        return []
    return sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / path).glob("*.py"))


@cache
def file_of(module: str) -> str | None:
    """The file of a module of the checkout; None for a library's module."""
    stem = module.replace(".", "/")
    if stem.split("/")[0] not in FOLDERS:
        return None
    candidates = (f"{stem}.py", f"{stem}/__init__.py")
    return next((file for file in candidates if (ROOT / file).is_file()), None)
