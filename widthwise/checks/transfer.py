"""What is lost of a model of one's own where its narrow version is tuned and its wide one trained.

The coordinate check says whether updates have the same size at every width. This says what follows:
train the narrow model over learning rates, the wide ones under every parametrization, and compare.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn

from widthwise.checks.coordinates import default_loss, planned
from widthwise.checks.regret import Curve, Curves
from widthwise.errors import UserError, did_you_mean
from widthwise.parametrization.recipes import Recipe, recipe
from widthwise.tracing.roles import roles

RATES = tuple(2.0**k for k in range(-10, -3))
TUNE: Mapping[str, Sequence[float]] = MappingProxyType({"lr": RATES, "weight_decay": (0.0,)})
LAST = 5  # the loss of a run is its mean over the last of so many parts
WIDE_SEEDS = 1_000  # the first seed of wide models: none of the narrow one's


class Transfer(Curves):
    """What a comparison found (`widthwise.checks.regret.Curves`); printed, a table.

    weight_decay: the narrow model's best, with which all were trained.
    """

    def __init__(self, curves: Mapping[tuple[str, float], Curve], weight_decay: float = 0.0):
        super().__init__(curves)
        self.weight_decay = weight_decay

    def __str__(self) -> str:
        widest, rate = self.widest, self.proxy_rate()

        def regret(name: str) -> tuple[float, float, float]:
            return self.interval(lambda each: self.regret(name, widest, each))

        lines = [
            f"tuned at width {self.base:g}: best rate {rate:.3g}"
            + (f", weight decay {self.weight_decay:.3g}" if self.weight_decay else "")
            + ", loss "
            f"{self.tuned(self.names[0], self.base).mean():.4f}; {len(self.seeds)} seeds",
            f"at width {widest:g}, losses and 95 % intervals:",
            f"{'':16} {'best rate':>10} {'at the narrow one':>18} {'tuned':>9}   regret",
        ]
        for name in self.names:
            edge = " (at the edge of those tried)" if self.at_edge(name, widest) else ""
            lines.append(
                f"{name:16} {self.best_rate(name, widest):10.3g} "
                f"{self.transferred(name, widest).mean():18.4f} "
                f"{self.tuned(name, widest).mean():9.4f}   "
                + "{:.4f} [{:.4f}, {:.4f}]".format(*regret(name))
                + edge
            )
        if self.at_edge(self.names[0], self.base):
            lines.append("the narrow model's best rate is at the edge of those tried: give others")
        if not self.gain() > 0:
            lines.append("the widest model is no better than the narrow one: nothing to lose")
        return "\n".join(lines)


def transfer(
    make: Callable[[Any], nn.Module],
    recipes: Sequence[str | Recipe],
    batches: Callable[[int], Sequence],
    widths: Sequence[int],
    *,
    tune: Mapping[str, Sequence[float]] = TUNE,
    seeds: int = 3,
    optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
    loss: Callable[[nn.Module, Any], torch.Tensor] | None = None,
    readout: str | None = None,
    given: Mapping[str, str] = MappingProxyType({}),
    progress: Callable[[str], None] = lambda words: None,
) -> Transfer:
    """Tune a model at the least of the widths, train wider ones with what was found.

    make: width -> the module. recipes: names, paths of files, or Recipes, of one optimizer.
    batches: seed -> (inputs, targets), ...; a run goes through them once, so as many steps are
        taken, the learning rate warming up for a tenth and falling to 0.
    tune: "lr" and, where there is any, "weight_decay" -> those tried at the least width. The best
        decay there is every wide model's; rates are tried at every width.
    seeds: two or more, of every setting.
    optimizer, loss, readout, given: as in `coordinate_check`.
    progress: is told of every recipe and width before it is trained.
    Raises UserError on fewer than two widths, seeds or three rates, no recipe or more than one
    optimizer, rates that are not above 0 and finite, and as the functions it calls.
    """
    widths = sorted(set(widths))
    if odd := set(tune) - set(TUNE):
        raise UserError(f"transfer: tune: {did_you_mean(str(odd.pop()), TUNE)}")
    rates, decays = (sorted(set(tune.get(key, TUNE[key]))) for key in ("lr", "weight_decay"))
    for what, count, least in (
        ("widths", len(widths), 2),
        ("seeds", seeds, 2),
        ("rates", len(rates), 3),
        ("weight decays", len(decays), 1),
        ("recipes", len(recipes), 1),
    ):
        if count < least:
            raise UserError(f"transfer: {count} {what}: give {least} or more")
    if not all(0 < rate < math.inf for rate in rates):
        raise UserError(f"transfer: rates {rates}: give rates above 0")
    asked = [recipe(each) for each in recipes]
    if len({each.optimizer.name for each in asked}) > 1:
        raise UserError(
            "transfer: recipes of several optimizers have no narrow model in common: call it for "
            "each"
        )
    short = len({each.name for each in asked}) == len(asked)
    named = {each.name if short else each.label: each for each in asked}
    grid = np.array(rates)
    first = batches(0)
    if len(first) < LAST:
        raise UserError(f"transfer: batches gives {len(first)} of them: give {LAST} or more")
    found = roles(make, widths[0], first[0][0], other=widths[-1], given=given)

    def final(name: str, width: int, rate: float, decay: float, seed: int) -> float:
        """The mean loss over the last part of a run; infinite if it diverged."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = make(width)
            its_optimizer = planned(model, found, named[name], rate, decay, optimizer, readout)
            return _train(model, its_optimizer, batches(seed), loss)

    def curve(name: str, width: int, decay: float) -> Curve:
        narrow = width == widths[0]
        progress(f"{'the narrow model' if narrow else name}, width {width}")
        start = 0 if narrow else WIDE_SEEDS
        runs = [[final(name, width, rate, decay, start + k) for rate in grid] for k in range(seeds)]
        return grid, np.array(runs)

    # The narrow model is the same under all of them.
    narrow = {decay: curve(next(iter(named)), widths[0], decay) for decay in decays}
    best = min(narrow, key=lambda decay: narrow[decay][1].mean(0).min())
    curves: dict[tuple[str, float], Curve] = {(n, widths[0]): narrow[best] for n in named}
    curves |= {(name, width): curve(name, width, best) for name in named for width in widths[1:]}
    return Transfer(curves, best)


def _train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[tuple],
    loss: Callable[[nn.Module, tuple], torch.Tensor] | None,
) -> float:
    steps, last = len(batches), []
    warmup = max(1, round(0.1 * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: (step + 1) / warmup if step < warmup else (steps - step) / (steps - warmup),
    )
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        value = (loss or default_loss)(model, batch)
        value.backward()
        optimizer.step()
        schedule.step()
        if step >= steps - steps // LAST:
            last.append(value.detach())
    mean = float(torch.stack(last).mean())
    return mean if np.isfinite(mean) else float("inf")
