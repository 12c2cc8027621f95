"""The protocol of Ma et al. (arXiv 2602.10545), Section 4, as stages over task `warm_start`.

tune: Sweep 1, learning rates at the small width. base and scratch: the base and the wide model
from scratch with its winner. tune_upscaled: Sweep 2, learning rate and noise on the upscaled small
system; tune_upscaled_code: the same in the released code's convention. upscaled: the wide model
from the base with Sweep 2's winner. Beside the paper's: upscaled_without_noise (zero noise at its
own best rate), scratch_rates (the wide model from scratch over learning rates) and scratch_long
(at the best of them, with the base's steps added).

Selection is by the final training loss unless said otherwise, a mean over the last evaluation
period; the figures show beside it what the minimum over the run would select. A sweep whose best
run lies at the edge of its grid grows in rounds; what is still at the edge then is passed on and
named in the figures' claims.
"""

from collections.abc import Mapping, Sequence

from repro.suite.study import SCALES, Best, Checkpoint, Scale, Study

ROUNDS = {"smoke": 0, "reduced": 2, "paper": 3}  # ours


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
) -> dict[str, Study]:
    """Stage name -> Study.

    spec: of `warm_start`, from scratch at paper scale. scales: scale -> what it changes of it.
    widths: scale -> {"small", "small_wide", "base", "wide"}. The other mappings: scale -> grid.
    code_levels, code: Sweep 2 once more in that convention of the released code's.
    noise: "signal" tunes t and hands each tensor's constant on to the wide model (Appendix D).
    metric: what the sweeps select by.
    whole: at reduced scale a stage is one job: for runs shorter than the start of a job.
    """

    def stage(width: str, changes: Mapping, grid: Mapping[str, Mapping], same_job, search=()):
        jobs = {"smoke": tuple(grid), "reduced": tuple(grid) if whole else same_job, "paper": ()}
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
            scales={name: scale(name) for name in SCALES},
            search=search,
            metric=metric,
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
            "start.width": PerScale({name: widths[name][width] for name in SCALES}),
        }

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
        return PerScale({name: 2 * scales[name].get(key, spec[key]) for name in SCALES})

    # As many steps between two evaluations as anywhere else: the training loss is their mean.
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
