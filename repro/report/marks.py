"""Parts of a page that a command writes, between two marks. No torch."""

from collections.abc import Callable, Sequence
from pathlib import Path

from repro.errors import UserError
from repro.files import atomic_path

END = "<!-- to here -->"


COMMAND = "new pages"  # of `repro`: writes them all


def begin(name: str) -> str:
    """The mark before a part of this name."""
    return f"<!-- from here made by `python -m repro {COMMAND}`: {name} -->"


def _of(path: Path, mark: str) -> str:
    """A mark as a file has it: in YAML it is a comment of another kind."""
    return mark if path.suffix == ".md" else mark.replace("<!--", "#").replace(" -->", "")


def fill(path: Path, name: str, lines: Callable[[], Sequence[str]]) -> None:
    """Put Markdown lines between the two marks of a page; raises UserError where it has none,
    before they are made, which may take minutes."""
    text = filled(path, name, lines)
    with atomic_path(path) as temporary:
        temporary.write_text(text)


def filled(path: Path, name: str, lines: Callable[[], Sequence[str]]) -> str:
    """The page as `fill` writes it."""
    text = path.read_text() if path.exists() else ""
    mark, end = _of(path, begin(name)), _of(path, END)
    before, found, rest = text.partition(mark)
    _, closed, after = rest.partition(end)
    if not (found and closed) or mark in rest:
        raise UserError(f"{path}: has no lines {mark} and {end}, between which the command writes")
    return "\n".join([before + mark, "", *lines(), "", end]) + after
