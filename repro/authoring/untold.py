"""Which figures' claims can never be told at a scale, by the number of their seeds. No torch."""

from collections.abc import Iterable

from repro.core.suite import Suite
from repro.verdicts.answers import FEWEST, TRAINING
from repro.verdicts.figure import figure_named
from repro.verdicts.results import INCONCLUSIVE


def untold(suite: Suite, figures: Iterable[str]) -> list[str]:
    """A line for each figure whose runs at this scale are of so few seeds, in every stage, that
    some of its claims are inconclusive whatever they give (`repro.verdicts.verdict.too_few`)."""
    scale = suite.config.scale
    fewest = FEWEST.get(scale, 0)
    found = []
    for name in figures if fewest else ():
        claims = [
            claim.id
            for claim in figure_named(name).tests
            if claim.kind == TRAINING and claim.binds(scale, suite.is_embedded(name))
        ]
        seeds = _most_seeds(suite, name) if claims else fewest
        if 1 < seeds < fewest:
            found.append(
                f"{name}: {', '.join(claims)} {INCONCLUSIVE} at {scale} scale, whatever "
                f"comes out: {seeds} seeds, where nothing is told from fewer than {fewest}"
            )
    return found


def _most_seeds(suite: Suite, figure_name: str) -> int:
    """The most seeds that a stage of a figure has: no claim is measured on more."""
    stages = suite.figure_cells(figure_name).values()
    return max(
        len({run.spec.get("seed") for cell in cells for run in cell.runs}) for cells in stages
    )
