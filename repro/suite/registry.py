"""The datasets, studies and figures that exist, found by listing folders. No torch.

A broken file is reported, in one line, to whoever asks for it, and does not stop anybody else:
`study_names` leaves its stages out, and only the figures that need it fail.
"""

import sys
import traceback
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from repro.errors import UserError, did_you_mean
from repro.suite.contracts import check_dataset, check_studies, near_name
from repro.suite.figure import Shown
from repro.suite.names import StageName
from repro.suite.spec import settings
from repro.suite.study import Checkpoint, Study

ROOT = Path(__file__).resolve().parents[2]
MESSAGE = 300  # characters of an exception's message that are shown
# With our code; other folders may hold libraries.
FOLDERS = ("figures", "studies", "data", "repro", "widthwise")


@cache
def _modules(folder: str) -> tuple[str, ...]:
    """Names of a folder's Python files, `a/b` for a/b.py; without helpers (_*.py) and hidden
    folders."""
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
        message = str(error) if isinstance(error, UserError) else describe_error(error)
        place = place_of(error)
        if not place.startswith(f"{file}, "):  # it failed in another file, or outside our folders
            place = f"{file}: cannot be imported" + (f": {place}" if place else "")
        raise UserError(f"{place}: {message}") from error


def describe_error(error: BaseException) -> str:
    """An exception in one line: its type and the first line of its message, no more than MESSAGE
    characters; and that it may be a library's warning."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    first = message.strip().partition("\n")[0]
    first = first if len(first) <= MESSAGE else f"{first[:MESSAGE]}..."
    raised = any(option.startswith("error") for option in sys.warnoptions)
    hint = "; PYTHONWARNINGS or -W makes errors of libraries' warnings, unset it" if raised else ""
    return f"{type(error).__name__}: {first}{hint}"


def place_of(error: BaseException, folders: Collection[str] = FOLDERS) -> str:
    """`<file>, line <number>`: the innermost of an error's traceback in these folders; or ""."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((error.filename or "", error.lineno))
    for name, line in reversed(frames):
        path = Path(name)
        ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in folders
        if ours and path != Path(__file__):
            return f"{path.relative_to(ROOT).as_posix()}, line {line}"
    return ""


def dataset_names() -> list[str]:
    """Names of all datasets, the files of data/."""
    return list(_modules("data"))


@cache
def dataset(name: str) -> ModuleType:
    """The module of a dataset; raises UserError if there is none of that name, or it is broken."""
    if name not in dataset_names():
        raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, dataset_names())}")
    file = f"data/{name}.py"
    module = _load(file)
    check_dataset(file, module)
    return module


def _of_papers(folder: str) -> list[str]:
    """`<paper>/<name>` of every file in a paper's subfolder of this folder."""
    return [name for name in _modules(folder) if name.count("/") == 1]


@cache
def misplaced() -> dict[str, str]:
    """File -> what is wrong, for files of figures/ and studies/ that are in no paper's folder."""
    return {
        f"{folder}/{name}.py": f"{folder}/{name}.py: lies in no paper's folder; move it to "
        f"{folder}/<paper>/{name.split('/')[-1]}.py"
        for folder in ("figures", "studies")
        for name in _modules(folder)
        if name.count("/") != 1
    }


@cache
def figure_names() -> tuple[str, ...]:
    """`<paper>/<figure>` of all figures, broken ones too, by paper; fig2 before fig10."""
    names = _of_papers("figures")
    return tuple(sorted(names, key=lambda n: (n.split("/")[0], _natural(n.split("/")[1]))))


def _natural(name: str) -> tuple:
    stem = name.rstrip("0123456789")
    return (stem, int(name[len(stem) :] or 0))


@cache
def figure(name: str) -> Shown:
    """A figure; raises UserError if there is none of that name, or its file is broken."""
    file, module = f"figures/{name}.py", figure_module(name)
    found = getattr(module, "FIGURE", None)
    if not isinstance(found, Shown):
        near = near_name("FIGURE", module)
        raise UserError(f"{file}: defines no FIGURE{near}; see Figure in repro/judge/figure.py")
    found.check(file)
    return found


@cache
def figure_module(name: str) -> ModuleType:
    """The file of a figure, imported; raises UserError as `figure` does."""
    if name not in figure_names():
        raise UserError(f"unknown figure {name!r}: {did_you_mean(name, figure_names())}")
    file = f"figures/{name}.py"
    if name in _of_papers("studies"):
        raise UserError(
            f"{file}: is named as studies/{name}.py is; their results would be mixed: rename one, "
            f"for example the study to {name.split('/')[-1]}_runs.py"
        )
    return _load(file)


@cache
def _study_module(name: str) -> ModuleType:
    if name not in _of_papers("studies"):
        raise UserError(f"unknown study {name!r}: {did_you_mean(name, _of_papers('studies'))}")
    file = f"studies/{name}.py"
    module = _load(file)
    check_studies(file, module)
    return module


def broken_studies() -> dict[str, str]:
    """`<paper>/<study>` -> what is wrong, for every broken file of studies/."""
    broken = {}
    for name in _of_papers("studies"):
        try:
            _study_module(name)
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


@cache
def study(name: str) -> Study:
    """A study by its name: `<paper>/<study>` or `<paper>/<study>/<stage>`.

    With `+<round>`, that round of its search, as a study of its own.
    Raises UserError if there is none of that name, or its file is broken.
    """
    origin = StageName.parse(name)
    module = _study_module(origin.module)
    if not hasattr(module, "STAGES"):
        if origin.stage:
            raise UserError(f"unknown stage {name!r}: {origin.module} has no stages")
        declared = module.STUDY
    elif origin.stage not in module.STAGES:
        raise UserError(f"unknown stage {name!r}: {did_you_mean(origin.stage, module.STAGES)}")
    else:
        declared = module.STAGES[origin.stage]
    return declared.round(origin.stage) if origin.round else declared


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
    usable = [name for name in _of_papers("studies") if name not in broken]
    return [stage for name in usable for stage in stages(name)]


def pages() -> dict[str, list[str]]:
    """Page -> its figures, every paper's of that name: `fig3` -> [`embedding_lr/fig3`, ...]."""
    result: dict[str, list[str]] = {}
    for name in figure_names():
        result.setdefault(name.split("/")[1], []).append(name)
    return result


def figure_stages(name: str) -> list[str]:
    """Names of all stages, rounds included, of the studies behind a figure.

    Raises UserError if the figure or one of these studies is unknown or broken.
    """
    studies = figure(name).studies
    try:
        return [stage for study_name in studies for stage in stages(study_name)]
    except UserError as error:
        raise UserError(f"figures/{name}.py: studies: {error}") from error


def loadable_figures() -> list[str]:
    """The figures whose files, and those of their studies, are not broken."""
    found = []
    for name in figure_names():
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


def matching_figures(selection: Iterable[str], place: str = "config key figures") -> list[str]:
    """The names of the figures that a selection asks for, each once.

    selection: words, each `all`, a paper, a figure or a page. place: where the user wrote them.
    Raises UserError, naming the place, on any other word.
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
