"""What jobs cost: the seconds on record. How fast a core multiplies large matrices says little of
how fast it trains small models, so they are not scaled by that: pages and a call's first line give
a range, and while it runs a call tells what is left by its own pace (`repro.workflow.terminal`)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import fmean

from repro.core import catalog, discovery
from repro.core.names import StageName
from repro.core.runs import Run
from repro.core.schedule import Cell
from repro.core.study import GPU_SCALES
from repro.core.suite import Suite
from repro.core.tried import Tried
from repro.cores import usable_cores
from repro.errors import UserError
from repro.products.records import RECORDS, read_record, recorded
from repro.workflow.budget import Price, effort, on_h100
from repro.workflow.terminal import TRAIN_START, Ahead

OTHER_JOB = 2.0  # seconds of a job that does not train
# How far machines are from the seconds on record: a quiet one took half of them, a slow one 1,873
# where a record had 1,227.
FASTEST, SLOWEST = 1 / 2, 5 / 3
PREPARE = {  # by what a dataset comes from, what is done to prepare it
    "embedded": "make synthetic {}",
    "real": "download {}",
    "folder": "read {} of your folder",
}
CORES = 2  # for which pages promise a time


def recorded_seconds(
    suite: Suite, figures: Iterable[str], cells: Iterable[Cell] = ()
) -> dict[str, float]:
    """Run id -> its seconds on the machine of records/, for the runs behind figures on record, and
    for those of `cells`, which no figure may show: others start from them.

    A record has the seconds of all its runs together; they are shared out by `effort`. Where there
    is no record of the configured data, that of others at the same scale is taken.
    """
    shares: dict[str, list[float]] = {}
    total = 0.0  # of the efforts of what was found
    for name in figures:
        base = _record(suite, name)
        if base is None:
            continue
        made = read_record(base)["provenance"]["made"]
        shown = [cell for cells in suite.figure_cells(name).values() for cell in cells]
        efforts = [(run.id, likely(cell) * effort(run)) for cell in shown for run in cell.runs]
        whole = sum(part for _, part in efforts)
        scale = sum(entry["seconds"] for entry in made) / whole
        for run_id, part in efforts:
            shares.setdefault(run_id, []).append(scale * part)
        total += whole
    found = {run: fmean(each) for run, each in shares.items()}  # of several records
    if found:
        usual = sum(map(sum, shares.values())) / total
        unseen = ((c, run) for c in cells for run in c.runs if run.id not in found)
        found |= {run.id: usual * likely(cell) * effort(run) for cell, run in unseen}
    return found


def likely(cell: Cell) -> float:
    """The share of a cell's runs that will be needed: a search that grows goes as far as it must,
    in every second case no further."""
    return 0.5 ** max(0, StageName.parse(cell.study).round - 1)


def _record(suite: Suite, figure_name: str) -> Path | None:
    """A record of a figure at this scale, of the configured data if there is one; its path without
    suffix."""
    others = sorted((RECORDS / suite.config.scale).glob(f"*/*/{figure_name}.json"))
    return next(iter([*recorded(suite, figure_name), *(p.with_suffix("") for p in others)]), None)


def figures_of(suite: Suite, cells: Iterable[Cell]) -> list[str]:
    """The figures on record at this scale that show runs of these cells, of their papers: a figure
    shows no other's."""
    wanted = {cell.study for cell in cells}
    modules = {StageName.parse(study).module for study in wanted}

    def shows(name: str) -> bool:
        try:
            its = {StageName.parse(study).module for study in catalog.figure(name).studies}
            if not its & modules:  # so that no study is read that is none of these cells'
                return False
            return bool(wanted & {*discovery.figure_stages(name)}) and not suite.fault(name)
        except UserError:  # a broken file, of which whoever asks for it is told
            return False

    return [name for name in _of_papers(suite, wanted) if shows(name)]


def _of_papers(suite: Suite, studies: Iterable[str]) -> list[str]:
    """The figures on record at this scale of the papers of some studies."""
    papers = {study.partition("/")[0] for study in studies}
    own = (name for name in catalog.figure_names() if name.partition("/")[0] in papers)
    return [name for name in own if _record(suite, name) is not None]


def job_seconds(
    suite: Suite, cells: Iterable[Cell], seconds: Mapping[str, float], anew: bool = False
) -> list[float | None]:
    """Seconds of the job that makes each of some cells, on the machine of records/; None where a
    run of it was never recorded. Finished runs take no time, unless `anew`, and one of several
    cells is made by the first. seconds: as from `recorded_seconds`."""
    made: set[str] = set()
    times: list[float | None] = []
    for cell in cells:
        own = [run for run in cell.runs if run.id not in made]
        left = [run.id for run in own if anew or not suite.is_finished(run)]
        known = all(name in seconds for name in left)
        times.append(TRAIN_START + sum(seconds[name] for name in left) if known else None)
        made.update(left)
    return times


def together(times: Iterable[float | None], cores: int) -> float | None:
    """Seconds that jobs take side by side, a core each; None where one of them was never
    recorded."""
    every = [*times]
    known = [time for time in every if time is not None]
    if len(known) < len(every):
        return None
    return max(sum(known) / cores, max(known, default=0.0))


def price(suite: Suite, figures: Sequence[str]) -> Price:
    """What the runs behind these figures take on as many cores as this machine has, for a table of
    costs; nothing is said of runs that were never recorded."""
    seconds = recorded_seconds(suite, figures)

    def spent(cells: Sequence[Cell], unfinished: Sequence[Run]) -> float | None:
        left = {run.id for run in unfinished}
        working = [cell for cell in cells if any(run.id in left for run in cell.runs)]
        whole = together(job_seconds(suite, working, seconds), usable_cores())
        return None if whole is None else math.ceil(whole / 6) / 10

    words = f"minutes: on {usable_cores()} cores, as many as here, by the seconds on record"
    words += f"; elsewhere {FASTEST:.0%} to {SLOWEST:.0%} of it"
    return Price("minutes", words, spent)


def minutes(seconds: float) -> str:
    """A time to come in words, no finer than it can be known: `about 3 minutes`."""
    if seconds < 45:
        return "less than a minute"
    if seconds < 90:
        return "about a minute"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minutes"
    return f"about {seconds / 3600:.1f} hours"


def span(seconds: float) -> str:
    """What is so long by the seconds on record, in words, from the shortest to the longest that it
    may take here: `4 to 12 minutes`."""
    least, most = minutes(FASTEST * seconds), minutes(SLOWEST * seconds)
    words = most.removeprefix("about ")
    if least == "about a minute":
        return f"1 to {words}"
    if least == most:
        return most
    if least.startswith("less"):
        return f"up to {words}"
    return f"{least.removeprefix('about ').removesuffix(f' {words.split()[-1]}')} to {words}"


def promise(suite: Suite, name: str) -> str:
    """What the first line of a call says that builds a figure, or a page of several, on CORES
    cores where nothing is trained yet: `4 to 12 minutes`; "" where it does not say a time."""
    figures = catalog.pages().get(name, [name])
    shown = [c for each in figures for cells in suite.figure_cells(each).values() for c in cells]
    whole = together(times(suite, suite.with_upstream(shown), anew=True), CORES)
    return span(whole) if whole is not None else ""


def times(suite: Suite, cells: Sequence[Cell], anew: bool = False) -> list[float | None]:
    """`job_seconds` by all that is on record; where nothing of these cells is, by the paper's; of
    a try by its figure's."""
    if suite.config.tried:
        return job_seconds(suite, cells, of_a_try(suite, suite.config.tried, cells), anew)
    figures = figures_of(suite, cells)
    if not figures:
        known = _of_papers(suite, (cell.study for cell in cells))
        figures = [name for name in known if not suite.fault(name)]
    seconds = recorded_seconds(suite, figures, cells) if cells else {}
    return job_seconds(suite, cells, seconds, anew)


def of_a_try(suite: Suite, tried: Tried, cells: Iterable[Cell]) -> dict[str, float]:
    """Run id -> seconds of a try's runs, at the pace of those of its figure on record."""
    discovery.put({})
    try:
        base = Suite(replace(suite.config, tried=None))
        seconds = recorded_seconds(base, [tried.figure])
        shown = [cell for its in base.figure_cells(tried.figure).values() for cell in its]
    finally:
        discovery.put(tried.studies(suite.config.scale))
    efforts = sum(effort(run) for cell in shown for run in cell.runs if run.id in seconds)
    if not seconds:
        return {}
    usual = sum(seconds.values()) / efforts
    return {run.id: usual * likely(cell) * effort(run) for cell in cells for run in cell.runs}


def longest_chains(
    prices: Mapping[int, float], readers: Mapping[int, Iterable[int]]
) -> dict[int, float]:
    """Job -> its price together with the longest chain of jobs that wait for it. Whoever begins
    with the longest is done soonest. readers: job -> those that read what it makes."""
    chains: dict[int, float] = {}
    after = {job: readers.get(job, ()) for job in prices}
    for job in TopologicalSorter(after).static_order():  # a job after its readers
        rest = max((chains[reader] for reader in after.get(job, ())), default=0.0)
        chains[job] = prices.get(job, 0.0) + rest
    return chains


def ahead(suite: Suite, jobs: Mapping[int, Cell | None], cores: int | None) -> Ahead:
    """What a call will do, at a scale for GPUs with its price. jobs: by number, with the cell of
    one that trains. cores: of this machine that it may use; None where jobs work elsewhere, or on a
    GPU, for which there are no seconds on record. Prices are seconds on record; of jobs of which
    some were never recorded, seconds of an H100."""
    cells = [cell for cell in jobs.values() if cell]
    count = f"{len(jobs)} job{'s' * (len(jobs) != 1)}"
    words = f"{count}, {len(cells)} of them training" if cells else count
    spent = times(suite, cells)
    whole = together(spent, cores or 1)
    if cells and suite.config.scale in GPU_SCALES:
        words += f": {on_h100(suite.gpu_hours(cells))}, assumed, not measured"
    elif cells and cores and whole is None:
        words += "; how long they take is not on record"
    elif cells and cores and whole is not None:
        words += f": {span(whole)} on {cores} core{'s' * (cores > 1)}, by the seconds on record"
    known = [time for time in spent if time is not None]
    if len(known) < len(spent):
        known = [3600 * suite.gpu_hours([cell]) for cell in cells]
    of_cells = iter(known)
    prices = {job: next(of_cells) if cell else OTHER_JOB for job, cell in jobs.items()}
    data = {
        name: PREPARE[suite.source(name).kind].format(name) for name in discovery.dataset_names()
    }
    return Ahead(words, prices, cores is not None, data)
