"""How far the first steps move a ViT and a BART, as the width grows: I.2's aim, and footnote 21.

Nothing but the width and what follows from it changes: as many heads at every width, matrices of
one C, a constant rate, no weight decay, dropout or clipping, eps far below any gradient. All
strategies give the matrices one rate at one width. The uniform rates are the rival: the
neural-tangent strategy's network with that rate for every parameter at every width.

Chosen after looking at trial runs (seeds 200 to 203): eight steps, a rate of 2^-12 and few tokens
a batch. At rates from 2^-10 the changes are as large as the streams themselves, so that leading
orders cannot be told; in batches of many more tokens than the width the tokens' overlaps decide
(footnote 29 leaves the batch out). In the trials BART's outputs moved less at larger widths. A
first run of BART (seeds 300 to 307), with the rate of 2^-12 at a width of 256, so 8 times as much
at 64, gave the stream's exponents -0.27, -0.16 and 0.01 for s = 0, 1/2, 1, the outputs' -0.06 to
-0.03: there the changes are as large as the stream.

Reduced: BART's changes scatter most at a width of 64, where a run costs a sixth of one at 256, so
that each width has its own number of seeds, a stage and an arm. The ViT's strategies are paired
over widths of 32 and 256, for the two between tell little of a slope; its uniform rates, whose
noise grows with the width, over 32 and 128.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from repro.core.seeds import of_arm
from repro.core.spec import override
from repro.core.study import Stage, shared_out, studies, whole
from studies.effective_theory import _bart, bart, vit
from studies.effective_theory._strategies import STRATEGIES, matrix_factor

S_FAMILY = [name for name in STRATEGIES if name != "standard"]
SHARED = {
    "optimizer": {
        "name": "adamw",
        "betas": [0.9, 0.999],
        "eps": 1e-12,
        "weight_decay": 0.0,
        "clip": None,
    },
    "steps": 8,
    "evaluations": 4,
    "rates": "strategy",
}
CONSTANT = {"name": "constant", "warmup": 0}
VIT = {
    **override(vit.SPEC, {"schedule": CONSTANT | {"final_lr": 0.0}}),
    **SHARED,
    "trains": "image_classification",
}
BART = {
    **override(
        _bart.SPEC,
        {
            "schedule": CONSTANT | {"final": 1.0, "steps": SHARED["steps"]},
            "model.dropout": 0.0,
            "model.attention_dropout": 0.0,
            "model.embedding_std": 1.0,
        },
    ),
    **SHARED,
    "trains": "span_denoising",
}


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What a stage of its own is of. Without seeds it has no runs.

    widths: units. rates: whose cases, of the strategies or uniform ones, "" both. seeds: its own.
    """

    widths: Sequence[int] = ()
    rates: Literal["", "strategy", "uniform"] = ""
    seeds: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class Network:
    """What is run of one model at one scale.

    widths: units. reference: the width at which all strategies give the matrices one rate.
    seeds: of all cases at all widths. arms: stage -> what it is of.
    settings: changes to the settings at paper scale, dotted key -> value.
    """

    widths: Sequence[int]
    reference: int
    seeds: Sequence[int] = ()
    arms: Mapping[str, Arm]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def at_widths(self, widths: Sequence[float]) -> "Network":
        """At these widths; arms of one width share them out, others have them all."""
        own = sorted(whole(width, "it") for width in widths)
        single = [name for name, arm in self.arms.items() if len(arm.widths) == 1]
        parts = dict(zip(single, shared_out(own, len(single)), strict=True))
        arms = {
            name: replace(arm, widths=its, seeds=arm.seeds if its else ())
            for name, arm in self.arms.items()
            for its in [parts.get(name, own)]
        }
        return replace(self, widths=own, arms=arms)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What is run at one scale. rate: learning rate of the matrices. same_job: axes along which
    runs share a job."""

    rate: float
    vit: Network
    bart: Network
    same_job: tuple[str, ...] = ("size", "case", "seed")

    def at_widths(self, widths: Sequence[float]) -> "Sizes":
        """Both networks at these widths."""
        return replace(self, vit=self.vit.at_widths(widths), bart=self.bart.at_widths(widths))


def few_images(at: vit.Vit) -> dict[str, Any]:
    """The settings of a scale of `vit`, in batches of few images."""
    return {**at.settings, "model.width": at.width, "data.batch_size": 32}


def few_tokens(at: _bart.Network) -> dict[str, Any]:
    """The settings of a scale of `bart`, in batches of few tokens."""
    return {
        **at.settings,
        "model.depth": at.depth,
        "model.heads": at.heads,
        "data.batch_size": 4,
        "data.sequence_length": 16,
        "data.validation_blocks": 16,
    }


NO_VIT = {"vit_strategies": Arm(), "vit_uniform": Arm()}
NO_BART = {"bart_64": Arm(), "bart_128": Arm(), "bart_256": Arm()}
PAPER = Sizes(
    rate=2.0**-15,
    vit=Network(
        widths=[192, 384, 768, 1_536], reference=768, seeds=[*range(300, 305)], arms=NO_VIT
    ),
    bart=Network(
        widths=[256, 512, 1_024, 2_048], reference=256, seeds=[*range(310, 315)], arms=NO_BART
    ),
    same_job=("size",),
)
WORKSTATION = Sizes(
    rate=2.0**-14,
    vit=Network(
        widths=[96, 192, 384, 768, 1_536],
        reference=384,
        seeds=[*range(320, 325)],
        arms=NO_VIT,
        settings=few_images(vit.WORKSTATION),
    ),
    bart=Network(
        widths=[64, 128, 256, 512, 1_024],
        reference=64,
        seeds=[*range(330, 335)],
        arms=NO_BART,
        settings=few_tokens(bart.WORKSTATION.network),
    ),
)
REDUCED = Sizes(
    rate=2.0**-12,
    vit=Network(
        widths=[32, 64, 128, 256],
        reference=128,
        arms={
            "vit_strategies": Arm(
                widths=[32, 256],
                rates="strategy",
                seeds=of_arm("effective_theory", "sizes-vit", 24),
            ),
            "vit_uniform": Arm(
                widths=[32, 128],
                rates="uniform",
                seeds=of_arm("effective_theory", "sizes-uniform", 64),
            ),
        },
        settings=few_images(vit.REDUCED),
    ),
    bart=Network(
        widths=[64, 128, 256],
        reference=64,
        arms={
            f"bart_{n}": Arm(
                widths=[n], seeds=of_arm("effective_theory", f"sizes-bart-{n}", number)
            )
            for n, number in ((64, 100), (128, 72), (256, 48))
        },
        settings=few_tokens(bart.REDUCED.network),
    ),
)
SMOKE = Sizes(
    rate=2.0**-12,
    vit=Network(
        widths=[16, 32],
        reference=16,
        seeds=[300, 301],
        arms=NO_VIT,
        settings=few_images(vit.SMOKE),
    ),
    bart=Network(
        widths=[16, 32],
        reference=16,
        seeds=[310, 311],
        arms=NO_BART,
        settings=few_tokens(bart.SMOKE.network),
    ),
)
SCALES = {"smoke": SMOKE, "reduced": REDUCED, "workstation": WORKSTATION, "paper": PAPER}


def stages(at: Sizes) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    whole = {"vit": _stage(at, at.vit, VIT), "bart": _stage(at, at.bart, BART)}
    arms = {name: _arm(whole["vit"], arm) for name, arm in at.vit.arms.items()}
    return whole | arms | {name: _arm(whole["bart"], arm) for name, arm in at.bart.arms.items()}


def _stage(at: Sizes, network: Network, spec: Mapping[str, Any]) -> Stage:
    """All cases of a network at all widths."""

    def size(n: int) -> dict[str, Any]:
        # BART's matrices have variance C / n with the paper's C (II.2.C).
        std = {"model.matrix_std": _bart.std_at(n)} if spec is BART else {}
        return {"model.width": n, **std}

    grid = {
        "size": [size(n) for n in network.widths],
        "case": _cases(at.rate, network.reference),
        "seed": network.seeds,
    }
    return Stage(network.settings, grid, at.same_job, changes=spec)


def _cases(rate: float, width: int) -> list[dict]:
    """Every s, and uniform rates. width: where all give the matrices one rate."""
    family = [
        {
            "parametrization": STRATEGIES[name],
            "rates": "strategy",
            "lr": rate / matrix_factor(name, width),
        }
        for name in S_FAMILY
    ]
    uniform = {"parametrization": "neural-tangent", "rates": "uniform", "lr": rate}
    return [*family, uniform]


def _arm(whole: Stage, arm: Arm) -> Stage:
    """Of all cases at all widths those of an arm, on its seeds; no run of an arm without."""
    if not arm.seeds:
        return replace(whole, grid={**whole.grid, "seed": []})
    grid = {
        "size": [each for each in whole.grid["size"] if each["model.width"] in arm.widths],
        "case": [c for c in whole.grid["case"] if arm.rates in ("", c["rates"])],
        "seed": arm.seeds,
    }
    return replace(whole, grid=grid, same_job=("case", "seed"))


STAGES = studies(
    "update_sizes",
    {},
    stages,
    SCALES,
    chosen_after_seeing=(
        "rate, steps and batch make changes small beside what changes, as trial runs with other "
        "seeds showed; in these BART's outputs moved less at larger widths"
    ),
)
