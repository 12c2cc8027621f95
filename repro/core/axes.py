"""Other seeds, rates, steps, widths and optimizers of a study's stages, at one scale. No torch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repro.core import discovery
from repro.core.names import StageName
from repro.core.spec import settings
from repro.core.study import Best, Checkpoint, Study, shared_out, whole
from repro.errors import UserError

FIRST_SEED, BLOCK = 9000, 200  # of seeds that are on no record
WIDTH = "model.width"


def at(study: Study, scale: str, axis: str) -> Sequence:
    """A study's values of an axis at a scale."""
    return study.scales[scale].grid.get(axis, study.grid.get(axis, ()))


def with_grid(study: Study, scale: str, axes: Mapping[str, Sequence]) -> Study:
    """A study with other values of some axes at a scale."""
    own = study.scales[scale]
    return replace(study, scales={**study.scales, scale: replace(own, grid={**own.grid, **axes})})


def with_spec(study: Study, scale: str, changes: Mapping[str, Any]) -> Study:
    """A study with other settings at a scale."""
    own = study.scales[scale]
    return replace(
        study, scales={**study.scales, scale: replace(own, spec={**own.spec, **changes})}
    )


def has(study: Study, scale: str) -> bool:
    """Whether a study has runs at a scale."""
    return scale in study.scales and all(len(at(study, scale, axis)) for axis in study.grid)


def seeded(
    studies: Mapping[str, Study], scale: str, number: int, begin: int = 0
) -> dict[str, Study]:
    """Every stage on so many seeds of no record, but for one that only tunes, which keeps their
    number. Stages that share seeds, or of which one takes from the run of its own seed in the
    other, go on sharing them. begin: which of these seeds is the first."""
    if not 1 <= begin + number <= BLOCK:
        raise UserError(f"--seeds {begin + number}: give a number from 1 to {BLOCK}")
    tuning = {
        f"{StageName.parse(name).module}/{value.stage}"
        for name, study in studies.items()
        if has(study, scale)
        for _, value in settings(study.settings(scale))
        if isinstance(value, Best) and "seed" in value.over
    }
    having = {n: s for n, s in studies.items() if has(s, scale) and "seed" in s.grid}
    if not having:
        raise UserError("--seeds: nothing here has seeds")
    groups: list[tuple[set[str], set[int]]] = []  # stages, and their seeds
    for name, study in having.items():
        seeds, names = {*at(study, scale, "seed")}, {name, *_same_seed(name, study, scale)}
        met = [each for each in groups if each[0] & names or each[1] & seeds]
        groups = [each for each in groups if each not in met]
        groups.append((names.union(*(e[0] for e in met)), seeds.union(*(e[1] for e in met))))
    order = [*having]
    groups.sort(key=lambda each: min(order.index(name) for name in each[0] if name in order))
    found = dict(studies)
    for place, (names, _) in enumerate(groups):
        first = FIRST_SEED + BLOCK * place + begin
        for name in names & having.keys():
            its = len(at(having[name], scale, "seed")) if name in tuning else number
            found[name] = with_grid(found[name], scale, {"seed": [*range(first, first + its)]})
    return found


def _same_seed(name: str, study: Study, scale: str) -> set[str]:
    """The stages of which a stage takes the run of its own seed."""
    return {
        f"{StageName.parse(name).module}/{value.stage}"
        for _, value in settings(study.settings(scale))
        if isinstance(value, Best | Checkpoint) and "seed" not in value.over
    }


def by(studies: Mapping[str, Study], scale: str, name: str) -> dict[str, Study]:
    """Every stage by another optimizer, as the paper's study of the network by that one has it,
    with its rates."""
    having = {n: s for n, s in studies.items() if "optimizer" in s.settings(scale)}
    if not having:
        raise UserError("--optimizer: nothing here is trained")
    papers = {StageName.parse(n).paper for n in having}
    every = [s for s in discovery.study_names() if "+" not in s and s.split("/")[0] in papers]
    found = dict(studies)
    for stage, study in having.items():
        origin, old = StageName.parse(stage), study.settings(scale)["optimizer"]["name"]
        alike = origin.study.replace(old, name)  # `mlp_sgd_transfer` of `mlp_adamw_transfer`
        known = {
            other: discovery.declared(other)
            for other in sorted(every, key=lambda other: other.split("/")[1] != alike)
            if StageName.parse(other).stage == origin.stage
            and _is_alike(discovery.declared(other), study, scale)
        }
        by = {n: s.settings(scale)["optimizer"]["name"] for n, s in known.items()}
        if name not in by.values():
            has_some = ", ".join(sorted({*by.values()}))
            raise UserError(f"--optimizer {name}: {stage} has settings of {has_some} alone")
        other = known[next(n for n, its in by.items() if its == name)]
        its, rates = other.settings(scale), at(other, scale, "lr")
        found[stage] = replace(study, spec={**study.spec, "optimizer": its["optimizer"]})
        if len(rates):
            found[stage] = with_grid(found[stage], scale, {"lr": rates})
        elif isinstance(its["lr"], float):
            found[stage] = with_spec(found[stage], scale, {"lr": its["lr"]})
    return found


def _is_alike(study: Study, other: Study, scale: str) -> bool:
    """Whether a study trains another one's network over the same axes."""
    if scale not in study.scales or study.task != other.task or {*study.grid} != {*other.grid}:
        return False
    return study.settings(scale)["model"]["name"] == other.settings(scale)["model"]["name"]


def rated(
    studies: Mapping[str, Study], stages: Iterable[str], scale: str, rates: Sequence[float]
) -> dict[str, Study]:
    """Every stage that sweeps a learning rate, over these."""
    having = {
        name: axis
        for name, study in studies.items()
        for axis in study.grid
        if "lr" in axis.split(".") and has(study, scale)
    }
    if not having.keys() & {*stages}:
        raise UserError("--rates: no stage of it sweeps a learning rate")
    return {
        name: with_grid(study, scale, {having[name]: [*rates]}) if name in having else study
        for name, study in studies.items()
    }


def stepped(
    studies: Mapping[str, Study], stages: Iterable[str], scale: str, steps: int
) -> dict[str, Study]:
    """Every stage so many steps long, or as many times as it was; but for those of one step."""
    own = {n: s.settings(scale).get("steps", 0) for n, s in studies.items() if scale in s.scales}
    usual = [own[name] for name in stages if own.get(name, 0) > 1]
    if not usual:
        raise UserError("--steps: nothing here has steps")
    main = max({*usual}, key=usual.count)
    found = dict(studies)
    for name, number in own.items():
        if number > 1:
            at_scale = found[name].settings(scale)
            longer = max(1, round(number * steps / main))
            changes = {"steps": longer}
            if "evaluations" in at_scale:
                changes["evaluations"] = min(at_scale["evaluations"], longer)
            schedule = at_scale.get("schedule")
            for part in ("warmup", "steps"):
                if isinstance(schedule, Mapping) and part in schedule:
                    changes[f"schedule.{part}"] = round(schedule[part] * longer / number)
            found[name] = with_spec(found[name], scale, changes)
            its = found[name].scales[scale]
            shorter = replace(its, window=round(its.window * longer / number))
            found[name] = replace(found[name], scales={**found[name].scales, scale: shorter})
    return found


def widened(
    studies: Mapping[str, Study], stages: Iterable[str], scale: str, widths: Sequence[float]
) -> dict[str, Study]:
    """Stages without a design whose grid has an axis of widths, at other widths: each at those in
    the places of its own among those of all. A setting beside a width, as a vocabulary, goes along
    in proportion, or stays where it is the same at every width."""
    own = {name: studies[name] for name in stages if name in studies and has(studies[name], scale)}
    axes = {
        name: axis
        for name, study in own.items()
        for axis in study.grid
        if WIDTH in settings_of(axis, at(study, scale, axis)[0])
    }
    if lacking := [name for name in own if name not in axes]:
        raise UserError(f"--widths: {lacking[0]} has no axis of widths")
    rows = [
        dict(settings_of(axes[name], value))
        for name, study in own.items()
        for value in at(study, scale, axes[name])
    ]
    every = sorted({row[WIDTH] for row in rows})
    new = dict(zip(every, shared_out(sorted(widths), len(every)), strict=True))

    def everywhere(key: str, value: float, power: int) -> bool:
        """Whether each width has it, as it is or, of power 1, over the width."""
        seen = {(row[WIDTH], row[key] / row[WIDTH] ** power) for row in rows if key in row}
        return all((width, value) in seen for width in every)

    def at_width(row: Mapping[str, Any], width: float) -> dict[str, Any]:
        found = {**row, WIDTH: whole(width, "it")}
        for key, value in row.items():
            if key != WIDTH and is_number(value) and not everywhere(key, value, 0):
                times = value / row[WIDTH]
                if not everywhere(key, times, 1):
                    raise UserError(f"--widths: {key} goes along by no rule; write a study")
                found[key] = whole(times * width, key)
        return found

    found = dict(studies)
    for name, axis in axes.items():
        its = [dict(settings_of(axis, v)) for v in at(own[name], scale, axis)]
        made = [at_width(row, width) for row in its for width in new[row[WIDTH]]]
        made = [row for place, row in enumerate(made) if row not in made[:place]]
        plain = axis == WIDTH
        found[name] = with_grid(own[name], scale, {axis: [r[WIDTH] if plain else r for r in made]})
    return found


def settings_of(axis: str, value: Any) -> Mapping[str, Any]:
    """What a value of an axis sets."""
    return value if isinstance(value, Mapping) else {axis: value}


def is_number(value: object) -> bool:
    """Whether a setting is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
