#!/usr/bin/env bash
# What a GPU does with the suite, in stages: what is right on it, then how fast it is.
#   bash benchmarks/gpu.sh [--cpu] [--out FILE] [STAGE ...]
# Prints a line a stage, and writes what each found as a line of JSON to FILE (gpu.jsonl). --cpu:
# the same at toy size on a CPU, in about three minutes. One GPU, about twelve minutes, no network. Ends
# with status 1 where a stage failed.
# Needs what profiles/gpu/bare.sh needs; a stage that needs more (pytest, pandas, torchvision) is
# left out without it. PYTHON=python3.12 in the environment selects a Python.
set -euo pipefail
suite=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${PYTHON:-}" ]; then
    PYTHON=python3
    [ -x "$suite/.venv/bin/python" ] && PYTHON=$suite/.venv/bin/python
fi
export REPRO_CHECKOUT="$suite" PYTHONPATH="$suite${PYTHONPATH:+:$PYTHONPATH}"
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
exec "$PYTHON" -P "$suite/benchmarks/_gpu.py" "$@"
