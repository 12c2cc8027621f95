"""Docstrings of the library as reStructuredText: backticks are code, and what is said of an
argument, `name: words`, is a line of a list."""

import re
from typing import Any

ITEM = r"((?:[a-z]\w*)(?:, [a-z]\w*)*): "


def paragraphs(lines: list[str]) -> list[list[str]]:
    """Of each paragraph what is said in it, each on one line: an indented line goes on with what
    is above it, and so does any behind one that ends in no full stop."""
    found: list[list[str]] = []
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        said: list[str] = []
        for line in block.splitlines():
            if said and (line.startswith(" ") or not said[-1].endswith((".", ":"))):
                said[-1] += f" {line.strip()}"
            else:
                said.append(line.strip())
        found.append(said)
    return found


def literal(text: str) -> str:
    """Text in which nothing but code in backticks and ** is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [
        re.sub(r"(?<!\*)\*(?!\*)|\||_(?!\w)|\\", lambda m: f"\\{m[0]}", each) for each in parts[::2]
    ]
    return "".join(parts)


def restructured(lines: list[str], names: set[str]) -> list[str]:
    """The lines of a docstring as reStructuredText; names: of what it may describe, one by one."""
    result: list[str] = []
    for said in paragraphs(lines):
        for sentence in said:
            head, *items = re.split(rf"(?:^|(?<=\. )){ITEM}", sentence)
            if not all(set(group.split(", ")) <= names for group in items[::2]):
                head, items = sentence, []
            result += [literal(head)] if head.strip() else []
            if items:
                result.append("")
            for group, words in zip(items[::2], items[1::2], strict=True):
                term = ", ".join(f"`{name}`" for name in group.split(", "))
                result += [term, f"    {literal(words.strip())}", ""]
        result.append("")
    return result


def described(thing: Any) -> set[str]:
    """The names that a docstring may describe: arguments of a function, or fields of a class."""
    import inspect

    try:
        names = {*inspect.signature(thing).parameters}
    except (TypeError, ValueError):
        names = set()
    return names | {*getattr(thing, "__annotations__", ())} | {*dir(thing)}


def process(app, what, name, thing, options, lines) -> None:
    """Sphinx hands over every docstring as a list of lines, to be changed in place."""
    lines[:] = restructured(lines, described(thing))


def setup(app) -> dict[str, bool]:
    """As an extension of Sphinx."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}
