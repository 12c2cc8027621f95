"""Transfer of upscaled models' hyperparameters (Ma et al., arXiv 2602.10545, F.5), as stages.

base: base models of several widths, all with the same settings. by_lr and by_noise: each base is
widened by 2; a sweep of the learning rate at one noise level, and of the noise level at one
learning rate. Each seed has its own base (our choice: F.5 does not say).
"""

from collections.abc import Mapping, Sequence

from repro.suite.study import Checkpoint, Scale, Study

FACTOR = 2


def transfer(
    spec: Mapping,
    *,
    scales: Mapping[str, Mapping],
    widths: Mapping[str, Sequence[int]],
    seeds: Mapping[str, Sequence[int]],
    lr: Mapping[str, Sequence[float]],
    levels: Mapping[str, Sequence[float]],
    fixed_lr: Mapping[str, float],
    fixed_level: Mapping[str, float],
    whole: bool = False,
    chosen_after_seeing: str = "",
) -> dict[str, Study]:
    """Stage name -> Study.

    spec: of `warm_start`, from scratch at paper scale; its lr is that of the base models. scales:
    scale -> its changes to the spec. widths: scale -> widths of the base models. lr, levels: scale
    -> grid. fixed_lr, fixed_level: scale -> the value fixed in the other sweep. Noise is in
    Algorithm 2's convention. whole: whether all runs of a width are one job at paper scale too, to
    be trained as one on a GPU. chosen_after_seeing: as in `Study`.
    """

    def stage(grid: Mapping[str, Mapping], **fixed: Mapping[str, object]) -> Study:
        of_width = tuple(axis for axis in grid if "width" not in axis)
        jobs = {"workstation": of_width, "paper": of_width if whole else ()}

        def scale(name: str) -> Scale:
            own = {key.replace("__", "."): values[name] for key, values in fixed.items()}
            return Scale(
                {**scales[name], **own},
                {axis: values[name] for axis, values in grid.items()},
                same_job=jobs.get(name, tuple(grid)),
            )

        paper = {axis: values["paper"] for axis, values in grid.items()}
        started = {"start": start} if "width" in grid else {}
        return Study(
            "warm_start",
            {**spec, **started},
            paper,
            {s: scale(s) for s in scales},
            chosen_after_seeing=chosen_after_seeing,
        )

    start = {
        "checkpoint": Checkpoint("base", join={"model.width": "start.width"}),
        "width": 0,
        "noise": "gaussian",
        "convention": "paper",
        "level": 0.0,
    }
    wide = {
        name: [{"model.width": FACTOR * n, "start.width": n} for n in values]
        for name, values in widths.items()
    }
    return {
        "base": stage({"model.width": widths, "seed": seeds}),
        "by_lr": stage({"width": wide, "lr": lr, "seed": seeds}, start__level=fixed_level),
        "by_noise": stage({"width": wide, "start.level": levels, "seed": seeds}, lr=fixed_lr),
    }
