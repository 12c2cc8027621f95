"""Figure 3's sweep with embeddings of standard deviation 1 at every width, in two forms.

The paper's formula (Section 3.1, "Interpolation") says eta_E / eta_W = Theta(sigma_E / sigma_W
sqrt(d)). With sigma_E = 1, sigma_W = d^-1/2 and eta_W = 0.2/d that is a constant eta_E, where
d^-1/2 makes it fall as d^-1/2.

embedding_alone: the positional encoding keeps its root mean square d^-1/2, so that the embedding's
init is all that changes.
with_positions: the positional encoding is as large as the embedding, as in Figure 3's sweep: two
things change.
small: standard deviation d^-1/2, on the seeds of the first; Figure 3's main sweep, where it is run,
stands in its place.
Their optima lie higher, and so do their grids. Nothing is judged of the second: it is a control,
run at paper scale alone. At the default scale the network is as printed, at two widths.
"""

from dataclasses import dataclass, replace

from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Stage, octaves, studies
from studies.embedding_lr import width_and_vocabulary
from studies.embedding_lr._decoder import CHOSEN, PAPER, SP_EMBEDDING, Sweep, swept
from studies.embedding_lr.figure3 import AS_PRINTED
from studies.embedding_lr.width_and_vocabulary import changed

ALONE = override(PAPER, {"init.embedding": "SP"})
WITH_POSITIONS = override(PAPER, SP_EMBEDDING)


@dataclass(frozen=True, kw_only=True)
class Forms:
    """What is run of the forms at one scale."""

    embedding_alone: Sweep
    with_positions: Sweep
    small: Sweep


def without(at: Sweep) -> Sweep:
    """A form that is not run."""
    return replace(at, seeds=[])


def of_main(alone: Sweep, positions: Sweep) -> Forms:
    """Both forms, at a scale that has Figure 3's main sweep."""
    return Forms(embedding_alone=alone, with_positions=positions, small=without(alone))


PRINTED = replace(
    changed(width_and_vocabulary.REDUCED, AS_PRINTED),
    widths=[16, 64],
    seeds=of_arm("embedding_lr", "init", 4),
)
HIGH, LOW = (replace(PRINTED, lr=octaves(*ends)) for ends in ((-7, 0), (-8, 0)))
TINY = replace(width_and_vocabulary.SMOKE, lr=octaves(-6, 2, 4))
NONE = without(width_and_vocabulary.REDUCED)
SHORT = replace(width_and_vocabulary.WORKSTATION, lr=octaves(-8, -1))
WHOLE = replace(width_and_vocabulary.PAPER, lr=octaves(-10, 0, 0.5))
SCALES = {
    "smoke": of_main(TINY, TINY),
    "reduced": Forms(embedding_alone=HIGH, with_positions=without(HIGH), small=LOW),
    "overnight": of_main(NONE, NONE),
    "workstation": of_main(SHORT, without(SHORT)),
    "paper": of_main(WHOLE, WHOLE),
}


def stages(at: Forms) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    return {
        "embedding_alone": replace(swept(at.embedding_alone), changes=ALONE),
        "with_positions": replace(swept(at.with_positions), changes=WITH_POSITIONS),
        "small": replace(swept(at.small), changes=PAPER),
    }


STAGES = studies("language_model", {}, stages, SCALES, chosen_after_seeing=CHOSEN)
