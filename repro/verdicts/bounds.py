"""Where the bounds of all claims come from: the tables of docs/verdicts.md. No torch."""

import math
from collections import Counter
from collections.abc import Iterable

from repro.core import catalog
from repro.verdicts.claims import (
    ARITHMETIC,
    BASES,
    CONTROL,
    SELF_CHECK,
    THEORY,
    TRAINING,
    Claim,
    Expectation,
)
from repro.verdicts.figure import figure_named
from repro.verdicts.typeset import markdown
from repro.verdicts.words import NO_BOUND

COMMAND = "bounds --page"
GROUPS = {
    "training": (TRAINING,),
    "theory, arithmetic": (THEORY, ARITHMETIC),
    "self-checks, controls": (SELF_CHECK, CONTROL),
}


def by_paper() -> dict[str, list[Claim]]:
    """Paper -> its claims, in the order of their figures."""
    found: dict[str, list[Claim]] = {}
    for name in catalog.figure_names():
        found.setdefault(name.split("/")[0], []).extend(figure_named(name).claims)
    return found


def bounds(claim: Claim) -> list[Expectation]:
    """What a claim is held against at any scale, each once; what is reported is no bound."""
    each = dict.fromkeys(claim.expected.values())
    return [bound for bound in each if not math.isnan(bound.low)]


def basis(claim: Claim) -> str:
    """Where the bound of a claim comes from, one of BASES; NO_BOUND where it has none."""
    return next((bound.basis for bound in bounds(claim)), NO_BOUND)


def in_words(claim: Claim) -> str:
    """A claim's bound: `0 within 0.2`; with its scales where not all have the same."""
    scales: dict[str, list[str]] = {}
    for scale, expected in claim.expected.items():
        text = NO_BOUND if math.isnan(expected.low) else str(expected)
        scales.setdefault(text, []).append(scale)
    if len(scales) == 1:
        return next(iter(scales))
    return ", ".join(f"{text} ({', '.join(at)})" for text, at in scales.items())


def names(claims: Iterable[Claim]) -> str:
    """Claims in a few words: `fig1` optimum-falls, best-init; `fig3` unit-init."""
    figures: dict[str, list[str]] = {}
    for claim in claims:
        figure, name = claim.id.split(".")
        figures.setdefault(figure, []).append(name)
    return "; ".join(f"`{figure}` {', '.join(found)}" for figure, found in figures.items())


def counts(papers: dict[str, list[Claim]]) -> list[list[str]]:
    """How many claims of a paper and kind have their bound from where; its head is the first."""
    rows = [["claims", *BASES, NO_BOUND]]
    for paper, claims in papers.items():
        for words, kinds in GROUPS.items():
            found = Counter(basis(claim) for claim in claims if claim.kind in kinds)
            rows.append([f"`{paper}`, {words}", *(str(found[each]) for each in rows[0][1:])])
    return rows


def reasons(claims: Iterable[Claim]) -> list[list[str]]:
    """A row for each basis and reason: these, and each bound with its claims; its head is the
    first."""
    found: dict[tuple[str, str], dict[str, list[Claim]]] = {}
    for claim in claims:
        for bound in bounds(claim)[:1]:
            alike = found.setdefault((bound.basis, bound.why), {})
            alike.setdefault(in_words(claim), []).append(claim)
    rows = [
        [each, why or "-", "<br>".join(f"{words}: {names(of)}" for words, of in alike.items())]
        for (each, why), alike in found.items()
    ]
    return [["basis", "why", "bound: claims"], *sorted(rows, key=lambda row: BASES.index(row[0]))]


def lines() -> list[str]:
    """Counts of all papers, then the bounds of each."""
    papers = by_paper()
    each = [["", f"### `{paper}`", "", *markdown(reasons(of))] for paper, of in papers.items()]
    return markdown(counts(papers)) + [line for table in each for line in table]
