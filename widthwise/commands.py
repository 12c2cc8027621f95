"""`widthwise roles`, `check`, `transfer` and `widen`, of what a file of one's own defines."""

import reprlib
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from widthwise.errors import UserError, nearest, visible
from widthwise.files import names_in

WIDTHS = (64, 128, 256, 512)


def defined_in(what: str) -> tuple[Callable, dict[str, Any], dict[str, Any]]:
    """(make, all that the file defines, those of loss and given that it has).

    what: `FILE.py` or `FILE.py:name of make`.
    Raises UserError where the file lacks `batches` or the function.
    """
    path, name = (what, "") if ":" not in what or Path(what).is_file() else what.rsplit(":", 1)
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # a model's file imports its neighbours
    defined = names_in(path)
    for each in (name or "make", "batches"):
        if each not in defined:
            near = nearest(each, [key for key in defined if not key.startswith("__")])
            more = f"; did you mean {near!r}?" if near else ""
            asked = " (seed -> [(inputs, targets), ...])" if each == "batches" else ""
            raise UserError(f"{path}: defines no {each}{asked}{more}")
    optional = ("loss", "given")
    options: dict[str, Any] = {key: defined[key] for key in optional if key in defined}
    return defined[name or "make"], defined, options


def _progress(words: str) -> None:
    print(visible(words), flush=True)


def widths_of(widths: Any, what: str) -> Sequence[int]:
    """Widths that a file or the command line gives; UserError unless they are whole numbers."""
    numbers = isinstance(widths, Sequence) and not isinstance(widths, str)
    if not numbers or not widths or not all(isinstance(n, Integral) and int(n) > 0 for n in widths):
        raise UserError(
            f"{what}: widths {reprlib.repr(widths)}: give whole numbers from 1, [8, 16]"
        )
    return widths


def recipe_of(arguments: Namespace, name: str) -> Any:
    """The recipe of a name, or a file's path, with what the command line says of it."""
    from widthwise.parametrization.recipes import recipe

    return recipe(name, arguments.optimizer, arguments.decay, arguments.depth)


def roles(arguments: Namespace) -> str:
    """What each parameter of a model is, and what is to be looked at."""
    make, defined, options = defined_in(arguments.what)
    from widthwise.checks.given import batches_of, inputs_of
    from widthwise.checks.proof import roles

    given = defined.get("WIDTHS", WIDTHS) if arguments.base is None else [arguments.base]
    base = min(widths_of(given, arguments.what))
    found = roles(
        make, base, inputs_of(batches_of(defined["batches"], 0)[0]), given=options.get("given", {})
    )
    if arguments.save:
        found.save(arguments.save)
    return str(found)


def check(arguments: Namespace) -> str:
    """Slope of activation sizes against width; status 1 unless the verdict is right."""
    # The file defines the function that is named, and `batches`; where it has them also `loss`,
    # `given` (as `widthwise.coordinate_check` takes it) and WIDTHS. One thread, as for `transfer`.
    import torch

    torch.set_num_threads(1)
    make, defined, options = defined_in(arguments.what)
    from widthwise.checks import coordinates

    if arguments.lr is not None:
        options["lr"] = arguments.lr
    found = coordinates.coordinate_check(
        make,
        recipe_of(arguments, arguments.recipe),
        defined["batches"],
        widths_of(arguments.widths or defined.get("WIDTHS", WIDTHS[:3]), arguments.what),
        depths=arguments.depths,
        weight_decay=arguments.weight_decay,
        steps=arguments.steps,
        after=arguments.after,
        seeds=arguments.seeds,
        progress=_progress,
        **options,
    )
    if not found.passed:
        _progress(str(found))
        raise UserError(f"coordinate-check: {arguments.what}: {found.reason}")
    return str(found)


def transfer(arguments: Namespace) -> str:
    """What is lost where a model is tuned narrow and trained wide."""
    # The file is one that `check` takes; `batches` must be a function of the seed. Where it has
    # them, RATES and WEIGHT_DECAYS are tried at the least width, and SETTINGS are further ones.
    # One thread unless more are asked for: of a small model a second saves little, and where
    # another process has its core, torch's threads wait for each other (a step of a GRU of width
    # 128: 0.3 s instead of 0.012).
    import torch

    if arguments.threads < 1:
        raise UserError(f"--threads {arguments.threads}: give 1 or more")
    torch.set_num_threads(arguments.threads)
    make, defined, options = defined_in(arguments.what)
    if not callable(defined["batches"]):
        raise UserError(
            f"{arguments.what}: batches must be a function of the seed, so that every run sees "
            "data of its own, once"
        )
    from widthwise.checks import transfer

    rates = arguments.rates or defined.get("RATES", transfer.RATES)
    decays = arguments.weight_decays or defined.get("WEIGHT_DECAYS", (0.0,))
    return str(
        transfer.transfer(
            make,
            [recipe_of(arguments, name) for name in arguments.recipes],
            defined["batches"],
            widths_of(arguments.widths or defined.get("WIDTHS", WIDTHS[:3]), arguments.what),
            depths=arguments.depths,
            tune={"lr": rates, "weight_decay": decays},
            seeds=arguments.seeds,
            settings=defined.get("SETTINGS", ()),
            progress=_progress,
            **options,
        )
    )


def widen(arguments: Namespace) -> str:
    """Widen the weights of a safetensors file; held against the narrow model on a batch."""
    # The file of `make`, a function of the factor, defines `batches` too, as for `check`: a list of
    # (inputs, targets), or a function of a seed that returns one. Optimizers are widened by
    # `widthwise.widen`.
    make, defined, _ = defined_in(arguments.what)
    from widthwise.checks.given import batches_of, inputs_of
    from widthwise.tracing.making import made
    from widthwise.upscaling import stored, widening
    from widthwise.upscaling.untying import untie

    inputs = inputs_of(batches_of(defined["batches"], 0)[0])
    model, factor = made(make, 1), arguments.factor
    metadata = stored.load(model, arguments.weights) | {"widthwise": f"factor {factor}"}
    by, shrink = arguments.by, arguments.shrink
    wide, _, growth = widening.widen(
        model.eval(),
        None,
        factor,
        make,
        inputs,
        untie=arguments.untie,
        by=by,
        shrink=widening.SHRINK if shrink is None else shrink,
    )
    other = untie(made(make, factor), growth.untied).eval()
    held = wide if by == "shrink" else model
    off = stored.save(wide, arguments.to, metadata, held, other, inputs)
    before, after = (sum(p.numel() for p in module.parameters()) for module in (model, wide))
    untied = f"; {', '.join(growth.untied)} has weights of its own now" if growth.untied else ""
    rounded = f" but for rounding to the file's dtypes ({off:.0e})" if off > 1e-9 else ""
    result = f"{arguments.to}: {after:,} parameters from {before:,}, "
    if by == "shrink":
        return f"{result}another function: new weights are as make drew them{untied}"
    new = "all copies of a unit are equal" if by == "copies" else "new units are 0"
    return (
        f"{result}the same function on a batch in float64{rounded}{untied}\n"
        f"{new}: add noise before training (widthwise.perturb)"
    )
