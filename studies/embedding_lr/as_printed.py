"""Figure 3's sweep on the network as the paper prints it (equation 1): no LayerNorm.

The suite's other sweeps of the decoder have one, a choice made when the slopes of both were known
(`_decoder`). Reduced: none, to save time.
"""

from dataclasses import replace

from repro.core.spec import override
from repro.core.study import studies
from studies.embedding_lr import _decoder
from studies.embedding_lr.figure3 import AS_PRINTED
from studies.embedding_lr.width_and_vocabulary import SWEEPS, changed, stages

AS_SWEPT = {name: changed(at, AS_PRINTED) for name, at in SWEEPS.items()}
# There the main sweep is as printed; at reduced scale `figure3` is.
NONE = {name: replace(AS_SWEPT[name], seeds=[]) for name in ("reduced", "workstation", "paper")}
NIGHT = replace(AS_SWEPT["overnight"], seeds=[*range(2000, 2008)])
SCALES = AS_SWEPT | NONE | {"overnight": NIGHT}
SPEC = override(_decoder.PAPER, AS_PRINTED)
STUDY = studies("language_model", SPEC, stages, SCALES, chosen_after_seeing=_decoder.CHOSEN)[""]
