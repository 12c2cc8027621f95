"""The papers, datasets, studies and figures that exist, found by listing folders. No torch.

A broken file is reported, in one line, to whoever asks for it, and does not stop anybody else:
`study_names` leaves its stages out, and only the figures that need it fail.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import TypeVar, cast

from repro.core.catalog import figure, figure_names, matching_figures
from repro.core.names import StageName
from repro.core.papers import Paper, paper, slugs
from repro.core.spec import settings
from repro.core.study import SCALES, Checkpoint, Study
from repro.errors import UserError, did_you_mean
from repro.lineage.checkout import load, modules, of_papers


def papers() -> dict[str, Paper]:
    """Slug -> paper, of every folder of studies whose paper.toml is not broken; what is the suite's
    own last."""
    found = {}
    for slug in slugs():
        with suppress(UserError):
            found[slug] = paper(slug)
    return dict(sorted(found.items(), key=lambda each: each[1].ours))


def broken_papers() -> list[str]:
    """What is wrong, for every folder of studies whose paper.toml is missing or broken."""
    broken = []
    for slug in slugs():
        try:
            paper(slug)
        except UserError as error:
            broken.append(str(error))
    return broken


def dataset_names() -> list[str]:
    """Names of all datasets, the files of data/."""
    return list(modules("data"))


@cache
def dataset(name: str) -> ModuleType:
    """The module of a dataset; raises UserError if there is none of that name, or it is broken."""
    if name not in dataset_names():
        raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, dataset_names())}")
    from repro.core.contracts import check_dataset

    file = f"data/{name}.py"
    module = load(file)
    check_dataset(file, module)
    return module


@cache
def _study_module(name: str) -> ModuleType:
    if name not in of_papers("studies"):
        raise UserError(f"unknown study {name!r}: {did_you_mean(name, of_papers('studies'))}")
    from repro.core.contracts import check_studies

    file = f"studies/{name}.py"
    module = load(file)
    check_studies(file, module, ())
    return module


@cache
def check_scale(name: str, scale: str) -> None:
    """Check the runs of a study, `<paper>/<study>`, at a scale; raises UserError if it is broken.
    A question of one scale checks no other."""
    from repro.core.contracts import check_studies

    check_studies(f"studies/{name}.py", _study_module(name), (scale,))


def broken_studies() -> dict[str, str]:
    """`<paper>/<study>` -> what is wrong, for every file of studies/ that is broken at any
    scale."""
    broken = {}
    for name in of_papers("studies"):
        try:
            for scale in SCALES:
                check_scale(name, scale)
        except UserError as error:
            broken[name] = str(error)
    return broken


def stages(name: str) -> list[str]:
    """`<paper>/<study>/<stage>` of every stage of a study; `<paper>/<study>` if it has no stages.

    A stage that is a search is followed by its rounds. For the name of a stage, that stage and its
    rounds: stages("p/s/tune") is ["p/s/tune", "p/s/tune+1", ...].
    """
    origin = StageName.parse(name)
    if origin.round:
        return [name]
    module = _study_module(origin.module)
    if origin.stage or not hasattr(module, "STAGES"):
        return [str(origin.at_round(i)) for i in range(study(name).rounds + 1)]
    return [full for stage in module.STAGES for full in stages(f"{name}/{stage}")]


# Stage -> what a try runs in its place (`repro.core.tried`), in this process.
_IN_PLACE: dict[str, Study] = {}
_OF_STUDIES: list[Callable[[], None]] = []  # what forgets what was worked out of studies
Worked = TypeVar("Worked", bound=Callable)


def of_studies(function: Worked) -> Worked:
    """`cache`, of what depends on studies: forgotten where others are put in their place."""
    cached = cache(function)
    _OF_STUDIES.append(cached.cache_clear)
    return cast(Worked, cached)


def put(studies: Mapping[str, Study]) -> None:
    """From here on have these studies in the place of those of their names, and of no others."""
    _IN_PLACE.clear()
    _IN_PLACE.update(studies)
    for forget in _OF_STUDIES:
        forget()


@of_studies
def study(name: str) -> Study:
    """A study by its name: `<paper>/<study>` or `<paper>/<study>/<stage>`.

    With `+<round>`, that round of its search, as a study of its own.
    Raises UserError if there is none of that name, or its file is broken.
    """
    origin = StageName.parse(name)
    own = _IN_PLACE.get(str(origin.at_round(0))) or declared(str(origin.at_round(0)))
    return own.round(origin.stage) if origin.round else own


@cache
def declared(name: str) -> Study:
    """A stage as its file has it."""
    origin = StageName.parse(name)
    module = _study_module(origin.module)
    if not hasattr(module, "STAGES"):
        if origin.stage:
            raise UserError(f"unknown stage {name!r}: {origin.module} has no stages")
        return module.STUDY
    if origin.stage not in module.STAGES:
        raise UserError(f"unknown stage {name!r}: {did_you_mean(origin.stage, module.STAGES)}")
    return module.STAGES[origin.stage]


def keeps_checkpoints(name: str) -> bool:
    """Whether a later stage of the same study starts from this stage's final checkpoints."""
    origin = StageName.parse(name)
    return bool(origin.stage) and origin.stage in _started_from(origin.module)


@cache
def _started_from(module: str) -> set[str]:
    """The stages of a study from whose final checkpoints others start."""
    return {
        value.stage
        for stage in _study_module(module).STAGES.values()
        for scale in stage.scales
        for _, value in settings(stage.settings(scale))
        if isinstance(value, Checkpoint)
    }


def study_names() -> list[str]:
    """Names of all stages, rounds included, of every study that is not broken."""
    broken = broken_studies()
    usable = [name for name in of_papers("studies") if name not in broken]
    return [stage for name in usable for stage in stages(name)]


def figure_stages(name: str) -> list[str]:
    """Names of all stages, rounds included, of the studies behind a figure.

    Raises UserError if the figure or one of these studies is unknown or broken.
    """
    studies = figure(name).studies
    try:
        return [stage for study_name in studies for stage in stages(study_name)]
    except UserError as error:
        raise UserError(f"figures/{name}.py: studies: {error}") from error


def loadable_figures(names: Iterable[str] | None = None) -> list[str]:
    """Those of some figures, or of all, whose files and those of their studies are not broken."""
    found = []
    for name in figure_names() if names is None else names:
        with suppress(UserError):
            figure_stages(name)
            found.append(name)
    return found


def selected_figures(selection: Iterable[str], place: str = "config key figures") -> list[str]:
    """As `matching_figures`; raises UserError also if one of the figures is broken."""
    chosen = matching_figures(selection, place)
    for name in chosen:
        figure_stages(name)
    return chosen
