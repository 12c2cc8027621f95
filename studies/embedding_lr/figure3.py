"""Figure 3 at the default scale: the network as the paper prints it, with seeds where they tell.

A seed's best rate scatters three times as far at d = 16 as at 256, where a run costs thirty times
as much. So widths have their own number of seeds, and their own octaves: around where a record had
the best (2^-3.6, 2^-4.2 and 2^-5.1), and so far that the constant of d = 16 can be carried to 256
by d^0, d^-1/2 and d^-1; of the octaves between the best and the last the widest has one less. The
first seeds of all widths are the same, which pairs what is compared at equal seeds. `tuning` has
seeds of its own, on which that constant is chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Stage, octaves, shared_out, studies, whole
from studies.embedding_lr import _decoder, width_and_vocabulary
from studies.embedding_lr._decoder import CHOSEN_AS_PRINTED, Sweep, swept
from studies.embedding_lr.width_and_vocabulary import changed

AS_PRINTED = {"model.norm": "none"}
NAMES = ("narrow", "middle", "wide", "tuning")


@dataclass(frozen=True, kw_only=True)
class Rates:
    """A stage's own. widths: d. lr: rates of the embedding. seeds: of each; none: no runs."""

    widths: Sequence[int]
    lr: Sequence[float]
    seeds: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class Figure3:
    """What is run at one scale.

    narrow, middle, wide: a sweep at each of three widths. tuning: what the constant is chosen on.
    run: the settings of all, lengths and jobs; its widths, rates and seeds are those of the four.
    """

    narrow: Rates
    middle: Rates
    wide: Rates
    tuning: Rates
    run: Sweep

    def at_widths(self, widths: Sequence[float]) -> "Figure3":
        """At these d, shared out among the three; the constant is chosen at the narrowest."""
        own = [whole(width, "it") for width in sorted(widths)]
        found = {
            name: replace(part, widths=its, seeds=part.seeds if its else ())
            for name, its in zip(NAMES, [*shared_out(own, 3), own[:1]], strict=True)
            for part in [getattr(self, name)]
        }
        return replace(self, **found)


def no_runs(at: Sweep) -> Figure3:
    """A scale at which other studies have the sweep."""
    none = Rates(widths=at.widths, lr=at.lr)
    return Figure3(narrow=none, middle=none, wide=none, tuning=none, run=of_all(at))


def of_all(at: Sweep) -> Sweep:
    """What the stages share of a scale of the sweep."""
    return replace(changed(at, AS_PRINTED), widths=[], lr=[], seeds=[])


REDUCED = Figure3(
    narrow=Rates(widths=[16], lr=octaves(-7, -1), seeds=of_arm("embedding_lr", "fig3-rates", 6)),
    middle=Rates(widths=[64], lr=octaves(-6, -2), seeds=of_arm("embedding_lr", "fig3-rates", 5)),
    wide=Rates(
        widths=[256],
        lr=[2.0**-8, *octaves(-6, -3)],
        seeds=of_arm("embedding_lr", "fig3-rates", 5),
    ),
    tuning=Rates(widths=[16], lr=octaves(-7, -1), seeds=of_arm("embedding_lr", "fig3-constant", 8)),
    run=of_all(width_and_vocabulary.REDUCED),
)
TINY = Rates(widths=[16], lr=octaves(-8, 0, 4), seeds=[0, 1])
SMOKE = Figure3(
    narrow=TINY,
    middle=replace(TINY, widths=[32]),
    wide=replace(TINY, widths=[64]),
    tuning=TINY,
    run=of_all(width_and_vocabulary.SMOKE),
)
SCALES = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": no_runs(width_and_vocabulary.OVERNIGHT),
    "workstation": no_runs(width_and_vocabulary.WORKSTATION),
    "paper": no_runs(width_and_vocabulary.PAPER),
}


def stages(at: Figure3) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    return {name: swept(replace(at.run, **vars(getattr(at, name)))) for name in NAMES}


SPEC = override(_decoder.PAPER, AS_PRINTED)
STAGES = studies("language_model", SPEC, stages, SCALES, chosen_after_seeing=CHOSEN_AS_PRINTED)
