"""The protocol of Ma et al. (arXiv 2602.10545), Section 4, as stages over task `warm_start`.

tune: Sweep 1, learning rates at the small width.
base, scratch: the base and the wide model from scratch, both at Sweep 1's best learning rate.
tune_upscaled: Sweep 2, learning rate and noise of the small model widened to `small_wide`.
tune_upscaled_code: the same with the released code's convention for noise.
upscaled: the wide model from the base, with Sweep 2's best setting.
Not in the paper: upscaled_without_noise (zero noise at its own best learning rate), scratch_rates
(the wide model from scratch over learning rates), scratch_long (at the best of these rates, with
as many steps more as the base had).

Runs are compared by the final training loss, the mean over the last evaluation period, unless
stated otherwise; the figures also show what the minimum over the run would select. A sweep whose
best run is at the edge of its grid grows in rounds. If it is still at the edge after the last
round, later stages use it, and the figures' claims say so.
"""

from collections.abc import Mapping, Sequence

from repro.suite.study import Best, Checkpoint, Scale, Study

ROUNDS = {"smoke": 0, "reduced": 2, "workstation": 2, "paper": 3}  # ours


def protocol(
    spec: Mapping,
    *,
    widths: Mapping[str, Mapping[str, float]],
    scales: Mapping[str, Mapping],
    lr: Mapping[str, Sequence[float]],
    lr_upscaled: Mapping[str, Sequence[float]],
    lr_scratch: Mapping[str, Sequence[float]],
    levels: Mapping[str, Sequence[float]],
    seeds: Mapping[str, Sequence[int]],
    code_levels: Mapping[str, Sequence[float]] | None = None,
    code: str = "code",
    noise: str = "gaussian",
    metric: str = "train_loss",
    whole: bool = False,
    chosen_after_seeing: str = "",
) -> dict[str, Study]:
    """Stage name -> Study.

    spec: of `warm_start`, from scratch at paper scale. scales: scale -> its changes to the spec.
    widths: scale -> {"small", "small_wide", "base", "wide"}. The other mappings: scale -> grid.
    code_levels, code: grid and name of the released code's convention, for tune_upscaled_code.
    noise: "signal" tunes t and passes each tensor's constant on to the wide model (Appendix D).
    metric: the sweeps select its lowest value.
    whole: whether a stage is one job: of runs that take less time than starting a job at reduced
        scale, and on a GPU less than starting their kernels, but for the widest: these are trained
        as one.
    chosen_after_seeing: as in `Study`.
    """

    # A stage differs between scales in width, grid and jobs only; this makes all scales at once.
    def stage(width: str, changes: Mapping, grid: Mapping[str, Mapping], same_job, search=()):
        jobs = {"smoke": tuple(grid), "reduced": same_job, "workstation": same_job, "paper": ()}
        if whole:
            at_once = jobs if width != "wide" else ("smoke", "reduced")
            jobs |= dict.fromkeys(at_once, tuple(grid))
        fixed = {key: value for key, value in changes.items() if not isinstance(value, PerScale)}

        def scale(name: str) -> Scale:
            here = {
                key: value[name] for key, value in changes.items() if isinstance(value, PerScale)
            }
            return Scale(
                {**scales[name], "model.width": widths[name][width], **here},
                {axis: values[name] for axis, values in grid.items()},
                same_job=jobs[name],
                rounds=ROUNDS[name],
            )

        return Study(
            task="warm_start",
            spec={**spec, **fixed},
            grid={axis: values["paper"] for axis, values in grid.items()},
            scales={name: scale(name) for name in scales},
            search=search,
            metric=metric,
            chosen_after_seeing=chosen_after_seeing,
        )

    def start(width: str, checkpoint: Checkpoint, level, convention: str = "paper") -> dict:
        handed_on = isinstance(level, Best) and level.recorded
        return {
            "start": {
                "checkpoint": checkpoint,
                "width": 0,
                "noise": "gaussian" if handed_on else noise,
                "convention": convention,
                "level": level,
            },
            "start.width": PerScale({name: widths[name][width] for name in scales}),
        }

    # What later stages take from earlier ones. One base serves every seed of the wide model, the
    # one with the median validation loss.
    tuned = Best("tune", "lr", metric)
    median = Checkpoint("base", pick="median", metric="valid_loss", over=("seed",))
    winner = Best("tune_upscaled", "lr", metric)
    level = (
        Best("tune_upscaled", "noise", metric, recorded=True)
        if noise == "signal"
        else Best("tune_upscaled", "start.level", metric)
    )
    quiet = {"start.level": 0.0}

    def twice(key: str) -> PerScale:
        return PerScale({name: 2 * scales[name].get(key, spec[key]) for name in scales})

    # Evaluations doubled as well: the training loss is a mean over the steps between two of them.
    longer = {key: twice(key) for key in ("steps", "evaluations")}
    own_lr = Best("scratch_rates", "lr", metric)

    def sweep(convention: str, grid: Mapping[str, Sequence[float]]) -> Study:
        lowest = Checkpoint("tune", "lowest", metric, over=("lr",))
        return stage(
            "small_wide",
            start("small", lowest, 0.0, convention),
            {"lr": lr_upscaled, "start.level": grid},
            ("start.level",),
            ("lr", "start.level"),
        )

    in_code = {"tune_upscaled_code": sweep(code, code_levels)} if code_levels else {}
    return {
        "tune": stage("small", {}, {"lr": lr}, ("lr",), ("lr",)),
        "base": stage("base", {"lr": tuned}, {"seed": seeds}, ("seed",)),
        "scratch": stage("wide", {"lr": tuned}, {"seed": seeds}, ()),
        "tune_upscaled": sweep("paper", levels),
        **in_code,
        "upscaled": stage(
            "wide", {"lr": winner, **start("base", median, level)}, {"seed": seeds}, ()
        ),
        "upscaled_without_noise": stage(
            "wide",
            {
                "lr": Best("tune_upscaled", "lr", metric, where=quiet),
                **start("base", median, 0.0),
            },
            {"seed": seeds},
            (),
        ),
        "scratch_rates": stage("wide", {}, {"lr": lr_scratch}, (), ("lr",)),
        "scratch_long": stage("wide", {"lr": own_lr, **longer}, {"seed": seeds}, ()),
    }


class PerScale(dict):
    """Scale -> a setting's value there, for a setting that is not the same at every scale."""
