"""What each file of the checkout imports, defines and uses, read off its source. No torch: nothing
is imported.

To parse all files takes a second, so what was found is kept in a folder of this checkout: under the
digest of what it was read off, so that it is never out of date.
"""

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache

from repro.errors import UserError
from repro.files import canonical_json, read_json, sha256, sha256_file, write_bytes
from repro.lineage.checkout import ROOT

KEPT = ".uses"  # the folder
BINDS = (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)

# What an import leads to: a module and "", or a module and a name in it, which may be a module too.
Import = tuple[str, str]
# What is used of the checkout: ("own", a name of the file, ""), ("folder", *Import) of a folder
# whose modules are imported by names that are made up when the code runs, or (attribute, *Import)
# of something imported: which attribute of it, "" where it is used as a whole.
Use = tuple[str, str, str]
OWN, FOLDER = "own", "folder"


@dataclass
class Source:
    """The top level of a file.

    digest: SHA-256 of the file. imports, folders: of all imports in it, also within functions.
    imported: name -> what it stands for. defined: name -> SHA-256 of the statements that bind it,
    and what they use. always: what is used by what runs whatever is used of the file. given: name
    -> keyword -> what that argument uses, where a name is bound to a call. lines: name -> the first
    and last line of each of its statements.
    """

    digest: str
    imports: list[Import] = field(default_factory=list)
    folders: list[Import] = field(default_factory=list)
    imported: dict[str, Import] = field(default_factory=dict)
    defined: dict[str, tuple[str, list[Use]]] = field(default_factory=dict)
    always: list[Use] = field(default_factory=list)
    given: dict[str, dict[str, list[Use]]] = field(default_factory=dict)
    lines: dict[str, list[tuple[int, int]]] = field(default_factory=dict)


@cache
def source(file: str) -> Source:
    """The top level of a file, by its path in the checkout."""
    content = (ROOT / file).read_bytes()
    digest = sha256(content)
    key = sha256(canonical_json([digest, file, *_reader()]))
    kept = ROOT / KEPT / f"{file}.json"
    with suppress(UserError, OSError, KeyError, TypeError):
        if (found := read_json(kept))["of"] == key:
            return Source(**found["said"])
    said = read(content.decode(), file, digest)
    with suppress(UserError, OSError):  # of a checkout that cannot be written to
        write_bytes(kept, canonical_json({"of": key, "said": asdict(said)}), durable=False)
    return said


@cache
def _reader() -> tuple[str, str]:
    """What reads it: this file, and Python, whose syntax grows."""
    return sha256_file(__file__), sys.version


def read(content: str, file: str, digest: str) -> Source:
    """What a file's content says."""
    said, lines = Source(digest), content.splitlines(keepends=True)
    bound: dict[str, list[ast.stmt]] = {}
    always: list[ast.stmt] = []
    tree = ast.parse(content, file)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            said.imported |= _imports(node, file)
        elif isinstance(node, BINDS) and (names := [*_bound_by(node)]):
            for name in names:
                bound.setdefault(name, []).append(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            always.append(node)  # no docstring
    known = said.imported, bound, file

    def text(node: ast.stmt) -> str:
        """A statement's lines, its decorators and the comments within included."""
        return "".join(lines[_first_line(node) - 1 : node.end_lineno])

    said.always = [use for node in always for use in _used(node, *known)]
    for name, nodes in bound.items():
        whole = "".join(map(text, [*nodes, *always]))
        used = [use for node in nodes for use in _used(node, *known)]
        said.defined[name] = sha256(whole.encode()), used
        said.lines[name] = [(_first_line(n), n.end_lineno or 0) for n in [*nodes, *always]]
        value = getattr(nodes[0], "value", None)
        if isinstance(value, ast.Call):
            said.given[name] = {k.arg: [*_used(k.value, *known)] for k in value.keywords if k.arg}
    inner = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    said.imports = [pair for node in inner for pair in _imports(node, file).values()]
    said.folders = [(m, n) for kind, m, n in _used(tree, {}, {}, file) if kind == FOLDER]
    return said


def _first_line(node: ast.stmt) -> int:
    """The number of a statement's first line, of its decorators if it has some."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _imports(node: ast.Import | ast.ImportFrom, file: str) -> dict[str, Import]:
    """What an import binds."""
    if isinstance(node, ast.Import):
        return {n.asname or n.name.split(".")[0]: (n.name, "") for n in node.names}
    package = file.split("/")[: -node.level] if node.level else []
    base = ".".join([*package, *([node.module] if node.module else [])])
    return {n.asname or n.name: (base, n.name) for n in node.names}


def _bound_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
        return
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore
    for target in targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (name.id for name in names if isinstance(name, ast.Name))


def _used(
    node: ast.AST, imported: dict[str, Import], bound: dict[str, list[ast.stmt]], file: str
) -> Iterator[Use]:
    """What a statement or expression of a file uses."""
    every = [*ast.walk(node)]
    local = dict(imported)
    for statement in every:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            local |= _imports(statement, file)
    parts = {  # the name of a module -> which name of it is used
        id(each.value): each.attr
        for each in every
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)
    }
    for each in every:
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("import_module"):
            if folder := _folder_of(each, local, file):
                yield FOLDER, *folder
        elif isinstance(each, ast.Name) and each.id in local:
            yield parts.get(id(each), ""), *local[each.id]
        elif isinstance(each, ast.Name) and each.id in bound:
            yield OWN, each.id, ""


def _folder_of(call: ast.Call, local: dict[str, Import], file: str) -> Import | None:
    """`a.b`, if the call is `import_module(f"a.b.{...}")`; also where `__name__` stands there, or
    that of something imported. None for any other call."""
    name = call.args[0] if call.args else None
    if not isinstance(name, ast.JoinedStr):
        return None
    begin = ast.unparse(name)[2:-1].partition(".{")[0].strip("{}")
    if begin == "__name__":
        return module_of(file), ""
    by_name = begin.endswith(".__name__") and local.get(begin.removesuffix(".__name__"))
    return by_name or (begin, "")


def module_of(file: str) -> str:
    """`a.b` for a/b.py and a/b/__init__.py."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
