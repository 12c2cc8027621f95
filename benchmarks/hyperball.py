"""Hyperball tuned narrow and trained wide, beside Muon and AdamW; writes the table of its page.

    uv run python -m benchmarks.hyperball [--write docs/transfer.md]

Fixed before the run. Model: examples/llama.py with one of its two blocks, of width 32 and 256, a
factor 8. Data: of 16 tokens, the next is one of two that a fixed random table has for the last two,
so that hidden layers have to learn. Runs: 60 steps of 8 sequences of 32 tokens, which is one token
a unit at the larger width. Rates: five, octaves apart, of hidden matrices where they have an update
of their own, beside AdamW at its best rate for all else. Three seeds, the wide ones the same for
all. Grids are around the best rate of one run of each at width 32 of another seed, looked at
before.

Predictions, of the optimizer file's docstring. How the spectral norm of a step, over the weight's
and the rate, grows with the width is measured on the way, as n^s; s is 1/2 where an update has as
few directions at every width, and 0 where its singular values are alike. Then
1. as published, MuonH and AdamH have their best rate fall as n^-s, so by more than an octave here
   where s is near 1/2. Refuted where the interval of its exponent leaves out -s.
2. With rates that fall as n^-1/2 they lose less by being tuned narrow than with rates that stay, if
   s is above 1/4, and more if it is below. Refuted where the intervals of regret say the other.
3. s falls where a batch has 16 times as many tokens. Refuted where the interval of that s is not
   below the other's.
muP with Muon and with AdamW have no regret; what is asked of them is whether a tuned Hyperball is
better, the penalty.

What came out: 1 and 3 are refuted, 2 is for AdamH and is not told for MuonH. s is small at both
batches, and best rates fall by more than n^-s, AdamH's beyond its grid: a step's spectral norm does
not say how the best rate follows the width here.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

import widthwise as ww
from benchmarks.rates import written
from widthwise.checks.coordinates import planned
from widthwise.checks.given import loss_of
from widthwise.files import names_in
from widthwise.statistics import slope, t_interval

ROOT = Path(__file__).resolve().parent.parent
TOKENS, LENGTH, ROWS, STEPS, SEEDS, WIDTHS = 16, 32, 8, 60, 3, (32, 256)
FILE = names_in(str(ROOT / "examples" / "optimizers" / "hyperball.py"))
LLAMA = names_in(str(ROOT / "examples" / "llama.py"))["make"]
PUBLISHED, FALLING = ("MUON_AS_PUBLISHED", "ADAM_AS_PUBLISHED"), ("MUON", "ADAM")
# Optimizer -> the octaves that are tried.
GRIDS: Mapping[str, range] = {
    "adamw": range(-7, -2),
    "muon": range(-6, -1),
    **dict.fromkeys((*PUBLISHED, *FALLING), range(-4, 1)),
}
REST = 2.0**-5  # AdamW's best rate at width 32, of what is not hidden beside Muon and Hyperball
AHEAD = 10  # steps before those whose spectral norms are looked at, which are as many


def make(width: int) -> nn.Module:
    """A Llama of one block."""
    model = LLAMA(width)
    del model.layers[1]
    return model


def batches(seed: int, steps: int = STEPS, rows: int = ROWS) -> list:
    """(tokens, next tokens): chains in which a token follows from the two before it."""
    table = torch.randint(TOKENS, (TOKENS, TOKENS, 2), generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(TOKENS, (steps, rows, LENGTH + 1), generator=generator)
    chosen = torch.randint(2, x.shape, generator=generator)
    for t in range(2, LENGTH + 1):
        x[..., t] = table[x[..., t - 2], x[..., t - 1], chosen[..., t]]
    return [(each[:, :-1], each[:, 1:]) for each in x]


def recipe(name: str) -> ww.Recipe:
    """muP for one of GRIDS."""
    return ww.recipe("muP", FILE[name] if name in (*PUBLISHED, *FALLING) else name)


def optimizer_of(name: str) -> Callable[[list[dict]], torch.optim.Optimizer]:
    """Of groups in which the hidden matrices' rate is tried, and all others have their own; AdamW
    has one rate."""
    kind = recipe(name).optimizer.kind

    def build(groups: list[dict]) -> torch.optim.Optimizer:
        for group in groups:
            if name != "adamw" and group["kind"] != "hidden":
                group["lr"] = REST * group["lr_scale"]
        return kind(groups)

    return build


def growth(name: str, rows: int, seeds: int, widths: Sequence[int]) -> tuple[float, float, float]:
    """(s, low, high): a step's spectral norm over the weight's grows as n^s; mean over hidden
    matrices, 95 % interval over seeds."""
    roles = ww.roles(make, widths[0], batches(0)[0][0], other=widths[-1])

    def size(width: int, seed: int) -> float:
        torch.manual_seed(seed)
        model, logs = make(width), []
        optimizer = planned(model, roles, recipe(name), 2.0**-4, 0.0, optimizer_of(name))
        hidden = [p for g in optimizer.param_groups if "hyperball" in g for p in g["params"]]
        for step, batch in enumerate(batches(seed, 2 * AHEAD, rows)):
            optimizer.zero_grad()
            loss_of(model, batch, None).backward()
            before = [p.detach().clone() for p in hidden]
            optimizer.step()
            if step >= AHEAD:
                norms = [
                    torch.linalg.matrix_norm(torch.stack([p.detach() - old, old]), 2).log2()
                    for p, old in zip(hidden, before, strict=True)
                ]
                logs += [float(step - weight) for step, weight in norms]
        return float(np.mean(logs))

    return t_interval(
        [slope(np.log2(widths), [size(width, seed) for width in widths]) for seed in range(seeds)]
    )


def shown(interval: tuple[float, float, float]) -> str:
    """In a cell; a best rate at the grid's edge has no interval."""
    if np.isnan(interval[0]):
        return "at the edge"
    return "{:.2f} [{:.2f}, {:.2f}]".format(*interval)


def main(words: list[str] | None = None) -> None:
    """Print the table; write it to its page where one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(GRIDS), choices=list(GRIDS))
    parser.add_argument("--widths", nargs=2, type=int, default=WIDTHS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--write", type=Path, help="the page whose table is brought up to date")
    arguments = parser.parse_args(words)
    if arguments.write and arguments.only != list(GRIDS):
        parser.error("--write is of all optimizers")
    torch.set_num_threads(1)
    narrow, wide = arguments.widths
    found = {}
    for name in arguments.only:
        found[name] = ww.transfer(
            make,
            [recipe(name)],
            batches,
            (narrow, wide),
            tune={"lr": [2.0**k for k in GRIDS[name]]},
            seeds=arguments.seeds,
            optimizer=optimizer_of(name),
        )
        print(f"{name}\n{found[name]}", flush=True)
        for width in (narrow, wide):
            print(width, *found[name].curves["muP", width].mean().round(4), flush=True)
    tuned = {name: each.curves["muP", wide] for name, each in found.items()}
    best = min(tuned.values(), key=lambda sweep: sweep.mean().min())
    heads = ("s", "s, batch times 16", "exponent of the best rate", "regret", "penalty")
    lines = [f"| optimizer | {' | '.join(heads)} |", f"|---{'|---:' * len(heads)}|"]
    widths = [narrow * 2**k for k in range(round(np.log2(wide / narrow)) + 1)]
    for name, each in found.items():
        cells = [
            shown(growth(name, rows, arguments.seeds, widths)) if name in PUBLISHED else ""
            for rows in (ROWS, 16 * ROWS)
        ]

        def regret(rate: float, of: ww.Transfer = each) -> np.ndarray:
            return of.regret("muP", wide, rate)

        penalty = t_interval(tuned[name].penalty(best, "grid"))
        cells += [shown(x) for x in (each.of("muP").interval(), each.interval(regret), penalty)]
        lines.append(f"| {recipe(name).optimizer.name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if arguments.write:
        arguments.write.write_text(written(arguments.write.read_text(), lines))


if __name__ == "__main__":
    main()
