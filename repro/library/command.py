"""`repro coordinate-check FILE.py:make`: the check of what a file of one's own defines."""

from argparse import Namespace
from typing import Any

from repro.errors import UserError, nearest
from repro.files import names_in

WIDTHS = (64, 128, 256, 512)


def coordinate_check(arguments: Namespace) -> str:
    """The table of a check that passed.

    The file defines the function that is named, and `batches`; where it has them also `loss`,
    `given`, `readout` (as `repro.coordinate_check` takes them) and WIDTHS.
    Raises UserError where the check fails, after the table was printed, or the file lacks a name.
    """
    path, _, name = arguments.what.partition(":")
    defined = names_in(path)
    for each in (name or "make", "batches"):
        if each not in defined:
            near = nearest(each, [key for key in defined if not key.startswith("__")])
            more = f"; did you mean {near!r}?" if near else ""
            raise UserError(f"{path}: defines no {each}{more}")
    if arguments.parametrization is None:
        raise UserError(f"coordinate-check: {arguments.what}: give --parametrization, muP say")
    from repro.library import check

    optional = ("loss", "given", "readout")
    options: dict[str, Any] = {key: defined[key] for key in optional if key in defined}
    if arguments.lr is not None:
        options["lr"] = arguments.lr
    found = check.coordinate_check(
        defined[name or "make"],
        arguments.parametrization,
        defined["batches"],
        arguments.widths or defined.get("WIDTHS", WIDTHS),
        steps=arguments.steps,
        after=arguments.after,
        seeds=arguments.seeds,
        **options,
    )
    if not found.passed:
        print(found, flush=True)
        raise UserError(f"coordinate-check: {arguments.what}: {found.reason}")
    return str(found)
