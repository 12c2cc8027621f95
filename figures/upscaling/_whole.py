"""Figures 4 and 6 in three passes over the rows, for the whole Forest Cover Type: the claims that
these passes can tell, on rows that are real. Ours."""

from dataclasses import replace

from figures.upscaling import _claims, _drawing, _fair, _laws
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, reduce
from repro.core.study import OVERNIGHT
from repro.verdicts.answers import Reading, Test
from repro.verdicts.figure import Data, Drawn, Figure, Measured
from studies.upscaling import mlp_adamw_whole, mlp_sgd_whole

# Of `_claims`; the jump after the start is shorter than the window, a pass, and is not asked for.
NOISE = ("noise-nonzero", "noise-at-target")
TOO_FEW = "six seeds do not give a power of 0.9"


def figure(name: str, of: str, key: str, noise_told: bool) -> Figure:
    """The figure `name`, on Figure `of`; key: of its setting. noise_told: whether its seeds were
    planned to tell what noise is worth. What upscaling is worth on held-out rows none are."""
    scales = {"mlp": mlp_adamw_whole, "mlp-sgd": mlp_sgd_whole}[key].SCALES
    setting = replace(
        SETTINGS[key],
        study=f"{SETTINGS[key].study}_whole",
        scales=scales | {"reduced": scales[OVERNIGHT]},  # at which they are judged
    )
    fair, noise = _fair.names(name, setting), {f"{name}.{each}" for each in NOISE}
    asked = noise | {f"{name}.upscaled-wins-{key}", *fair}
    unbound = {claim for claim, (_, metric) in fair.items() if metric != "train_loss"}
    unbound |= set() if noise_told else noise
    every = (
        *_claims.curve_claims(name, setting),
        *_claims.win_claims(name, setting),
    )
    answers = tuple(
        Reading(test.id, test.quantity, TOO_FEW)
        if test.id in unbound
        else replace(test, expected={OVERNIGHT: test.at(OVERNIGHT)})
        for test in every
        if test.id in asked and isinstance(test, Test)
    )
    laws = _laws.curve_laws(name, setting) | _laws.win_laws(name, setting)

    def measure(data: Data, scale: str) -> Measured:
        found = _claims.measure_curves(name, data, setting, scale)
        found |= _claims.measure_wins(name, data, setting, scale)
        return {claim: value for claim, value in found.items() if claim in asked}

    def draw(data: Data, scale: str) -> Drawn:
        return _drawing.draw_curves(data, setting, scale)

    return Figure(
        title=f"{of} in three passes over the rows: {setting.name}",
        outcome=(
            f"In three passes the upscaled MLP ends at {{{name}.upscaled-wins-{key}}} times the "
            "training loss from scratch"
        ),
        caption=(
            f"{_drawing.MEANING} {_drawing.ENDS} What a run ends at is a mean over its last pass "
            f"over the rows. (Ours, on Ma et al., {of}.)"
        ),
        studies=(setting.study,),
        view=_drawing.CURVES,
        answers=answers,
        laws={claim: law for claim, law in laws.items() if claim in asked - unbound},
        reduce=reduce,
        measure=measure,
        draw=draw,
        simulate=simulate,
    )
