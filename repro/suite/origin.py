"""Whose code runs: the checkout's own, whatever else Python would find under the same names."""

import os
from importlib.util import find_spec
from pathlib import Path

from repro.errors import UserError
from repro.suite.registry import ROOT

# Set by the workflow and by profiles/gpu/bare.sh: the checkout whose code their jobs are to run.
CHECKOUT = "REPRO_CHECKOUT"
FOLDERS = ("data", "figures", "studies")  # packages beside repro, of names that others use too


def check() -> None:
    """Raise UserError, with both places, where the code of another folder would run."""
    said = os.environ.get(CHECKOUT)
    if said and Path(said).resolve() != ROOT:
        raise UserError(
            f"repro: would run from {ROOT}, the workflow is that of {said}; start Python with -P "
            f"and PYTHONPATH={said}, or unset {CHECKOUT}"
        )
    for name in FOLDERS:
        spec = find_spec(name)
        if spec is None:
            continue  # as of a library installed without its checkout
        places = list(spec.submodule_search_locations or [str(spec.origin)])
        if [Path(place).resolve() for place in places] != [ROOT / name]:
            raise UserError(
                f"{name}: would be imported from {places[0]}, not from {ROOT / name}; "
                "start Python with -P, or rename the other one"
            )
