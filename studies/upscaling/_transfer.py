"""Transfer of upscaled models' hyperparameters (Ma et al., arXiv 2602.10545, F.5), as stages.

base: base models of several widths, all with the same settings. by_lr and by_noise: each base is
widened by 2; a sweep of the learning rate at one noise level, and of the noise level at one
learning rate. Each seed has its own base (our choice: F.5 does not say).

Ours, at the narrowest and the widest width. base_sp, by_lr_sp: base and by_lr under the standard
parametrization. by_noise_raw: by_noise with one standard deviation at every width, as in the
released GPT-2 code. base_narrow, by_lr_narrow, base_wide, by_lr_wide: base and by_lr of one width
each, with seeds of its own, at the scales that ask for them: a narrow model's best rate scatters
most and costs least.

base_code, by_lr_code, by_noise_code, at paper scale: the same from base models at the released
code's rate, with noise in its convention. by_lr_printed, at paper scale: by_lr with the number that
F.5 prints read as Algorithm 2's.
"""

from collections.abc import Mapping, Sequence

from repro.core.study import Checkpoint, Scale, Study

FACTOR = 2
# One set for all three architectures, of no earlier run.
OVERNIGHT_SEEDS = list(range(2000, 2008))


def transfer(
    spec: Mapping,
    *,
    scales: Mapping[str, Mapping],
    windows: Mapping[str, int],
    widths: Mapping[str, Sequence[int]],
    seeds: Mapping[str, Sequence[int]],
    lr: Mapping[str, Sequence[float]],
    levels: Mapping[str, Sequence[float]],
    fixed_lr: Mapping[str, float],
    fixed_level: Mapping[str, float],
    lr_sp: Mapping[str, Sequence[float]] | None = None,
    raw_levels: Mapping[str, Sequence[float]] | None = None,
    code: Mapping | None = None,
    lr_widths: Mapping[str, Sequence[int]] | None = None,
    lr_seeds: Mapping[str, Sequence[int]] | None = None,
    noise_seeds: Mapping[str, Sequence[int]] | None = None,
    arms: Mapping[str, Mapping[str, tuple[int, Sequence[int], Sequence[float]]]] | None = None,
    chosen_after_seeing: str = "",
    departures: tuple[str, ...] = (),
) -> dict[str, Study]:
    """Stage name -> Study.

    spec: of `warm_start`, from scratch at paper scale; its lr is that of the base models. scales:
    scale -> its changes to the spec. windows: scale -> steps, as of `Scale`. widths: scale ->
    widths of the base models. lr, levels: scale
    -> grid. fixed_lr, fixed_level: scale -> the value fixed in the other sweep. Noise is in
    Algorithm 2's convention. lr_sp, raw_levels: grids of by_lr_sp and by_noise_raw, both or
    neither; without them there are none of these stages. code: the released code's "lr" of the base
    models, its fixed "level" and its grid of "levels"; None: none of these stages. lr_widths: as
    widths, of by_lr at the scales where it has fewer; lr_seeds, noise_seeds: as seeds, of by_lr and
    by_noise where they have others. arms: name of a width, which ends its stages' names -> scale ->
    that width of the base models, its seeds and its rates.
    chosen_after_seeing, departures: as in `Study`.
    """

    def stage(grid: Mapping[str, Mapping], changes: Mapping, **fixed: Mapping) -> Study:
        of_width = tuple(axis for axis in grid if "width" not in axis)
        jobs = {"overnight": of_width, "workstation": of_width, "paper": ()}

        def scale(name: str) -> Scale:
            own = {key.replace("__", "."): values[name] for key, values in fixed.items()}
            return Scale(
                {**scales[name], **own},
                {axis: values[name] for axis, values in grid.items()},
                same_job=jobs.get(name, tuple(grid)),
                window=windows.get(name, 0),
            )

        paper = {axis: values["paper"] for axis, values in grid.items()}
        return Study(
            "warm_start",
            {**spec, **changes},
            paper,
            {s: scale(s) for s in scales},
            chosen_after_seeing=chosen_after_seeing,
            departures=departures,
        )

    def start(base: str = "base", convention: str = "paper") -> dict:
        return {
            "start": {
                "checkpoint": Checkpoint(base, join={"model.width": "start.width"}),
                "width": 0,
                "noise": "gaussian",
                "convention": convention,
                "level": 0.0,
            }
        }

    def widened(
        of: Mapping[str, Sequence[int]], axis: str, values: Mapping, seed: Mapping | None = None
    ) -> dict:
        pairs = {
            name: [{"model.width": FACTOR * n, "start.width": n} for n in of[name]] for name in of
        }
        return {"width": pairs, axis: values, "seed": {**seeds, **(seed or {})}}

    def of_paper(grid: Mapping[str, Mapping]) -> dict:
        """No run of a grid at other scales."""
        return grid | {"seed": {name: seeds[name] if name == "paper" else [] for name in seeds}}

    by_lr = widened({**widths, **(lr_widths or {})}, "lr", lr, lr_seeds)
    by_noise = widened(widths, "start.level", levels, noise_seeds)
    stages = {
        "base": stage({"model.width": widths, "seed": seeds}, {}),
        "by_lr": stage(by_lr, start(), start__level=fixed_level),
        "by_noise": stage(by_noise, start(), lr=fixed_lr),
    }
    for arm, at in (arms or {}).items():
        own = {name: [at[name][0]] if name in at else [] for name in scales}
        of_arm = {name: at[name][1] if name in at else [] for name in scales}
        rates = {name: at[name][2] if name in at else lr[name] for name in scales}
        stages |= {
            f"base_{arm}": stage({"model.width": own, "seed": of_arm}, {}),
            f"by_lr_{arm}": stage(
                widened(own, "lr", rates, of_arm), start(f"base_{arm}"), start__level=fixed_level
            ),
        }
    if lr_sp and raw_levels:
        standard = {"parametrization": "SP"}
        ends = {name: [values[0], values[-1]] for name, values in widths.items()}
        rates, raw = widened(ends, "lr", lr_sp), widened(ends, "start.level", raw_levels)
        stages |= {
            "base_sp": stage({"model.width": ends, "seed": seeds}, standard),
            "by_lr_sp": stage(rates, standard | start("base_sp"), start__level=fixed_level),
            "by_noise_raw": stage(raw, start(convention="code-raw"), lr=fixed_lr),
        }
    if code:
        rates, noises = (
            widened(widths, axis, of)
            for axis, of in (("lr", lr), ("start.level", dict.fromkeys(levels, code["levels"])))
        )
        fixed = dict.fromkeys(scales, code["level"])
        bases, begun = {"model.width": widths, "seed": seeds}, start("base_code", "code")
        stages |= {
            "base_code": stage(of_paper(bases), {"lr": code["lr"]}),
            "by_lr_code": stage(of_paper(rates), begun, start__level=fixed),
            "by_noise_code": stage(of_paper(noises), begun, lr=fixed_lr),
            "by_lr_printed": stage(of_paper(rates), start(), start__level=fixed),
        }
    return stages
