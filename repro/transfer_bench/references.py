"""What entries of the board of transfer are held against: `studies/transfer/references.csv`. No
torch.

A row is a seed of a workload's reference, at one scale on one source of data, under one version. It
is never edited: another reference, grid or workload is another version, and every score says which
it is of. That the rows are what the records give (`taken`), a test holds.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from repro.core import rows
from repro.transfer_bench.matrix import BoardRow
from repro.transfer_bench.score import Reference, of_mean

PATH = "studies/transfer/references.csv"
SAME = 1e-9  # relative difference of the targets' entropy below which data are the same


@dataclass(frozen=True)
class Frozen:
    """A row of the file; the fields are its columns.

    scale, data: of the runs that it was taken from. chance: entropy of the workload's targets, by
    which its data are known. narrow, wide: the widths. of: the row whose tuned loss it is. rate:
    log2 of that one's best rate. ratio: of the embedding's rate. narrow_loss: the tuned loss of the
    narrow model. error: of the gain, a standard error. loss: of this seed, at the largest width.
    digest: SHA-256 of the data.csv that it was read off.
    """

    version: str
    scale: str
    data: str
    workload: str
    chance: float
    narrow: float
    wide: float
    of: str
    ratio: float
    rate: float
    narrow_loss: float
    error: float
    seed: int
    loss: float
    digest: str


@dataclass(frozen=True)
class Setting:
    """What a workload is known by in a table. chance: as in `Frozen`. narrow, wide: the widths."""

    chance: float
    narrow: float
    wide: float


def frozen() -> list[Frozen]:
    """All rows. Raises UserError, naming the line, on one that is none."""
    return [row for _, row in rows.read(PATH, Frozen)]


def versions() -> list[str]:
    """The versions there are, the newest last."""
    return list(dict.fromkeys(row.version for row in frozen()))


def find(version: str, scale: str, workload: str, setting: Setting) -> Reference | str:
    """A workload's reference, or why there is none: of other data or widths it would be no
    reference."""
    here = [r for r in frozen() if (r.version, r.scale, r.workload) == (version, scale, workload)]
    if not here:
        return f"{version} has no reference of {workload} at {scale} scale"
    same = [row for row in here if math.isclose(row.chance, setting.chance, rel_tol=SAME)]
    if not same:
        return f"{version} has a reference of {workload} on other data alone"
    first = same[0]
    if (first.narrow, first.wide) != (setting.narrow, setting.wide):
        return (
            f"{version} has a reference of {workload} for widths {first.narrow:g} to "
            f"{first.wide:g} alone"
        )
    losses = {row.seed: row.loss for row in same}
    return Reference(losses, first.narrow_loss, first.error, first.of)


def taken(
    version: str,
    scale: str,
    data: str,
    digest: str,
    settings: Mapping[str, Setting],
    entries: list[BoardRow],
) -> list[Frozen]:
    """Rows that make each workload's lowest tuned loss its reference, of the entries whose narrow
    and wide optimum lie inside their grids. A stand-in where no run tunes every role's rate at the
    largest width."""
    found = []
    for workload, setting in settings.items():
        able = [
            entry
            for entry in entries
            if workload in entry.chains
            and not (entry.chains[workload].problem or entry.chains[workload].own)
        ]
        if not able:
            continue
        best = min(able, key=lambda entry: float(entry.chains[workload].tuned.mean()))
        chain = best.chains[workload]
        error = math.sqrt(of_mean(chain.narrow)[0] + of_mean(chain.tuned)[0])
        common = (version, scale, data, workload, setting.chance, setting.narrow, setting.wide)
        numbers = chain.ratio, chain.own_place, float(chain.narrow.mean()), error
        found += [
            Frozen(*common, best.name, *numbers, seed, float(loss), digest)
            for seed, loss in zip(chain.seeds, chain.tuned, strict=True)
        ]
    return found
