"""What there is, found by listing folders, and where everything lies under a configuration."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from repro.errors import UserError, did_you_mean
from repro.suite.names import StageName
from repro.suite.spec import settings
from repro.suite.study import Checkpoint, Study

ROOT = Path(__file__).resolve().parents[2]


def is_clone() -> bool:
    """Whether the suite's studies, figures and records lie beside this package."""
    return (ROOT / "config" / "config.yaml").exists()


def _modules(folder: str) -> list[str]:
    return sorted(
        p.relative_to(ROOT / folder).with_suffix("").as_posix()
        for p in (ROOT / folder).rglob("*.py")
        if not p.name.startswith("_")
    )


def dataset_names() -> list[str]:
    """Every dataset: the files of data/."""
    return _modules("data")


@cache
def dataset(name: str) -> ModuleType:
    """The module of a dataset; raises UserError when there is none of that name."""
    if name not in dataset_names():
        raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, dataset_names())}")
    return import_module(f"data.{name}")


@cache
def figure_names() -> tuple[str, ...]:
    """`<paper>/<figure>` of every figure, in the papers' order."""
    names = _modules("figures")
    return tuple(sorted(names, key=lambda n: (n.split("/")[0], _natural(n.split("/")[1]))))


def _natural(name: str) -> tuple:
    stem = name.rstrip("0123456789")
    return (stem, int(name[len(stem) :] or 0))


@cache
def figure(name: str) -> ModuleType:
    """The module of a figure; raises UserError when there is none of that name."""
    if name not in figure_names():
        raise UserError(f"unknown figure {name!r}: {did_you_mean(name, figure_names())}")
    return import_module("figures." + name.replace("/", "."))


def _study_module(name: str) -> ModuleType:
    if name not in _modules("studies"):
        raise UserError(f"unknown study {name!r}: {did_you_mean(name, _modules('studies'))}")
    return import_module("studies." + name.replace("/", "."))


def stages(name: str) -> list[str]:
    """`<paper>/<study>/<stage>` of every stage of a study; a study of one stage is itself.

    A stage that is a search is followed by its rounds, `<stage>+1`, ...; its name gives all these.
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

    Raises UserError when there is none of that name.
    """
    origin = StageName.parse(name)
    module = _study_module(origin.module)
    if not origin.stage:
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
    """Every study, stage by stage."""
    return [stage for name in _modules("studies") for stage in stages(name)]


def pages() -> dict[str, list[str]]:
    """Page name -> the figures of that name, one per paper: `fig3` -> [`embedding_lr/fig3`]."""
    result: dict[str, list[str]] = {}
    for name in figure_names():
        result.setdefault(name.split("/")[1], []).append(name)
    return result


def selected_figures(selection: Iterable[str], place: str = "config key figures") -> list[str]:
    """The figures a config's `figures` names: `all`, a paper, a figure, or a page.

    Raises UserError, naming the place, on anything else.
    """
    papers = {name.split("/")[0] for name in figure_names()}
    chosen = []
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
