"""What the MLP's studies of transfer share (Ma et al., arXiv 2602.10545, F.5): widths, scales and
epochs, and the controls that are held against them.

Paper scale: 100 epochs. Workstation: a coarser grid, 25 epochs of 232 batches = 5_800 steps, 6 s at
1 ms a step, 23 s at width 2,048. Reduced and overnight: 160 steps (first 192) to save time.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from repro.core.study import OVERNIGHT, Study, octaves
from studies.upscaling._mlp import CHOSEN, DEPARTURES, GRIDS, PAPER, REDUCED, drawn_biases
from studies.upscaling._transfer import OVERNIGHT_SEEDS, transfer


def sweeps_by(
    optimizer: Mapping,
    *,
    lr: Mapping[str, Sequence[float]],
    base: Mapping[str, float],
    base_width: int,
    widths: Mapping[str, Sequence[int]],
    judged: Sequence[int],
    **more,
) -> partial[dict[str, Study]]:
    """`transfer` by an optimizer. base: rate of the base models, "paper" and "reduced". widths: of
    the base models, at these two. judged: seeds at reduced scale. more: as `transfer` takes it."""
    whole = {
        **PAPER,
        "steps": 23_200,  # 100 epochs of 232 batches
        "evaluations": 100,
        "optimizer": optimizer,
        "lr": base["paper"],
        "model": PAPER["model"] | {"base_width": base_width},
    }
    short = REDUCED | {"steps": 160, "evaluations": 8, "lr": base["reduced"]}
    return partial(
        transfer,
        whole,
        scales={
            "smoke": short | {"steps": 12, "evaluations": 1},
            "reduced": short,
            "overnight": short,
            "workstation": drawn_biases(whole) | {"steps": 5_800, "evaluations": 25},
            "paper": drawn_biases(whole),
        },
        windows={"reduced": 20, "overnight": 20, "workstation": 232, "paper": 232},
        widths={
            "smoke": [16, 32],
            "reduced": widths["reduced"],
            "overnight": [16, 32, 64, 128, 256],
            "workstation": [64, 128, 256, 512, 1024],
            "paper": widths["paper"],
        },
        lr_widths={"overnight": [16, 32, 64, 128]},
        seeds={
            "smoke": [0],
            "reduced": judged,
            "overnight": OVERNIGHT_SEEDS,
            "workstation": [20, 21, 22],
            "paper": [0, 1, 2, 3, 4],
        },
        lr=lr,
        **more,
        chosen_after_seeing=CHOSEN,
        departures=DEPARTURES,
    )


def controls(
    sweeps: partial[dict[str, Study]],
    reduced: Mapping[str, object],
    *,
    lr_sp: Mapping[str, Sequence[float]],
    raw_levels: Sequence[float],
) -> dict[str, Study]:
    """What `sweeps` is held against: SP's rates, and noise of one standard deviation at every
    width. Ours.

    Workstation and paper scale: the runs of `sweeps`, and the two controls beside them.

    Reduced: targets 16, 64 and 256, a factor of 16. Each grid has the points around the optima that
    seeds 0 and 1 had at targets 32 to 128, and a control's an octave more where its best lay at the
    end; these seeds are others.

    reduced: "lr", "levels" and "fixed_level" there. raw_levels: there too.
    """
    of = sweeps.keywords
    own = {"widths": [8, 32, 128], "seeds": [200, 201, 202], **reduced}
    return sweeps(
        scales={name: changes for name, changes in of["scales"].items() if name != OVERNIGHT},
        lr_widths=None,
        noise_seeds=None,
        **{key: of[key] | {"reduced": value} for key, value in own.items()},
        lr_sp=lr_sp,
        raw_levels={
            "smoke": [0.0, 0.25],
            "reduced": raw_levels,
            "workstation": [0.0, *octaves(-10, -2)],
            "paper": [0.0, *octaves(-12, -2)],
        },
        chosen_after_seeing=f"{CHOSEN}; {GRIDS}",
    )
