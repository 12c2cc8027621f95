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

from repro.core.study import OVERNIGHT, Best, Scale, Study, octaves

CHOSEN = "sizes, steps and grids are a prototype's, whose slopes and losses were known"
MORE = f"{CHOSEN}; six seeds instead of three, new ones, because three had told too little"
ONE_SEEN = f"{CHOSEN}; of this workload one trial of another seed was seen"
# Scale -> seeds of the proxy, and of the wide models.
SEEDS: dict[str, tuple[list[int], list[int]]] = {
    "smoke": ([400, 401], [410, 411]),
    "reduced": ([*range(760, 766)], [*range(770, 776)]),
    "workstation": ([420, 421, 422], [430, 431, 432]),
    "paper": ([400, 401, 402], [410, 411, 412]),
}
NIGHT = ([*range(3000, 3008)], [*range(3010, 3018)])  # of none that was looked at before
ROUNDS = {"smoke": 0, "reduced": 2, OVERNIGHT: 2, "workstation": 2, "paper": 3}
ALL = ("SP", "muP", "LVP", "full-alignment", "u-muP")
# A readout that is the embedding transposed has one rate for both; the others ask for two.
TIED = ("SP", "muP")
RATIOS = [1.0, 4.0, 16.0, 64.0]
DECAYS = [0.0, 0.1, 0.4]
DECAY = "optimizer.weight_decay"
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


def workload(
    spec: Mapping,
    *,
    widths: Mapping[str, Sequence[float]],
    scales: Mapping[str, Mapping],
    lr: Mapping[str, Sequence[float]],
    parametrizations: Sequence[str] = ALL,
    ratios: Sequence[float] = RATIOS,
    night: Mapping[str, Sequence[float]] | None = None,
    chosen: str = ONE_SEEN,
) -> dict[str, Study]:
    """Stage name -> Study.

    spec: of task `transfer` at paper scale, without what RUN has. scales: scale -> its changes.
    widths: scale -> the proxy's and the wide ones'. lr: scale -> learning rates.
    parametrizations: those defined for the model. ratios: see RATIOS. night: `widths`, `lr` and
    `ratios` of a night, whose runs are else those of reduced scale; none of a workload that is left
    out of nights. chosen: of `Study`'s `chosen_after_seeing`.
    """
    whole = {**RUN, **spec}
    at_night = {"widths": widths["reduced"], "lr": lr["reduced"], "ratios": ratios, **(night or {})}
    widths = {**widths, OVERNIGHT: at_night["widths"]}
    lr = {**lr, OVERNIGHT: at_night["lr"]}
    seeds = {**SEEDS, OVERNIGHT: NIGHT if night else ([], [])}
    scales = {**scales, OVERNIGHT: scales["reduced"]}
    free = ("model.width", "lr", "embedding_ratio", "seed")

    def scale(name: str, grid: Mapping, same_job: tuple[str, ...], **taken) -> Scale:
        """taken: settings that are chosen among other runs."""
        jobs = {"smoke": tuple(grid), "workstation": ("seed",), "paper": ()}
        changes = {**scales[name], "model.base_width": widths[name][0], **taken}
        return Scale(changes, grid, jobs.get(name, same_job), ROUNDS[name])

    def proxy(name: str) -> Scale:
        few = {"smoke": ratios[:2], OVERNIGHT: at_night["ratios"]}.get(name, ratios)
        grid = {
            "model.width": widths[name][:1],
            DECAY: DECAYS if name == "paper" else [0.0],
            "lr": lr[name],
            "embedding_ratio": few,
            "seed": seeds[name][0],
        }
        return scale(name, grid, tuple(grid))

    def wide(name: str) -> Scale:
        grid = {
            "parametrization": parametrizations,
            "model.width": widths[name][1:],
            "lr": lr[name],
            "seed": seeds[name][1],
        }
        taken = {DECAY: Best("proxy", DECAY, over=free)} if name == "paper" else {}
        return scale(name, grid, ("lr", "seed"), **taken)

    def study(of, changes: Mapping, search: tuple, neighbourhood) -> Study:
        made = {name: of(name) for name in scales}
        return Study(
            task="transfer",
            spec={**whole, **changes},
            grid=made["paper"].grid,
            scales=made,
            search=search,
            neighbourhood=neighbourhood,
            chosen_after_seeing=chosen,
        )

    crosswise = ((-1, 0), (1, 0), (0, -1), (0, 1))
    tuned = Best("proxy", "embedding_ratio", over=free)
    return {
        "proxy": study(proxy, {}, ("lr", "embedding_ratio"), crosswise),
        "wide": study(wide, {"embedding_ratio": tuned}, ("lr",), None),
    }


TEXT = {
    "dataset": "fineweb_edu",
    "batch_size": 256,
    "sequence_length": 256,
    "vocab_size": 32_768,
    "tokenizer": "bpe",
    "validation_blocks": 0,
}
SHORT_TEXT = {"data.batch_size": 8, "data.sequence_length": 32, "data.vocab_size": 512}
# On a workstation a run sees 64 sequences * 256 tokens * 2,000 steps = 33 million tokens of the 1.0
# billion there are. The decoder's five widths take 4 to 81 s a run, the MLP's 2 s: 5.9 and 0.3
# hours. Rates: those around the reduced optimum, 2^-6, and lower ones, because SP's falls as
# 1/width and longer runs take less.
WORKSTATION = {
    "data.dataset": "fineweb_head",
    "data.batch_size": 64,
    "data.vocab_size": 8_192,
    "steps": 2_000,
}
LR = {
    "smoke": octaves(-7, -5, 2),
    "reduced": octaves(-9, -4),
    "workstation": octaves(-12, -6),
    "paper": octaves(-13, -6, 0.5),
}
