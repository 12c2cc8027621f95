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

from repro.core.study import Best, Scale, Study
from studies.transfer._workload import LR, ROUNDS, RUN, SHORT_TEXT, TEXT, WORKSTATION

CHOSEN = "depths, steps and grids are a prototype's, whose losses were known"
BASE = 2
DEPTHS = {
    "smoke": [4],
    "reduced": [4, 8],
    "workstation": [4, 8, 16],
    "paper": [4, 8, 16, 32],
}
RATIOS = {"smoke": [64.0, 256.0]}
SMALL = SHORT_TEXT | {
    "model.width": 32,
    "model.base_width": 32,
    "model.head_dim": 16,
    "precision": "float32",
}
CHANGES = {
    "smoke": SMALL | {"steps": 10},
    "reduced": SMALL | {"steps": 150},
    "workstation": WORKSTATION,
    "paper": {},
}
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
    "steps": 10_000,
    "precision": "bfloat16",
}
FREE = ("model.depth", "model.branch_power", "lr", "embedding_ratio", "seed")
TUNED = Best("proxy", "embedding_ratio", over=FREE)
FIRST = {"smoke": 680, "reduced": 680, "workstation": 700, "paper": 680}  # seed of the proxy


def stage(changes, grid, search, neighbourhood=None) -> Study:
    """grid: scale -> axes."""
    jobs = {"smoke": None, "reduced": ("lr", "seed"), "workstation": ("seed",), "paper": ()}
    scales = {
        name: Scale(
            CHANGES[name],
            grid(name),
            tuple(grid(name)) if jobs[name] is None else jobs[name],
            ROUNDS[name],
        )
        for name in CHANGES
    }
    return Study(
        task="transfer",
        spec={**SPEC, **changes},
        grid=grid("paper"),
        scales=scales,
        search=search,
        neighbourhood=neighbourhood,
        chosen_after_seeing=CHOSEN,
    )


def _proxy(scale: str) -> dict:
    seeds = [FIRST[scale] + k for k in range(2 if scale == "smoke" else 3)]
    ratios = RATIOS.get(scale, [16.0, 64.0, 256.0, 1024.0])
    return {"model.depth": [BASE], "lr": LR[scale], "embedding_ratio": ratios, "seed": seeds}


def _seeds(scale: str) -> dict:
    return {"seed": [seed + 10 for seed in _proxy(scale)["seed"]]}


def _shallow(scale: str) -> dict:
    return {"model.depth": [BASE], "lr": LR[scale], **_seeds(scale)}


def _deep(scale: str) -> dict:
    return {
        "model.branch_power": [0.0, 1.0],
        "model.depth": DEPTHS[scale],
        "lr": LR[scale],
        **_seeds(scale),
    }


CROSSWISE = ((-1, 0), (1, 0), (0, -1), (0, 1))
STAGES = {
    "proxy": stage({}, _proxy, ("lr", "embedding_ratio"), CROSSWISE),
    "shallow": stage({"embedding_ratio": TUNED}, _shallow, ("lr",)),
    "deep": stage({"embedding_ratio": TUNED}, _deep, ("lr",)),
}
