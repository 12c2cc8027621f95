"""A user's own Python files."""

import runpy
from pathlib import Path
from typing import Any

from widthwise.errors import UserError


def names_in(path: str) -> dict[str, Any]:
    """What a Python file of a user's defines; raises UserError where it fails."""
    if not Path(path).is_file():
        raise UserError(f"{path}: there is no such file")
    try:
        return runpy.run_path(path)
    except Exception as error:
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error
