"""`repro new`: the files of a paper, or of a figure and its runs, which pass every test as they are
written. No torch."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from string import Template

from repro.authoring import again
from repro.core import discovery
from repro.core.papers import ARXIV, FILE
from repro.core.suite import load
from repro.errors import UserError, did_you_mean
from repro.lineage.checkout import ROOT
from repro.products import summary
from repro.report import cited, costs, laws, marks
from repro.transfer_bench import leaders
from repro.verdicts import statements
from repro.verdicts.preregistration import Registered
from repro.verdicts.printed import Printed
from repro.verdicts.statements import Statement

SLUG = re.compile(r"[a-z][a-z0-9_]*")
WIDTHS = (64, 128, 256)
SEEDS = 3

PAPER = Template("""\
title = "arXiv $arxiv"
authors = ["Family, Given"]
year = $year
arxiv = "$arxiv"
version = $version
question = "Which one question does it answer?"
answer = "first"
""")

PAGE = """\
# {slug}: what came out

Nothing of it is run yet.
"""

STUDY = Template('''\
"""The optimizer groups of LVP, read off built models over widths."""

from repro.core.study import SCALES, Scale, Study

# STAGES, by name, where one needs another's result: a setting may be Best("tune", "lr"), the tuned
# value of a stage above, or Checkpoint("base"), where a run starts. A run's id is the hash of its
# settings, its task's version and its data: studies that ask for the same run share it. The
# docstring names settings that were chosen after results were seen.
STUDY = Study(
    task="parametrization_exponents",
    spec={
        "parametrization": "LVP",
        "width": 64,
        "vocab_size": 128,
        "model": {
            "name": "decoder",
            "depth": 1,
            "head_dim": 64,
            "expansion": 4,
            "norm": "post",
            "positional_rms": {"factor": 1.0, "power": -0.5},
            "base_width": 1,
        },
        "lr": 1.0,
        "threads": 1,
        "seed": 0,
    },
    grid={"width": $widths, "seed": $seeds},
    # Each scale is stated but `overnight` and `workstation`, without which its figures are refused
    # there. A paper's workstation scale stays within a day of one GPU.
    scales=dict.fromkeys(SCALES, Scale(same_job=("width", "seed"))),
)
''')

FIGURE = Template('''\
"""The learning rate that LVP gives the embedding, over widths."""

from repro.verdicts.answers import Reading, Test, all_scales, over_seeds, within
from repro.verdicts.answers import SELF_CHECK, TOLERANCE
from repro.verdicts.figure import Figure

ANSWERS = (
    # A test: of one statement of statements.csv, on one network or setting (`column`). One about
    # training also names the laws that it has to tell apart (`laws`, `simulate`): the paper's
    # exponent, no effect, or the sign flipped (`SIGN` of repro/verdicts/power.py).
    Test(
        id="$name.embedding-lr",
        kind=SELF_CHECK,  # what it rests on: TRAINING, THEORY, ARITHMETIC; of ours CONTROL
        statement="$statement",
        column="embedding",
        quantity="exponent of d",
        # above, below, between or within, for each scale at which it binds; where the bound comes
        # from: STATED by the paper, a printed value with a TOLERANCE, or OURS; and why it is there.
        expected=all_scales(within(-0.5, 0.01, TOLERANCE, "rounding of float32 in a fit")),
    ),
    # A reading: a number with nothing to be held against, as what was chosen when it was known.
    Reading(id="$name.largest-lr", words="learning rate of the narrowest model's embedding"),
)


# One table of all runs, which `measure` and `draw` are given.
def reduce(runs):
    rows = runs["$study"]
    return rows[rows["kind"] == "embedding"]


def exponent(rows):
    import numpy as np

    from repro.statistics import slope

    return slope(np.log(rows["width"]), np.log(rows["lr"]))


# Each quantity with an interval. What is random is measured over seeds, never by one run:
# over_seeds takes the quantity of each seed, over_means one that needs the mean over seeds; exact
# is for what has no randomness.
def measure(data, scale):
    def of_seeds(seeds):
        return exponent(data[data["seed"].isin(seeds)])

    def largest(seeds):
        return data[data["seed"].isin(seeds)]["lr"].max()

    seeds = data["seed"].unique()
    return {
        "$name.embedding-lr": over_seeds(of_seeds, seeds),
        "$name.largest-lr": over_seeds(largest, seeds),
    }


# What is a table has `table` instead.
def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(1)
    axes[0, 0].loglog(data["width"], data["lr"], "o")
    axes[0, 0].set_xlabel("width d")
    axes[0, 0].set_ylabel("learning rate")
    return figure


FIGURE = Figure(
    title="The embedding's learning rate",
    # The picture's title: a sentence that is true whatever came out.
    outcome="LVP's learning rate of the embedding goes as d^{$name.embedding-lr}",
    caption="Learning rate of the embedding's group against the width d, a point a model.",
    studies=("$study",),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
''')


def paper(slug: str, arxiv: str) -> list[str]:
    """Write a paper: who it is, its page, what it prints, a study and a figure. Returns what to do
    next, in lines.

    arxiv: its number, as 2511.01734 or 2511.01734v2. Raises UserError where there is a file.
    """
    number, _, version = arxiv.partition("v")
    if not SLUG.fullmatch(slug):
        raise UserError(f"new paper {slug!r}: write its slug in small letters, as rate_transfer")
    if not ARXIV.fullmatch(number) or not (version or "1").isdecimal():
        raise UserError(f"new paper: --arxiv {arxiv!r} is no number as 2511.01734v1")
    year = 2000 + int(number[:2])
    filled = PAPER.substitute(arxiv=number, version=version or 1, year=year)
    files = {
        f"studies/{slug}/{FILE}": filled,
        f"studies/{slug}/README.md": PAGE.format(slug=slug),
        f"studies/{slug}/statements.csv": f"{columns(Statement)}\n{','.join(LVP)}\n",
        f"studies/{slug}/printed.csv": f"{columns(Printed)}\n",
        f"studies/{slug}/registered.csv": f"{columns(Registered)}\n",
        **_template(slug, "first", WIDTHS, SEEDS),
    }
    return _written(files, f"{slug}/first")


def figure(
    name: str,
    of: str = "",
    seeds: int = 0,
    widths: Sequence[float] = (),
    rates: Sequence[float] = (),
    dry: bool = False,
) -> list[str]:
    """Write a figure and its runs; returns what to do next, in lines. dry: leave nothing, and say
    which files it would be, and how many jobs and minutes.

    name: `<paper>/<figure>`. of: a figure, or a study that one figure shows, which is built again:
    with so many seeds of its own, other widths, other learning rates; its own where none are given.
    Raises UserError where there is a file, or the study has no such axis.
    """
    slug, _, own = name.partition("/")
    if own and slug not in discovery.papers():
        known = did_you_mean(slug, discovery.papers())
        raise UserError(f"new figure {name!r}: unknown paper {slug!r}, {known}; or repro new paper")
    if not SLUG.fullmatch(own):
        raise UserError(f"new figure {name!r}: write <paper>/<figure> in small letters")
    if of:
        files = again.files(name, again.shown(of), seeds, widths, rates)
        smoke = [] if dry else ["scale=smoke has its own seeds, widths and rates: it is a trial"]
        return [*_written(files, name, dry), *smoke]
    if rates:
        raise UserError("new figure: --rates are of a study; name it with --of")
    return _written(_template(slug, own, widths or WIDTHS, seeds or SEEDS), name, dry)


# What the template's test is of.
LVP = ("lvp", "LVP scales the embedding's learning rate as d^-1/2", "ours")


def columns(kind: type) -> str:
    """The head of a table of such rows."""
    return ",".join(field.name for field in fields(kind))


def _template(slug: str, own: str, widths: Sequence[float], seeds: int) -> dict[str, str]:
    """The files of the smallest study and figure, whose test is of the paper's first statement."""
    statement = next(iter(statements.of_paper(slug)), LVP[0])
    study = f"{slug}/{own}_runs"
    grid = {"widths": [*widths], "seeds": [*range(seeds)]}
    return {
        f"studies/{study}.py": STUDY.substitute(grid),
        f"figures/{slug}/{own}.py": FIGURE.substitute(name=own, study=study, statement=statement),
    }


def _written(files: dict[str, str], figure_name: str, dry: bool = False) -> list[str]:
    """Write files, then the pages that list papers and costs. dry: take the files away again, and
    say what Snakemake would do with them."""
    for file in files:
        if (ROOT / file).exists():
            raise UserError(f"{file}: is there already; choose another name, or remove it")
    for file, text in files.items():
        path = Path(ROOT, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if dry:
        call = [sys.executable, "-m", "snakemake", "-n", f"figures/{figure_name}.pdf"]
        try:
            done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT)
        finally:  # also where it is stopped
            for file in files:
                Path(ROOT, file).unlink()
        said = [line for line in (done.stdout + done.stderr).splitlines() if " jobs" in line][:1]
        return [*(f"would write {file}" for file in files), *(said or [done.stderr.strip()])]
    # Of another process, which lists the folders anew.
    call = [sys.executable, "-m", "repro", "new", "pages"]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        for file in files:
            Path(ROOT, file).unlink()
        subprocess.run(call, capture_output=True)  # the pages that were written name it
        why = done.stderr.strip().removeprefix("error: ")
        raise UserError(f"new figure {figure_name!r}: {why}; nothing was written")
    build = f"uv run snakemake figures/{figure_name}.pdf"
    return [
        *files,
        *done.stdout.split(),
        f"build it: {build} --config scale=smoke",
        f"then: {build}",
    ]


def pages(root: Path = ROOT) -> list[str]:
    """Write what pages say of all papers and figures; returns the pages. Raises UserError on a
    paper that cannot be read, which pages would lose."""
    if broken := discovery.broken_papers():
        raise UserError(broken[0])
    written = cited.write(root)
    board = partial(leaders.lines, load([]))
    for name, part, lines in (
        ("README.md", "first", summary.first_call),
        ("README.md", "statements", summary.on_record),
        ("docs/cost.md", "cost", costs.lines),
        ("docs/laws.md", "laws", laws.lines),
        ("studies/transfer/README.md", "board", board),
    ):
        marks.fill(root / name, part, lines)
        written.append(root / name)
    return [path.relative_to(root).as_posix() for path in dict.fromkeys(written)]
