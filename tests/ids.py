"""Digests of all that the studies ask for: what a change of the suite must leave as it is.

`python tests/ids.py` writes into tests/golden/ids.json the studies that are not there yet, and says
which others have moved. One that is meant to, after a change of a study, or of how runs share
jobs, which moves cells' names alone, is written anew by its name: `tests/ids.py PAPER/STUDY`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.core import discovery  # noqa: E402
from repro.core.names import StageName  # noqa: E402
from repro.core.study import SCALES  # noqa: E402
from repro.core.suite import load  # noqa: E402
from repro.files import read_json, sha256, write_json  # noqa: E402

FILE = Path(__file__).parent / "golden" / "ids.json"


def digests(scale: str) -> dict[str, dict[str, int | str]]:
    """Of a scale on generated data, study by study: how many runs there are, and the digests of all
    (stage, run id) and of all (stage, cell)."""
    suite = load([f"scale={scale}", "data=embedded"])
    runs: dict[str, list[str]] = {}
    cells: dict[str, list[str]] = {}
    for stage in discovery.study_names():
        if scale in discovery.study(stage).scales:
            study = StageName.parse(stage).module
            runs.setdefault(study, [])
            cells.setdefault(study, [])
            for cell in suite.cells(stage):
                cells[study].append(f"{stage} {cell.name}\n")
                runs[study] += [f"{stage} {run.id}\n" for run in cell.runs]
    return {
        study: {
            "runs": len(runs[study]),
            "run_ids": sha256("".join(sorted(runs[study])).encode()),
            "cell_names": sha256("".join(sorted(cells[study])).encode()),
        }
        for study in sorted(runs)
    }


def recorded() -> dict[str, dict[str, dict]]:
    """The digests as they were written, by scale and study."""
    return read_json(FILE)


def write(named: Sequence[str]) -> list[str]:
    """Write what is missing or named; returns the others that have moved."""
    known, moved = recorded(), set()
    for scale in SCALES:
        at = known.setdefault(scale, {})
        for study, found in digests(scale).items():
            if study not in at or study in named:
                at[study] = found
            elif at[study] != found:
                moved.add(study)
    write_json(FILE, known)
    return sorted(moved)


if __name__ == "__main__":
    for each in write(sys.argv[1:]):
        print(f"{each}: is not as it was written; if that is meant, name it")
