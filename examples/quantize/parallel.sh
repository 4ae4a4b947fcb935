#!/usr/bin/env bash
# Quantizes a model with the statistics made in parts by GNU parallel: as many at a time as there are
# processors, or elsewhere too with the options of parallel in $PARALLEL (--sshloginfile …). The output
# is that of one process, byte for byte.
#
# usage: examples/quantize/parallel.sh MODEL OUTPUT CALIBRATION PARTS [OPTIONS of tilework quantize]
set -euo pipefail
(($# >= 4)) || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
model=$1 output=$2 calibration=$3 parts=$4
shift 4
tilework=${TILEWORK:-tilework}
quantize=("$tilework" quantize "$model" --calibration "$calibration" "$@")
# Threads are of use where parts run one after the other.
part=("${quantize[@]}" --threads 1 -o "$output.part-{}" --shard "{}/$parts")
mapfile -t files < <(seq -f "$output.part-%.0f" "$parts")

# The parts on which the arguments say more, merged.
make_statistics() {
    parallel --will-cite --quote --halt now,fail=1 "${part[@]}" "$@" ::: $(seq "$parts")
    "$tilework" merge "${files[@]}" -o "$output.statistics"
    rm "${files[@]}"
}

if [[ " $* " == *" --sequential "* ]]; then
    # Each layer's statistics need the layers before it, so parts are of one layer.
    layers=$(sed -n 's/.*"num_hidden_layers": *\([0-9]*\).*/\1/p' "$model/config.json")
    for ((layer = 0; layer < layers; layer++)); do
        make_statistics --layer "$layer" --state "$output.partial"
        "${quantize[@]}" -o "$output" --layer "$layer" --statistics "$output.statistics" --resume
    done
else
    make_statistics
    "${quantize[@]}" -o "$output" --statistics "$output.statistics"
fi
rm "$output.statistics"
