"""A decoder made deeper at one width: residual branches as they are, or divided by the depth.

proxy: the shallow model, two blocks, over learning rate and ratio of the embedding's rate to the
others. shallow, deep: that model and deeper ones over learning rates at the proxy's best ratio, on
seeds of their own and with the same data for a seed, so that depths are compared in pairs. At two
blocks both kinds of branches are the same model.

Seeds: 680 and up, drawn for this study. Width 32, two blocks to eight, steps and rates are those of
a prototype on other seeds, whose losses were known; so was, from the benchmark's decoder, that a
ratio of 256 is best for two blocks.
Paper scale: width 256, 256 sequences of 256 tokens, 10,000 steps, two blocks to 32.
On a workstation, as the other workloads and to 16 blocks, a run takes 5 to 33 s: 1.3 hours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from repro.core.study import Best, Stage, octaves, studies
from studies.transfer._workload import CROSSWISE, LONG_TEXT, RUN, SHORT_TEXT, TEXT

BASE = 2  # blocks of the proxy


@dataclass(frozen=True, kw_only=True)
class Depth:
    """What is run of depth at one scale.

    depths: blocks of the deeper models. steps: of a run.
    settings: other changes to the settings at paper scale, dotted key -> value.
    lr: learning rates. ratios: of the embedding's to the others, which the proxy tries.
    rounds: how many times a sweep may grow. proxy_seeds, seeds: of the proxy, and of the others.
    jobs: what one job trains: a whole "stage"; a "line" of rates; the "seeds" of a point; a "run".
    """

    depths: Sequence[int]
    steps: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    lr: Sequence[float]
    ratios: Sequence[float] = (16.0, 64.0, 256.0, 1024.0)
    rounds: int
    proxy_seeds: Sequence[int]
    seeds: Sequence[int]
    jobs: Literal["stage", "line", "seeds", "run"]


PAPER = Depth(
    depths=[4, 8, 16, 32],
    steps=10_000,
    lr=octaves(-13, -6, 0.5),
    rounds=3,
    proxy_seeds=[680, 681, 682],
    seeds=[690, 691, 692],
    jobs="run",
)
WORKSTATION = Depth(
    depths=[4, 8, 16],
    steps=2_000,
    settings=LONG_TEXT,
    lr=octaves(-12, -6),
    rounds=2,
    proxy_seeds=[700, 701, 702],
    seeds=[710, 711, 712],
    jobs="seeds",
)
REDUCED = Depth(
    depths=[4, 8],
    steps=150,
    settings=SHORT_TEXT
    | {
        "model.width": 32,
        "model.base_width": 32,
        "model.head_dim": 16,
        "precision": "float32",
    },
    lr=octaves(-9, -4),
    rounds=2,
    proxy_seeds=[680, 681, 682],
    seeds=[690, 691, 692],
    jobs="line",
)
SMOKE = replace(
    REDUCED,
    depths=[4],
    steps=10,
    lr=octaves(-7, -5, 2),
    ratios=[64.0, 256.0],
    rounds=0,
    proxy_seeds=[680, 681],
    seeds=[690, 691],
    jobs="stage",
)
SCALES = {"smoke": SMOKE, "reduced": REDUCED, "workstation": WORKSTATION, "paper": PAPER}
SPEC = {
    **RUN,
    "data": TEXT,
    "model": {
        "name": "residual_decoder",
        "width": 256,
        "depth": BASE,
        "base_depth": BASE,
        "branch_power": 0.0,
        "head_dim": 64,
        "expansion": 4,
        "norm": "pre",
        "positional_rms": {"factor": 1.0, "power": 0.0},
        "base_width": 256,
    },
    "steps": PAPER.steps,
    "precision": "bfloat16",
}
FREE = ("model.depth", "model.branch_power", "lr", "embedding_ratio", "seed")


def stages(at: Depth) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    tuned = {"embedding_ratio": Best("proxy", "embedding_ratio", over=FREE)}

    def stage(grid: Mapping[str, Sequence], changes: Mapping, search: tuple[str, ...]) -> Stage:
        jobs = {"stage": tuple(grid), "line": ("lr", "seed"), "seeds": ("seed",), "run": ()}
        return Stage(
            {**at.settings, "steps": at.steps},
            grid,
            jobs[at.jobs],
            at.rounds,
            changes=changes,
            search=search,
            neighbourhood=CROSSWISE if len(search) > 1 else None,
        )

    shallow = {"model.depth": [BASE], "lr": at.lr}
    deep = {"model.branch_power": [0.0, 1.0], "model.depth": at.depths, "lr": at.lr}
    proxy = {**shallow, "embedding_ratio": at.ratios, "seed": at.proxy_seeds}
    return {
        "proxy": stage(proxy, {}, ("lr", "embedding_ratio")),
        "shallow": stage({**shallow, "seed": at.seeds}, tuned, ("lr",)),
        "deep": stage({**deep, "seed": at.seeds}, tuned, ("lr",)),
    }


STAGES = studies(
    "transfer",
    SPEC,
    stages,
    SCALES,
    chosen_after_seeing="depths, steps and grids are a prototype's, whose losses were known",
)
