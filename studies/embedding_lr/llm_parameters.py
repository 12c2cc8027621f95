"""Table 3: the decoder's parameters as built, counted on the meta device."""

from repro.core.study import SCALES, Scale, Study
from studies.embedding_lr._llm import PAPER

STUDY = Study(
    task="parameter_table",
    spec={
        "model": PAPER["model"],
        "data_settings": {key: PAPER["data"][key] for key in ("vocab_size", "sequence_length")},
        "parametrization": PAPER["parametrization"],
        "family": "adam",
        "draw": False,
        "threads": 1,
        "seed": 0,
    },
    grid={},
    scales={name: Scale() for name in SCALES},
)
