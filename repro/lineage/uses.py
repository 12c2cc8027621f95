"""What each file of the checkout imports, read off its source. No torch: nothing is imported.

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
from repro.files import canonical_json, read_as, sha256, sha256_file, write_bytes
from repro.lineage.checkout import ROOT

KEPT = ".uses"  # the folder

# What an import leads to: a module and "", or a module and a name in it, which may be a module too.
Import = tuple[str, str]


@dataclass
class Source:
    """A file. digest: its SHA-256. imports: all in it, also within functions. folders: those whose
    modules are imported by names that are made up when the code runs."""

    digest: str
    imports: list[Import] = field(default_factory=list)
    folders: list[Import] = field(default_factory=list)


@cache
def source(file: str) -> Source:
    """What a file imports, by its path in the checkout."""
    content = (ROOT / file).read_bytes()
    digest = sha256(content)
    key = sha256(canonical_json([digest, file, *_reader()]))
    kept = ROOT / KEPT / f"{file}.json"
    with suppress(UserError, OSError, TypeError):
        if (found := read_as(kept, {"of": str, "said": dict}))["of"] == key:
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
    nodes = [*ast.walk(ast.parse(content, file))]
    named = [pair for node in nodes for pair in _imports(node, file)]
    folders = [_folder_of(node, dict(named), file) for node in nodes]
    return Source(digest, [found for _, found in named], [f for f in folders if f])


def _imports(node: ast.AST, file: str) -> Iterator[tuple[str, Import]]:
    """What an import binds: name -> what it stands for; nothing of any other node."""
    if isinstance(node, ast.Import):
        yield from ((n.asname or n.name.split(".")[0], (n.name, "")) for n in node.names)
    if isinstance(node, ast.ImportFrom):
        package = file.split("/")[: -node.level] if node.level else []
        base = ".".join([*package, *([node.module] if node.module else [])])
        yield from ((n.asname or n.name, (base, n.name)) for n in node.names)


def _folder_of(node: ast.AST, local: dict[str, Import], file: str) -> Import | None:
    """`a.b`, if the node is `import_module(f"a.b.{...}")`; also where `__name__` stands there, or
    that of something imported. None for any other."""
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("import_module"):
        return None
    name = node.args[0] if node.args else None
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
