"""Figures 4 and 6 on the whole Forest Cover Type, three passes over its rows: what is left of the
claims that these passes can tell, on rows that are real. Ours."""

from dataclasses import replace

from figures.upscaling import _claims, _drawing, _fair, _laws
from figures.upscaling._laws import simulate
from figures.upscaling._runs import SETTINGS, reduce
from repro.core.study import OVERNIGHT
from repro.verdicts.claims import reported
from repro.verdicts.figure import Figure
from studies.upscaling import _whole

# Of `_claims`; the jump after the start is shorter than the window, a pass, and is not asked for.
NOISE = ("noise-nonzero", "noise-at-target")
NO_BOUND = reported("no bound: six seeds do not give a power of 0.9")


def figure(name: str, of: str, key: str, noise_told: bool) -> Figure:
    """The figure `name`, on Figure `of`; key: of its setting. noise_told: whether its seeds were
    planned to tell what noise is worth. What upscaling is worth on held-out rows none are."""
    setting = replace(
        SETTINGS[key],
        study=f"{SETTINGS[key].study}_whole",
        windows={"reduced": _whole.BATCHES, "paper": SETTINGS[key].windows["paper"]},
    )
    where = f"suite, on {of}"
    fair, noise = _fair.names(name, setting), {f"{name}.{each}" for each in NOISE}
    asked = noise | {f"{name}.upscaled-wins-{key}", *fair}
    unbound = {claim for claim, (_, metric) in fair.items() if metric != "train_loss"}
    unbound |= set() if noise_told else noise
    every = (
        *_claims.curve_claims(name, where, setting),
        *_claims.win_claims(name, where, setting),
    )
    claims = tuple(
        replace(
            claim, expected={OVERNIGHT: NO_BOUND if claim.id in unbound else claim.at(OVERNIGHT)}
        )
        for claim in every
        if claim.id in asked
    )
    laws = _laws.curve_laws(name, setting) | _laws.win_laws(name, setting)

    def measure(data, scale):
        found = _claims.measure_curves(name, data, setting, scale)
        found |= _claims.measure_wins(name, data, setting, scale)
        return {claim: value for claim, value in found.items() if claim in asked}

    def draw(data, scale):
        return _drawing.draw_curves(data, setting, scale)

    return Figure(
        title=f"{of} on the whole Cover Type: {setting.name}, three passes",
        outcome=(
            f"On the whole Cover Type the MLP ends at {{{name}.upscaled-wins-{key}}} times the "
            "training loss from scratch"
        ),
        caption=(
            f"{_drawing.MEANING} {_drawing.ENDS} What a run ends at is a mean over its last "
            f"{_whole.BATCHES} steps, a pass over the rows. (Ours, on Ma et al., {of}.)"
        ),
        studies=(setting.study,),
        view=_drawing.CURVES,
        claims=claims,
        laws={claim: law for claim, law in laws.items() if claim in asked - unbound},
        reduce=reduce,
        measure=measure,
        draw=draw,
        simulate=simulate,
    )
