#!/usr/bin/env bash
# The recipes for a Slurm array and for GNU parallel give the bytes of one process. The tasks of the
# array are run one after the other here; without GNU parallel its part is skipped (77).
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
options=(--scale-granularity tensor --encode)
"$TILEWORK" quantize --generate siglip-tiny -o "$folder/tiny" --images 19 >/dev/null # three blocks
model=$folder/tiny calibration=$folder/tiny/images.safetensors

whole() { # name, options
    "$TILEWORK" quantize "$model" -o "$folder/$1" --calibration "$calibration" "${@:2}" >/dev/null
}

same() {
    cmp "$folder/$1/model.safetensors" "$folder/$2/model.safetensors"
    [[ $(find "$folder" -maxdepth 1 -name "$2.*") == '' ]] || { echo "$2 leaves files" >&2; exit 1; }
    echo "$2: the same bytes"
}

whole whole "${options[@]}"
slurm=(examples/quantize/slurm.sh "$model" "$folder/slurm" "$calibration" 3 "${options[@]}")
for task in 2 3 1; do
    SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=2 "${slurm[@]}" >/dev/null
done
"${slurm[@]}" >/dev/null
same whole slurm

command -v parallel >/dev/null || {
    echo "GNU parallel is not installed (Debian package parallel): its recipe is not tested"
    exit 77
}
recipe=examples/quantize/parallel.sh
"$recipe" "$model" "$folder/parallel" "$calibration" 3 "${options[@]}" >/dev/null
same whole parallel
whole sequence "${options[@]}" --sequential
"$recipe" "$model" "$folder/by-layers" "$calibration" 2 "${options[@]}" --sequential >/dev/null
same sequence by-layers
