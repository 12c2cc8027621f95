"""Texts of the pages: formulae in plain text as HTML, a Markdown page, a figure in one sentence."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from repro.judge.board import JudgedClaim, interval, many_claims, of_a_paper
from repro.judge.claims import (
    AGREES,
    DIFFERS,
    INCONCLUSIVE,
    NEEDS_MORE,
    NO_BOUND,
    NOT_REPRODUCED,
    OF_A_PAPER,
    REPRODUCED,
    TRAINING,
    UNCLEAR,
    VERDICTS,
)
from repro.suite.papers import is_a_paper

POWER = r"-?(?:\d+(?:\.\d+)?(?:/\d+)?|[a-z])"
SYMBOLS = (
    (rf"\^\(({POWER})\)|\^({POWER})(?![\w.]\w)", r"<sup>\1\2</sup>"),
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


def markdown(text: str, link: Callable[[str], str | None], claim: Callable[[str], str | None]):
    """A Markdown page as HTML, without its heading.

    link: a path it links or shows -> where that is from the page, None where it is nowhere: then
    the path itself is named, as it is from the checkout. A picture shown is linked to the page
    beside it. claim: a word set as code -> the page of the claim of that name, None if it is none.
    """
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    def linked(token: Token, page: str) -> list[Token]:
        return [
            Token("link_open", "a", 1, attrs={"href": page}),
            token,
            Token("link_close", "a", -1),
        ]

    def named(target: str) -> list[Token]:
        path = target.partition("#")[0].removeprefix("../../")
        code = Token("code_inline", "code", 0, content=path)
        before, after = (Token("text", "", 0, content=mark) for mark in (" (", ")"))
        return [before, code, after] if path else []

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    if tokens and tokens[0].type == "heading_open":
        tokens = tokens[3:]
    # A table without heads, as of pictures side by side, has no row of empty ones either.
    places = [i for i, token in enumerate(tokens) if token.type in ("thead_open", "thead_close")]
    for first, last in reversed(list(zip(places[::2], places[1::2], strict=True))):
        if not any(token.content.strip() for token in tokens[first:last]):
            del tokens[first : last + 1]
    for block in tokens:
        children: list[Token] = []
        nowhere = ""  # the target of the link that stands open, where it leads to no page
        for token in block.children or []:
            place = "src" if token.type == "image" else "href"
            target = str(token.attrs.get(place, ""))
            if target and "://" not in target:
                if found := link(target):
                    token.attrs[place] = found
                elif token.type == "image":
                    children += [Token("text", "", 0, content=token.content), *named(target)]
                    continue
                else:
                    nowhere = target
                    continue
            elif token.type == "link_close" and nowhere:
                children += named(nowhere)
                nowhere = ""
                continue
            page = claim(token.content) if token.type == "code_inline" else None
            if token.type == "image" and token.attrs[place]:
                page = str(token.attrs[place]).rpartition(".")[0] + ".html"
            children += linked(token, page) if page else [token]
        if block.children:
            block.children = children
    page = parser.renderer.render(tokens, parser.options, {})
    # Code that is wider than a phone is scrolled, by keys as well.
    return Markup(page.replace("<pre>", '<pre tabindex="0">'))


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


def tally(rows: Sequence[JudgedClaim]) -> dict[str, int]:
    """Verdict -> how many claims have it, without those that none has."""
    found = Counter(row["verdict"] for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def held(rows: Sequence[JudgedClaim]) -> str:
    """How claims fared, in words: `2 reproduced and 1 inconclusive`."""
    return listed([worded(verdict, count) for verdict, count in tally(rows).items()])


def worded(word: str, count: int) -> str:
    """How many have a verdict, or were seen so: `3 that differ`."""
    one = count == 1
    phrase = {
        NEEDS_MORE: f"that {'needs' if one else 'need'} a larger scale",
        NO_BOUND: "without a bound",
        AGREES: f"that {'agrees' if one else 'agree'}",
        DIFFERS: f"that {'differs' if one else 'differ'}",
    }
    return f"{count} {phrase.get(word, word)}"


def listed(phrases: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = phrases
    return f"{', '.join(first)} and {last}" if first else last


def sentence(rows: Sequence[JudgedClaim]) -> str:
    """A figure's result in a sentence or two: how its paper's claims fared, and its first one."""
    if not rows:
        return "No claim is held against this figure."
    whose = "Of the paper's" if is_a_paper(rows[0]["paper"]) else "Of the"
    claims = [row for row in rows if row["kind"] in OF_A_PAPER]
    if not claims:
        return f"No claim of the paper is judged by it; of the suite's own checks, {held(rows)}."
    first = claims[0]
    verdict = {
        REPRODUCED: "It holds here",
        NOT_REPRODUCED: "It does not hold here",
        INCONCLUSIVE: "Whether it holds is inconclusive here",
        NEEDS_MORE: "It is not meant for this scale or data",
        NO_BOUND: "No bound is set",
    }[first["verdict"]]
    if first["verdict"] == NEEDS_MORE and first["seen"] in (AGREES, DIFFERS):
        verdict += f"; what was seen {first['seen']}"
    expected = "" if first["verdict"] == NO_BOUND else f", where it should be {first['expected']}"
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
        seen = Counter(row["seen"] for row in away)
        words = listed(
            [worded(word, seen[word]) for word in (AGREES, DIFFERS, UNCLEAR) if seen[word]]
        )
        lines.append(
            f"{counted(len(away), 'claim')} are meant for another scale or for real data; what was "
            f"seen here is shown and not judged: {words}."
        )
    after = [row for row in trained if row["chosen_after_seeing"]]
    if after:
        told = [row for row in trained if row["verdict"] == REPRODUCED]
        chosen = [row for row in told if row["chosen_after_seeing"]]
        lines.append(
            f"Of the {len(told)} reproduced claims about training, {len(chosen)} rest on settings "
            "that were chosen after results were seen: they are demonstrations, not tests. Each "
            "claim says which settings."
        )
    return [*lines, *(f"{line}".replace("`", "") for line in many_claims(rows))]
