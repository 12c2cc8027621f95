"""Wall time of the workflow's main calls, each from cleared results in a folder of its own.

uv run python benchmarks/workflow.py
"""

import subprocess
import sys
import tempfile
import time
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
            "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", folder, "--cores", "2",
            "--workflow-profile", ROOT / "profiles" / "default", *words,
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows.append(("dry run of every figure", snakemake(folder, "--dry-run")))
        rows += [(f"{figure}, reduced", snakemake(folder, figure)) for figure in FIGURES]
        rows.append(("the same again", snakemake(folder, *FIGURES)))
        rows.append(("every other figure, reduced", snakemake(folder)))
    with tempfile.TemporaryDirectory() as folder:
        rows.append(("every figure, smoke", snakemake(folder, "--config", "scale=smoke")))
    print("| call | seconds |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value:.1f} |")


if __name__ == "__main__":
    sys.exit(main())
