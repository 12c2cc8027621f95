"""What widening gives beside the model and its optimizer: growth, by which all else goes along."""

import copy
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils.weak import WeakTensorKeyDictionary

from widthwise.errors import UserError
from widthwise.parametrization.rules import Role
from widthwise.printed import columns
from widthwise.upscaling.blocks import Blocks
from widthwise.upscaling.filling import fill
from widthwise.upscaling.growth import Growth
from widthwise.upscaling.noise import perturb as add_noise
from widthwise.upscaling.optimizers import Origin
from widthwise.upscaling.untying import untied


class Growths(Mapping[str, Growth]):
    """Parameter name -> its Growth; printed, a table.

    averages: parameters whose copies' outputs the module averages, so that they are repeated as
    they are. blocks: how many units are copied together, axis by axis; block: the number that is
    the same for all, None where there is none. roles: of the wide model's parameters, None where
    the model was not traced. untied: readouts that were given weights of their own.
    """

    def __init__(
        self,
        growth: Mapping[str, Growth],
        wide: nn.Module,
        kept: Collection[str],
        averages: Collection[str],
        blocks: Blocks,
        roles: Mapping[str, Role] | None = None,
        untied: tuple[str, ...] = (),
    ):
        self.roles, self.untied = roles, untied
        self.growth, self.averages, self.blocks = dict(growth), frozenset(averages), blocks
        self._kept = frozenset(kept)
        self._origins: list[tuple[Any, Any, list[Origin]]] = []
        self._of = WeakTensorKeyDictionary()
        for name, parameter in wide.named_parameters():
            self._of[parameter] = growth[name]

    @property
    def block(self) -> int | None:
        """How many units are copied together, None where axes differ."""
        return self.blocks.default if len(self.blocks.sizes) == 1 else None

    def __getitem__(self, name: str) -> Growth:
        return self.growth[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.growth)

    def __len__(self) -> int:
        return len(self.growth)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("parameter", "times wider", "summed over", "weight")]
        for name, each in self.growth.items():
            summed = " ".join(map(str, each.inputs)) or "-"
            grown = "x".join(map(str, each.factors)) or "1"
            rows.append((name, grown, summed, f"{each.weight:.4g}"))
        return "\n".join(
            [
                "factor along each axis, axes whose copies are summed over, factor on weights",
                *columns(rows),
                *(f"{name}: has weights of its own now" for name in self.untied),
            ]
        )

    def note(self, narrow: object, wide: object, origins: list[Origin]) -> None:
        """Keep where the groups of a wide optimizer come from."""
        self._origins.append((narrow, wide, origins))

    def squared_norm(self, parameter: torch.Tensor | tuple[str, torch.Tensor]) -> float:
        """Factor on a gradient's squared norm that makes it that of the narrow one's, for
        `clip_grad_norm_`: of a parameter of the wide model, or of (name, parameter), as of
        `named_parameters()`, where the model's own were replaced since (FSDP)."""
        if isinstance(parameter, tuple):
            if parameter[0] in self.growth:
                return self.growth[parameter[0]].squared_norm
        elif parameter in self._of:
            return self._of[parameter].squared_norm
        raise UserError(
            "clip_grad_norm_: a parameter is not of the model that was widened; give its "
            "named_parameters() if they were replaced since"
        )

    def shadow(self, shadow: nn.Module, wide: nn.Module) -> nn.Module:
        """The widened form of a module that holds averages of the narrow model's parameters.

        shadow: a copy of the narrow model, or a module that holds one as `.module`
            (`torch.optim.swa_utils.AveragedModel`). wide: the widened model.
        Raises UserError where it is neither.
        """
        inner: Any = getattr(shadow, "module", shadow)
        if self.untied:
            (inner, _) = untied(inner, [], self.untied)
        names = {name for name, _ in inner.named_parameters()}
        if names != set(self.growth):
            raise UserError(
                f"shadow: {type(shadow).__name__} holds no copy of the model that was widened"
            )
        copied = copy.deepcopy(wide)
        fill(inner, copied, self.growth, self._kept, self.blocks)
        if not hasattr(shadow, "module"):
            return copied
        result = copy.deepcopy(shadow)
        result.module = copied
        return result

    def schedule(self, scheduler: Any, optimizer: torch.optim.Optimizer) -> Any:
        """A learning-rate scheduler of the narrow optimizer's, going on with the wide one's.

        Rates that it keeps for each group go with the group. Raises UserError where it is of
        another optimizer, or holds one rate for all groups, as CosineAnnealingLR's eta_min.
        """
        for narrow, wide, origins in self._origins:
            if wide is optimizer and scheduler.optimizer is narrow:
                return _schedule(scheduler, optimizer, origins)
        raise UserError("schedule: the scheduler is not of the optimizer that was widened")


# Lists with an entry for each group: rates, which are scaled, and what is not one.
RATES = ("base_lrs", "_last_lr", "max_lrs", "min_lrs", "last_lr")
OTHERS = ("lr_lambdas", "base_momentums", "max_momentums")


def _schedule(scheduler: Any, optimizer: torch.optim.Optimizer, origins: list[Origin]) -> Any:
    """A copy of a scheduler, and of those that it holds, for the wide optimizer."""
    if getattr(scheduler, "eta_min", 0):
        raise UserError(
            f"schedule: {type(scheduler).__name__}'s eta_min is one rate for all groups, which "
            "cannot follow theirs: use eta_min=0, or LambdaLR with a factor that ends above 0"
        )
    result = copy.copy(scheduler)
    result.optimizer = optimizer
    # Its count of calls is looked at by torch in the first of them alone, for a warning.
    result._step_count = max(getattr(scheduler, "_step_count", 2), 2)
    for name in (*RATES, *OTHERS):
        given = getattr(scheduler, name, None)
        if isinstance(given, list | tuple):
            scaled = name in RATES
            setattr(result, name, [given[i] * k if scaled else given[i] for i, k in origins])
    if hasattr(scheduler, "_schedulers"):
        result._schedulers = [_schedule(s, optimizer, origins) for s in scheduler._schedulers]
    return result


def perturb(
    wide: nn.Module,
    growth: Growths,
    level: float | Mapping[str, float],
    generator: torch.Generator,
    *,
    convention: str = "paper",
    signal: bool = False,
) -> dict[str, float]:
    """Add the noise that sets copies of units free, in place, the last step of upscaling (Ma et
    al., Algorithm 2); returns each tensor's constant sigma_delta.

    On what grew of matrices it has the standard deviation level * fan_in^-1/2, on embeddings and
    readouts `level`; biases, gains and tensors of zeros get none.

    level: the constant sigma_delta, or one for each tensor as an earlier call returned it; with
        `signal` t, the spectral norm of the noise over the widened weight's (Appendix D).
    generator: on the parameters' device. convention: "paper" or "code", see `noise_std`.
    Raises UserError where the model was widened without inputs, so that no roles are known, or on
    another convention: "code-raw" goes by initial values, which training has changed.
    """
    if convention not in ("paper", "code"):
        raise UserError(f"perturb: convention {convention!r}: choose paper or code")
    if growth.roles is None:
        raise UserError(
            "perturb: the model was widened without inputs, which show what its parameters are: "
            "give `widen` inputs"
        )
    grown = {n: role for n, role in growth.roles.items() if math.prod(growth[n].factors) > 1}
    still = {n: Role("scalar") for n in growth.roles.keys() - grown.keys()}
    return add_noise(
        wide,
        level,
        generator,
        factor={name: each.k_in for name, each in growth.items()},
        convention=convention,
        signal=signal,
        roles=grown | still,
    )
