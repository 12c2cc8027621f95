"""The training costs that Ma et al. print, computed: Table 4 and Appendix F.4. No torch."""

from collections.abc import Mapping
from pathlib import Path

from repro.cost.paper import paper_costs


def run(*, inputs: Mapping, device: None, progress, checkpoint: Path) -> list[dict]:
    """A record per printed number: its `name` and the fields of `PaperCost`.

    computed: by F.4's formulas. recounted: from what the printed number in fact counts.
    """
    return [{"name": name, **cost._asdict()} for name, cost in paper_costs().items()]
