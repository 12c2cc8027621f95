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

from widthwise import __version__ as __version__
