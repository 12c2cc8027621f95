"""What is lost of a model of one's own where its narrow version is tuned and its wide one trained.

The coordinate check says whether updates have the same size at every width. This says what follows:
train the narrow model over learning rates, the wide ones under every parametrization, and compare.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn

from widthwise.checks.coordinates import planned
from widthwise.checks.given import Loss, batches_of, inputs_of, loss_of
from widthwise.checks.regret import Comparison
from widthwise.checks.sweep import Sweep
from widthwise.errors import UserError, did_you_mean
from widthwise.files import calling
from widthwise.parametrization.checked import NEAR
from widthwise.parametrization.recipes import Recipe, recipe
from widthwise.printed import progress_printer
from widthwise.statistics import t_interval
from widthwise.tracing.making import check_anew, made
from widthwise.tracing.roles import roles, width_of
from widthwise.tracing.shapes import tensors

RATES = tuple(2.0**k for k in range(-10, -3))
TUNE: Mapping[str, Sequence[float]] = MappingProxyType({"lr": RATES, "weight_decay": (0.0,)})
LEARNED = 0.05  # the least part of its first loss by which the narrow model's must fall
LAST = 5  # the loss of a run is its mean over the last of so many parts
WIDE_SEEDS = 1_000  # the first seed of wide models: none of the narrow one's


class NoRateError(UserError):
    """No rate can be carried on: all diverge, or the narrow model learns nothing."""


class Transfer(Comparison):
    """What a comparison found (`widthwise.checks.regret.Comparison`); printed, a table.

    weight_decay: the narrow model's best, with which all were trained. same_data: whether batches
    gives every seed the same. sizes: width, or depth
    where all have one width -> the model's size in words. settings: what was found in each further
    setting, or why there is no rate to carry on.
    """

    settings: Sequence["Transfer | NoRateError"] = ()

    def __init__(
        self,
        curves: Mapping[tuple[str, float], Sweep],
        weight_decay: float = 0.0,
        sizes: Mapping[float, str] = MappingProxyType({}),
        same_data: bool = False,
    ):
        super().__init__(curves)
        self.weight_decay, self.same_data = weight_decay, same_data
        self.sizes = {width: sizes.get(width, f"width {width:g}") for width in self.widths}

    def __str__(self) -> str:
        widest, rate = self.widest, self.proxy_rate()

        def regret(name: str) -> tuple[float, float, float]:
            return self.interval(lambda each: self.regret(name, widest, each))

        wide = max(16, *map(len, self.names))
        lines = [
            f"tuned at {self.sizes[self.base]}: best rate {rate:.3g}"
            + (f", weight decay {self.weight_decay:.3g}" if self.weight_decay else "")
            + ", loss "
            f"{self.tuned(self.names[0], self.base).mean():.4f}; {len(self.seeds)} seeds",
            f"at {self.sizes[widest]}, losses and 95 % intervals:",
            f"{'':{wide}} {'best rate':>10} {'at the narrow one':>18} {'tuned':>9}   regret",
        ]
        for name in self.names:
            edge = " (at the edge of those tried)" if self.curves[name, widest].at_edge else ""
            lines.append(
                f"{name:{wide}} {self.curves[name, widest].best_rate:10.3g} "
                f"{self.transferred(name, widest).mean():18.4f} "
                f"{self.tuned(name, widest).mean():9.4f}   {_said(*regret(name))}{edge}"
            )
        if len(self.seeds) == 2:
            lines.append("intervals of two seeds are of one difference: give more seeds")
        lines += self._diverged()
        if self.proxy.at_edge:
            lines.append("the narrow model's best rate is at the edge of those tried: give others")
        if self.same_data:
            lines.append(
                "batches gives every seed the same data: intervals are over initial values alone"
            )
        if not self.gain() > 0:
            lines.append("the widest model, tuned, is no better than the narrow one")
        lines += self._in_settings()
        return "\n".join(lines)

    def transfers(self, name: str) -> bool:
        """Whether the rate does: at the largest width the best one is the narrow model's, or next
        to it of those tried, none of the two at an edge, and no run diverged at the narrow one."""
        wide, rates = self.curves[name, self.widest], [*self.proxy.rates]
        apart = abs(rates.index(wide.best_rate) - rates.index(self.proxy.best_rate))
        inside = not (wide.at_edge or self.proxy.at_edge)
        return apart <= 1 and inside and math.isfinite(self.transferred(name, self.widest).mean())

    def _in_settings(self) -> Iterator[str]:
        """In how many further settings the rate transfers, a line for each parametrization."""
        told = [each for each in self.settings if isinstance(each, Transfer)]
        for name in self.names if self.settings else ():
            number = sum(each.transfers(name) for each in told)
            lost = [float(each.regret(name, each.widest).mean()) for each in told]
            known = [each for each in lost if math.isfinite(each)]
            words = f"; regret {_said(*t_interval(known))} over {len(known)}" if known else ""
            yield f"{name}: the rate transfers in {number} of {len(self.settings)} settings{words}"
        for each in self.settings:
            if isinstance(each, NoRateError):
                yield f"none to carry on: {each}"

    def _diverged(self) -> Iterator[str]:
        """Runs that diverged, a line for each curve."""
        for (name, width), sweep in self.curves.items():
            runs = np.argwhere(np.isinf(sweep.losses))
            at = [f"{sweep.rates[rate]:.3g} (seed {sweep.seeds[k]})" for k, rate in runs]
            if at and (width > self.base or name == self.names[0]):
                yield f"diverged, and not chosen: {name}, {self.sizes[width]}: {', '.join(at)}"

    def plot(self, path: str) -> None:
        """Draw losses over rates, a panel a parametrization and a curve a width, with the narrow
        model's best rate, to a file; needs matplotlib."""
        from widthwise.checks.picture import draw_sweeps

        panels = {name: self.of(name) for name in self.names}
        draw_sweeps(panels, self.sizes, self.proxy_rate(), path)


def _said(mean: float, low: float, high: float) -> str:
    """A regret with its interval."""
    if not math.isfinite(mean):
        return "diverges at the narrow one's"
    if mean == low == high == 0:
        return "0, by the rates tried"
    return f"{mean:.4f} [{low:.4f}, {high:.4f}]"


def warmed(optimizer: torch.optim.Optimizer, steps: int) -> Any:
    """The schedule of a run unless another is given: up for a tenth of it, then down to 0."""
    warmup = max(1, round(0.1 * steps))
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: (step + 1) / warmup if step < warmup else (steps - step) / (steps - warmup),
    )


def transfer(
    make: Callable[[Any], nn.Module],
    recipes: Sequence[str | Recipe],
    batches: Callable[[int], Sequence[Any]],
    widths: Sequence[int],
    *,
    depths: Sequence[int] | None = None,
    tune: Mapping[str, Sequence[float]] = TUNE,
    seeds: int = 3,
    optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
    loss: Loss | None = None,
    schedule: Callable[[torch.optim.Optimizer, int], Any] = warmed,
    given: Mapping[str, str] = MappingProxyType({}),
    settings: Sequence[Mapping[str, Any]] | Callable[[int], Mapping[str, Any] | None] = (),
    progress: Callable[[str], object] | None = None,
) -> Transfer:
    """Tune a model at the least of the widths, train wider ones with what was found.

    make: width -> the module, or {"width": ..., "depth": ...} where `depths` are given.
    recipes: names, paths of files, or Recipes, of one optimizer.
    batches: seed -> (inputs, targets), ..., as `coordinate_check` takes them; a run goes through
        them once, so as many steps are taken.
    depths: of the models of `widths`, as many, increasing with them: (64, 2), (256, 8). Recipes
        have a rule for the depth then.
    tune: "lr" and, where there is any, "weight_decay" -> those tried at the least width. The best
        decay there is every wide model's; rates are tried at every width.
    seeds: two or more, of every setting.
    optimizer, loss, given: as in `coordinate_check`.
    schedule: (optimizer, steps) -> a scheduler of torch's, whose `step` is called after each; the
        rate warms up for a tenth of the steps and falls to 0 unless another is given.
    settings: further ones, in each of which the same is done: what is given in the place of these
        arguments, as {"make": deeper}. A list, or a function of 0, 1, ... that ends with None. One
        in which no rate can be carried on is counted as that.
    progress: is called with a line as each recipe and width is begun; None: after two seconds
        lines go to stderr.
    Raises UserError on fewer than two widths, seeds or three rates, no recipe or more than one
    optimizer, rates that are not above 0 and finite, losses that are finite at none of them, and
    a narrow model whose loss does not fall by a twentieth, as the functions it calls.
    """
    asked = {key: value for key, value in locals().items() if key != "settings"}
    further = _settings(settings, asked)
    sizes = _sizes(widths, depths)
    widths = list(sizes)
    rates, decays = _tried(tune)
    _check_counts(widths, seeds, rates, decays, recipes)
    named = _named(recipes)
    grid = np.array(rates)
    first = batches_of(batches, 0)
    if len(first) < LAST:
        raise UserError(f"transfer: batches gives {len(first)} of them: give {LAST} or more")
    base = sizes[widths[0]]
    other = {**base, "width": width_of(sizes[widths[-1]])} if depths else sizes[widths[-1]]
    if other == base:  # the depth alone differs
        other = {**base, "width": 2 * base["width"]}
    check_anew(make, base)
    found = roles(make, base, inputs_of(first[0]), other=other, given=given)

    tell = progress_printer(progress)
    begun: list[float] = []  # the loss of the narrow model before its first step

    def final(name: str, width: int, rate: float, decay: float, seed: int) -> float:
        """The mean loss over the last part of a run; infinite if it diverged."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = made(make, sizes[width])
            its_optimizer = planned(model, found, named[name], rate, decay, optimizer)
            data = batches_of(batches, seed)
            its_schedule = calling("schedule", schedule, its_optimizer, len(data))
            start, end = _train(model, its_optimizer, its_schedule, data, loss)
            if not math.isfinite(start):
                raise UserError(
                    f"transfer: the loss is {start} before the first step, at width {width}: look "
                    "at loss and batches"
                )
            if width == widths[0]:
                begun.append(start)
            return end

    def curve(name: str, width: int, decay: float) -> Sweep:
        narrow = width == widths[0]
        tell(f"transfer: {'the narrow model' if narrow else name}, width {width}")
        start = 0 if narrow else WIDE_SEEDS
        runs = [[final(name, width, rate, decay, start + k) for rate in grid] for k in range(seeds)]
        if not np.isfinite(runs).all(0).any():
            raise NoRateError(
                f"transfer: {name}, width {width}: at each of the rates {rates} a run diverged, of "
                f"seeds {start} to {start + seeds - 1}: give lower ones"
            )
        return Sweep(grid, tuple(range(start, start + seeds)), np.array(runs))

    # The narrow model is the same under all of them.
    narrow = {decay: curve(next(iter(named)), widths[0], decay) for decay in decays}
    best = min(narrow, key=lambda decay: narrow[decay].mean().min())
    lowest = float(narrow[best].mean().min())
    if not _learned(lowest, float(np.mean(begun))):
        raise NoRateError(
            f"transfer: the narrow model, width {widths[0]}, has learned nothing: its best loss is "
            f"{lowest:.4g} and was {np.mean(begun):.4g} before the first "
            "step; then every rate is as good as another: give more steps, or other rates"
        )
    curves: dict[tuple[str, float], Sweep] = {(n, widths[0]): narrow[best] for n in named}
    curves |= {(name, width): curve(name, width, best) for name in named for width in widths[1:]}
    pairs = zip(tensors(first), tensors(batches_of(batches, 1)), strict=False)
    whole = Transfer(curves, best, _in_words(sizes), all(torch.equal(a, b) for a, b in pairs))
    whole.settings = [_in_setting({**asked, **each}) for each in further]
    return whole


def _settings(
    settings: Sequence[Mapping[str, Any]] | Callable[[int], Mapping[str, Any] | None],
    asked: Mapping[str, Any],
) -> list[Mapping[str, Any]]:
    """Settings as a list. Raises UserError on what `transfer` does not take."""
    drawn = map(settings, itertools.count()) if callable(settings) else settings
    known = asked.keys() - {"recipes", "progress"}
    found: list[Mapping[str, Any]] = []
    for place, each in enumerate(drawn):
        if each is None and callable(settings):
            break
        if not isinstance(each, Mapping):
            raise UserError(f"transfer: settings[{place}] is {each!r}: give {{argument: value}}")
        if odd := [key for key in each if key not in known]:
            hint = did_you_mean(f"{odd[0]}", known)
            raise UserError(f"transfer: settings[{place}]: takes no {odd[0]!r}: {hint}")
        found.append(each)
    return found


def _in_setting(arguments: Mapping[str, Any]) -> Transfer | NoRateError:
    try:
        return transfer(**arguments)
    except NoRateError as error:
        return error


def _tried(tune: Mapping[str, Sequence[float]]) -> tuple[list[float], list[float]]:
    """The rates and weight decays that are tried. Raises UserError on another key."""
    if odd := set(tune) - set(TUNE):
        raise UserError(f"transfer: tune: {did_you_mean(str(odd.pop()), TUNE)}")
    rates, decays = (_numbers(key, tune.get(key, TUNE[key])) for key in ("lr", "weight_decay"))
    return rates, decays


def _check_counts(
    widths: Sequence[int],
    seeds: int,
    rates: Sequence[float],
    decays: Sequence[float],
    recipes: Sequence[str | Recipe],
) -> None:
    """Raise UserError where there are too few of something, or a rate or decay is no number."""
    for what, count, least in (
        ("widths", len(widths), 2),
        ("seeds", seeds, 2),
        ("rates", len(rates), 3),
        ("weight decays", len(decays), 1),
        ("recipes", len(recipes), 1),
    ):
        if count < least:
            raise UserError(f"transfer: {count} {what}: give {least} or more")
    for what, values, above in (("rates", rates, True), ("weight decays", decays, False)):
        if not all(0 <= value < math.inf and (value or not above) for value in values):
            raise UserError(f"transfer: {what} {values}: give numbers above 0")


def _named(recipes: Sequence[str | Recipe]) -> dict[str, Recipe]:
    """Recipes by name, or by label where names are the same. Raises UserError on several
    optimizers."""
    asked = [recipe(each) for each in recipes]
    if len({each.optimizer.name for each in asked}) > 1:
        raise UserError(
            "transfer: recipes of several optimizers have no narrow model in common: call it for "
            "each"
        )
    short = len({each.name for each in asked}) == len(asked)
    return {each.name if short else each.label: each for each in asked}


def _sizes(widths: Sequence[int], depths: Sequence[int] | None) -> dict[int, Any]:
    """Width, or depth where all widths are one -> what `make` takes, increasing."""
    if depths is None:
        return {width: width for width in sorted(set(widths))}
    both = sorted(set(zip(widths, depths, strict=False)))
    # Sorted by width: with them the depths are to increase.
    if len(both) == len(widths) == len(depths) and [d for _, d in both] == sorted(depths):
        for axis in (0, 1):
            if len({each[axis] for each in both}) == len(both):
                return {
                    each[axis]: dict(zip(("width", "depth"), each, strict=True)) for each in both
                }
    raise UserError(
        f"transfer: depths {list(depths)} of widths {list(widths)}: give as many, increasing with "
        "them"
    )


def _in_words(sizes: Mapping[int, Any]) -> dict[float, str]:
    return {
        key: ", ".join(f"{what} {number}" for what, number in size.items())
        for key, size in sizes.items()
        if isinstance(size, Mapping)
    }


def _train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: Any,
    batches: Sequence,
    loss: Loss | None,
) -> tuple[float, float]:
    """(the loss before the first step, its mean over the last part, infinite if it diverged)."""
    steps, last, start = len(batches), [], math.nan
    begun = [group.get("initial_lr", group["lr"]) for group in optimizer.param_groups]
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        value = loss_of(model, batch, loss)
        start = float(value.detach()) if step == 0 else start
        value.backward()
        optimizer.step()
        calling("schedule", lambda: schedule.step())
        groups = zip(optimizer.param_groups, begun, strict=True)
        rates = [group["lr"] / lr for group, lr in groups if lr]
        if rates and max(rates) > min(rates) * (1 + NEAR):
            raise UserError("transfer: schedule sets rates of groups apart: let it multiply them")
        if step >= steps - steps // LAST:
            last.append(value.detach())
    mean = float(torch.stack(last).mean())
    return start, mean if math.isfinite(mean) else math.inf


def _learned(best: float, start: float) -> bool:
    """Whether a loss fell by more than LEARNED of what it was."""
    return start - best > LEARNED * abs(start)


def _numbers(what: str, values: Sequence[float]) -> list[float]:
    if not all(isinstance(value, Real) for value in values):
        raise UserError(f"transfer: tune: {what}: {list(values)}: give numbers")
    return sorted({float(value) for value in values})
