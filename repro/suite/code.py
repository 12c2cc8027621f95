"""The files of the checkout that some code depends on, read off its imports. No torch: nothing is
imported."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from repro.files import sha256_file
from repro.suite.checkout import FOLDERS, ROOT

# Folders whose modules the settings of a spec name: `model.name`, and `trains`, another task.
NAMED = ("repro/models", "repro/tasks")
# Imported by what shows a figure, but without influence on it: the training code, and the checks of
# files, which accept a figure unchanged or stop.
NOT_SHOWN = ("repro/training/", "repro/tasks/identity.py", "repro/suite/contracts.py")


def listing(files: Iterable[str]) -> str:
    """A line `<SHA-256>  <file>` for each file, relative to the checkout, as `sha256sum` writes
    it."""
    return "".join(f"{sha256_file(ROOT / file)}  {file}\n" for file in files)


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
def parsed(source: str, file: str) -> ast.Module:
    """The tree of a file's source. Kept: both this and `repro.suite.definitions` read it."""
    return ast.parse(source, file)


@cache
def imports(file: str) -> frozenset[str]:
    """The checkout's files that a file imports, also within functions. A folder whose modules it
    imports by names that are made up when it runs is imported as a whole, unless it is of NAMED."""
    modules, calls, called = set(), [], {"__name__": module_of(file)}
    source = (ROOT / file).read_text()
    tree = parsed(source, file)
    # Imports are statements; their parts, ten times as many, matter only where one is called.
    for node in ast.walk(tree) if "import_module" in source else statements(tree):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from a import b` means the module a.b if there is one, else a name defined in a.
            package = file.split("/")[: -node.level] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            names = {f"{base}.{name.name}" for name in node.names}
            modules |= {name if file_of(name) else base for name in names}
            called |= {f"{n.asname or n.name}.__name__": f"{base}.{n.name}" for n in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            calls.append(node)
    by_name = {
        path.relative_to(ROOT).as_posix()
        for folder in {folder_of_call(call, called) for call in calls} - {None, *NAMED}
        for path in (ROOT / str(folder)).glob("*.py")
    }
    return frozenset(path for path in map(file_of, modules) if path) | by_name


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements within a node, also those within others."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        found = getattr(node, part, ())
        for each in found if isinstance(found, list) else ():
            yield each
            yield from statements(each)


def folder_of_call(call: ast.Call, called: Mapping[str, str]) -> str | None:
    """`a/b`, if the call is `import_module(f"a.b.{...}")`; None for any other call.

    called: what may stand there for `a.b`: `__name__`, and `b.__name__` of a module b that the file
    imports.
    """
    name = call.args[0] if call.args else None
    if not isinstance(name, ast.JoinedStr):
        return None
    begin = ast.unparse(name)[2:-1].partition(".{")[0]
    folder = called.get(begin.strip("{}"), begin).replace(".", "/")
    return folder if folder.split("/")[0] in FOLDERS and (ROOT / folder).is_dir() else None


def module_of(file: str) -> str:
    """`a.b` for a/b.py and a/b/__init__.py."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def file_of(module: str) -> str | None:
    """The file of a module of the checkout; None for a library's module."""
    stem = module.replace(".", "/")
    if stem.split("/")[0] not in FOLDERS:
        return None
    candidates = (f"{stem}.py", f"{stem}/__init__.py")
    return next((file for file in candidates if (ROOT / file).is_file()), None)
