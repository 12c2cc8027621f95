"""The definitions of the checkout that an expression reaches, read off the source. No torch:
nothing is imported.

Finer than `repro.suite.code`, which goes by files: what a function depends on does not change with
another function, or a text, that stands in the same file.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from repro.files import sha256
from repro.suite.checkout import ROOT
from repro.suite.code import NAMED, file_of, folder_of_call, module_of, parsed

WHOLE = "*"  # in the place of a name: every definition of the file
BINDS = (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)


Definition = tuple[str, list[tuple[str, str]]]  # SHA-256 of its source; files and names it uses


@dataclass
class Source:
    """The top level of a file.

    bound: name -> the statements that bind it. imported: name -> the module, and the name in it, or
    "" where the name is the module. always: what runs whatever is used of the file. found: what
    `_definition` has found of its names, once for all figures.
    """

    file: str
    lines: list[str]
    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    always: list[ast.stmt] = field(default_factory=list)
    found: dict[str, "Definition"] = field(default_factory=dict)

    def text(self, node: ast.stmt) -> str:
        """A statement's lines, its decorators and the comments within included."""
        return "".join(self.lines[self.first_line(node) - 1 : node.end_lineno])

    @staticmethod
    def first_line(node: ast.stmt) -> int:
        """The number of a statement's first line, of its decorators if it has some."""
        return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


@cache
def source(file: str) -> Source:
    """The top level of a file, by its path in the checkout."""
    content = (ROOT / file).read_text()
    found = Source(file, content.splitlines(keepends=True))
    for node in parsed(content, file).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imported |= imports(node, file)
        elif isinstance(node, BINDS) and (names := [*_bound_by(node)]):
            for name in names:
                found.bound.setdefault(name, []).append(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            found.always.append(node)  # no docstring
    return found


def imports(node: ast.Import | ast.ImportFrom, file: str) -> dict[str, tuple[str, str]]:
    """What an import binds, as of `Source.imported`."""
    if isinstance(node, ast.Import):
        return {n.asname or n.name.split(".")[0]: (n.name, "") for n in node.names}
    package = file.split("/")[: -node.level] if node.level else []
    base = ".".join([*package, *([node.module] if node.module else [])])
    # `from a import b` means the module a.b if there is one, else a name defined in a.
    return {
        n.asname or n.name: (f"{base}.{n.name}", "")
        if file_of(f"{base}.{n.name}")
        else (base, n.name)
        for n in node.names
    }


def _bound_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
        return
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore
    for target in targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (name.id for name in names if isinstance(name, ast.Name))


def reached(
    begin: Iterable[tuple[str, str]],
    expressions: Iterable[tuple[str, ast.AST]] = (),
    left_out: tuple[str, ...] = (),
) -> dict[str, str]:
    """`<file>:<name>` -> SHA-256 of its source, of every definition that is reached.

    begin: files and the names there; expressions: files and what is evaluated there. left_out: how
    the files begin that are not followed. A module that is used as a whole is reached as a whole,
    and so is a folder whose modules are imported by names that are made up when the code runs.
    """
    found: dict[str, str] = {}
    pending = [*begin]
    for file, node in expressions:
        pending += _used(source(file), node)
    while pending:
        file, name = pending.pop()
        key = f"{file}:{name}"
        if key in found or file.startswith(left_out):
            continue
        here = source(file)
        if name not in here.found:
            here.found[name] = _definition(here, name)
        found[key], used = here.found[name]
        pending += used
    return {key: digest for key, digest in found.items() if digest}


def _definition(here: Source, name: str) -> Definition:
    """What a name of a file is; without a digest where it is of an import, or is bound in a way
    that is not followed here and stands for the whole file."""
    if name == WHOLE:
        text = "".join(here.lines)
        used = [(here.file, each) for each in (*here.bound, *here.imported)]
        nodes = here.always
    elif name in here.bound:
        nodes = [*here.bound[name], *here.always]
        text, used = "".join(map(here.text, nodes)), []
    elif name in here.imported:
        return "", [*_target(*here.imported[name])]
    else:
        return "", [(here.file, WHOLE)]
    used += [pair for node in nodes for pair in _used(here, node)]
    return sha256(text.encode()), used


def _used(here: Source, node: ast.AST) -> Iterator[tuple[str, str]]:
    """File and name of what a statement or expression uses of the checkout."""
    local = dict(here.imported)
    inner = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
    for statement in inner:
        local |= imports(statement, here.file)
    called = {f"{name}.__name__": module for name, (module, _) in local.items()}
    called["__name__"] = module_of(here.file)
    parts = {}  # the name of a module -> whether only names of it are used
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            parts[id(each.value)] = each.attr
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("import_module"):
            folder = folder_of_call(each, called)
            for path in () if folder in (None, *NAMED) else sorted((ROOT / folder).glob("*.py")):
                yield path.relative_to(ROOT).as_posix(), WHOLE
        if not isinstance(each, ast.Name):
            continue
        if each.id in local:
            module, name = local[each.id]
            yield from _target(module, name or parts.get(id(each), WHOLE))
        elif each.id in here.bound:
            yield here.file, each.id


def _target(module: str, name: str) -> Iterator[tuple[str, str]]:
    """File and name of what an import leads to; nothing where it is a library's."""
    if inner := file_of(f"{module}.{name}"):
        yield inner, WHOLE
    elif file := file_of(module):
        yield file, name or WHOLE
