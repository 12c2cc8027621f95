"""A workload of the benchmark of transfer: tune a narrow model, train wide ones with what it gave.

proxy: the narrow model over learning rate and ratio of the embedding's rate to the others. At its
width, the base, every parametrization here is the same model, so it is trained once for all.
wide: wider models under every parametrization, over learning rates, at the proxy's best ratio.
At paper scale AdamW's weight decay is tuned on the narrow model too. Elsewhere there is none: it
takes 3 / (rate * decay) steps to act, hundreds to thousands here.
All sweeps grow where their best rate lies at an end. Every run sees its data once. Wide runs have
other seeds than the proxies, so that what is transferred does not know the runs it is judged by.

Seeds: 400 and up, drawn for this benchmark. Sizes, steps and grids are those of a prototype on
other seeds, whose results were known. Decoder and MLP were first judged by three seeds, 400 to 402
and 410 to 412, which left most of their claims untold; simulated, six tell them, so all have six
new ones at reduced scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from repro.core.study import Best, Stage, octaves

CHOSEN = "sizes, steps and grids are a prototype's, whose slopes and losses were known"
MORE = f"{CHOSEN}; six seeds instead of three, new ones, because three had told too little"
ONE_SEEN = f"{CHOSEN}; of this workload one trial of another seed was seen"
ALL = ("SP", "muP", "LVP", "full-alignment", "u-muP")
# A readout that is the embedding transposed has one rate for both; the others ask for two.
TIED = ("SP", "muP")
DECAY = "optimizer.weight_decay"
FREE = ("model.width", "lr", "embedding_ratio", "seed")
CROSSWISE = ((-1, 0), (1, 0), (0, -1), (0, 1))
ADAMW = {
    "name": "adamw",
    "betas": [0.9, 0.95],
    "eps": 1e-8,
    "weight_decay": 0.0,
    "clip": None,
}
RUN = {
    "parametrization": "SP",
    "lr": 2.0**-7,
    "embedding_ratio": 1.0,
    "optimizer": ADAMW,
    "schedule": {"name": "linear", "warmup": 0.1, "final": 0.0},
    "evaluations": 5,  # the last of five parts of a run: its loss is the mean over a fifth
    "microbatches": 1,
    "threads": 1,
    "seed": 0,
}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is run of a workload at one scale.

    widths: the proxy's, then those of the wide models, in units. steps: of a run.
    settings: other changes to the workload's settings at paper scale, dotted key -> value.
    lr: learning rates. ratios: of the embedding's to the others, which the proxy tries.
    decays: weight decays that the proxy tries.
    parametrizations: of the wide models, those that are defined for them.
    rounds: how many times a sweep may grow. proxy_seeds, wide_seeds: of either stage.
    jobs: what one job trains: a whole "stage"; the proxy's, and a "line" of rates of the wide
        models; the "seeds" of a point; a "run".
    """

    widths: Sequence[float] = ()
    steps: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    lr: Sequence[float] = ()
    ratios: Sequence[float] = (1.0, 4.0, 16.0, 64.0)
    decays: Sequence[float] = (0.0,)
    parametrizations: Sequence[str] = ALL
    rounds: int = 2
    proxy_seeds: Sequence[int] = ()
    wide_seeds: Sequence[int] = ()
    jobs: Literal["stage", "line", "seeds", "run"] = "line"


def stages(at: Workload) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    base, *wider = at.widths
    proxy = {
        "model.width": [base],
        DECAY: [*at.decays],
        "lr": at.lr,
        "embedding_ratio": at.ratios,
        "seed": at.proxy_seeds,
    }
    wide = {
        "parametrization": at.parametrizations,
        "model.width": wider,
        "lr": at.lr,
        "seed": at.wide_seeds,
    }
    settings = {**at.settings, "steps": at.steps, "model.base_width": base}
    decay = {DECAY: Best("proxy", DECAY, over=FREE)} if len(at.decays) > 1 else {}
    tuned = Best("proxy", "embedding_ratio", over=FREE)
    return {
        "proxy": Stage(
            settings,
            proxy,
            _jobs(at, proxy, tuple(proxy)),
            at.rounds,
            search=("lr", "embedding_ratio"),
            neighbourhood=CROSSWISE,
        ),
        "wide": Stage(
            {**settings, **decay},
            wide,
            _jobs(at, wide, ("lr", "seed")),
            at.rounds,
            changes={"embedding_ratio": tuned},
            search=("lr",),
        ),
    }


def _jobs(at: Workload, grid: Mapping, line: tuple[str, ...]) -> tuple[str, ...]:
    """The axes along which runs share a job."""
    return {"stage": tuple(grid), "line": line, "seeds": ("seed",), "run": ()}[at.jobs]


TEXT = {
    "dataset": "fineweb_edu",
    "batch_size": 256,
    "sequence_length": 256,
    "vocab_size": 32_768,
    "tokenizer": "bpe",
    "validation_blocks": 0,
}
SHORT_TEXT = {"data.batch_size": 8, "data.sequence_length": 32, "data.vocab_size": 512}
LONG_TEXT = {"data.dataset": "fineweb_head", "data.batch_size": 64, "data.vocab_size": 8_192}
# What the workloads share at a scale: rounds, seeds and jobs, and the rates of those on text.
PAPER = Workload(
    steps=10_000,
    lr=octaves(-13, -6, 0.5),
    decays=[0.0, 0.1, 0.4],
    rounds=3,
    proxy_seeds=[400, 401, 402],
    wide_seeds=[410, 411, 412],
    jobs="run",
)
# A run sees 64 sequences * 256 tokens * 2,000 steps = 33 million tokens of the 1.0 billion there
# are. The decoder's five widths take 4 to 81 s a run, the MLP's 2 s: 5.9 and 0.3 hours. Rates:
# those around the reduced optimum, 2^-6, and lower ones, because SP's falls as 1/width and longer
# runs take less.
WORKSTATION = Workload(
    steps=2_000,
    settings=LONG_TEXT,
    lr=octaves(-12, -6),
    proxy_seeds=[420, 421, 422],
    wide_seeds=[430, 431, 432],
    jobs="seeds",
)
REDUCED = Workload(
    steps=150,
    lr=octaves(-9, -4),
    proxy_seeds=[*range(760, 766)],
    wide_seeds=[*range(770, 776)],
)
SMOKE = Workload(
    steps=10,
    lr=octaves(-7, -5, 2),
    ratios=[1.0, 4.0],
    rounds=0,
    proxy_seeds=[400, 401],
    wide_seeds=[410, 411],
    jobs="stage",
)


def overnight(reduced: Workload, **design: Any) -> Workload:
    """The reduced scale on more seeds, of none that was looked at before. design: other fields."""
    seeds = {"proxy_seeds": [*range(3000, 3008)], "wide_seeds": [*range(3010, 3018)]}
    return replace(reduced, **seeds, **design)


def no_night(reduced: Workload) -> Workload:
    """No runs, of a workload that is left out of nights."""
    return replace(reduced, proxy_seeds=[], wide_seeds=[])
