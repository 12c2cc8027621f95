"""What there is, found by listing folders, and where everything lies under a configuration."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from repro import cost
from repro.config import Config, Source, data_label, did_you_mean
from repro.errors import UserError
from repro.files import canonical_json, sha256
from repro.study import Cell, Checkpoint, Run, Study, cells, override, settings
from repro.tasks import TASKS, TOKENIZATION, Need, Tokens

ROOT = Path(__file__).resolve().parent.parent


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
    if name.count("/") == 2:
        rounds = study(name).rounds if "+" not in name else 0
        return [name, *(f"{name}+{i}" for i in range(1, rounds + 1))]
    module = _study_module(name)
    if not hasattr(module, "STAGES"):
        return [name]
    return [each for stage in module.STAGES for each in stages(f"{name}/{stage}")]


@cache
def study(name: str) -> Study:
    """A study by `<paper>/<study>`, a stage by `<paper>/<study>/<stage>`.

    Raises UserError when there is none of that name.
    """
    paper, short, *stage = name.split("/")
    module = _study_module(f"{paper}/{short}")
    if not stage:
        return module.STUDY
    own, _, number = stage[0].partition("+")
    if own not in module.STAGES:
        raise UserError(f"unknown stage {name!r}: {did_you_mean(own, module.STAGES)}")
    return module.STAGES[own].round(own) if number else module.STAGES[own]


@cache
def keeps_checkpoints(name: str) -> bool:
    """Whether a later stage of the same study starts from this stage's final checkpoints."""
    paper, short, *stage = name.split("/")
    if not stage:
        return False
    own = stage[0].partition("+")[0]
    return any(
        isinstance(value, Checkpoint) and value.stage == own
        for other in _study_module(f"{paper}/{short}").STAGES.values()
        for scale in other.scales.values()
        for _, value in settings(override(other.spec, scale.spec))
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


class Suite:
    """The registry under one configuration: cells, costs, paths relative to the work folder."""

    def __init__(self, config: Config):
        self.config = config
        self._identities: dict[str, Mapping] = {}
        self.label = data_label(config, {name: self.identity(name) for name in config.sources})
        self._cells: dict[str, list[Cell]] = {}
        self._by_name: dict[str, dict[str, Cell]] = {}

    def source(self, dataset_name: str) -> Source:
        """Where a dataset comes from under this configuration."""
        return self.config.source(dataset_name)

    def identity(self, dataset_name: str) -> Mapping:
        """What a dataset is, for the ids of the runs that read it."""
        return self._identities.setdefault(
            dataset_name, dataset(dataset_name).identity(self.source(dataset_name))
        )

    @property
    def results(self) -> Path:
        """The folder of everything at this scale on these data."""
        return Path("results") / self.config.scale / self.label

    @property
    def store(self) -> Path:
        """Finished runs by id."""
        return self.results / "runs"

    def cells(self, study_name: str) -> list[Cell]:
        """A study's cells at this scale on these data; none in a round the scale does not allow."""
        whole, _, number = study_name.partition("+")
        if number and int(number) > study(whole).scales[self.config.scale].rounds:
            return []
        if study_name not in self._cells:
            chosen = study(study_name)
            task = TASKS[chosen.task]
            used = {
                need.dataset: {
                    **self.identity(need.dataset),
                    **({"tokenization": TOKENIZATION} if isinstance(need, Tokens) else {}),
                }
                for need in task.needs(chosen.spec)
            }
            self._cells[study_name] = cells(
                study_name,
                chosen,
                self.config.scale,
                task.version,
                used,
                lambda stage: [r for c in self.earlier_cells(study_name, stage) for r in c.runs],
            )
        return self._cells[study_name]

    def earlier_cells(self, study_name: str, stage: str) -> list[Cell]:
        """Cells of a stage, rounds included, that another or a later round of it may take from."""
        names = stages(f"{study_name.rpartition('/')[0]}/{stage}")
        if study_name in names:
            names = names[: names.index(study_name)]
        return [cell for name in names for cell in self.cells(name)]

    def cell(self, study_name: str, cell_name: str) -> Cell:
        """One cell by name; raises UserError when this configuration has none of that name."""
        if study_name not in self._by_name:
            self._by_name[study_name] = {found.name: found for found in self.cells(study_name)}
        if cell_name not in self._by_name[study_name]:
            raise UserError(f"study {study_name} has no cell {cell_name} under this configuration")
        return self._by_name[study_name][cell_name]

    def cell_path(self, cell: Cell) -> Path:
        """Where a cell's file lies."""
        return self.results / cell.study / f"{cell.name}.json"

    def checkpoints_path(self, cell: Cell) -> Path:
        """The folder of the final checkpoints of a cell's runs, `<run id>.safetensors`."""
        return self.cell_path(cell).with_suffix(".checkpoints")

    def earlier(self, cell: Cell) -> dict[str, Cell]:
        """Run id -> cell, of every run of earlier stages that a cell's runs take something from."""
        taken = [taken for run in cell.runs for taken in run.takes.values()]
        wanted = {run.id for each in taken for run in each.runs}
        return {
            run.id: found
            for stage in dict.fromkeys(each.reference.stage for each in taken)
            for found in self.earlier_cells(cell.study, stage)
            for run in found.runs
            if run.id in wanted
        }

    def earlier_paths(self, cell: Cell) -> list[Path]:
        """The files of earlier stages a cell's job reads."""
        paths = {}
        for found in self.earlier(cell).values():
            paths[self.cell_path(found)] = None
            if keeps_checkpoints(found.study):
                paths[self.checkpoints_path(found)] = None
        return list(paths)

    def needs(self, cell: Cell) -> dict[Need, Path]:
        """Inputs of a cell's runs -> their manifests."""
        needs = {need: None for run in cell.runs for need in TASKS[run.task].needs(run.spec)}
        return {need: self.need_path(need) for need in needs}

    def need_path(self, need: Need) -> Path:
        """The manifest of an input."""
        if isinstance(need, Tokens):
            return self.tokens_path(need)
        return self.manifest_path(need.dataset)

    def manifest_path(self, dataset_name: str) -> Path:
        """The manifest of a prepared dataset."""
        digest = sha256(canonical_json(self.identity(dataset_name)))[:12]
        return Path("resources") / dataset_name / digest / "manifest.json"

    def tokens_path(self, need: Tokens) -> Path:
        """The manifest of a tokenized text."""
        name = f"{need.tokenizer}-{need.vocab_size}-v{TOKENIZATION}"
        return self.manifest_path(need.dataset).parent / name / "tokens.json"

    def figure_cells(self, figure_name: str) -> dict[str, list[Cell]]:
        """Study -> cells, for every study behind a figure."""
        return {
            stage: self.cells(stage)
            for name in figure(figure_name).STUDIES
            for stage in stages(name)
            if self.cells(stage)
        }

    def figure_folder(self, figure_name: str) -> Path:
        """Where a figure's data, files and claims lie."""
        return self.results / figure_name

    def figure_datasets(self, figure_name: str) -> list[str]:
        """The datasets behind a figure."""
        names = {}
        for name in figure(figure_name).STUDIES:
            chosen = study(stages(name)[0])
            names |= {n.dataset: None for n in TASKS[chosen.task].needs(chosen.spec)}
        return list(names)

    def data_words(self, figure_name: str) -> str:
        """The data behind a figure, in words, for its footer."""
        used = self.figure_datasets(figure_name)
        words = [dataset(name).describe(self.source(name)) for name in used]
        return "; ".join(words) or "none needed"

    def is_embedded(self, figure_name: str) -> bool:
        """Whether any data behind a figure were generated by the suite."""
        return any(self.source(n).kind == "embedded" for n in self.figure_datasets(figure_name))

    def is_made(self, run: Run) -> bool:
        """Whether a run is among the finished ones."""
        return (self.store / f"{run.id}.json").exists()

    def gpu_hours(self, cells: Iterable[Cell]) -> float:
        """Hours of one H100 for the runs of some cells that are still to be made, each once."""
        runs = {run.id: run for cell in cells for run in cell.runs}
        return cost.gpu_hours(
            sum(
                TASKS[run.task].cost(run.spec).flops
                for run in runs.values()
                if not self.is_made(run)
            )
        )
