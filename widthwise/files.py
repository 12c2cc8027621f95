"""A user's own Python files, and functions."""

import runpy
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from widthwise.errors import UserError


def names_in(path: str) -> dict[str, Any]:
    """What a Python file of a user's defines; raises UserError where it fails, or ends the
    process."""
    if not Path(path).is_file():
        raise UserError(f"{path}: there is no such file")
    return calling(path, runpy.run_path, path)


def calling(what: str, function: Callable, *arguments: Any) -> Any:
    """What a function of a user's returns; UserError, which says what it is and where it failed."""
    try:
        return function(*arguments)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"{what}: {said(error)}") from error


def said(error: BaseException) -> str:
    """An exception in one line: its class, its words, and its last place in the user's own code."""
    words = str(error).strip().partition("\n")[0]
    if isinstance(error, SystemExit):
        words = f"sys.exit({words}) ends no check: take it out"
    ours = str(Path(__file__).parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<"))
        and "site-packages" not in frame.filename
        and "/lib/python" not in frame.filename
    ]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {words}{place}"
