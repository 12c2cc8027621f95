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
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from repro.core.study import Checkpoint, Stage, shared_out, whole

FACTOR = 2
# One set for all three architectures, of no earlier run.
OVERNIGHT_SEEDS = list(range(2000, 2008))


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Runs of some of the base models' widths: by_lr alone. Without seeds there are none.

    widths: units. seeds: its own. lr: learning rates, `Transfer`'s if none are given.
    """

    widths: Sequence[int] = ()
    seeds: Sequence[int] = ()
    lr: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """What is run of transfer at one scale, by one architecture and optimizer.

    widths: of the base models, in units; lr_widths: those that by_lr has, None all.
    steps: of a run. batch: rows or sequences a step. evaluations: how many in a run.
    settings: its other changes to the settings at paper scale, dotted key -> value.
    base_lr: learning rate of the base models.
    window: over how many last steps a final loss is a mean; 0: since the last evaluation.
    lr, levels: learning rates of by_lr, and levels of noise of by_noise, in Algorithm 2's
        convention. fixed_lr, fixed_level: the value of each in the other's sweep.
    seeds: of all; lr_seeds, noise_seeds: of by_lr and by_noise, None the same.
    arms: name of a width, which ends its stages' names -> its runs.
    lr_sp, raw_levels: grids of by_lr_sp and by_noise_raw; without them there are none of both.
    code_lr, code_level, code_levels: the released code's rate of the base models, its fixed noise
        and its grid of noise; without the latter there is none of its stages. code_seeds: of them.
    jobs: what one job trains: a whole "stage"; a "width" of one; a "run".
    """

    widths: Sequence[int] = ()
    lr_widths: Sequence[int] | None = None
    steps: int
    batch: int
    evaluations: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    base_lr: float
    window: int = 0
    lr: Sequence[float] = ()
    levels: Sequence[float] = ()
    fixed_lr: float = 0.0
    fixed_level: float = 0.0
    seeds: Sequence[int] = ()
    lr_seeds: Sequence[int] | None = None
    noise_seeds: Sequence[int] | None = None
    arms: Mapping[str, Arm] = field(default_factory=dict)
    lr_sp: Sequence[float] = ()
    raw_levels: Sequence[float] = ()
    code_lr: float = 0.0
    code_level: float = 0.0
    code_levels: Sequence[float] = ()
    code_seeds: Sequence[int] = ()
    jobs: Literal["stage", "width", "run"] = "stage"

    def at_widths(self, widths: Sequence[float]) -> "Transfer":
        """At these target widths, the base models' with them; arms share them out."""
        own = [whole(width / FACTOR, f"the base of {width:g}") for width in sorted(widths)]
        having = [name for name, arm in self.arms.items() if arm.seeds]
        arms, names = dict(self.arms), dict(zip(having, shared_out(own, len(having)), strict=True))
        for name, its in names.items():
            arms[name] = replace(arms[name], widths=its, seeds=arms[name].seeds if its else ())
        lr_widths = None if self.lr_widths is None else own
        return replace(self, widths=own, lr_widths=lr_widths, arms=arms)


def stages(at: Transfer) -> dict[str, Stage]:
    """Stage name -> its runs at one scale."""
    lr_widths = at.widths if at.lr_widths is None else at.lr_widths
    lr_seeds = at.seeds if at.lr_seeds is None else at.lr_seeds
    noise_seeds = at.seeds if at.noise_seeds is None else at.noise_seeds
    found = {
        "base": _base(at, at.widths, at.seeds),
        "by_lr": _by_lr(at, lr_widths, at.lr, lr_seeds),
        "by_noise": _by_noise(at, at.widths, at.levels, noise_seeds),
    }
    for name, arm in at.arms.items():
        own = arm.widths if arm.seeds else []
        found[f"base_{name}"] = _base(at, own, arm.seeds)
        found[f"by_lr_{name}"] = _by_lr(at, own, arm.lr or at.lr, arm.seeds, f"base_{name}")
    if at.lr_sp:
        ends, standard = [at.widths[0], at.widths[-1]], {"parametrization": "SP"}
        base, by_lr = _base(at, ends, at.seeds), _by_lr(at, ends, at.lr_sp, at.seeds, "base_sp")
        found["base_sp"] = replace(base, changes=standard)
        found["by_lr_sp"] = replace(by_lr, changes=standard | by_lr.changes)
        found["by_noise_raw"] = _by_noise(at, ends, at.raw_levels, at.seeds, convention="code-raw")
    if at.code_levels:
        code = replace(at, fixed_level=at.code_level)
        begun = {"base": "base_code", "convention": "code"}
        found["base_code"] = _base(replace(at, base_lr=at.code_lr), at.widths, at.code_seeds)
        found["by_lr_code"] = _by_lr(code, at.widths, at.lr, at.code_seeds, **begun)
        found["by_noise_code"] = _by_noise(code, at.widths, at.code_levels, at.code_seeds, **begun)
        found["by_lr_printed"] = _by_lr(code, at.widths, at.lr, at.code_seeds)
    return found


def _base(at: Transfer, widths: Sequence[int], seeds: Sequence[int]) -> Stage:
    """The base models of some widths."""
    return _stage(at, {"model.width": widths, "seed": seeds})


def _by_lr(
    at: Transfer,
    widths: Sequence[int],
    rates: Sequence[float],
    seeds: Sequence[int],
    base: str = "base",
    convention: str = "paper",
) -> Stage:
    """Base models of some widths widened, over learning rates at one noise. base: their stage."""
    grid = {"width": _pairs(widths), "lr": rates, "seed": seeds}
    more = {"start.level": at.fixed_level}
    return _stage(at, grid, more, _start(base, convention))


def _by_noise(
    at: Transfer,
    widths: Sequence[int],
    levels: Sequence[float],
    seeds: Sequence[int],
    base: str = "base",
    convention: str = "paper",
) -> Stage:
    """The same over levels of noise at one learning rate."""
    grid = {"width": _pairs(widths), "start.level": levels, "seed": seeds}
    return _stage(at, grid, {"lr": at.fixed_lr}, _start(base, convention))


def _stage(
    at: Transfer,
    grid: Mapping[str, Sequence],
    more: Mapping[str, Any] = MappingProxyType({}),
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> Stage:
    """Runs. more, changes: to the settings, the latter the same at every scale."""
    of_width = tuple(axis for axis in grid if "width" not in axis)
    return Stage(
        {
            **at.settings,
            "data.batch_size": at.batch,
            "steps": at.steps,
            "evaluations": at.evaluations,
            "lr": at.base_lr,
            **more,
        },
        grid,
        same_job={"stage": tuple(grid), "width": of_width, "run": ()}[at.jobs],
        window=at.window,
        changes=changes,
    )


def _start(base: str, convention: str) -> dict[str, dict]:
    """A start from a stage of base models, each from that of its width and seed."""
    return {
        "start": {
            "checkpoint": Checkpoint(base, join={"model.width": "start.width"}),
            "width": 0,
            "noise": "gaussian",
            "convention": convention,
            "level": 0.0,
        }
    }


def _pairs(widths: Sequence[int]) -> list[dict[str, int]]:
    return [{"model.width": FACTOR * n, "start.width": n} for n in widths]
