"""Ways to grow a trained model, against training the wide one from scratch, over task `warm_start`.

Ours: of Mallik et al. (arXiv 2605.13405) the abstract alone was read, so that sizes, data, grids
and the factor of "shrink" are not theirs, and their noise besides the shrinking is left out.

tune: learning rates of the narrowest base, and what is grown in `narrow`.
base: all bases, at the best of these; of a few seeds the one with the median loss is grown.
narrow_<way>: the narrowest base grown twice, over rates and the way's own setting, for the ways
    that have one: the noise of `noisy` and `zeros`, the factor of `shrink`.
rates_<way>: every base grown to the target, over learning rates, with the setting that was best
    there at any rate, on a seed that judges nothing.
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
CHOSEN = "levels and rates reach beyond where pilots, on no seed that is judged, had their best"
TRIED = {"start.level": octaves(-4, -1), "start.shrink": [0.25, 0.5, 0.75, 1.0]}


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
    its changes of the spec. steps: scale -> the smaller budget and the larger, whole multiples of
    the window. window: scale -> steps over which a final loss is a mean, and between evaluations.
    The larger budget is tried by shrinking and the factor 2 alone.
    """

    def budget(scale: str, number: int) -> dict:
        return {"steps": number, "evaluations": number // window[scale]}

    def cells(scale: str, name: str) -> list[dict]:
        low, high = steps[scale]
        found = [{"start.width": targets[scale] // k, **budget(scale, low)} for k in FACTORS]
        if name == SHRINK:
            found.append({"start.width": targets[scale] // FACTORS[0], **budget(scale, high)})
        return found

    def long(scale: str) -> list[dict]:
        return [budget(scale, round(LONGER * number)) for number in steps[scale]]

    def narrowest(scale: str) -> int:
        return targets[scale] // FACTORS[-1]

    def stage(changes: Mapping, grid, width=targets.get, settings=lambda scale: {}) -> Study:
        """grid, width, settings: of a scale."""
        of = {name: grid(name) for name in scales}
        return Study(
            task="warm_start",
            spec={**spec, **changes},
            grid=of["paper"],
            chosen_after_seeing=CHOSEN,
            scales={
                name: Scale(
                    {**scales[name], "model.width": width(name), **settings(name)},
                    of[name],
                    same_job=tuple(of[name]),
                    window=window[name],
                )
                for name in scales
            },
        )

    def low(scale: str) -> dict:
        return budget(scale, steps[scale][0])

    def start(way: Mapping, checkpoint: Checkpoint, tuned: str = "") -> dict:
        """tuned: the stage that a way's own setting is from; "": it is an axis."""
        chosen = {
            key: (Best(f"{network}_{tuned}", value, over=("lr",)) if tuned else 0.0)
            if value in TRIED
            else value
            for key, value in way.items()
        }
        fixed = {"checkpoint": checkpoint, "width": 0, "noise": "gaussian", "convention": "paper"}
        return {"start": {**fixed, **chosen}}

    from_base = Checkpoint(
        f"{network}_base",
        "median",
        over=("seed",),
        join={"model.width": "start.width", "steps": "steps"},
    )
    from_narrowest = Checkpoint(f"{network}_tune", "lowest", over=("lr",))
    stages = {
        "tune": stage({}, lambda s: {"lr": rates[s]}, narrowest, low),
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
        own = next((str(value) for value in way.values() if value in TRIED), "")
        tuned = f"narrow_{name}" if own else ""
        if own:
            stages[tuned] = stage(
                start(way, from_narrowest),
                lambda s, own=own: {"lr": rates[s], own: TRIED[own]},
                lambda s: 2 * narrowest(s),
                lambda s: low(s) | {"start.width": narrowest(s)},
            )
        grown = start(way, from_base, tuned)
        stages[f"rates_{name}"] = stage(
            grown, lambda s, name=name: {"lr": rates[s], "cell": cells(s, name), "seed": TUNING}
        )
        stages[name] = stage(
            {**grown, "lr": Best(f"{network}_rates_{name}", "lr", over=("seed",))},
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
