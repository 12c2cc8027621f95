"""Wall time of the workflow's main calls, each from cleared results in a folder of its own.

uv run python benchmarks/workflow.py [--dry-run]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
            sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "2",
            "--directory", folder, "--workflow-profile", ROOT / "profiles" / "default", *words,
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry-run", action="store_true", help="of every figure, and nothing else")
    args = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows.append(("dry run of every figure", snakemake(folder, "--dry-run")))
        if not args.dry_run:
            rows += [(f"{figure}, reduced", snakemake(folder, figure)) for figure in FIGURES]
            rows.append(("the same again", snakemake(folder, *FIGURES)))
            rows.append(("every other figure, reduced", snakemake(folder)))
    if not args.dry_run:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(("every figure, smoke", snakemake(folder, "--config", "scale=smoke")))
    print("| call | seconds |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value:.1f} |")


if __name__ == "__main__":
    main()
