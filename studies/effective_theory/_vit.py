"""ViT-B/16 of Dinan, Yaida & Zhang (arXiv 2304.02034), II.1, and what a scale of `vit` runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from repro.core.study import only_one, whole

MODEL = {
    "name": "vit",
    "width": 768,
    "depth": 12,
    "heads": 12,
    "expansion": 4,
    "patch": 16,
    "resolution": 224,
    "classes": 1_000,
    "base_width": 1,
}


@dataclass(frozen=True, kw_only=True)
class Vit:
    """What is run of the ViT at one scale.

    width: units. steps, warmup: of a run, and of it the part in which the rate rises.
    evaluations: how many in a run.
    settings: other changes to the settings at paper scale, dotted key -> value.
    stretch: times the steps, evaluations and warm-up of the stages that end in "long".
    rate: learning rate of the matrices at which searches start.
    product: rate times weight decay there; None: where decay alone would shrink a weight to 1/e.
    undecayed: whether searches start at weight decay 0 too.
    starts: strategy -> (rate, weight decay) in place of these.
    rounds: how many times a search may grow.
    search_seeds: of the searches of the two compared. further_seeds: of other strategies'.
    control_search_seeds: of the controls'.
    best_seeds, fresh_seeds, printed_seeds, long_seeds: of the stages of these names. order_seeds:
    of fresh, of further strategies.
    control_seeds: of controls; where there are no runs as printed, those of best stand beside them.
    head_seeds, control_long_seeds: of the head's controls, and of order_one_long.
    jobs: what one job trains: a whole "stage"; the "seeds" of a point; a "run".
    """

    width: int
    steps: int
    warmup: int
    evaluations: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    stretch: int = 1
    rate: float
    product: float | None
    undecayed: bool = False
    starts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rounds: int = 4  # ours
    search_seeds: Sequence[int] = ()
    further_seeds: Sequence[int] = ()
    control_search_seeds: Sequence[int] = ()
    best_seeds: Sequence[int] = ()
    fresh_seeds: Sequence[int] = ()
    order_seeds: Sequence[int] = ()
    printed_seeds: Sequence[int] = ()
    long_seeds: Sequence[int] = ()
    control_seeds: Sequence[int] = ()
    head_seeds: Sequence[int] = ()
    control_long_seeds: Sequence[int] = ()
    jobs: Literal["stage", "seeds", "run"]

    def at_widths(self, widths: Sequence[float]) -> "Vit":
        """At this width, with what a strategy makes of it; searches start at the same rate of the
        matrices."""
        return replace(self, width=whole(only_one(widths), "it"))
