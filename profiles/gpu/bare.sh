#!/usr/bin/env bash
# A figure's runs on a machine with a GPU, without Snakemake and network, and back again:
#   bash profiles/gpu/bare.sh run cells.tar.gz embedding_lr/fig3 [KEY=VALUE ...]      there
#   bash profiles/gpu/bare.sh verify cells.tar.gz embedding_lr/fig3 [KEY=VALUE ...]   here
# KEY=VALUE: as snakemake's --config. DEVICE=cpu in the environment takes the CPU. Both work in the
# current folder: take an empty one, since a figure never mixes devices. There, Python 3.11 to 3.13
# with torch 2.11 or later, numpy, pyyaml, safetensors and tokenizers will do for embedded text, and
# scikit-learn for tables.
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
    python3 -P -m repro pack "$archive" "${config[@]}"
    ;;
verify)
    python3 -P -m repro unpack "$archive" "${config[@]}"
    for step in reduce draw; do python3 -P -m repro $step "$figure" "${config[@]}"; done
    python3 -P -m repro verify "${config[@]}"
    ;;
*)
    echo "error: $mode: give run or verify" >&2
    exit 2
    ;;
esac
