"""The workflow's jobs, and `python -m repro run`, which carries them out without Snakemake.

No torch at import.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from repro.core import discovery
from repro.core.locks import locked, only_writer
from repro.core.runs import Run
from repro.core.schedule import Cell, Choice
from repro.core.suite import Suite
from repro.core.upstream import UpstreamResults, is_current
from repro.data.needs import Tokens
from repro.errors import UserError
from repro.training import launch, ranks
from repro.workflow import gpus

ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"


@dataclass(frozen=True)
class Place:
    """What a job trains on.

    device: "cpu" or "cuda". ranks: how many processes share a run, each with its own GPU.
    compile: also of a short run (`repro.cost.Layout`). eager: nothing is compiled.
    """

    device: str = "cpu"
    ranks: int = 1
    compile: bool = False
    eager: bool = False

    def __post_init__(self):
        if self.ranks < 1:
            raise UserError(f"--ranks {self.ranks}: give 1 or more, how many processes share a run")

    @property
    def forced(self) -> dict[str, bool]:
        """compile and eager, by name."""
        return {key: value for key, value in asdict(self).items() if isinstance(value, bool)}


def fetch(suite: Suite, dataset: str) -> None:
    """Prepare a dataset: download or generate it, check it, write its manifest."""
    from repro.data.prepare import prepare

    manifest = suite.paths.manifest(dataset)
    with only_writer(manifest.parent):
        prepare(
            discovery.dataset(dataset), suite.source(dataset), suite.identity(dataset), manifest
        )


def tokenize(suite: Suite, need: Tokens) -> None:
    """Encode a prepared dataset with a tokenizer trained on it, or with GPT-2's."""
    from repro.data.prepare import share, tokenize

    source, tokens = suite.source(need.dataset), suite.paths.tokens(need)
    prepared = suite.paths.manifest(need.dataset)
    with only_writer(tokens.parent):
        with locked(prepared.with_name("bpe.lock")):
            share(prepared, need)
        tokenize(discovery.dataset(need.dataset), source, prepared, need, tokens)


def choose(suite: Suite, choice: Choice) -> None:
    """Write what cells take from others, once for all of them."""
    owners = {run.id: cell for cell in choice.cells for run in cell.runs}
    read = UpstreamResults(_placed(suite, owners))
    files = [suite.paths.cell(cell) for cell in choice.cells]
    read.write(choice, suite.paths.choice(choice), files)


def is_chosen(suite: Suite, choice: Choice) -> bool:
    """Whether a choice's file is there, and was made from its cells' files as they are."""
    files = [suite.paths.cell(cell) for cell in choice.cells]
    return is_current(choice, suite.paths.choice(choice), files)


def _placed(suite: Suite, owners: Mapping[str, Cell]) -> dict[str, tuple[Cell, Path, Path]]:
    """Run id -> its cell, the file and the checkpoints of that. owners: run id -> its cell."""
    return {
        name: (cell, suite.paths.cell(cell), suite.paths.checkpoints(cell))
        for name, cell in owners.items()
    }


def train_beside_others(suite: Suite, cell: Cell, place: Place) -> None:
    """`train`, on GPUs that no other job of this machine has (`gpus.claimed`)."""
    if place.device == "cuda":
        # Runs of one job differ in width, and batches of BART in length from step to step: a GPU
        # that is nearly full would run out of pieces as large as the next one. Read by torch when
        # it first takes memory.
        os.environ.setdefault(ALLOCATOR, "expandable_segments:True")
    # A rank has what its launcher took.
    count = place.ranks if place.device == "cuda" and not launch.is_rank() else 0
    with gpus.claimed(count):
        train(suite, cell, place)


def train(suite: Suite, cell: Cell, place: Place) -> None:
    """Carry out a cell's runs, in `place.ranks` processes if they can share its steps evenly."""
    divisible = all(run.cost.divides(place.ranks) for run in cell.runs)
    if place.ranks > 1 and not divisible:
        print(f"{cell.study}: one process, {place.ranks} would have no equal parts of a step")
    elif place.ranks > 1 and not launch.is_rank():
        launch.check_devices(place.ranks, place.device)
        forced = [f"--{name}" for name, asked in place.forced.items() if asked]
        config = ["--config", *suite.config.arguments()]
        command = ["train", cell.study, cell.name, "--device", place.device, *forced, *config]
        launch.launch(command, place.ranks)  # each process comes back here as a rank
        return
    from repro.core.execute import run_cell
    from repro.data.prepare import point_at_source
    from repro.workflow.progress import Progress

    steps = [run.spec.get("steps", 1) for run in cell.runs]
    progress = Progress(cell.name.rsplit("-", 1)[0], steps)
    upstream = _placed(suite, suite.upstream(cell))
    choices = {c.runs.ids: (c, suite.paths.choice(c)) for c in suite.choices_of(cell)}
    keep = discovery.keeps_checkpoints(cell.study)
    for need, manifest in suite.needs(cell).items():
        source = suite.source(need.dataset)
        point_at_source(discovery.dataset(need.dataset), source, manifest)

    with ranks.process_group(place.device):
        resumed = run_cell(
            cell,
            suite.paths.cell(cell),
            suite.paths.runs,
            suite.needs(cell),
            place.device,
            lambda index, run: progress(index, _label(cell, run)),
            read=UpstreamResults(upstream, choices),
            checkpoints=suite.paths.checkpoints(cell) if keep else None,
            widen=suite.config.at_edge == "widen",
            layout=lambda cost: ranks.choose_layout(cost, place.device, **place.forced),
        )
        if ranks.is_main():
            print(f"resumed {resumed} runs, trained {len(cell.runs) - resumed}")


def _label(cell: Cell, run: Run) -> str:
    """The axes in which a run differs from others of its cell, for the line of progress:
    `lr=0.1 seed=0`."""
    inner = {k.split(".")[-1]: v for k, v in run.axes.items() if k not in cell.axes}
    values = (f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in inner.items())
    return " ".join(values)


def run(suite: Suite, figures: Iterable[str], place: Place) -> None:
    """Carry out all runs of some figures one after another, each after the runs it depends on."""
    done: set[Path] = set()
    for name in discovery.selected_figures(figures, "run"):
        for cells in suite.figure_cells(name).values():
            train_all(suite, cells, place, done)


def train_all(
    suite: Suite, cells: Iterable[Cell], place: Place, done: set[Path] | None = None
) -> None:
    """Carry out some cells one after another, each after its data and the cells that it reads.

    done: files of those that need not be visited, to which these are added. Stages of two studies
        may have a cell of one id, and each reads its own file.
    """
    done = set() if done is None else done
    for cell in cells:
        _train_after_upstream(suite, cell, place, done)


def prepare(suite: Suite, cells: Iterable[Cell]) -> None:
    """Prepare the data that cells read, where they are not prepared."""
    for need, path in {n: p for cell in cells for n, p in suite.needs(cell).items()}.items():
        if not suite.paths.manifest(need.dataset).exists():
            fetch(suite, need.dataset)
        if isinstance(need, Tokens) and not path.exists():
            tokenize(suite, need)


def _train_after_upstream(suite: Suite, cell: Cell, place: Place, done: set[Path]) -> None:
    """Train a cell after its data and the cells it reads.

    done: files of the cells already visited by this call, to which this one's is added.
    """
    if suite.paths.cell(cell) in done:
        return
    done.add(suite.paths.cell(cell))
    for upstream in suite.upstream(cell).values():
        _train_after_upstream(suite, upstream, place, done)
    for choice in suite.choices_of(cell):
        if not is_chosen(suite, choice):
            choose(suite, choice)
    prepare(suite, [cell])
    train(suite, cell, place)
