"""`repro new`: the files of a paper, or of a figure and its runs, which pass every test as they are
written. No torch."""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from repro.core import catalog, discovery
from repro.core.papers import ARXIV, FILE
from repro.core.spec import settings
from repro.core.study import OPTIONAL_SCALES, Best, Checkpoint, Study
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
FIRST_SEED, BLOCK = 9000, 200  # of seeds that are on no record
WIDTHS = (64, 128, 256)
SEEDS = 3
LINE = 96  # characters of a docstring's first line

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
    scales=dict.fromkeys(SCALES, Scale(same_job=("width", "seed"))),
)
''')

FIGURE = Template('''\
"""The learning rate that LVP gives the embedding, over widths."""

from repro.verdicts.answers import Reading, Test, all_scales, over_seeds, within
from repro.verdicts.answers import SELF_CHECK, TOLERANCE
from repro.verdicts.figure import Figure

ANSWERS = (
    # A test: a statement of statements.csv, where it is tested, and a bound that binds.
    Test(
        id="$name.embedding-lr",
        kind=SELF_CHECK,  # what it rests on: TRAINING, THEORY, ARITHMETIC; of ours CONTROL
        statement="$statement",
        column="embedding",
        quantity="exponent of d",
        expected=all_scales(within(-0.5, 0.01, TOLERANCE, "rounding of float32 in a fit")),
    ),
    # A reading: a number with nothing to be held against.
    Reading(id="$name.largest-lr", words="learning rate of the narrowest model's embedding"),
)


def reduce(runs):
    rows = runs["$study"]
    return rows[rows["kind"] == "embedding"]


def exponent(rows):
    import numpy as np

    from repro.statistics import slope

    return slope(np.log(rows["width"]), np.log(rows["lr"]))


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


def draw(data, scale):
    from repro.verdicts import drawing

    figure, axes = drawing.panels(1)
    axes[0, 0].loglog(data["width"], data["lr"], "o")
    axes[0, 0].set_xlabel("width d")
    axes[0, 0].set_ylabel("learning rate")
    return figure


FIGURE = Figure(
    title="The embedding's learning rate",
    outcome="LVP's learning rate of the embedding goes as d^{$name.embedding-lr}",
    caption="Learning rate of the embedding's group against the width d, a point a model.",
    studies=("$study",),
    answers=ANSWERS,
    reduce=reduce,
    measure=measure,
    draw=draw,
)
''')

AS_ONE = """\
{
    name: study.along({a: v for a, v in AXES.items() if a in study.grid})
    for name, study in ORIGINAL.items()
}"""
ALONG = AS_ONE.replace("AXES.items()", "(AXES | OTHERS.get(name, {})).items()")
OTHERS = Template("""\
OTHERS = {  # as there, on seeds that the stages above have not
$others}
""")

RUNS = Template('''\
"""$docstring"""

from $module import $defined as ORIGINAL

AXES = {
$axes}
$others$defined = $value
''')

AGAIN = Template('''\
"""$docstring"""

from $module import FIGURE as ORIGINAL
from repro.verdicts.figure import again

FIGURE = again(
    ORIGINAL,
    "$name",
    {
$studies    },
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
) -> list[str]:
    """Write a figure and its runs; returns what to do next, in lines.

    name: `<paper>/<figure>`. of: a figure, or a study that one figure shows, which is built again:
    with so many seeds of its own, other widths, other learning rates; its own where none are given.
    Raises UserError where there is a file, or the study has no such axis.
    """
    slug, _, own = name.partition("/")
    if slug not in discovery.papers():
        known = did_you_mean(slug, discovery.papers())
        raise UserError(f"new figure {name!r}: unknown paper {slug!r}, {known}; or repro new paper")
    if not SLUG.fullmatch(own):
        raise UserError(f"new figure {name!r}: write <paper>/<figure> in small letters")
    if of:
        return _written(_again(name, _shown(of), seeds, widths, rates), name)
    if rates:
        raise UserError("new figure: --rates are of a study; name it with --of")
    return _written(_template(slug, own, widths or WIDTHS, seeds or SEEDS), name)


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


def _shown(word: str) -> str:
    """The figure of a name, or the one that shows a study."""
    if word in catalog.figure_names():
        return word
    having = [
        name
        for name in discovery.loadable_figures()
        if word in {"/".join(s.split("/")[:2]) for s in catalog.figure(name).studies}
    ]
    if len(having) == 1:
        return having[0]
    if having:
        raise UserError(f"--of {word}: is shown by {', '.join(having)}; name one of these")
    known = [*catalog.figure_names(), *discovery.study_names()]
    raise UserError(f"--of {word}: no figure shows it: {did_you_mean(word, known)}")


def _again(
    name: str, original: str, seeds: int, widths: Sequence[float], rates: Sequence[float]
) -> dict[str, str]:
    """The files of a figure that shows another one's runs with other values of some axes, in each
    of its studies that has them."""
    slug, own = name.split("/")
    studies = dict.fromkeys("/".join(s.split("/")[:2]) for s in catalog.figure(original).studies)
    words = f"{original} on other seeds, widths or rates"
    files, runs_of, changed = {}, {}, set[str]()
    blocks = _blocks({name: s for study in studies for name, s in _stages(study).items()})
    for study in studies:
        stages = _stages(study)
        if not any(map(_has_runs, stages.values())):
            continue  # it has some overnight or on a GPU alone: the original's is shown
        own_seeds = {
            stage: [FIRST_SEED + BLOCK * blocks[stage] + number for number in range(seeds)]
            for stage in stages
        }
        most = own_seeds[min(stages, key=lambda stage: blocks[stage])]
        asked: dict[str, tuple[str, Sequence]] = {
            "seed": ("--seeds", most),
            _axis(stages, "width"): ("--widths", [*widths]),
            _axis(stages, "lr"): ("--rates", [*rates]),
        }
        axes: dict[str, Sequence] = {}
        for axis, (option, values) in asked.items():
            if values and any(axis in stage.grid for stage in stages.values()):
                axes[axis] = values
                changed.add(option)
        for stage, declared in stages.items():
            try:
                declared.along({axis: v for axis, v in axes.items() if axis in declared.grid})
            except UserError as error:
                raise UserError(f"--of {stage}: {error} by hand (docs/own-settings.md)") from error
        module = study.split("/")[1]
        others = {s.split("/")[-1]: {"seed": v} for s, v in own_seeds.items() if v != most}
        runs_of[study] = f"{slug}/{own}_runs" if len(studies) == 1 else f"{slug}/{own}_{module}"
        files[f"studies/{runs_of[study]}.py"] = RUNS.substitute(
            docstring=f"The runs of {words}."[:LINE],
            module=f"studies.{study.replace('/', '.')}",
            defined="STUDY" if study in stages else "STAGES",
            axes=_lines(axes),
            others="" if not others else OTHERS.substitute(others=_lines(others)),
            value="ORIGINAL.along(AXES)" if study in stages else ALONG if others else AS_ONE,
        )
    for option, given in (("--seeds", seeds), ("--widths", widths), ("--rates", rates)):
        if given and option not in changed:
            every = sorted({a for s in studies for g in _stages(s).values() for a in g.grid})
            raise UserError(f"--of {original}: has no axis of {option}; it has {', '.join(every)}")
    pairs = "".join(f'        "{old}": "{new}",\n' for old, new in runs_of.items())
    return files | {
        f"figures/{name}.py": AGAIN.substitute(
            docstring=f"{words[:1].upper()}{words[1:]}."[:LINE],
            module=f"figures.{original.replace('/', '.')}",
            name=own,
            studies=pairs,
        ),
    }


def _has_runs(stage: Study) -> bool:
    """Whether a stage has runs at a scale that `Study.along` keeps."""
    grids = [{**stage.grid, **s.grid} for n, s in stage.scales.items() if n not in OPTIONAL_SCALES]
    return any(all(len(values) for values in grid.values()) for grid in grids)


def _lines(found: Mapping[str, Any]) -> str:
    """A mapping's lines in Python."""
    return "".join(f'    "{name}": {values},\n'.replace("'", '"') for name, values in found.items())


def _stages(study: str) -> dict[str, Study]:
    """A study's stages as they are declared, without rounds of their searches."""
    return {s: discovery.study(s) for s in discovery.stages(study) if "+" not in s}


def _default(study: Study) -> Mapping[str, Sequence]:
    """A study's grid at the default scale, where it has that."""
    return study.scales["reduced"].grid if "reduced" in study.scales else {}


def _blocks(stages: Mapping[str, Study]) -> dict[str, int]:
    """Stage -> the block of its new seeds: stages that share seeds at the default scale, or of
    which one takes from the run of its own seed in the other, go on sharing them; one that tunes on
    seeds of its own goes on doing so."""
    groups: list[tuple[set[str], set[int]]] = []  # stages, and their seeds
    for name, stage in stages.items():
        seeds = {*{**stage.grid, **_default(stage)}.get("seed", ())}
        names = {name, *(f"{name.rpartition('/')[0]}/{one}" for one in _same_seed(stage))}
        met = [each for each in groups if each[0] & names or each[1] & seeds]
        groups = [each for each in groups if each not in met]
        groups.append((names.union(*(e[0] for e in met)), seeds.union(*(e[1] for e in met))))
    groups.sort(key=lambda each: min([*stages].index(n) for n in each[0] if n in stages))
    return {name: place for place, each in enumerate(groups) for name in each[0]}


def _same_seed(stage: Study) -> set[str]:
    """The stages of which a stage takes a run of its own seed, by their names within the study."""
    return {
        value.stage
        for scale in stage.scales
        for _, value in settings(stage.settings(scale))
        if isinstance(value, Best | Checkpoint) and "seed" not in value.over
    }


def _axis(stages, word: str) -> str:
    """The axis of widths, or of learning rates, by a part of its dotted name, or one that sets them
    among others; the word itself where there is none."""
    grids = [(axis, values) for stage in stages.values() for axis, values in stage.grid.items()]
    plain = [axis for axis, _ in grids if word in axis.split(".")]
    among = [
        axis
        for axis, values in grids
        for value in values
        if isinstance(value, Mapping) and any(word in key.split(".") for key in value)
    ]
    return next(iter([*plain, *among]), word)


def _written(files: dict[str, str], figure_name: str) -> list[str]:
    """Write files, then the pages that list papers and costs."""
    for file in files:
        if (ROOT / file).exists():
            raise UserError(f"{file}: is there already; choose another name, or remove it")
    for file, text in files.items():
        path = Path(ROOT, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # Of another process, which lists the folders anew.
    call = [sys.executable, "-m", "repro", "new", "pages"]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"new pages: {done.stderr.strip()}; mend it, then repro new pages")
    build = f"uv run snakemake figures/{figure_name}.pdf"
    return [
        *files,
        *done.stdout.split(),
        f"build it: {build} --config scale=smoke",
        f"then: {build}",
    ]


def pages(root: Path = ROOT) -> list[str]:
    """Write what pages say of all papers and figures; returns the pages."""
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
