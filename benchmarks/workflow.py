"""Wall time of the main calls, each from cleared results, and every figure's own seconds.

uv run python benchmarks/workflow.py [--dry-run]

Before all times stands what two cores compute together: what one process a core finds as its best
float32 matrix product, both at once. A figure's seconds are those of the runs behind it, added up
over jobs that ran side by side; runs that several figures share are in each.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from repro.files import read_json
from repro.lineage import arithmetic

ROOT = Path(__file__).resolve().parent.parent
CORES = 2
FIGURES = (
    "figures/embedding_lr/fig3.pdf",
    "figures/effective_theory/fig3.pdf",
    "figures/effective_theory/kernels.pdf",  # at four widths
)


def snakemake(folder: str, *words: str) -> float:
    """Seconds of a Snakemake call on two cores; raises when it fails."""
    start = time.perf_counter()
    subprocess.run(
        [
            sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores",
            str(CORES),
            "--directory", folder, "--workflow-profile", ROOT / "profiles" / "default", *words,
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    return time.perf_counter() - start


def peak() -> float:
    """Operations per second of float32 products on all cores at once, a thread on each."""
    one = "import torch; torch.set_num_threads(1); from benchmarks._peak import matmul_peak"
    call = [sys.executable, "-c", f"{one}; print(matmul_peak(repeats=40))"]
    running = [subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(CORES)]
    return sum(float(process.communicate()[0]) for process in running)


def figure_seconds(folder: Path) -> list[tuple[str, float]]:
    """(scale and figure, seconds of its runs) for every finished figure below a folder."""
    found = []
    for file in sorted(folder.glob("results/*/*/*/*/*/provenance.json")):
        scale, _, paper, figure, _ = file.parent.relative_to(folder / "results").parts
        seconds = sum(entry["seconds"] for entry in read_json(file)["made"])
        found.append((f"{paper}/{figure}, {scale}", seconds))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry-run", action="store_true", help="of every figure, and nothing else")
    args = parser.parse_args(arguments)
    arithmetic.apply(arithmetic.DEFAULT)
    print(f"{arithmetic.cpu_model()}, {CORES} cores: {peak() / 1e9:.0f} GFLOP/s in float32\n")
    rows, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        rows.append(("dry run of every figure", snakemake(folder, "--dry-run")))
        if not args.dry_run:
            rows += [(f"{figure}, reduced", snakemake(folder, figure)) for figure in FIGURES]
            rows.append(("the same again", snakemake(folder, *FIGURES)))
            rows.append(("every other figure, reduced", snakemake(folder)))
            seconds += figure_seconds(Path(folder))
    if not args.dry_run:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(("every figure, smoke", snakemake(folder, "--config", "scale=smoke")))
            seconds += figure_seconds(Path(folder))
    for head, table in (("call", rows), ("runs of a figure", seconds)):
        print(f"| {head} | seconds |\n|---|---|")
        for name, value in table:
            print(f"| {name} | {value:.1f} |")
        print()


if __name__ == "__main__":
    main()
