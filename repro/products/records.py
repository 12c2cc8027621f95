"""Committed results of each figure (records/), from which it is judged and drawn without training.

A record is four files, records/<scale>/<data>/<device>/<paper>/<figure>.{csv,json,png,md}, and
<figure>.small.png where the figure has a small picture. Of an entry of the board <data> ends in
`+entry=<its file>`, there are no tests, and the provenance has the file's text. Each folder of a
device has a SHA256SUMS of its files for `sha256sum -c`. records/claims.json has the tests and
readings of them all (`repro.products.claims_json`).
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from repro.core import catalog, discovery
from repro.core.locks import held_by_another, only_writer
from repro.core.names import SMALL
from repro.core.suite import Suite
from repro.cores import usable_cores
from repro.errors import UserError
from repro.files import canonical_json, read_as, sha256_file, write_bytes, write_json
from repro.lineage import arithmetic, foreign, history, provenance
from repro.lineage.checkout import ROOT
from repro.products import gate
from repro.products.built import finished, refuse_other_code
from repro.products.claims_json import Part, filed, whole
from repro.products.picture import write_figure, write_text
from repro.products.published import AGAIN, DATA, check_picture, check_table, put, read_or_empty
from repro.products.run_table import chosen_after_seeing, made_of
from repro.verdicts.results import Results

RECORDS = ROOT / "records"
# What whoever changes it leaves when it is killed.
LEFT = ("records/**/.*-????????", "studies/*/.power-????????")
SUMS = "SHA256SUMS"
CLAIMS = "claims.json"  # of all folders
TEXT = ".md"
READ: dict[Path, None] = {}  # records that this process has read, their paths without suffix
MOST = 5  # of them are named in a line
KEPT = (".csv", ".json", ".png", TEXT)  # data; results and provenance; picture; its text
EVERY = (*KEPT, SMALL)
# Of a provenance.json, what holds in results/ alone, and what the studies themselves say today.
NOT_KEPT = ("figure", "files", "arithmetic", "chosen_after_seeing")


def record(suite: Suite, unclean: bool = False) -> list[Path]:
    """Copy data, claims, provenance and picture of the configured figures to records/; returns the
    records' paths without suffix.

    unclean: whether figures may be recorded, and marked ("unclean" in their provenance), whose runs
    cannot be traced to one clean version of their code (`provenance.doubts`).
    Raises UserError, and records nothing, where one is such, is not finished, or is of another
    arithmetic than the default.
    """
    if suite.config.arithmetic != arithmetic.DEFAULT:
        raise UserError(
            f"record: arithmetic={suite.config.arithmetic}: records are of the default one; build "
            "the figures without it"
        )
    found = _to_record(suite, unclean)
    with only_one():
        written = [_record(suite, *each) for each in found]
        _seal(written)
    return written


@contextmanager
def only_one() -> Iterator[None]:
    """Be the only process that changes what is on record: who seals a folder vouches for all that
    is in it, and who adds rows to a table writes the others again."""
    with only_writer(_lock().parent, _lock().name, *LEFT):
        yield


def _lock() -> Path:
    """The file that is there while somebody changes what is on record."""
    return RECORDS.with_name(".record.lock")


def _record(suite: Suite, figure_name: str, folder: Path, made: dict) -> Path:
    """Write a figure's record; returns its path without suffix. folder: of the finished figure.
    made: its provenance."""
    # One, or models of GPUs with one compute capability (`cells.check_compatible`).
    device = "+".join(provenance.devices(made["made"]))
    target = _below_records(suite.config.scale, suite.label, device, figure_name)
    if suite.config.entry:
        suite.config.entry.refuse_another(target.with_suffix(".json"))
    data = folder / DATA
    for source, suffix in ((data, ".csv"), (folder / f"{target.name}.png", ".png")):
        write_bytes(target.with_suffix(suffix), source.read_bytes())
    _put_small(folder, target)
    results = gate.results(folder)
    write_text(target, figure_name, data, results, made)
    kept = {key: value for key, value in made.items() if key not in NOT_KEPT}
    write_json(
        target.with_suffix(".json"),
        {"provenance": kept, "data_sha256": sha256_file(data), **results},
    )
    return target


def _put_small(folder: Path, base: Path) -> None:
    """Copy a figure's small picture from the folder where it was drawn to its record, if it has
    one; one of before goes."""
    drawn, kept = folder / f"{base.name}{SMALL}", base.with_suffix(SMALL)
    if drawn.exists():
        write_bytes(kept, drawn.read_bytes())
    else:
        kept.unlink(missing_ok=True)


def _below_records(*names: str) -> Path:
    """A path in RECORDS; raises UserError where names or links lead out of it."""
    path = RECORDS.joinpath(*names)
    if not path.resolve().is_relative_to(RECORDS.resolve()):
        raise UserError(
            f"{path!a}: is not below {RECORDS}, so that nothing is recorded there; remove the link "
            "that leads out of it, or delete the provenance.json that names such a device"
        )
    return path


def _to_record(suite: Suite, unclean: bool) -> list[tuple[str, Path, dict]]:
    """Name, folder and provenance, with its mark, of each configured figure. unclean: see
    `record`."""
    names = discovery.selected_figures(suite.config.figures)
    refuse_other_code(suite, names)
    found, doubtful = [], {}
    for name in names:
        folder = finished(suite, name)
        made = gate.provenance(folder)
        expected = made_of(suite, name)
        of_it = {key: made[key] for key in expected if key in made}
        if canonical_json(of_it) != canonical_json(expected):
            raise UserError(
                f"{folder}: says that it is of other settings or runs than its name; delete it and "
                f"{AGAIN}"
            )
        if doubts := provenance.doubts(made["made"]):
            doubtful[name] = made["unclean"] = doubts
        found.append((name, folder, made))
    if doubtful and not unclean:
        first, doubts = next(iter(doubtful.items()))
        others = f", and {len(doubtful) - 1} more figures" if len(doubtful) > 1 else ""
        mark = suite.command("record --unclean", suite.config.figures, "python -m repro")
        raise UserError(
            f"record: {first}: {'; '.join(doubts)}{others}; delete {suite.paths.results} and make "
            f"their runs from one clean commit, or mark the record: {mark}"
        )
    return found


def rejudge(suite: Suite) -> list[Path]:
    """Judge and draw the recorded figures again from their recorded data, after a claim or drawing
    was changed while runs and table were not; returns the records' paths without suffix."""
    written: list[Path] = []
    with only_one():
        try:
            for figure_name in discovery.selected_figures(suite.config.figures):
                for base in recorded(suite, figure_name):
                    _rejudge(figure_name, base)
                    written.append(base)
        finally:  # a figure that cannot be judged leaves those before it whole
            _seal(written)
    return written


def _rejudge(figure_name: str, base: Path) -> None:
    """Judge and draw a record again. base: its path without suffix."""
    saved, data = read_record(base, judged=False), base.with_suffix(".csv")
    with tempfile.TemporaryDirectory() as folder:
        results = write_figure(Path(folder), figure_name, data, as_built(figure_name, saved))
        for suffix in (".png", TEXT):
            write_bytes(base.with_suffix(suffix), Path(folder, base.name + suffix).read_bytes())
        _put_small(Path(folder), base)
    write_json(base.with_suffix(".json"), saved | results)


def as_built(figure_name: str, saved: dict) -> dict:
    """A record's provenance with what the studies say today of what was chosen after seeing."""
    made = saved["provenance"]
    return made | {"chosen_after_seeing": chosen_after_seeing(figure_name, made["scale"])}


def read_record(base: Path, judged: bool = True) -> dict:
    """A record's JSON: "tests", "readings", "provenance", "data_sha256".

    base: the record's path without suffix. judged: whether it must hold tests and readings in the
    form of today.
    Raises UserError if one of its files is missing or differs from SHA256SUMS, and if it holds what
    this suite would not have written.
    """
    READ[base] = None
    folder = base.parents[1]
    expected = sums(folder)
    for suffix in EVERY:
        path = base.with_suffix(suffix)
        found = sha256_file(path) if path.exists() else None
        missing = found is None and suffix != SMALL
        if missing or found != expected.get(path.relative_to(folder).as_posix()):
            raise UserError(f"{path}: is not what {SUMS} says; {_way_out()}")
    check_table(base.with_suffix(".csv"), gate.RESTORE)
    check_picture(base.with_suffix(".png"), gate.RESTORE)
    saved = gate.record(base, judged)
    if saved["data_sha256"] != expected.get(f"{base.parent.name}/{base.name}.csv"):
        raise UserError(f"{base}.json: is of another table than {base.name}.csv; {gate.RESTORE}")
    return saved


def _way_out() -> str:
    """What to do where a record is not what it should be."""
    other = held_by_another(_lock())
    wait = f"{other} records at this moment, run the same command again when it has ended; else "
    return (wait if other else "") + "restore records/ with git"


def not_committed(bases: Iterable[Path]) -> list[Path]:
    """Those of these records that are not as git has them: new ones, and ones that were edited
    together with SHA256SUMS. None of them where git cannot say. bases: paths without suffix."""
    files = {base.with_suffix(suffix): base for base in bases for suffix in EVERY}
    paths = [f":(literal){path}" for path in files]
    said = history.git("status", "--porcelain", "--untracked-files=all", "--", *paths, root=ROOT)
    if not paths or not said:
        return []
    changed = (ROOT / line.split()[-1] for line in said.splitlines())
    return list(dict.fromkeys(files[path] for path in changed if path in files))


def told_of_changed(bases: Iterable[Path] | None = None) -> str:
    """Which of these records are not as git has them, in a line; "" where they are, or git cannot
    say. bases: paths without suffix; None: all that this process has read."""
    changed = not_committed(READ if bases is None else bases)
    names = [base.relative_to(RECORDS.parent).as_posix() for base in changed[:MOST]]
    more = f" and {len(changed) - MOST} more" if len(changed) > MOST else ""
    return f"not as committed: {', '.join(names)}{more}" if changed else ""


def sums(folder: Path) -> dict[str, str]:
    """Name of a file -> its SHA-256 according to the SHA256SUMS of a folder of records. Raises
    UserError, naming the line, where there is none, or it is of no digest and name."""
    path = folder / SUMS
    if not path.exists():
        raise UserError(f"{path}: is missing; restore records/ with git")
    found = {}
    for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        digest, _, name = line.partition("  ")
        if not (foreign.fits(digest, foreign.DIGEST) and name):
            raise UserError(
                f"{path}, line {number}: {line[:20]!a} is no digest and name, as after a merge "
                "with conflicts; restore records/ with git, then record what is new"
            )
        found[name] = digest
    return found


def _seal(bases: Sequence[Path]) -> None:
    """After records were written: update their digests and the file of them all.

    Other files keep the digests they have in SHA256SUMS, so that a change by hand is still found.
    """
    folders = {base.parents[1] for base in bases}
    for folder in folders:
        here = [base for base in bases if folder in base.parents]
        _note_digests(folder, [base.with_suffix(suffix) for base in here for suffix in EVERY])
    if not all(map(is_entry, folders)):
        file, now = RECORDS / CLAIMS, whole(every(), history.head() or "")
        before: dict = {}
        with suppress(UserError):  # it is not there, or the worse for a merge
            before = read_as(file, dict)
        if before != now | {"commit": before.get("commit")}:  # else the file stays as it is
            write_json(file, now)


def _note_digests(folder: Path, paths: Sequence[Path]) -> None:
    """Write the digests of these files into the SHA256SUMS of their folder of records; one that is
    gone has none."""
    digests = sums(folder) if (folder / SUMS).exists() else {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        digests.pop(name, None)
        if path.exists():
            digests[name] = sha256_file(path)
    lines = (f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    write_bytes(folder / SUMS, "".join(lines).encode())


def every() -> list[Part]:
    """What claims.json has of all records, at every scale, on all data and of every device."""
    folders = sorted(path.parent for path in RECORDS.rglob(SUMS) if not is_entry(path.parent))
    bases = (folder / name for folder in folders for name in catalog.figure_names())
    return [part(base) for base in bases if base.with_suffix(".json").exists()]


def is_entry(folder: Path) -> bool:
    """Whether a folder of records is of an entry of the board, of which nothing is tested."""
    return "+entry=" in folder.parts[-2]


def bases(figure_name: str) -> list[Path]:
    """Paths, without suffix, of all records of a figure, at every scale and on all data."""
    return sorted(path.with_suffix("") for path in RECORDS.glob(f"*/*/*/{figure_name}.json"))


def part(base: Path) -> Part:
    """What claims.json has of one record. base: its path without suffix."""
    saved, figure_name = read_record(base), "/".join(base.parts[-2:])
    provenance = as_built(figure_name, saved)
    return filed(
        figure_name, results_of(saved), provenance, *map(base.with_suffix, (".csv", ".png"))
    )


def filed_figure(base: Path) -> dict:
    """What claims.json says of a record's figure, as `claims_json.FiledFigure`; {} where it says
    nothing. base: the record's path without suffix."""
    scale, data, device, *name = base.parts[-5:]
    its = {"figure": "/".join(name), "scale": scale, "data": data, "device": device}
    said = read_or_empty(RECORDS / CLAIMS, {"figures": list[dict]}).get("figures", [])
    return next((row for row in said if row | its == row), {})


def results_of(saved: dict) -> Results:
    """The tests and readings of a record's JSON."""
    return {"tests": saved["tests"], "readings": saved["readings"]}


def recorded(suite: Suite, figure_name: str) -> list[Path]:
    """Paths, without suffix, of a figure's records at this scale and data, one for each device;
    also of those that SHA256SUMS lists but that are missing, for reading them to fail."""
    return recorded_at(suite.config.scale, suite.label, figure_name)


def recorded_at(scale: str, label: str, figure_name: str) -> list[Path]:
    """`recorded` of a scale and data by name."""
    try:
        folders = sorted((RECORDS / scale / label).glob("*"))
    except OSError:  # of so many folders' digests that no folder can be named by them
        return []
    bases = [folder / figure_name for folder in folders]
    return [base for base in bases if base.with_suffix(".json").exists() or _is_listed(base)]


def _is_listed(base: Path) -> bool:
    folder = base.parents[1]
    name = base.relative_to(folder).with_suffix(".json").as_posix()
    return (folder / SUMS).exists() and name in sums(folder)


def redraw(suite: Suite) -> list[str]:
    """Draw the configured figures from records/ into figures/, without training or network.

    Returns lines: the PDFs drawn, then figures without a record. Raises UserError if all are.
    """
    names = discovery.selected_figures(suite.config.figures)
    found = {name: bases[0] for name in names if (bases := recorded(suite, name))}
    if not found:
        raise UserError(f"no records for {describe(suite)}")
    import seaborn  # noqa: F401  here, so that the processes that are forked need not

    from repro.verdicts import drawing  # noqa: F401

    READ.update(dict.fromkeys(found.values()))
    with ProcessPoolExecutor(min(len(found), usable_cores())) as pool:
        drawn = [*map(str, pool.map(_redraw, found, found.values()))]
    return drawn + [f"figures/{name}.pdf: no record" for name in names if name not in found]


def _redraw(figure_name: str, base: Path) -> Path:
    """The PDF of a figure, drawn from its record."""
    saved = read_record(base)
    with tempfile.TemporaryDirectory() as folder:
        made = as_built(figure_name, saved)
        write_figure(Path(folder), figure_name, base.with_suffix(".csv"), made)
        pdf, *_ = put(Path(folder), figure_name)
    return pdf


def describe(suite: Suite) -> str:
    """For a message: the configured scale and data, and those of which there are records."""
    folders = sorted({p.parents[1].relative_to(RECORDS).as_posix() for p in RECORDS.rglob(SUMS)})
    existing = ", ".join(folders) or "none at all"
    return f"scale {suite.config.scale}, data {suite.label}; there are {existing}"
