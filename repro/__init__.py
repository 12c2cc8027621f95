"""The suite: models, training, theory, claims and verdicts. Run from a clone: `python -m repro`.

What the papers propose for a model of one's own is the package beside it, `widthwise`.

authoring/     what an author begins with
report/        the site of all that is judged, and tables in docs/
transfer_bench/  the board of transfer
products/      a figure's files: made, kept, verified
verdicts/      what is claimed, and how it is judged
workflow/      jobs in their order, with Snakemake and without
core/          what is run, and a job carried out
lineage/       where results come from: checkout, code, provenance
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
