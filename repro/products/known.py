"""Where what is known of a figure comes from: results/ where it was built, records/ otherwise."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from repro.core.names import SMALL
from repro.core.suite import Suite
from repro.lineage.provenance import mixture
from repro.products import built, gate
from repro.products.published import DATA
from repro.products.records import read_record, recorded_at, results_of, told_of_changed
from repro.products.run_table import cell_ids
from repro.verdicts.results import Results


@dataclass(frozen=True)
class Known:
    """What is known of a figure.

    figure: its name. results: its tests and readings. provenance: as in provenance.json. data,
    picture: its table and its PNG. place: the folder it is of, `results/<scale>/<data>` or
    `records/<scale>/<data>/<device>`. recorded: whether it is of records/. suite: under whose
    configuration it was looked for.
    """

    figure: str
    results: Results
    provenance: dict
    data: Path
    picture: Path
    place: str
    recorded: bool
    suite: Suite

    @property
    def current(self) -> bool:
        """Whether it is of the runs that the configuration asks for; these are planned for it."""
        return self.provenance["cells"] == cell_ids(self.suite, self.figure)

    @property
    def small(self) -> Path | None:
        """Its small picture, if it has one."""
        small = self.picture.with_suffix(SMALL)
        return small if small.exists() else None


def find(suite: Suite, figure_name: str) -> Known | None:
    """What is known of a figure at the configured scale and data; None where it is nothing.

    Raises UserError, naming the file, if a file there is not the one that was written, or was made
    by other code than the present; a record does not stand in for it.
    """
    built.refuse_other_code(suite, [figure_name])
    if built.is_drawn(suite, figure_name):
        folder = built.finished(suite, figure_name)
        return Known(
            figure_name,
            gate.results(folder),
            gate.provenance(folder),
            folder / DATA,
            folder / f"{figure_name.split('/')[1]}.png",
            suite.paths.results.as_posix(),
            recorded=False,
            suite=suite,
        )
    return of_record(suite, suite.config.scale, suite.label, figure_name)


def of_record(suite: Suite, scale: str, label: str, figure_name: str) -> Known | None:
    """What is on record of a figure at a scale and data; None where it is nothing."""
    for base in recorded_at(scale, label, figure_name)[:1]:
        saved = read_record(base)
        return Known(
            figure_name,
            results_of(saved),
            saved["provenance"],
            base.with_suffix(".csv"),
            base.with_suffix(".png"),
            "/".join(base.parts[-6:-2]),
            recorded=True,
            suite=suite,
        )
    return None


def origin(found: Iterable[Known]) -> str:
    """Where figures' known comes from, in words:
    `2 figures of results/reduced/embedded, 32 on record in records/reduced/embedded/cpu`; those
    built here whose runs are of several versions of their code (of a record, its page says so); and
    records that are not as they were committed."""
    known = [*found]
    counts = Counter((each.recorded, each.place) for each in known)
    places = ", ".join(
        f"{count} figure{'s' * (count > 1)} {'on record in' if recorded else 'of'} {place}"
        for (recorded, place), count in sorted(counts.items())
    )
    several = [e.figure for e in known if not e.recorded and mixture(e.provenance["made"])]
    notes = [
        f"with runs of several versions of code: {', '.join(several)}" if several else "",
        told_of_changed(each.data.with_suffix("") for each in known if each.recorded),
    ]
    return "; ".join(filter(None, [places, *notes]))
