"""The optimizers that the suite trains with, and the settings that each of them uses. No torch."""

from collections.abc import Callable, Collection, Mapping

from repro.errors import did_you_mean
from widthwise.hints import LARGEST
from widthwise.parametrization import KINDS

_ALL = ("name", "weight_decay", "decayed", "clip")
_ADAM = (*_ALL, "betas", "eps", "amsgrad")
# Name -> its settings, as `optimizer.make_groups` and `make_optimizer` take them.
OPTIMIZERS = {
    "sgd": (*_ALL, "momentum", "nesterov"),
    "adam": _ADAM,
    "adamw": (*_ADAM, "eps_convention"),
    "muon": (*_ALL, "betas", "eps", "momentum", "adjust_lr_fn"),
}
FREE = ("decayed", "clip", "amsgrad", "eps_convention")  # may be left out
EPS_CONVENTIONS = ("torch", "fairseq")
ADJUSTMENTS = ("original", "match_rms_adamw", "unit_rms")


def _size(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < LARGEST


def _share(value: object) -> bool:
    return _size(value) and value < 1  # type: ignore[operator]


def _clip(value: object) -> bool:
    if value is None:
        return True
    keys = isinstance(value, Mapping) and value.keys() == {"norm", "width_aware"}
    return keys and _size(value["norm"]) and isinstance(value["width_aware"], bool)  # type: ignore[index]


# Setting -> whether a value is one, and what belongs there.
VALUES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "weight_decay": (_size, "a finite number, 0 or more"),
    "eps": (_size, "a finite number, 0 or more"),
    "momentum": (_share, "a number from 0 on, below 1"),
    "nesterov": (lambda value: isinstance(value, bool), "True or False"),
    "amsgrad": (lambda value: isinstance(value, bool), "True or False"),
    "betas": (
        lambda value: (
            isinstance(value, list | tuple) and len(value) == 2 and all(map(_share, value))
        ),
        "two numbers from 0 on, below 1",
    ),
    "decayed": (
        lambda value: isinstance(value, list | tuple) and all(each in KINDS for each in value),
        f"a list of {', '.join(KINDS)}",
    ),
    "clip": (_clip, "None, or a mapping of a norm and whether it is width_aware"),
    "eps_convention": (lambda value: value in EPS_CONVENTIONS, " or ".join(EPS_CONVENTIONS)),
    "adjust_lr_fn": (lambda value: value in ADJUSTMENTS, " or ".join(ADJUSTMENTS)),
}


def misfit(settings: Mapping, elsewhere: Collection[str] = ()) -> str:
    """What of an optimizer's settings its training would not use, or cannot, in words; "" where
    all are settings. elsewhere: those whose values come from another stage."""
    name = settings.get("name")
    if not isinstance(name, str) or name not in OPTIMIZERS:
        return f"has no optimizer {ascii(name)[:60]}: {did_you_mean(str(name), OPTIMIZERS)}"
    its = OPTIMIZERS[name]
    for key, value in settings.items():
        if key not in its:
            rate = ": rates are the grid's" if key == "lr" else f": {did_you_mean(str(key), its)}"
            return f"has {ascii(key)[:60]}, which {name} does not use{rate}"
        fits, words = VALUES.get(key, (lambda value: True, ""))
        if key not in elsewhere and not fits(value):
            return f"has {key} {ascii(value)[:60]}: give {words}"
    if lacking := [key for key in its if key not in settings and key not in FREE]:
        return f"lacks {lacking[0]!r}, which {name} needs"
    if settings.get("nesterov") and not settings["momentum"]:
        return "has nesterov without a momentum: give one above 0"
    return ""
