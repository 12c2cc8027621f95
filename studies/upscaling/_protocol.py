"""The protocol of Ma et al. (arXiv 2602.10545), Section 4, as stages over task `warm_start`.

tune: Sweep 1, learning rates at the small width.
base, scratch: the base and the wide model from scratch, both at Sweep 1's best learning rate. What
    is judged grows from the base of its own seed, unless a scale has seeds for the base apart.
tune_upscaled: Sweep 2, learning rate and noise of the small model widened to `small_wide`.
tune_upscaled_code: the same with the released code's convention for noise.
upscaled: the wide model from the base, with Sweep 2's best setting.
Not in the paper, and not at every scale:
upscaled_without_noise: zero noise at its own best learning rate.
scratch_rates: the wide model from scratch over learning rates.
scratch_long: at the best of these rates, with the base's steps added. Rates are constant, so its
    curve is also that of every shorter run from scratch.
upscaled_start, upscaled_without_noise_start: one step of upscaled ones. Its training loss is of
    the first batch before the step: where upscaling starts from.
tune_target, tune_target_without_noise: Sweep 2 at the target itself, around what was transferred;
    where no levels of noise are given there, at the noise that was transferred.
upscaled_tuned, upscaled_tuned_without_noise: at the best of these. What they end below the
    transferred setting is its regret.
small_upscaled, small_without_noise, small_most_noise: Sweep 2's winner on several seeds, beside
    zero noise at its own best rate and the largest noise at the winner's.

Sweeps use one seed. Where there is a sweep at the target, it is none of those that then judge what
the sweeps selected.

Runs are compared by the final training loss, a mean over a window of their last steps, unless
stated otherwise; the figures also show what the minimum over the run would select. A sweep whose
best run is at the edge of its grid grows in rounds. If it is still at the edge after the last
round, later stages use it, and the figures' claims say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from repro.core.study import Best, Checkpoint, Stage, only_one, whole

# The neighbours that Sweep 2 at the target tries: one step along each of its axes.
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
FINER = 3  # evaluations overnight over the reduced ones: how early a loss is reached hangs on them
LEVEL = "start.level"


@dataclass(frozen=True, kw_only=True)
class Upscaling:
    """What the protocol runs at one scale, by one architecture and optimizer.

    small, base: widths, in the model's own unit (`model.width`). factor: by which both are widened,
        to `small_wide` and `wide`.
    steps: of a run. batch: rows, images or sequences a step. evaluations: how many in a run.
    settings: its other changes to the settings at paper scale, dotted key -> value.
    window: over how many last steps a final loss is a mean; 0: since the last evaluation.
    lr, lr_upscaled, lr_scratch: learning rates of Sweep 1, of Sweep 2, and from scratch.
    levels, code_levels: Sweep 2's noise, as `noise` has it, and in the released code's convention;
        without the latter there is no stage of it.
    target_lr, target_levels, target_lr_quiet: grids of Sweep 2 at the target, the last at zero
        noise. Without levels it has the noise that was transferred.
    Without rates there are none of a sweep's stages, nor of those that have its best.
    rounds, target_rounds: how many times a sweep may grow, elsewhere and at the target.
    seeds: of what is judged. base_seeds: the base with the median loss of these is widened for all
        of them, as in the released code; none: each has its own.
    starts: whether there are the stages of one step.
    small_seeds: of the small systems. long: how many of `seeds` scratch_long has, None all.
    jobs: what one job trains: a whole "stage"; a "line" of a sweep, and whole stages else; a "line
        or run"; a "run".
    noise: "signal" tunes t and passes each tensor's constant on to the wide model (Appendix D).
    code: name of the released code's convention.
    metric: Sweep 1 selects its lowest value; Sweep 2 that of the training loss.
    """

    small: float
    base: float
    factor: float
    steps: int
    batch: int
    evaluations: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    window: int = 0
    lr: Sequence[float] = ()
    lr_upscaled: Sequence[float] = ()
    lr_scratch: Sequence[float] = ()
    levels: Sequence[float] = ()
    code_levels: Sequence[float] = ()
    target_lr: Sequence[float] = ()
    target_levels: Sequence[float] = ()
    target_lr_quiet: Sequence[float] = ()
    rounds: int = 0
    target_rounds: int = 0
    seeds: Sequence[int] = ()
    base_seeds: Sequence[int] = ()
    small_seeds: Sequence[int] = ()
    starts: bool = True
    long: int | None = None
    jobs: Literal["stage", "line", "line or run", "run"] = "line"
    noise: Literal["gaussian", "signal"] = "gaussian"
    code: str = "code"
    metric: str = "train_loss"

    @property
    def small_wide(self) -> float:
        """Width of the small model widened."""
        return self.factor * self.small

    @property
    def wide(self) -> float:
        """Width of the target."""
        return self.factor * self.base

    def at_widths(self, widths: Sequence[float]) -> "Upscaling":
        """Of a target of this width, with base and small model in proportion."""
        times = only_one(widths) / self.wide
        small, base = times * self.small, times * self.base
        if isinstance(self.wide, int):  # units, and not a ResNet's multiple of its own
            small, base = whole(small, "its small model"), whole(base, "its base")
        return replace(self, small=small, base=base)


def overnight(reduced: Upscaling) -> Upscaling:
    """The reduced scale on more seeds, of no earlier run but for the sweeps', and evaluated more
    often."""
    return replace(
        reduced,
        evaluations=FINER * reduced.evaluations,
        rounds=4,
        target_rounds=4,
        seeds=[*range(2000, 2012)],
        base_seeds=[*range(2020, 2025)],
        small_seeds=[*range(2000, 2012)],
    )


def own_bases(at: Upscaling) -> Upscaling:
    """A scale where every seed grows from a base of its own, without what is tuned at the target
    and the sweep in the code's convention."""
    return replace(at, base_seeds=(), code_levels=(), lr_scratch=(), target_lr=())


def stages(at: Upscaling) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    tuned, winner = Best("tune", "lr", at.metric), Best("tune_upscaled", "lr")
    own, quiet = Best("scratch_rates", "lr", at.metric), replace(winner, where={LEVEL: 0.0})
    won = Best("tune_upscaled", LEVEL)
    if at.noise == "signal":
        won = Best("tune_upscaled", "noise", recorded=True)
    upscaled = {"lr": winner, "start": _start(at, "base", won)}
    without = {"lr": quiet, "start": _start(at, "base", 0.0)}
    # Evaluations doubled as well: the training loss is a mean over the steps between two of them.
    twice = {"steps": 2 * at.steps, "evaluations": 2 * at.evaluations}
    one = {"steps": 1, "evaluations": 1}
    every, of_base = {"seed": at.seeds}, {"seed": at.base_seeds or at.seeds}
    longest = {"seed": at.seeds if at.long is None else at.seeds[: at.long]}
    found = {
        "tune": _sweep(at, at.small, {}, {"lr": at.lr}, metric=at.metric),
        "base": _stage(at, at.base, {"lr": tuned}, of_base, ("seed",)),
        "scratch": _stage(at, at.wide, {"lr": tuned}, every),
        "tune_upscaled": _sweep_upscaled(at, "paper", at.levels),
    }
    if at.code_levels:
        found["tune_upscaled_code"] = _sweep_upscaled(at, at.code, at.code_levels)
    found |= {
        "upscaled": _stage(at, at.wide, upscaled, every),
        "upscaled_without_noise": _stage(at, at.wide, without, every),
    }
    if at.lr_scratch:
        rates = {"lr": at.lr_scratch}
        found |= {
            "scratch_rates": _sweep(at, at.wide, {}, rates, lines=(), metric=at.metric),
            "scratch_long": _stage(at, at.wide, {"lr": own}, longest, more=twice),
        }
    if at.starts:
        found |= {
            "upscaled_start": _stage(at, at.wide, upscaled, every, more=one),
            "upscaled_without_noise_start": _stage(at, at.wide, without, every, more=one),
        }
    found |= _at_target(at, won)

    def small(rate: Best, level: Best | float, more: Mapping = MappingProxyType({})) -> Stage:
        start = _start(at, "small", level)
        changes, its = {"lr": rate, "start": start}, {"seed": at.small_seeds}
        return _stage(at, at.small_wide, changes, its, more=more)

    return found | {
        "small_upscaled": small(winner, won),
        "small_without_noise": small(quiet, 0.0),
        "small_most_noise": small(winner, 0.0, {LEVEL: max(at.levels)}),
    }


def _at_target(at: Upscaling, won: Best) -> dict[str, Stage]:
    """The stages of Sweep 2 at the target. won: the noise that is transferred."""
    axes = {"lr": at.target_lr} | ({LEVEL: at.target_levels} if at.target_levels else {})
    # Where the noise is none of the sweep's axes, all of it has the one that was transferred.
    swept, best = (0.0, Best("tune_target", LEVEL)) if at.target_levels else (won, won)

    def sweep(level: Best | float, grid: Mapping[str, Sequence]) -> Stage:
        found = _sweep(at, at.wide, {"start": _start(at, "base", level)}, grid)
        around = STEPS if len(grid) > 1 else None
        return replace(found, rounds=at.target_rounds, neighbourhood=around)

    def tuned(name: str, level: Best | float) -> Stage:
        changes = {"lr": Best(name, "lr"), "start": _start(at, "base", level)}
        return _stage(at, at.wide, changes, {"seed": at.seeds})

    found = {
        "tune_target": sweep(swept, axes),
        "tune_target_without_noise": sweep(0.0, {"lr": at.target_lr_quiet}),
        "upscaled_tuned": tuned("tune_target", best),
        "upscaled_tuned_without_noise": tuned("tune_target_without_noise", 0.0),
    }
    lacking = [] if at.target_lr_quiet else [name for name in found if "without" in name]
    return {name: stage for name, stage in found.items() if at.target_lr and name not in lacking}


def _stage(
    at: Upscaling,
    width: float,
    changes: Mapping[str, Any],
    grid: Mapping[str, Sequence],
    lines: tuple[str, ...] = (),
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Stage:
    """Runs of a width. changes, more: to the settings, the former the same at every scale. lines:
    axes along which runs are one after another in a job, if not all of the stage's are."""
    of = changes["start"]["checkpoint"].stage if "start" in changes else ""
    begun = {"start.width": {"base": at.base, "tune": at.small}[of]} if of else {}
    if of == "base" and "seed" in grid and not at.base_seeds:
        begun["start.checkpoint"] = Checkpoint("base", join={"seed": "seed"})
    jobs = {
        "stage": tuple(grid),
        "line": lines or tuple(grid),
        "line or run": lines,
        "run": (),
    }
    return Stage(
        {
            **at.settings,
            "data.batch_size": at.batch,
            "steps": at.steps,
            "evaluations": at.evaluations,
            "model.width": width,
            **begun,
            **more,
        },
        grid,
        same_job=jobs[at.jobs],
        rounds=at.rounds,
        window=at.window,
        changes=changes,
        metric=at.metric,
    )


def _sweep(
    at: Upscaling,
    width: float,
    changes: Mapping[str, Any],
    grid: Mapping[str, Sequence],
    lines: tuple[str, ...] = ("lr",),
    metric: str = "train_loss",
) -> Stage:
    """As `_stage`, of runs whose grid grows until the one with the lowest `metric` is inside."""
    return replace(_stage(at, width, changes, grid, lines), search=(*grid,), metric=metric)


def _sweep_upscaled(at: Upscaling, convention: str, levels: Sequence[float]) -> Stage:
    """Sweep 2 at the small width, with noise in a convention."""
    start = _start(at, "small", 0.0, convention)
    return _sweep(
        at, at.small_wide, {"start": start}, {"lr": at.lr_upscaled, LEVEL: levels}, (LEVEL,)
    )


def _start(at: Upscaling, of: str, level: Best | float, convention: str = "paper") -> dict:
    """A start from the base, or from the best small model; its width is a scale's."""
    # One base of several, that with the median validation loss: of a sweep, and as in the code.
    base = Checkpoint("base", pick="median", metric="valid_loss", over=("seed",))
    small = Checkpoint("tune", "lowest", at.metric, over=("lr",))
    recorded = isinstance(level, Best) and level.recorded
    return {
        "checkpoint": base if of == "base" else small,
        "width": 0,
        "noise": "gaussian" if recorded else at.noise,
        "convention": convention,
        "level": level,
    }
