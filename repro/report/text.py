"""Texts of the pages: formulae in plain text as HTML, a Markdown page, a figure in one sentence."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from repro.core.papers import is_a_paper
from repro.verdicts import words
from repro.verdicts.claims import OF_A_PAPER, TRAINING
from repro.verdicts.judged_claims import JudgedClaim, interval, many_claims, of_a_paper, told
from repro.verdicts.words import AGREES, DIFFERS, NEEDS_MORE, NO_BOUND, REPRODUCED, SEEN, tally

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


def moved(page: str, folder: str, to: str, claims: Mapping[str, str]) -> str:
    """A Markdown page without its heading, as it is read from another folder of the checkout.

    claims: a word set as code -> the claim of that name, to whose page it leads. A picture leads to
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

    def claim(found: re.Match[str]) -> str:
        name = claims.get(found[1])
        return f"[{found[0]}](../claims/{name}.md)" if name else found[0]

    body = LINK.sub(link, re.sub(r"\A# .*\n", "", page))
    return re.sub(r"(?<!\[)`([^`\n]+)`", claim, body).strip()


def counted(number: int, noun: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def minutes(seconds: float) -> str:
    """A time in words, as coarse as one would say it: `40 seconds`, `8 minutes`, `2.5 hours`."""
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    if seconds < 90 * 60:
        return counted(round(seconds / 60), "minute")
    return f"{seconds / 3600:.2g} hours"


def held(rows: Sequence[JudgedClaim]) -> str:
    """How claims fared, in words: `2 reproduced and 1 inconclusive`."""
    found = tally(row["verdict"] for row in rows)
    return listed([words.counted(verdict, number) for verdict, number in found.items()])


def as_seen(rows: Sequence[JudgedClaim]) -> str:
    """What was seen of claims, in words: `1 that agrees and 3 that differ`."""
    found = Counter(row["seen"] for row in rows)
    one = {AGREES: "that agrees", DIFFERS: "that differs"}
    many = {AGREES: "that agree", DIFFERS: "that differ"}
    return listed(
        [f"{n} {(one if n == 1 else many).get(seen, seen)}" for seen in SEEN if (n := found[seen])]
    )


def listed(phrases: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = phrases
    return f"{', '.join(first)} and {last}" if first else last


def sentence(rows: Sequence[JudgedClaim]) -> str:
    """A figure's result in a sentence or two: how its paper's claims fared, and the first of
    these."""
    if not rows:
        return "No claim is held against this figure."
    whose = "Of the paper's" if is_a_paper(rows[0]["paper"]) else "Of the"
    claims = [row for row in rows if row["kind"] in OF_A_PAPER]
    if not claims:
        return f"No claim of the paper is judged by it; of the suite's own checks, {held(rows)}."
    first = claims[0]
    verdict = told(first).capitalize()
    if not first["binds"] and first["seen"]:
        verdict += f", seen: {first['seen']}"
    expected = "" if first["verdict"] == NO_BOUND else f"; expected {first['expected']}"
    result = f"{verdict}: {first['quantity']} is {interval(first)}{expected}."
    if len(claims) > 1:
        result += f" {whose} {len(claims)} claims here: {held(claims)}."
    return f"“{first['statement']}.” {result}"


def how_sure(rows: Sequence[JudgedClaim]) -> list[str]:
    """What qualifies the counts, in sentences, read off the judged claims of one scale and data."""
    claims = [row for row in rows if of_a_paper(row)]
    binding = [row for row in claims if row["binds"]]
    trained = [row for row in binding if row["kind"] == TRAINING]
    others = [row for row in binding if row["kind"] != TRAINING]
    lines = []
    for some, what in ((trained, "about training"), (others, "of theory and arithmetic")):
        if some:
            bind = "binds" if len(some) == 1 else "bind"
            lines.append(f"{counted(len(some), 'claim')} {what} {bind} here: {held(some)}.")
    away = [row for row in claims if row["verdict"] == NEEDS_MORE]
    if away:
        lines.append(
            f"{counted(len(away), 'claim')} are meant for another scale or for real data; what was "
            f"seen here is shown and not judged: {as_seen(away)}."
        )
    after = [row for row in trained if row["chosen_after_seeing"]]
    if after:
        agree = [row for row in trained if row["verdict"] == REPRODUCED]
        chosen = [row for row in agree if row["chosen_after_seeing"]]
        lines.append(
            f"Of the {len(agree)} {REPRODUCED} claims about training, {len(chosen)} rest on "
            "settings that were chosen after results were seen: they are demonstrations, not "
            "tests. Each claim says which settings."
        )
    return [*lines, *(f"{line}".replace("`", "") for line in many_claims(rows))]
