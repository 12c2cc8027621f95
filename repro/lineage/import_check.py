"""A check that this checkout's code runs, not other code that Python found under the same names."""

import os
from importlib.util import find_spec
from pathlib import Path

from repro.errors import UserError
from repro.lineage.checkout import FOLDERS, ROOT

# Environment variable with the checkout whose code a job must run; the workflow sets it, and
# profiles/gpu/bare.sh.
CHECKOUT = "REPRO_CHECKOUT"


def check() -> None:
    """Raise UserError, naming both folders, if code of another folder would run."""
    checkout = os.environ.get(CHECKOUT)
    if checkout and Path(checkout).resolve() != ROOT:
        raise UserError(
            f"repro: would run from {ROOT}, the workflow is that of {checkout}; start Python "
            f"with -P and PYTHONPATH={checkout}, or unset {CHECKOUT}"
        )
    for name in (folder for folder in FOLDERS if folder != "repro"):  # other projects have such
        spec = find_spec(name)
        if spec is None:
            continue  # a folder that is not there
        places = list(spec.submodule_search_locations or [str(spec.origin)])
        if [Path(place).resolve() for place in places] != [ROOT / name]:
            raise UserError(
                f"{name}: would be imported from {places[0]}, not from {ROOT / name}; "
                "start Python with -P, or rename the other one"
            )
