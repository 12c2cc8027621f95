"""Digests of all that the studies ask for: what a change of the suite must leave as it is.

`python tests/ids.py` writes tests/golden/ids.json anew, after a change of a study that is meant to
move ids, or of how runs share jobs, which moves cells' names alone.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.files import read_json, sha256, write_json  # noqa: E402
from repro.suite import registry  # noqa: E402
from repro.suite.study import SCALES  # noqa: E402
from repro.suite.suite import load  # noqa: E402

FILE = Path(__file__).parent / "golden" / "ids.json"


def digests(scale: str) -> dict[str, int | str]:
    """Of a scale on generated data: how many runs there are, and the digests of all (stage, run id)
    and of all (stage, cell)."""
    suite = load([f"scale={scale}", "data=embedded"])
    runs, cells = [], []
    for stage in registry.study_names():
        if scale in registry.study(stage).scales:
            for cell in suite.cells(stage):
                cells.append(f"{stage} {cell.name}\n")
                runs += [f"{stage} {run.id}\n" for run in cell.runs]
    return {
        "runs": len(runs),
        "run_ids": sha256("".join(sorted(runs)).encode()),
        "cell_names": sha256("".join(sorted(cells)).encode()),
    }


def recorded() -> dict[str, dict]:
    """The digests as they were written."""
    return read_json(FILE)


if __name__ == "__main__":
    write_json(FILE, {scale: digests(scale) for scale in SCALES})
