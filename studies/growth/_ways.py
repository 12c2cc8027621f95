"""Ways to grow a trained model, against training the wide one from scratch, over task `warm_start`.

Ours: of Mallik et al. (arXiv 2605.13405) the abstract alone was read, so that sizes, data, grids
and the factor of "shrink" are not theirs, and their noise besides the shrinking is left out.

tune: learning rates of the narrowest base, for each of its steps.
base: all bases, at the best of these; of a few seeds the one with the median loss is grown.
rates_<way>: every base grown to the target, over learning rates and the way's own setting, for the
    ways that have one: the noise of `noisy` and `zeros`, the factor of `shrink`. Of a seed that
    judges nothing.
<way>: the same at the best of these.
rates_scratch, scratch: the target from scratch. Rates are constant, so that it goes on past the
    steps of the grown models, and its curve is read at equal steps and at equal operations.

ways: copies (equal copies), noisy (copies with noise), zeros (with noise: new units of zeros that
get none stay at zero), shrink.
"""

from collections.abc import Mapping, Sequence

from repro.core.study import OVERNIGHT, Best, Checkpoint, Scale, Study, octaves

SHRINK = "shrink"
WAYS = {
    "copies": {"by": "copies", "level": 0.0},
    "noisy": {"by": "copies", "level": "start.level"},
    "zeros": {"by": "zeros", "level": "start.level"},
    SHRINK: {"by": SHRINK, "level": 0.0, "shrink": "start.shrink"},
}
FACTORS = (2, 4, 8)
LONGER = 1.5  # from scratch; the base's operations are less than half of the wide model's
TUNING, BASES = [90], [90, 91, 92]  # on them nothing is judged
# Of a way's own setting; at 1 nothing is shrunk.
TRIED = {"start.level": octaves(-4, 0), "start.shrink": [0.5, 0.75, 1.0]}
CHOSEN = "levels and rates reach beyond where pilots, on no seed that is judged, had their best"


def ways(
    network: str,
    spec: Mapping,
    names: Sequence[str],
    *,
    targets: Mapping[str, int],
    scales: Mapping[str, Mapping],
    steps: Mapping[str, Sequence[int]],
    window: Mapping[str, int],
    rates: Mapping[str, Sequence[float]],
    seeds: Mapping[str, Sequence[int]],
) -> dict[str, Study]:
    """Stage name, which begins with the network's -> Study.

    spec: of `warm_start`, from scratch. names: of WAYS. targets: scale -> width. scales: scale ->
    its changes of the spec. steps: scale -> the smaller budget and, where it is tried, the larger,
    whole multiples of the window. window: scale -> steps over which a final loss is a mean, and
    between evaluations. The larger budget is tried by shrinking and the factor 2 alone.
    """

    def budget(scale: str, number: int) -> dict:
        return {"steps": number, "evaluations": number // window[scale]}

    def cells(scale: str, name: str) -> list[dict]:
        low, *larger = steps[scale]
        widths = [targets[scale] // factor for factor in FACTORS]
        pairs = [(width, low) for width in widths]
        pairs += [(widths[0], number) for number in larger if name == SHRINK]
        return [{"start.width": width, **budget(scale, number)} for width, number in pairs]

    def long(scale: str) -> list[dict]:
        return [budget(scale, round(LONGER * number)) for number in steps[scale]]

    def stage(changes: Mapping, grid, width=targets.get) -> Study:
        """grid, width: of a scale."""
        of = {name: grid(name) for name in scales}
        return Study(
            task="warm_start",
            spec={**spec, **changes},
            grid=of["paper"],
            chosen_after_seeing=CHOSEN,
            scales={
                name: Scale(
                    {**scales[name], "model.width": width(name)},
                    of[name],
                    same_job=tuple(of[name]),
                    window=window[name],
                )
                for name in scales
            },
        )

    from_base = Checkpoint(
        f"{network}_base",
        "median",
        over=("seed",),
        join={"model.width": "start.width", "steps": "steps"},
    )
    fixed = {"checkpoint": from_base, "width": 0, "noise": "gaussian", "convention": "paper"}
    stages = {
        "tune": stage(
            {},
            lambda s: {"lr": rates[s], "budget": [budget(s, number) for number in steps[s]]},
            lambda s: targets[s] // FACTORS[-1],
        ),
        "base": stage(
            {"lr": Best(f"{network}_tune", "lr"), "evaluations": 1},
            lambda s: {
                "model.width": [targets[s] // k for k in FACTORS],
                "steps": steps[s],
                "seed": BASES,
            },
        ),
    }
    for name in names:
        way = WAYS[name]
        own = {key: value for key, value in way.items() if value in TRIED}
        best = {
            key: Best(f"{network}_rates_{name}", key, over=("seed",))
            for key in ("lr", *own.values())
        }
        stages[f"rates_{name}"] = stage(
            {"start": {**fixed, **way, **dict.fromkeys(own, 0.0)}},
            lambda s, name=name, own=own: {
                "lr": rates[s],
                **{key: TRIED[key] for key in own.values()},
                "cell": cells(s, name),
                "seed": TUNING,
            },
        )
        stages[name] = stage(
            {
                "start": {**fixed, **way, **{key: best[value] for key, value in own.items()}},
                "lr": best["lr"],
            },
            lambda s, name=name: {"cell": cells(s, name), "seed": seeds[s]},
        )
    stages["rates_scratch"] = stage(
        {}, lambda s: {"lr": rates[s], "budget": long(s), "seed": TUNING}
    )
    stages["scratch"] = stage(
        {"lr": Best(f"{network}_rates_scratch", "lr", over=("seed",))},
        lambda s: {"budget": long(s), "seed": seeds[s]},
    )
    return {f"{network}_{name}": study for name, study in stages.items()}


def nights(of: Mapping[str, object]) -> dict:
    """What a scale has, also for the scales that are its night: overnight, and the paper's, whose
    sizes were not read."""
    return {**of, "paper": of[OVERNIGHT]}
