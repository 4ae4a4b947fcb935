#!/usr/bin/env bash
# The real recognizer's neck against published figures: weighted errors, cosines, and ONNX Runtime's
# logits. Skipped (77) where examples/ocr/quantize.sh has not been run: the model must be fetched.
set -euo pipefail
cd "$(dirname "$0")/../.."
data=$PWD/build/demo/neck
[[ -e $data/config.json ]] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Prints the worst cosine of the calibration lines, of the held-out lines, the ratio of weighted
# errors, and the largest distance of the float logits from ONNX Runtime's.
run() { # version, options
    local version=$1
    shift
    rm -rf "$folder/out"
    "$TILEWORK" quantize "$data" -o "$folder/out" --json "$@" \
        --calibration="$data"/line-0.safetensors --calibration="$data"/line-1.safetensors \
        --calibration="$data"/line-2.safetensors --calibration="$data"/line-3.safetensors \
        --evaluate="$data"/line-4.safetensors --evaluate="$data"/line-5.safetensors \
        --evaluate="$data"/line-6.safetensors >"$folder/report.json"
    awk -v version="\"$version\":" '
        function number(text) { gsub(/[ ,]/, "", text); sub(/.*:/, "", text); return text + 0 }
        /"held_out": (true|false)/ { held = /true/ }
        /"float_against_reference":/ { kind = "reference" }
        /"weights":/ { kind = "\"weights\":" }
        /"weights_and_inputs":/ { kind = "\"weights_and_inputs\":" }
        /"stages":/ { exit }
        /"objective_ratio":/ && ratio == "" { ratio = number($0) }
        /"cosine_similarity":/ && kind == version {
            c = number($0)
            if (held) { if (out == "" || c < out) out = c }
            else if (seen == "" || c < seen) seen = c
        }
        /"maximum_absolute_error":/ && kind == "reference" { if (number($0) > most) most = number($0) }
        END { printf "%.6f %.6f %.5f %.2e\n", seen, out, ratio, most }' "$folder/report.json"
}

failures=0
# expect NAME TOLERANCE SEEN HELD_OUT VERSION OPTIONS: both cosines within the tolerance, or, if it
# begins with -, not lower by more.
expect() {
    local name=$1 tolerance=$2 seen=$3 out=$4 found
    found=$(run "${@:5}")
    echo "$name: $found (published $seen $out)"
    awk -v t="$tolerance" -v a="$seen" -v b="$out" '{
        if (t < 0) bad = $1 < a + t || $2 < b + t
        else bad = $1 > a + t || $1 < a - t || $2 > b + t || $2 < b - t
        exit bad || $4 > 1e-4 }' <<<"$found" || failures=$((failures + 1))
}

tensor=(--scale-granularity tensor)
nearest=(--algorithm nearest)
expect "weights, nearest" 1e-4 .999934 .999931 weights "${tensor[@]}" "${nearest[@]}" \
    --no-bias-correction
expect "both, nearest" 1e-4 .999422 .999855 weights_and_inputs "${tensor[@]}" "${nearest[@]}" \
    --no-bias-correction
expect "both, nearest by blocks, bias" 1e-4 .999880 .999746 weights_and_inputs "${nearest[@]}"
expect "both, gptq, bias" -1e-3 .999908 .999857 weights_and_inputs "${tensor[@]}"
expect "both, gptq" -1e-3 .999886 .999925 weights_and_inputs "${tensor[@]}" --no-bias-correction
expect "both, gptq by blocks, bias" -1e-3 .999908 .999857 weights_and_inputs
run weights "${tensor[@]}" | awk '{ exit !($3 > 0.1538 * 0.99 && $3 < 0.1538 * 1.01) }' ||
    failures=$((failures + 1))
((failures == 0))
