"""The files of a figure again, with a reader's own seeds, widths and rates. No torch."""

from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from repro.core import catalog, discovery
from repro.core.spec import settings
from repro.core.study import OPTIONAL_SCALES, Best, Checkpoint, Study
from repro.errors import UserError, did_you_mean

FIRST_SEED, BLOCK = 9000, 200  # of seeds that are on no record
LINE = 96  # characters of a docstring's first line

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


def shown(word: str) -> str:
    """The figure of a name, whole or without its paper, or the one that shows a study."""
    if word in catalog.figure_names():
        return word
    having = [
        name
        for name in discovery.loadable_figures()
        if word == name.split("/")[1]
        or word in {"/".join(s.split("/")[:2]) for s in catalog.figure(name).studies}
    ]
    if len(having) == 1:
        return having[0]
    if having:
        raise UserError(f"--of {word}: is shown by {', '.join(having)}; name one of these")
    known = [*catalog.figure_names(), *discovery.study_names()]
    raise UserError(f"--of {word}: no figure shows it: {did_you_mean(word, known)}")


def files(
    name: str, original: str, seeds: int, widths: Sequence[float], rates: Sequence[float]
) -> dict[str, str]:
    """The files of a figure that shows another one's runs with other values of some axes, in each
    of its studies that has them."""
    slug, own = name.split("/")
    if not 0 <= seeds <= BLOCK:
        raise UserError(f"--seeds {seeds}: give a number from 1 to {BLOCK}")
    studies = dict.fromkeys("/".join(s.split("/")[:2]) for s in catalog.figure(original).studies)
    words = f"{original} on other seeds, widths or rates"
    found, runs_of, changed = {}, {}, set[str]()
    blocks = _blocks({name: s for study in studies for name, s in _stages(study).items()})
    for study in studies:
        stages = _stages(study)
        if not any(map(has_runs, stages.values())):
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
        found[f"studies/{runs_of[study]}.py"] = RUNS.substitute(
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
    return found | {
        f"figures/{name}.py": AGAIN.substitute(
            docstring=f"{words[:1].upper()}{words[1:]}."[:LINE],
            module=f"figures.{original.replace('/', '.')}",
            name=own,
            studies=pairs,
        ),
    }


def has_runs(stage: Study) -> bool:
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
