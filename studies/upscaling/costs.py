"""The training costs the paper prints, computed: Table 4 and Appendix F.4."""

from repro.core.study import SCALES, Scale, Study

STUDY = Study(
    task="training_costs",
    spec={},
    grid={},
    scales=dict.fromkeys(SCALES, Scale()),
)
