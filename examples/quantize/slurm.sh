#!/usr/bin/env bash
#SBATCH --job-name=quantize
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
# Quantizes a model with Slurm: as an array, each task makes the statistics of its part; as a job of
# its own behind them it merges the parts and quantizes. The output is that of one process, byte for
# byte. MODEL, OUTPUT and CALIBRATION are on a file system that all nodes see.
#
#   arguments="MODEL OUTPUT CALIBRATION 16"
#   array=$(sbatch --parsable --array=1-16 examples/quantize/slurm.sh $arguments)
#   sbatch --dependency=afterok:$array examples/quantize/slurm.sh $arguments
#
# usage: slurm.sh MODEL OUTPUT CALIBRATION PARTS [OPTIONS of tilework quantize]
set -euo pipefail
(($# >= 4)) || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
model=$1 output=$2 calibration=$3 parts=$4
shift 4
tilework=${TILEWORK:-tilework}
quantize=("$tilework" quantize "$model" --calibration "$calibration" "$@")

if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then
    "${quantize[@]}" --threads "${SLURM_CPUS_PER_TASK:-1}" -o "$output.part-$SLURM_ARRAY_TASK_ID" \
        --shard "$SLURM_ARRAY_TASK_ID/$parts"
else
    mapfile -t files < <(seq -f "$output.part-%.0f" "$parts")
    "$tilework" merge "${files[@]}" -o "$output.statistics"
    "${quantize[@]}" -o "$output" --statistics "$output.statistics"
    rm "$output.statistics" "${files[@]}"
fi
