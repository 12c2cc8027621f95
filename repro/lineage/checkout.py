"""The files of this checkout: where it is, what its folders hold, how one of them is loaded, and
what is said of a name, a kind or a call in it that is wrong.

No torch. An author's file that fails to load is one line, which names its own line.
"""

import inspect
import sys
import traceback
from collections.abc import Collection, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

from repro.errors import UserError, nearest

ROOT = Path(__file__).resolve().parents[2]
MESSAGE = 300  # characters of an exception's message that are shown
# With our code; other folders may hold libraries.
FOLDERS = ("figures", "studies", "data", "repro", "widthwise")


@cache
def modules(folder: str) -> tuple[str, ...]:
    """Names of a folder's Python files, `a/b` for a/b.py; without helpers (_*.py) and hidden
    folders."""
    paths = [p.relative_to(ROOT / folder) for p in (ROOT / folder).rglob("*.py")]
    names = (
        path.with_suffix("").as_posix()
        for path in paths
        if not path.name.startswith("_") and not any(part.startswith(".") for part in path.parts)
    )
    return tuple(sorted(names))


def load(file: str) -> ModuleType:
    """Import a file of the checkout; raises UserError with the line that failed."""
    try:
        return import_module(file.removesuffix(".py").replace("/", "."))
    except (Exception, SystemExit) as error:
        message = str(error) if isinstance(error, UserError) else describe_error(error)
        place = place_of(error)
        if not place.startswith(f"{file}, "):  # it failed in another file, or outside our folders
            place = f"{file}: cannot be imported" + (f": {place}" if place else "")
        raise UserError(f"{place}: {message}") from error


def describe_error(error: BaseException) -> str:
    """An exception in one line: its type and the first line of its message, no more than MESSAGE
    characters; and that it may be a library's warning."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    first = message.strip().partition("\n")[0]
    first = first if len(first) <= MESSAGE else f"{first[:MESSAGE]}..."
    raised = any(option.startswith("error") for option in sys.warnoptions)
    hint = "; PYTHONWARNINGS or -W makes errors of libraries' warnings, unset it" if raised else ""
    return f"{type(error).__name__}: {first}{hint}"


def place_of(error: BaseException, folders: Collection[str] = FOLDERS) -> str:
    """`<file>, line <number>`: the innermost of an error's traceback in these folders; or ""."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((error.filename or "", error.lineno))
    for name, line in reversed(frames):
        path = Path(name)
        ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in folders
        if ours and path != Path(__file__):
            return f"{path.relative_to(ROOT).as_posix()}, line {line}"
    return ""


def of_papers(folder: str) -> list[str]:
    """`<paper>/<name>` of every file in a paper's subfolder of this folder."""
    return [name for name in modules(folder) if name.count("/") == 1]


@cache
def misplaced() -> dict[str, str]:
    """File -> what is wrong, for files of figures/ and studies/ that are in no paper's folder."""
    return {
        f"{folder}/{name}.py": f"{folder}/{name}.py: lies in no paper's folder; move it to "
        f"{folder}/<paper>/{name.split('/')[-1]}.py"
        for folder in ("figures", "studies")
        for name in modules(folder)
        if name.count("/") != 1
    }


def near_name(name: str, module: ModuleType) -> str:
    """A hint at a similar name that the module does define, probably a misspelling; or ""."""
    similar = nearest(name, [other for other in vars(module) if not other.startswith("_")])
    return f" (there is {similar!r})" if similar else ""


def check_call(file: str, name: str, function: object, arguments: list[str]) -> None:
    """Check that a function can be called with these positional arguments."""
    call = f"{name}({', '.join(arguments)})"
    if not callable(function):
        raise UserError(f"{file}: {name} is {kind(function)}, not a function {call}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise UserError(
            f"{file}: {name}{inspect.signature(function)} is called as {call}: {error}"
        ) from None


def is_listed(value: object) -> TypeGuard[Sequence]:
    """Whether a value is a list or a tuple, and no text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def kind(value: object) -> str:
    """The type of a value, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
