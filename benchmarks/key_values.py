"""Which start of key-value heads that are held fixed lets them learn alike at every width: a hidden
layer's or a readout's.

A decoder with one key-value head of 16 learns to repeat the first half of a text, a tenth of it
garbled, on fresh batches, by muP and AdamW; its base width is 32, where both starts are one.
Printed are the mean loss of all steps and of the last tenth, and how much values of the first layer
have changed by the end.

What decides was fixed before the runs. The readout's start is right if, at the rate that is best at
the base width (by the mean loss of all steps and seeds), values change by more the wider the model
is by the hidden one (a slope whose interval is above 0.1) and alike by the readout's (an interval
that reaches into -0.25 to 0.25), and at 16 times the base width, at each start's own best rate, its
loss is not the larger one (an interval of the difference, seeds paired, that is not wholly above
0).

    uv run python -m benchmarks.key_values
"""

import argparse
from functools import partial

import numpy as np
import torch
from torch import nn

import widthwise as ww
from benchmarks.zoo.networks import Llama
from widthwise.statistics import slope, t_interval

STARTS = {"hidden": "bottleneck", "output": "output"}  # kinds of keys and values
BASE, ROWS, LENGTH, GARBLED = 32, 8, 32, 0.1


def make(width: int) -> nn.Module:
    """All query heads read one head of keys and values."""
    model = Llama(width, kv=width // 16)
    nn.init.normal_(model.tokens.weight, 0.0, 0.1)
    return model


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(tokens, their next ones), the second half of a row as the first but for what is garbled."""
    drawn = torch.Generator().manual_seed(seed)
    half = torch.randint(32, (ROWS, LENGTH // 2), generator=drawn)
    other = torch.randint(32, half.shape, generator=drawn)
    again = torch.where(torch.rand(half.shape, generator=drawn) < GARBLED, other, half)
    tokens = torch.cat([half, again], 1)
    return tokens[:, :-1], tokens[:, 1:]


def trained(start: str, width: int, rate: float, steps: int, seed: int) -> tuple[float, ...]:
    """(the mean loss, that of the last tenth, the root mean square of what values changed by)."""
    first = batch(10_000 * seed)[0]
    kind = STARTS[start]
    given = {"*.k.weight": kind, "*.v.weight": kind}
    roles = ww.roles(make, BASE, first, given=given, prove=False)
    torch.manual_seed(seed)
    plan = ww.plan(make(width), roles, "muP").init_()
    model = plan.model
    optimizer = torch.optim.AdamW(plan.groups(rate), lr=rate, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 10 * (step + 1) / steps) * (1 - step / steps)
    )
    seen: list[torch.Tensor] = []
    values = model.get_submodule("layers.0.attention.v")

    def look() -> None:
        handle = values.register_forward_hook(lambda _, __, out: seen.append(out.detach()))
        model(first)
        handle.remove()

    look()
    losses = []
    for step in range(steps):
        x, y = batch(10_000 * seed + step + 1)
        logits, targets = model(x)[:, LENGTH // 2 - 1 :], y[:, LENGTH // 2 - 1 :]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
    look()
    last = losses[-max(1, steps // 10) :]
    changed = float((seen[1] - seen[0]).square().mean().sqrt())
    return sum(losses) / len(losses), sum(last) / len(last), changed


def main(words: list[str] | None = None) -> None:
    """Print a line a setting, and what decides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", nargs="+", type=int, default=[32, 128, 512])
    parser.add_argument("--rates", nargs="+", type=float, default=[0.004, 0.008, 0.016, 0.032])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=4)
    arguments = parser.parse_args(words)
    torch.set_num_threads(1)
    found = {}
    print("| start | width | rate | loss | at the end | values' change |")
    print("|---|---|---|---|---|---|")
    for width in arguments.widths:
        for rate in arguments.rates:
            for start in STARTS:
                run = partial(trained, start, width, rate, arguments.steps)
                found[start, width, rate] = np.array([run(s) for s in range(arguments.seeds)])
                numbers = " | ".join(f"{each:.4f}" for each in found[start, width, rate].mean(0))
                print(f"| {start} | {width} | {rate:g} | {numbers} |", flush=True)

    def best(start: str, width: int) -> float:
        return min(arguments.rates, key=lambda rate: found[start, width, rate][:, 0].mean())

    widths, widest = arguments.widths, max(arguments.widths)
    rate = best("hidden", min(widths))
    for start in STARTS:
        changes = np.array([found[start, width, rate][:, 2] for width in widths])
        slopes = [slope(np.log(widths), np.log(each)) for each in changes.T]
        print(f"{start}, rate {rate:g}: values' change as width^{t_interval(slopes)}")
    by_hidden, by_output = (found[start, widest, best(start, widest)][:, 0] for start in STARTS)
    print(f"loss of output's less hidden's at {widest}: {t_interval(by_output - by_hidden)}")


if __name__ == "__main__":
    main()
