"""The suite: models, training, theory, claims and verdicts. Run from a clone: `python -m repro`.

What the papers propose for a model of one's own is the package beside it, `widthwise`.

report/        the site of all that is judged
judge/         what is shown and claimed, and how it is judged
suite/         what is run, and who runs it
checks/        checks of the suite's models while they train
tasks/         what one run does
training/      how a model is trained
models/        the models, and the role of each of their parameters
theory/        closed forms that measurements are held against
data/          preparation of datasets, and batches
cost/          operations, memory and time of a run
commands.py    what each subcommand does
backend.py     what differs between a CPU and a GPU
errors.py      mistakes that a user can mend
files.py       checksums, seals, and writes that are whole or nothing
statistics.py  slopes, intervals over seeds
cores.py       the CPU cores there are
__main__.py    the command line
"""

import sys

from widthwise import MOVED as NOW
from widthwise import PUBLIC
from widthwise import __version__ as __version__

# What was here until version 0.2.0 -> where it is.
MOVED = {
    "library": "widthwise",
    "parametrization": "widthwise.parametrization",
    "parametrizations": "widthwise.parametrization.tables",
    "regret": "widthwise.checks.regret",
    "tracing": "widthwise.tracing",
    "upscaling": "widthwise.upscaling",
}


class Moved:
    """Says where a module is now, in place of "no module named ..."; asked after all others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise ImportError on a module that moved."""
        package, _, module = name.partition(".")
        if package == __name__ and module in MOVED:
            raise ImportError(f"{name}: is {MOVED[module]} since version 0.2.0", name=name)


sys.meta_path.append(Moved)


def __getattr__(name: str) -> object:
    if name in PUBLIC or name in MOVED or name in NOW:
        now = MOVED.get(name) or NOW.get(name, f"widthwise.{name}")
        raise ImportError(f"repro.{name}: is {now} since version 0.2.0", name=f"repro.{name}")
    raise AttributeError(f"module 'repro' has no attribute {name!r}")
