"""The numbers of Ma et al. (arXiv 2602.10545), Table 4 and Appendix F.4."""

from typing import NamedTuple

from repro.cost import gpt2, mlp, resnet, transformer


class PaperCost(NamedTuple):
    """A number of Table 4 or F.4, computed by F.4's formulas, beside the printed one.

    unit: `times` or `TFLOPs`. recounted: computed from what the printed number in fact counts;
    differs from `computed` for GPT-2 only (`gpt2.nanogpt_weights`).
    """

    computed: float
    recounted: float
    printed: float
    unit: str


# F.4: TFLOPs that upscaled training needs to reach the wide model's loss. The paper measured them.
PAPER_REACHED = {"mlp-sgd": 598, "mlp-adamw": 3_031, "resnet": 132_985, "gpt2": 6_539_099}


def _paper_gpt2(width: int, runs: int = 1) -> tuple[float, float]:
    """TFLOPs of GPT-2 runs: by F.4's formula, and by nanoGPT's count of the weights.

    262,144 tokens per step for 10,000 steps. That is half of what F.3 states (0.5 M per step,
    5 B in all), as if only one of its two GPUs was counted.
    """
    shape = {"depth": 12, "width": width}
    tokens = 262_144 * 10_000 * runs
    stated = gpt2.flops(**shape, vocab_size=50_257, sequence_length=1024)
    weights = gpt2.nanogpt_weights(**shape)
    counted = transformer.flops(**shape, weights=weights, sequence_length=1024)
    return stated * tokens / 1e12, counted * tokens / 1e12


def paper_costs() -> dict[str, PaperCost]:
    """Every cost the paper prints: name -> computed, recounted, printed, unit.

    `speedup.*`: Table 4, F(kn) / F(kn0). `costs.*`: totals of runs, TFLOPs. `end-to-end.*`: cost
    from scratch over cost of base and upscaled training together (`gpt2-tuned`: tuning and
    upscaled), where upscaled training costs what the paper measured (PAPER_REACHED).
    """
    table = {"inputs": 54, "hidden_layers": 3, "classes": 7}
    rows = 464_809 * 500  # 80 % of 581,012 rows, the last incomplete batch counted; 500 epochs
    images = 50_000 * 100
    mlps = {d: mlp.flops(**table, width=d) for d in (400, 500, 2000)}
    resnets = {w: resnet.flops(width=w, classes=100) for w in (1, 2, 4)}
    totals = {
        "mlp.base": (mlps[500] * rows / 1e12,) * 2,
        "mlp.wide": (mlps[2000] * rows / 1e12,) * 2,
        "resnet.base": (resnets[2] * images / 1e12,) * 2,
        "resnet.wide": (resnets[4] * images / 1e12,) * 2,
        "gpt2.base": _paper_gpt2(1920),
        "gpt2.wide": _paper_gpt2(3840),
        "gpt2.tuning": _paper_gpt2(384, runs=25),
    }
    # As the paper prints them, in the order of `totals`.
    printed = (740, 11_326, 66_547, 265_970, 10_615_488, 37_929_809, 19_679_775)
    ratios: dict[str, tuple[tuple[float, ...], float]] = {
        "speedup.mlp": ((mlps[2000] / mlps[400],) * 2, 23.6),
        "speedup.resnet": ((resnets[4] / resnets[1],) * 2, 16.0),
        "speedup.gpt2": (
            tuple(
                wide / small
                for wide, small in zip(_paper_gpt2(3840), _paper_gpt2(384), strict=True)
            ),
            48.2,
        ),
    }
    # The paper measured what upscaled training needs; what comes before it is computed here.
    for name, spent, stated in (
        ("mlp-sgd", "mlp.base", 8.5),
        ("mlp-adamw", "mlp.base", 3.0),
        ("resnet", "resnet.base", 1.3),
        ("gpt2", "gpt2.base", 2.2),
        ("gpt2-tuned", "gpt2.tuning", 1.4),
    ):
        wide = totals[spent.split(".")[0] + ".wide"]
        reached = PAPER_REACHED[name.removesuffix("-tuned")]
        pairs = zip(wide, totals[spent], strict=True)
        ratios[f"end-to-end.{name}"] = (tuple(w / (s + reached) for w, s in pairs), stated)
    costs = {}
    for name, ((computed, recounted), stated) in ratios.items():
        costs[name] = PaperCost(computed, recounted, stated, "times")
    for (name, (computed, recounted)), stated in zip(totals.items(), printed, strict=True):
        costs[f"costs.{name}"] = PaperCost(computed, recounted, stated, "TFLOPs")
    return costs
