"""Figure 3's sweep: eta_E at (d, m) = (2^k, 2^(k+3)), eta_H = eta_W = 0.2/d, all inits d^-1/2."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from repro.core.spec import override
from repro.core.study import Stage, Study, octaves, studies
from studies.embedding_lr import _decoder
from studies.embedding_lr._decoder import CHOSEN, SEEDS, Sweep, swept

PAPER = Sweep(
    widths=[2**k for k in range(8, 13)],
    lr=octaves(-12, -2, 0.5),
    seeds=[0, 1, 2],
    steps=10_000,
    batch=256,
    evaluations=100,
    rounds=1,
    same_job=(),
)
WORKSTATION = Sweep(
    widths=[2**k for k in range(7, 12)],
    lr=_decoder.WORKSTATION_LR,
    seeds=_decoder.WORKSTATION_SEEDS,
    steps=3_000,
    batch=64,
    evaluations=30,
    rounds=2,
    same_job=("seed",),
)
REDUCED = Sweep(
    widths=[16, 32, 64, 128],
    lr=octaves(-8, 0),
    seeds=SEEDS,
    steps=140,
    batch=8,
    evaluations=10,
    settings=_decoder.SMALL,
)
# Over a factor of 16 in width, half octaves wherever the paper's law or a rival could put an
# optimum, octaves beyond; seeds of no earlier run.
OVERNIGHT = replace(
    REDUCED,
    widths=[16, 32, 64, 128, 256],
    lr=[2.0**-8, *octaves(-7, -1.5, 0.5), 2.0**-0.5],
    seeds=[*range(2000, 2010)],
)
SMOKE = replace(
    REDUCED,
    widths=[32, 64],
    lr=octaves(-8, 0, 4),
    seeds=[0, 1],
    steps=10,
    same_job=("size", "lr.embedding", "seed"),
)
SWEEPS = {
    "smoke": SMOKE,
    "reduced": REDUCED,
    "overnight": OVERNIGHT,
    "workstation": WORKSTATION,
    "paper": PAPER,
}


def stages(at: Sweep) -> dict[str, Stage]:
    """The one stage at one scale."""
    return {"": swept(at)}


def changed(at: Sweep, changes: Mapping[str, Any]) -> Sweep:
    """A sweep with other settings, dotted key -> value."""
    return replace(at, settings={**at.settings, **changes})


def sweep(ratio: int = 8, changes: Mapping[str, Any] = MappingProxyType({})) -> Study:
    """The sweep at m = ratio * d. changes: settings, dotted key -> value."""
    scales = {name: replace(changed(at, changes), ratio=ratio) for name, at in SWEEPS.items()}
    spec = override(_decoder.PAPER, changes)
    return studies("language_model", spec, stages, scales, chosen_after_seeing=CHOSEN)[""]


# At the default scale the slope is `figure3`'s, of the network as printed.
SCALES = SWEEPS | {"reduced": replace(REDUCED, seeds=[])}
STUDY = studies("language_model", _decoder.PAPER, stages, SCALES, chosen_after_seeing=CHOSEN)[""]
