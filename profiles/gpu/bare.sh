#!/usr/bin/env bash
# Train a figure's runs on a GPU machine without Snakemake or network, then verify them elsewhere:
#   bash profiles/gpu/bare.sh run cells.tar.gz embedding_lr/fig3 [KEY=VALUE ...]      on the GPU machine
#   bash profiles/gpu/bare.sh verify cells.tar.gz embedding_lr/fig3 [KEY=VALUE ...]   back here
# KEY=VALUE: as in snakemake's --config. DEVICE=cpu in the environment selects the CPU. Both work in
# the current folder: use an empty one, since a figure cannot mix devices. The GPU machine needs
# Python 3.11 to 3.13 with torch 2.11 or later, numpy, pyyaml, safetensors, tokenizers (embedded
# text) and scikit-learn (tables).
set -euo pipefail
(($# >= 3)) || { sed -n "2,8s/^# //p" "$0"; exit 2; }
suite=$(cd "$(dirname "$0")/../.." && pwd)
export REPRO_CHECKOUT="$suite" PYTHONPATH="$suite${PYTHONPATH:+:$PYTHONPATH}"
mode=$1 archive=$2 figure=$3
shift 3
config=(--config "$@" "figures=$figure")
case $mode in
run)
    python3 -P -m repro run "$figure" --device "${DEVICE:-cuda}" "${config[@]}"
    tar -czf "$archive" --exclude='*.checkpoints/*' --exclude=runs results
    echo "$archive: the cells of $figure"
    ;;
verify)
    [[ ! -e results ]] || { echo "error: results is there: give the call in an empty folder" >&2; exit 2; }
    tar -xzf "$archive" results
    python3 -P -m repro make "$figure" "${config[@]}"
    python3 -P -m repro verify "${config[@]}"
    ;;
*)
    echo "error: $mode: give run or verify" >&2
    exit 2
    ;;
esac
