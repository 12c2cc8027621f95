"""Texts of the pages: formulae in plain text as HTML, and a Markdown page."""

import json
import os
import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

POWER = r"-?(?:\d+(?:\.\d+)?(?:/\d+)?|[a-z])"
RAISED = rf"\^\(({POWER})\)|\^({POWER})(?![\w.]\w)"
SYMBOLS = (
    (RAISED, r"<sup>\1\2</sup>"),
    (r"\beta_([A-Za-z])\b", r"η<sub>\1</sub>"),
    (r"\beta\b", "η"),
    (r"\bmuP\b", "μP"),
    (r"\bsqrt\((\w+)\)", r"√\1"),
    (r" -(?:&gt;) ", " → "),
    (r"(?<=\d) \* (?=\d)", " × "),
    (r"(?<![\w.)\]-])-(?=\d)", "\N{MINUS SIGN}"),
)


def formulae(text: str) -> Markup:
    """Plain text with its powers, roots and Greek letters set as such."""
    html = str(escape(text))
    for pattern, replacement in SYMBOLS:
        html = re.sub(pattern, replacement, html)
    return Markup(html)


def heading(html: str) -> Markup:
    """HTML of one line as Markdown, in which nothing but what is raised or lowered is markup."""
    html = re.sub(r"<(su[bp])>(.*?)</su[bp]>", r"<{\1}`\2`>", str(html))
    parts = re.split(r"<(\{.*?)>", html)
    parts[::2] = [re.sub(r"([\\\\`*_\[\]{}$~|])", r"\\\1", part) for part in parts[::2]]
    return Markup("".join(parts))


def plain(text: str) -> Markup:
    """A text, or what HTML says, as a string of YAML."""
    return Markup(json.dumps(text.unescape() if isinstance(text, Markup) else text))


LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def moved(page: str, folder: str, to: str, tests: Mapping[str, str]) -> str:
    """A Markdown page without its heading, as it is read from another folder of the checkout.

    tests: a word set as code -> the test of that name, to whose page it leads. A picture leads to
    the page beside it.
    """

    def place(target: str) -> str:
        if "://" in target or target.startswith("#"):
            return target
        return os.path.relpath(os.path.normpath(os.path.join(folder, target)), to)

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        shown = f"{picture}[{words}]({place(target)})"
        if picture and target.endswith(".png"):
            return f"[{shown}]({place(target.removesuffix('.png'))}.md)"
        return shown

    def test(found: re.Match[str]) -> str:
        name = tests.get(found[1])
        return f"[{found[0]}](../claims/{name}.md)" if name else found[0]

    body = LINK.sub(link, re.sub(r"\A# .*\n", "", page))
    return re.sub(r"(?<!\[)`([^`\n]+)`", test, body).strip()


def unlinked(text: str) -> str:
    """Markdown of one line without its links: their words stay."""
    return LINK.sub(r"\2", text)


def counted(number: int, noun: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def minutes(seconds: float) -> str:
    """A time in words, as coarse as one would say it: `40 seconds`, `8 minutes`, `2.5 hours`."""
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    if seconds < 90 * 60:
        return counted(round(seconds / 60), "minute")
    return f"{seconds / 3600:.2g} hours"


def listed(phrases: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = phrases
    return f"{', '.join(first)} and {last}" if first else last
