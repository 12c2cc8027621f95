"""What a step of each Transformer's largest run should take on a GPU, by its roofline. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass

from repro.cost import roofline
from repro.suite import catalog
from repro.suite.plan import Run
from repro.suite.suite import Suite


@dataclass(frozen=True)
class Largest:
    """A run's step. width: of its model. found: as the suite takes it. plain: with none of
    `roofline.WAYS`. by_way: with one of them alone."""

    width: int
    found: roofline.Step
    plain: roofline.Step
    by_way: Mapping[str, roofline.Step]

    def saved(self, way: str) -> float:
        """The share of the plain step's time that one way saves by itself."""
        return 1 - self.by_way[way].seconds / self.plain.seconds


def largest_steps(suite: Suite) -> dict[str, Largest]:
    """Name of a Transformer -> its run, of those of all figures, whose steps take the most
    operations."""
    stages = {s: c for n in catalog.figure_names() for s, c in suite.figure_cells(n).items()}
    found: dict[str, Run] = {}
    for run in (run for cells in stages.values() for cell in cells for run in cell.runs):
        name = run.spec.get("model", {}).get("name")
        if run.cost.seen and name in roofline.TRANSFORMERS:
            found[name] = max(found.get(name, run), run, key=lambda r: r.cost.flops / r.cost.steps)
    return {
        name: Largest(
            run.spec["model"]["width"],
            roofline.step(run.cost, run.spec),
            roofline.step(run.cost, run.spec, ()),
            {way: roofline.step(run.cost, run.spec, [way]) for way in roofline.WAYS},
        )
        for name, run in sorted(found.items())
    }
