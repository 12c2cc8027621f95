"""The protocol of Ma et al. (arXiv 2602.10545), Section 4, as stages over task `warm_start`.

tune: Sweep 1, learning rates at the small width.
base, scratch: the base and the wide model from scratch, both at Sweep 1's best learning rate.
tune_upscaled: Sweep 2, learning rate and noise of the small model widened to `small_wide`.
tune_upscaled_code: the same with the released code's convention for noise.
upscaled: the wide model from the base, with Sweep 2's best setting.
Not in the paper:
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

from repro.core.study import GPU_SCALES, OVERNIGHT, Best, Checkpoint, Scale, Study

# Ours. At paper scale a run of Sweep 2 at the target costs as much as one from scratch.
ROUNDS = {"smoke": 0, "reduced": 2, "overnight": 4, "workstation": 2, "paper": 3}
ROUNDS_TARGET = {"smoke": 0, "reduced": 2, "overnight": 4, "workstation": 0, "paper": 0}
# The neighbours that Sweep 2 at the target tries: one step along each of its axes.
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
FEW = 3  # seeds of what is dear, or only has to tell a small difference from none
# Seeds that no run had before, of what is judged and of the base; the sweeps keep theirs.
NIGHT, NIGHT_BASE = list(range(2000, 2012)), list(range(2020, 2025))
SMALL = {"reduced": 6, OVERNIGHT: len(NIGHT)}  # of small models, where they are cheap; else FEW
FINER = 3  # evaluations overnight over the reduced ones: how early a loss is reached hangs on them


def protocol(
    spec: Mapping,
    *,
    widths: Mapping[str, Mapping[str, float]],
    scales: Mapping[str, Mapping],
    windows: Mapping[str, int],
    lr: Mapping[str, Sequence[float]],
    lr_upscaled: Mapping[str, Sequence[float]],
    lr_scratch: Mapping[str, Sequence[float]],
    levels: Mapping[str, Sequence[float]],
    seeds: Mapping[str, Sequence[int]],
    base_seeds: Mapping[str, Sequence[int]] | None = None,
    target: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    code_levels: Mapping[str, Sequence[float]] | None = None,
    code: str = "code",
    noise: str = "gaussian",
    metric: str = "train_loss",
    metric_upscaled: str = "train_loss",
    whole: bool = False,
    night: bool = True,
    chosen_after_seeing: str = "",
    departures: tuple[str, ...] = (),
) -> dict[str, Study]:
    """Stage name -> Study.

    spec: of `warm_start`, from scratch at paper scale. scales: scale -> its changes to the spec.
    widths: scale -> {"small", "small_wide", "base", "wide"}. windows: scale -> steps, as of
    `Scale`. The other mappings: scale -> grid. Overnight is the reduced scale on more seeds,
    evaluated FINER times as often.
    base_seeds: `seeds` if None. Another one would move the median, and all that starts from it.
    target: grids of Sweep 2 at the target, "lr", "lr_without_noise" and, unless it has only the
        noise that was transferred, "levels", each scale -> grid. Without them (None) there is none
        of the stages that the list above has from upscaled_start to upscaled_tuned_without_noise.
    code_levels, code: grid and name of the released code's convention, for tune_upscaled_code.
    noise: "signal" tunes t and passes each tensor's constant on to the wide model (Appendix D).
    metric, metric_upscaled: Sweep 1 and Sweep 2 select its lowest value.
    whole: whether a reduced stage is one job, for runs that take less time than starting a job.
    night: whether there are runs overnight.
    chosen_after_seeing, departures: as in `Study`.
    """

    def with_night(of: Mapping) -> dict:
        return {**of, OVERNIGHT: of["reduced"]}

    widths, windows, lr, lr_upscaled, lr_scratch, levels = map(
        with_night, (widths, windows, lr, lr_upscaled, lr_scratch, levels)
    )
    code_levels = code_levels and with_night(code_levels)
    target = target and {axis: with_night(of) for axis, of in target.items()}
    of_night = {"evaluations": FINER * scales["reduced"]["evaluations"]}
    if night:
        scales = {**scales, OVERNIGHT: {**scales["reduced"], **of_night}}
    base_seeds = {**(base_seeds or seeds), OVERNIGHT: NIGHT_BASE}
    seeds = {**seeds, OVERNIGHT: NIGHT}

    # A stage differs between scales in width, grid and jobs only; this makes all scales at once.
    def stage(
        width: str,
        changes: Mapping,
        grid: Mapping[str, Mapping],
        same_job: tuple[str, ...] = (),
        search: tuple[str, ...] = (),
        by: str = metric,
        rounds: Mapping[str, int] = ROUNDS,
        neighbourhood=None,
    ) -> Study:
        # At reduced scale a job takes a third of a run's time to start: what varies shares one.
        shared = tuple(grid) if whole else same_job or tuple(grid)
        jobs = {"smoke": tuple(grid), "reduced": shared, OVERNIGHT: shared}
        jobs |= {"workstation": same_job, "paper": ()}
        fixed = {key: value for key, value in changes.items() if not isinstance(value, PerScale)}

        def scale(name: str) -> Scale:
            here = {
                key: value[name] for key, value in changes.items() if isinstance(value, PerScale)
            }
            return Scale(
                {**scales[name], "model.width": widths[name][width], **here},
                {axis: values[name] for axis, values in grid.items()},
                same_job=jobs[name],
                rounds=rounds[name],
                window=windows.get(name, 0),
            )

        return Study(
            task="warm_start",
            spec={**spec, **fixed},
            grid={axis: values["paper"] for axis, values in grid.items()},
            scales={name: scale(name) for name in scales},
            search=search,
            metric=by,
            neighbourhood=neighbourhood,
            chosen_after_seeing=chosen_after_seeing,
            departures=departures,
        )

    def start(width: str, level, convention: str = "paper") -> dict:
        """A start from the base, or from the best small model."""
        # One base serves every seed of the wide model, the one with the median validation loss.
        checkpoints = {
            "base": Checkpoint("base", pick="median", metric="valid_loss", over=("seed",)),
            "small": Checkpoint("tune", "lowest", metric, over=("lr",)),
        }
        recorded = isinstance(level, Best) and level.recorded
        return {
            "start": {
                "checkpoint": checkpoints[width],
                "width": 0,
                "noise": "gaussian" if recorded else noise,
                "convention": convention,
                "level": 0.0 if isinstance(level, PerScale) else level,
            },
            "start.width": PerScale({name: widths[name][width] for name in scales}),
            **({"start.level": level} if isinstance(level, PerScale) else {}),
        }

    def twice(key: str) -> PerScale:
        return PerScale({name: 2 * scales[name].get(key, spec[key]) for name in scales})

    # What later stages take from Sweep 2, at the small width or at the target.
    def rate(sweep: str, **where) -> Best:
        return Best(sweep, "lr", metric_upscaled, **where)

    def level(sweep: str) -> Best:
        if noise == "signal" and sweep == "tune_upscaled":
            return Best(sweep, "noise", metric_upscaled, recorded=True)
        return Best(sweep, "start.level", metric_upscaled)

    def sweep(convention: str, grid: Mapping[str, Sequence[float]]) -> Study:
        return stage(
            "small_wide",
            start("small", 0.0, convention),
            {"lr": lr_upscaled, "start.level": grid},
            ("start.level",),
            ("lr", "start.level"),
            metric_upscaled,
        )

    def sweep_target(lr: Mapping, noise_level, levels: Mapping | None = None) -> Study:
        return stage(
            "wide",
            start("base", noise_level),
            {"lr": lr} | ({"start.level": levels} if levels else {}),
            ("lr",),
            ("lr", "start.level") if levels else ("lr",),
            metric_upscaled,
            ROUNDS_TARGET,
            STEPS if levels else None,
        )

    tuned, own = Best("tune", "lr", metric), Best("scratch_rates", "lr", metric)
    winner, quiet = rate("tune_upscaled"), rate("tune_upscaled", where={"start.level": 0.0})
    every = {"seed": seeds}
    few = {"seed": {n: of[: SMALL.get(n, FEW)] for n, of in seeds.items()}}
    long = {n: of[:FEW] if n in GPU_SCALES else of for n, of in seeds.items()}
    # Evaluations doubled as well: the training loss is a mean over the steps between two of them.
    longer = {key: twice(key) for key in ("steps", "evaluations")}
    upscaled = {"lr": winner, **start("base", level("tune_upscaled"))}
    without = {"lr": quiet, **start("base", 0.0)}
    stages = {
        "tune": stage("small", {}, {"lr": lr}, ("lr",), ("lr",)),
        "base": stage("base", {"lr": tuned}, {"seed": base_seeds}, ("seed",)),
        "scratch": stage("wide", {"lr": tuned}, every),
        "tune_upscaled": sweep("paper", levels),
    }
    if code_levels:
        stages["tune_upscaled_code"] = sweep(code, code_levels)
    stages |= {
        "upscaled": stage("wide", upscaled, every),
        "upscaled_without_noise": stage("wide", without, every),
        "scratch_rates": stage("wide", {}, {"lr": lr_scratch}, (), ("lr",)),
        "scratch_long": stage("wide", {"lr": own, **longer}, {"seed": long}),
    }
    if target:
        at_start = {key: PerScale(dict.fromkeys(scales, 1)) for key in ("steps", "evaluations")}
        at_target = target.get("levels")
        # Where the noise is none of the sweep's axes, all of it has the one that was transferred.
        swept = 0.0 if at_target else level("tune_upscaled")
        tuned_level = level("tune_target" if at_target else "tune_upscaled")
        stages |= {
            "upscaled_start": stage("wide", upscaled | at_start, every),
            "upscaled_without_noise_start": stage("wide", without | at_start, every),
            "tune_target": sweep_target(target["lr"], swept, at_target),
            "tune_target_without_noise": sweep_target(target["lr_without_noise"], 0.0),
            "upscaled_tuned": stage(
                "wide", {"lr": rate("tune_target"), **start("base", tuned_level)}, every
            ),
            "upscaled_tuned_without_noise": stage(
                "wide", {"lr": rate("tune_target_without_noise"), **start("base", 0.0)}, every
            ),
        }
    most = PerScale({name: max(values) for name, values in levels.items()})
    return stages | {
        "small_upscaled": stage(
            "small_wide", {"lr": winner, **start("small", level("tune_upscaled"))}, few
        ),
        "small_without_noise": stage("small_wide", {"lr": quiet, **start("small", 0.0)}, few),
        "small_most_noise": stage("small_wide", {"lr": winner, **start("small", most)}, few),
    }


class PerScale(dict):
    """Scale -> a setting's value there, for a setting that is not the same at every scale."""
