"""What there is, found by listing folders: datasets, studies, figures. No torch.

A file that cannot be used is named by the one who asks for it, in one line, and is in nobody
else's way: `study_names` leaves its stages out, and only figures that need it fail.
"""

import traceback
from collections.abc import Collection, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from repro.errors import UserError, did_you_mean
from repro.suite.contracts import check_dataset, check_figure, check_studies
from repro.suite.names import StageName
from repro.suite.spec import settings
from repro.suite.study import Checkpoint, Study

ROOT = Path(__file__).resolve().parents[2]
OWN = ("figures", "studies", "data", "repro")  # beside them there may be a virtual environment


def is_clone() -> bool:
    """Whether the suite's studies, figures and records lie beside this package."""
    return (ROOT / "config" / "config.yaml").exists()


@cache
def _modules(folder: str) -> tuple[str, ...]:
    """Names of a folder's files, `a/b` for a/b.py; neither helpers (_*.py) nor hidden folders."""
    paths = [p.relative_to(ROOT / folder) for p in (ROOT / folder).rglob("*.py")]
    names = (
        path.with_suffix("").as_posix()
        for path in paths
        if not path.name.startswith("_") and not any(part.startswith(".") for part in path.parts)
    )
    return tuple(sorted(names))


def _load(file: str) -> ModuleType:
    """Import a file of the checkout; raises UserError with the line that failed."""
    try:
        return import_module(file.removesuffix(".py").replace("/", "."))
    except (Exception, SystemExit) as error:
        words = str(error) if isinstance(error, UserError) else described(error)
        place = place_of(error)
        if not place.startswith(f"{file}, "):  # it went wrong in another file, or nowhere of ours
            place = f"{file}: cannot be imported" + (f": {place}" if place else "")
        raise UserError(f"{place}: {words}") from error


def described(error: BaseException) -> str:
    """An exception in one line: its kind and what it says first."""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {words.strip().partition(chr(10))[0]}"


def place_of(error: BaseException, folders: Collection[str] = OWN) -> str:
    """`<file>, line <number>` of the last line in these folders that an error passed, or ""."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((error.filename or "", error.lineno))
    for name, line in reversed(frames):
        path = Path(name)
        own = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in folders
        if own and path != Path(__file__):
            return f"{path.relative_to(ROOT).as_posix()}, line {line}"
    return ""


def dataset_names() -> list[str]:
    """Every dataset: the files of data/."""
    return list(_modules("data"))


@cache
def dataset(name: str) -> ModuleType:
    """The module of a dataset; raises UserError when there is none, or it is broken."""
    if name not in dataset_names():
        raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, dataset_names())}")
    file = f"data/{name}.py"
    module = _load(file)
    check_dataset(file, module)
    return module


def _of_papers(folder: str) -> list[str]:
    """`<paper>/<name>` of every file of a folder that lies in a paper's."""
    return [name for name in _modules(folder) if name.count("/") == 1]


@cache
def misplaced() -> dict[str, str]:
    """File -> a line that says so, of figures/ and studies/ where it is in no paper's folder."""
    return {
        f"{folder}/{name}.py": f"{folder}/{name}.py: lies in no paper's folder; move it to "
        f"{folder}/<paper>/{name.split('/')[-1]}.py"
        for folder in ("figures", "studies")
        for name in _modules(folder)
        if name.count("/") != 1
    }


@cache
def figure_names() -> tuple[str, ...]:
    """`<paper>/<figure>` of every figure, broken ones too, in the papers' order."""
    names = _of_papers("figures")
    return tuple(sorted(names, key=lambda n: (n.split("/")[0], _natural(n.split("/")[1]))))


def _natural(name: str) -> tuple:
    stem = name.rstrip("0123456789")
    return (stem, int(name[len(stem) :] or 0))


@cache
def figure(name: str) -> ModuleType:
    """The module of a figure; raises UserError when there is none, or it is broken."""
    if name not in figure_names():
        raise UserError(f"unknown figure {name!r}: {did_you_mean(name, figure_names())}")
    file = f"figures/{name}.py"
    if name in _of_papers("studies"):
        raise UserError(f"{file}: is named as studies/{name}.py is; their results would be mixed")
    module = _load(file)
    check_figure(file, module)
    return module


@cache
def _study_module(name: str) -> ModuleType:
    if name not in _of_papers("studies"):
        raise UserError(f"unknown study {name!r}: {did_you_mean(name, _of_papers('studies'))}")
    file = f"studies/{name}.py"
    module = _load(file)
    check_studies(file, module)
    return module


def broken_studies() -> dict[str, str]:
    """`<paper>/<study>` -> what is wrong, of every file of studies/ that cannot be used."""
    found = {}
    for name in _of_papers("studies"):
        try:
            _study_module(name)
        except UserError as error:
            found[name] = str(error)
    return found


def stages(name: str) -> list[str]:
    """`<paper>/<study>/<stage>` of every stage of a study; a study of one stage is itself.

    A stage that is a search comes with its rounds: `p/s/tune` gives `p/s/tune`, `p/s/tune+1`, ...
    """
    origin = StageName.parse(name)
    if origin.round:
        return [name]
    if origin.stage:
        return [str(origin.at_round(i)) for i in range(study(name).rounds + 1)]
    module = _study_module(name)
    if not hasattr(module, "STAGES"):
        return [name]
    return [each for stage in module.STAGES for each in stages(f"{name}/{stage}")]


@cache
def study(name: str) -> Study:
    """A study by `<paper>/<study>`, a stage by `<paper>/<study>/<stage>`.

    Raises UserError when there is none of that name, or its file is broken.
    """
    origin = StageName.parse(name)
    module = _study_module(origin.module)
    if not hasattr(module, "STAGES"):
        if origin.stage:
            raise UserError(f"unknown stage {name!r}: {origin.module} has no stages")
        return module.STUDY
    if origin.stage not in module.STAGES:
        raise UserError(f"unknown stage {name!r}: {did_you_mean(origin.stage, module.STAGES)}")
    declared = module.STAGES[origin.stage]
    return declared.round(origin.stage) if origin.round else declared


@cache
def keeps_checkpoints(name: str) -> bool:
    """Whether a later stage of the same study starts from this stage's final checkpoints."""
    origin = StageName.parse(name)
    if not origin.stage:
        return False
    return any(
        isinstance(value, Checkpoint) and value.stage == origin.stage
        for other in _study_module(origin.module).STAGES.values()
        for scale in other.scales
        for _, value in settings(other.settings(scale))
    )


def study_names() -> list[str]:
    """Every study that can be used, stage by stage."""
    broken = broken_studies()
    usable = [name for name in _of_papers("studies") if name not in broken]
    return [stage for name in usable for stage in stages(name)]


def pages() -> dict[str, list[str]]:
    """Page name -> the figures of that name, one per paper: `fig3` -> [`embedding_lr/fig3`]."""
    result: dict[str, list[str]] = {}
    for name in figure_names():
        result.setdefault(name.split("/")[1], []).append(name)
    return result


def figure_stages(name: str) -> list[str]:
    """Every stage of the studies behind a figure, rounds included.

    Raises UserError when the figure or one of these studies is unknown or broken.
    """
    studies = figure(name).STUDIES
    try:
        return [stage for study_name in studies for stage in stages(study_name)]
    except UserError as error:
        raise UserError(f"figures/{name}.py: STUDIES: {error}") from error


def selected_figures(selection: Iterable[str], place: str = "config key figures") -> list[str]:
    """The figures that `matching_figures` finds; raises UserError also when one is broken."""
    chosen = matching_figures(selection, place)
    for name in chosen:
        figure_stages(name)
    return chosen


def matching_figures(selection: Iterable[str], place: str = "config key figures") -> list[str]:
    """The figures a config's `figures` names: `all`, a paper, a figure, or a page.

    Raises UserError, naming the place, on anything else.
    """
    papers = {name.split("/")[0] for name in figure_names()}
    chosen: list[str] = []
    for word in selection:
        if word == "all":
            chosen += figure_names()
        elif word in papers:
            chosen += [name for name in figure_names() if name.startswith(f"{word}/")]
        elif word in pages():
            chosen += pages()[word]
        elif word in figure_names():
            chosen.append(word)
        else:
            known = ["all", *papers, *pages(), *figure_names()]
            raise UserError(f"{place}: unknown {word!r}, {did_you_mean(word, known)}")
    return list(dict.fromkeys(chosen))
