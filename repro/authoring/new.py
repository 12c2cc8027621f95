"""`repro new`: the files of a paper, or of a figure and its runs, which pass every test as they are
written. No torch."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from string import Template

from repro.authoring import kept as kept_files
from repro.core import discovery
from repro.core.locks import beside, only_writer
from repro.core.papers import ARXIV, FILE
from repro.core.suite import load
from repro.core.tried import Tried
from repro.errors import UserError, did_you_mean
from repro.files import write_bytes
from repro.lineage.checkout import FOLDERS, ROOT
from repro.products import answered, summary
from repro.report import cited, costs, datasets, laws, marks
from repro.transfer_bench import leaders
from repro.verdicts import statements
from repro.verdicts.preregistration import Registered
from repro.verdicts.printed import Printed
from repro.verdicts.statements import Statement

SLUG = re.compile(r"[a-z][a-z0-9_]*")
WIDTHS = (64, 128, 256)
SEEDS = 3
# Folders of the checkout that are tried in a copy, and what else they read.
COPIED = (*FOLDERS, "config", "docs", "profiles", "workflows")
LINKED = (".git", "records", "resources", "results")

PAPER = Template("""\
title = "arXiv $arxiv"
authors = ["Family, Given"]
year = $year
arxiv = "$arxiv"
version = $version

[[answers]]
question = "Which one question does it answer?"
tests = ["first.embedding-lr"]
# Begins with Yes, No, Open or the power.
found = "Falls, as d^{first.embedding-lr}"
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
    grid={
        "width": $widths,
        "seed": $seeds,
    },
    # Each scale is stated but `overnight` and `workstation`, without which its figures are refused
    # there. A paper's workstation scale stays within a day of one GPU.
    scales=dict.fromkeys(SCALES, Scale(same_job=("width", "seed"))),
)
''')

FIGURE = Template('''\
"""The learning rate that LVP gives the embedding, over widths."""

from collections.abc import Sequence

from repro.verdicts.answers import (
    SELF_CHECK,
    TOLERANCE,
    Reading,
    Test,
    all_scales,
    over_seeds,
    within,
)
from repro.verdicts.figure import Data, Drawn, Figure, Measured, Runs

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
    Reading(
        id="$name.largest-lr",
        words="learning rate of the narrowest model's embedding",
    ),
)


COLUMNS = ("width", "seed", "lr")


# One table of all runs, which `measure` and `draw` are given.
def reduce(runs: Runs) -> Data:
    rows = runs["$study"]
    return rows[rows["kind"] == "embedding"][[*COLUMNS]]


def exponent(rows: Data) -> float:
    import numpy as np

    from repro.statistics import slope

    return slope(np.log(rows["width"]), np.log(rows["lr"]))


# Each quantity with an interval. What is random is measured over seeds, never by one run:
# over_seeds takes the quantity of each seed, over_means one that needs the mean over seeds; exact
# is for what has no randomness.
def measure(data: Data, scale: str) -> Measured:
    def of_seeds(seeds: Sequence[int]) -> float:
        return exponent(data[data["seed"].isin(seeds)])

    def largest(seeds: Sequence[int]) -> float:
        return data[data["seed"].isin(seeds)]["lr"].max()

    seeds = data["seed"].unique()
    return {
        "$name.embedding-lr": over_seeds(of_seeds, seeds),
        "$name.largest-lr": over_seeds(largest, seeds),
    }


# What is a table has `table` instead.
def draw(data: Data, scale: str) -> Drawn:
    from repro.verdicts import drawing

    figure, axes = drawing.panels(1)
    axes[0, 0].loglog(data["width"], data["lr"], "o")
    axes[0, 0].set_xlabel("width d")
    axes[0, 0].set_ylabel("learning rate")
    return figure


FIGURE = Figure(
    title="The embedding's learning rate",
    # The picture's title: a sentence that is true whatever came out.
    outcome="The embedding's rate of LVP goes as d^{$name.embedding-lr}",
    caption="Learning rate of the embedding's group against the width d, a point a model.",
    studies=("$study",),
    answers=ANSWERS,
    columns=COLUMNS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
''')


# Page, its part, and what makes that.
PARTS: tuple[tuple[str, str, Callable[[], Sequence[str]]], ...] = (
    ("README.md", "answers", answered.lines),
    ("README.md", "first", summary.first_call),
    ("README.md", "statements", summary.on_record),
    ("config/README.md", "datasets", datasets.names),
    ("docs/promises.md", "datasets", datasets.downloads),
    ("docs/own-data.md", "datasets", datasets.folders),
    ("docs/cost.md", "datasets", datasets.sizes),
    ("docs/cost.md", "cost", costs.lines),
    ("docs/laws.md", "laws", laws.lines),
    ("studies/transfer/README.md", "board", lambda: leaders.lines(load([]))),
    ("studies/effective_theory/README.md", "settings", lambda: answered.drawn("effective_theory")),
    ("studies/embedding_lr/README.md", "settings", lambda: answered.drawn("embedding_lr")),
    ("studies/upscaling/README.md", "settings", lambda: answered.drawn("upscaling")),
)


def paper(slug: str, arxiv: str) -> list[str]:
    """Write a paper: who it is, its page, what it prints, a study and a figure. Returns what to do
    next, in lines.

    arxiv: its number, as 2511.01734 or 2511.01734v2. Raises UserError where there is a file.
    """
    number, _, version = arxiv.partition("v")
    if not SLUG.fullmatch(slug):
        raise UserError(f"new paper {slug!r}: write its slug in small letters, as rate_transfer")
    if not ARXIV.fullmatch(number) or not re.fullmatch("[0-9]*", version):
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


def figure(name: str, seeds: int = 0, widths: Sequence[float] = (), dry: bool = False) -> list[str]:
    """Write a figure and its runs; returns what to do next, in lines. dry: leave nothing, and say
    which files it would be, and how many jobs and minutes.

    name: `<paper>/<figure>`. Raises UserError where there is a file.
    """
    own = _named(name, "new figure")
    return _written(_template(name.split("/")[0], own, widths or WIDTHS, seeds or SEEDS), name, dry)


def kept(name: str, tried: Tried, dry: bool = False) -> list[str]:
    """Write a try as files of the checkout, as `figure`."""
    _named(name, "--keep")
    return _written(kept_files.files(name, tried), name, dry)


def _named(name: str, asked: str) -> str:
    """A figure's name without its paper's; raises UserError where it is none of a new one."""
    slug, _, own = name.partition("/")
    if own and slug not in discovery.papers():
        known = did_you_mean(slug, discovery.papers())
        raise UserError(
            f"{asked} {name!r}: unknown paper {slug!r}, {known}; or write it: "
            f"uv run python -m repro new paper {slug} --arxiv NUMBER"
        )
    if not SLUG.fullmatch(own):
        raise UserError(f"{asked} {name!r}: write <paper>/<figure> in small letters")
    return own


# What the template's test is of.
LVP = ("lvp", "LVP scales the embedding's learning rate as d^-1/2", "ours", "")


def columns(kind: type) -> str:
    """The head of a table of such rows."""
    return ",".join(field.name for field in fields(kind))


def _template(slug: str, own: str, widths: Sequence[float], seeds: int) -> dict[str, str]:
    """The files of the smallest study and figure, whose test is of the paper's first statement."""
    statement = next(iter(statements.of_paper(slug)), LVP[0])
    study = f"{slug}/{own}_runs"
    axes = {"width": [*widths], "seed": [*range(seeds)]}
    grid = {f"{axis}s": kept_files.python(v, f'        "{axis}": ') for axis, v in axes.items()}
    return {
        f"studies/{study}.py": STUDY.substitute(grid),
        f"figures/{slug}/{own}.py": FIGURE.substitute(name=own, study=study, statement=statement),
    }


def _written(files: dict[str, str], figure_name: str, dry: bool = False) -> list[str]:
    """Write files, then the pages that list papers and costs. All are made in a copy of the
    checkout first, so that what cannot be built is not written. dry: say which they would be, and
    what Snakemake would do with them."""
    every = (*files, *cited.PAGES, *(page for page, *_ in PARTS))
    left = (f"{Path(file).parent}/{beside(Path(file).stem)}" for file in every)
    with (
        nullcontext() if dry else only_writer(ROOT, ".new.lock", *left),
        tempfile.TemporaryDirectory(prefix="repro-new-") as folder,
    ):
        _refuse_others(files)
        copy = Path(folder, "checkout")
        _copy(copy)
        for file, text in files.items():
            write_bytes(copy / file, text.encode(), durable=False)
        listed = _in(copy, figure_name, "repro", "new", "pages").split()
        if dry:
            said = _in(copy, figure_name, "snakemake", "-n", f"figures/{figure_name}.pdf")
            jobs = [line for line in said.splitlines() if " jobs" in line][:1]
            return [*(f"would write {file}" for file in files), *jobs]
        pages = {page: (copy / page).read_text() for page in listed}
        new = {file: text for file, text in (files | pages).items() if _there(file) != text}
        if not new:
            raise UserError(f"{figure_name}: is there already, as it would be written")
        for file, text in new.items():
            write_bytes(ROOT / file, text.encode())
    build = f"uv run snakemake figures/{figure_name}.pdf"
    return [*files, *listed, f"build it: {build} --config scale=smoke", f"then: {build}"]


def _refuse_others(files: dict[str, str]) -> None:
    """Raise UserError where a file is there, unless a killed call wrote it."""
    for file, text in files.items():
        if _there(file) not in (None, text):
            raise UserError(f"{file}: is there already; choose another name, or remove it")


def _there(file: str) -> str | None:
    path = ROOT / file
    return path.read_text("utf-8", errors="replace") if path.exists() else None


def _copy(to: Path) -> None:
    """Copy what the suite is made of; what it reads besides is linked to."""
    for path in ROOT.iterdir():
        if path.name in COPIED:
            shutil.copytree(path, to / path.name, ignore=shutil.ignore_patterns("*.p[dn][fg]"))
        elif path.is_file():
            to.mkdir(exist_ok=True)
            shutil.copy2(path, to / path.name)
        elif path.name in LINKED:
            to.mkdir(exist_ok=True)
            (to / path.name).symlink_to(path)


def _in(copy: Path, figure_name: str, *words: str) -> str:
    """What a module's command says in a copy of the checkout; raises UserError where it fails."""
    call = [sys.executable, "-P", "-m", *words]
    env = {**os.environ, "PYTHONPATH": os.fspath(copy)}
    done = subprocess.run(call, capture_output=True, text=True, cwd=copy, env=env)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).replace(f"{copy}/", "")
        errors = [line for line in said.splitlines() if line.startswith("error: ")] or [said]
        why = errors[0].removeprefix("error: ")
        raise UserError(f"figure {figure_name!r}: {why}; nothing was written")
    return done.stdout


def pages(root: Path = ROOT) -> list[str]:
    """Write what pages say of all papers and figures; returns the pages. Raises UserError on a
    paper that cannot be read, which pages would lose."""
    if broken := discovery.broken_papers():
        raise UserError(broken[0])
    written = cited.write(root)
    for name, part, lines in PARTS:
        marks.fill(root / name, part, lines)
        written.append(root / name)
    return [path.relative_to(root).as_posix() for path in dict.fromkeys(written)]
