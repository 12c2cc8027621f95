"""A pilot: a figure's runs on seeds that judge nothing, to plan a test with. No torch at import."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from repro.core import seeds as registered
from repro.core.names import StageName
from repro.core.study import Study
from repro.core.suite import Suite

SEEDS = registered.PILOT
FEWEST = 3


class Piloted(Suite):
    """A suite whose studies have a pilot's seeds wherever they have seeds.

    seeds: how many; None: the design itself, whose arms have a pilot's until they are registered.
    """

    def __init__(self, suite: Suite, seeds: int | None = FEWEST):
        super().__init__(suite.config)
        self.own_seeds = SEEDS[:seeds] if seeds else ()

    def study(self, name: str) -> Study:
        """A stage on the pilot's seeds."""
        if not self.own_seeds:
            return super().study(name)
        origin = StageName.parse(name)
        declared = on(super().study(str(origin.at_round(0))), self.config.scale, self.own_seeds)
        return declared.round(origin.stage) if origin.round else declared

    def table(self, figure_name: str) -> Path:
        """Where a pilot's table is; what its runs took is beside it, as JSON."""
        return self.paths.results / "pilot" / f"{figure_name}.csv"


def on(study: Study, scale: str, seeds: Sequence[int]) -> Study:
    """A study on other seeds at one scale, if it has any there."""
    own = study.at(scale)
    if not own.grid.get("seed", study.grid.get("seed", ())):
        return study
    grid = {**own.grid, "seed": [*seeds]}
    return replace(study, scales={**study.scales, scale: replace(own, grid=grid)})
