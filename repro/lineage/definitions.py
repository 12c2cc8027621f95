"""The definitions of the checkout that an expression reaches, read off the source. No torch:
nothing is imported.

Finer than `repro.lineage.code`, which goes by files: what a function depends on does not change
with another function, or a text, that stands in the same file.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from repro.lineage.code import files_by_name, files_of
from repro.lineage.uses import FOLDER, OWN, Import, Use, source

WHOLE = "*"  # in the place of a name: every definition of the file

Name = tuple[str, str]  # a file, and a name in it


def reached(begin: Iterable[Name], left_out: tuple[str, ...] = ()) -> dict[str, str]:
    """`<file>:<name>` -> SHA-256 of its source, of every definition that is reached.

    begin: files and the names there. left_out: how the files begin that are not followed. A module
    that is used as a whole is reached as a whole, and so is a folder whose modules are imported by
    names that are made up when the code runs.
    """
    found: dict[str, str] = {}
    pending = [*begin]
    while pending:
        file, name = pending.pop()
        key = f"{file}:{name}"
        if key not in found and not file.startswith(left_out):
            found[key], used = _definition(file, name)
            pending += used
    return {key: digest for key, digest in found.items() if digest}


def given(file: str, name: str, keyword: str) -> list[Name]:
    """What an argument of the call uses that a name of a file is bound to; all that its statement
    uses, where that cannot be told from the source."""
    said = source(file)
    uses = said.given.get(name, {}).get(keyword, said.defined[name][1])
    return [pair for use in uses for pair in _led_to(file, use)]


@cache
def _definition(file: str, name: str) -> tuple[str, list[Name]]:
    """What a name of a file is: SHA-256 of its source, and what it uses. Without a digest where it
    is of an import, or is bound in a way that is not followed here and stands for the whole
    file."""
    said = source(file)
    if name == WHOLE:
        digest, used = said.digest, [(file, each) for each in (*said.defined, *said.imported)]
    elif name in said.defined:
        digest, uses = said.defined[name]
        used = [pair for use in uses for pair in _led_to(file, use)]
    elif name in said.imported:
        return "", [*_target(said.imported[name], "")]
    else:
        return "", [(file, WHOLE)]
    return digest, used + [pair for use in said.always for pair in _led_to(file, use)]


def _led_to(file: str, use: Use) -> Iterator[Name]:
    """File and name of what a use in a file leads to."""
    kind, module, name = use
    if kind == OWN:
        yield file, module
    elif kind == FOLDER:
        yield from ((path, WHOLE) for path in files_by_name((module, name)))
    else:
        yield from _target((module, name), kind)


def _target(imported: Import, attribute: str) -> Iterator[Name]:
    """File and name of what an import leads to; nothing where it is a library's."""
    inner, outer = files_of(imported)
    if inner:  # a module, of which an attribute is used
        yield from _in_module(".".join(imported), inner, attribute)
    elif outer and imported[1]:
        yield outer, imported[1]
    elif outer:
        yield from _in_module(imported[0], outer, attribute)


def _in_module(module: str, file: str, attribute: str) -> Iterator[Name]:
    """File and name of an attribute of a module, which may be a module too."""
    inner, _ = files_of((module, attribute))
    yield (inner, WHOLE) if inner else (file, attribute or WHOLE)
