#!/usr/bin/env bash
# What the options beyond the published recipe change, at tensor scales: relative rms error of the
# output, weights alone and with F143 inputs, mean over the samples seen and over those held out.
# usage: bench/quant_options.sh BUILD   (a build folder with tilework; the neck is judged too if
# examples/ocr/quantize.sh has prepared it)
# shellcheck disable=SC2016 # names of options are Markdown code
set -euo pipefail
tilework=$(realpath "${1:?usage: bench/quant_options.sh BUILD}")/tilework
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tilework" quantize --generate siglip-tiny -o "$folder/tiny" --images 16 >/dev/null

# A file of the images FIRST … FIRST + COUNT − 1 of the sixteen.
cut_images() { # first, count, file
    local bytes=$((4 * 2700)) header length
    header='{"pixel_values":{"dtype":"F32","shape":['$2',3,30,30],"data_offsets":[0,'$(($2 * bytes))']}}'
    while ((${#header} % 8 != 0)); do header+=' '; done
    length=$(printf '%016x\n' "${#header}" | fold -w2 | tac | sed 's/^/\\x/' | tr -d '\n')
    {
        printf '%b' "$length"
        printf '%s' "$header"
        dd if="$folder/pixels" bs=$bytes skip="$1" count="$2" status=none
    } >"$3"
}
tail -c $((16 * 4 * 2700)) "$folder/tiny/images.safetensors" >"$folder/pixels"
cut_images 0 4 "$folder/seen.safetensors"
cut_images 4 12 "$folder/held.safetensors"
tiny=("$folder/tiny" --calibration "$folder/seen.safetensors" --evaluate "$folder/held.safetensors")
neck=(build/demo/neck)
for line in 0 1 2 3; do neck+=(--calibration "build/demo/neck/line-$line.safetensors"); done
for line in 4 5 6; do neck+=(--evaluate "build/demo/neck/line-$line.safetensors"); done

# Means of relative rms errors: weights seen, held out; both seen, held out.
measure() { # arguments of quantize
    rm -rf "$folder/out"
    "$tilework" quantize "$@" -o "$folder/out" --scale-granularity tensor --allow-fallback --json |
        awk 'function number(text) { gsub(/[ ,]/, "", text); sub(/.*:/, "", text); return text + 0 }
             /"held_out": (true|false)/ { held = /true/; n[held]++ }
             /"float_against_reference":/ { kind = "" }
             /"weights":/ { kind = "w" }
             /"weights_and_inputs":/ { kind = "a" }
             /"stages":/ { exit }
             /"relative_rms_error":/ && kind != "" { sum[kind held] += number($0) }
             END { printf "%.5f %.5f %.5f %.5f", sum["w0"] / n[0], sum["w1"] / n[1],
                   sum["a0"] / n[0], sum["a1"] / n[1] }'
}

row() { # name, options
    local name=$1
    shift
    printf '| %s | %s' "$name" "$(measure "${tiny[@]}" "$@" | sed 's/ / | /g')"
    [[ ! -e build/demo/neck/config.json ]] ||
        printf ' | %s' "$(measure "${neck[@]}" "$@" | sed 's/ / | /g')"
    echo ' |'
}

echo '| options | tiny: weights, seen | held out | with inputs, seen | held out |' \
    'neck: weights, seen | held out | with inputs, seen | held out |'
echo '|---|---|---|---|---|---|---|---|---|'
row 'nearest (`--algorithm nearest --no-bias-correction`)' --algorithm nearest --no-bias-correction
row 'recipe'
row '`--sequential`' --sequential
row '`--sequential --quantized-propagation`' --sequential --quantized-propagation
row '`--scale-rule error`' --scale-rule error
row '`--covariance`' --covariance
row '`--activation-order`' --activation-order
row '`--f64-hessians`' --f64-hessians
row '`--block-size 4304`' --block-size 4304
row '`--damp 0.1`' --damp 0.1
row '`--clip 0.001`' --clip 0.001
row '`--equalize`' --equalize
row '`--center`' --center
row '`--center --sequential`' --center --sequential
row '`--center --block-size 4304 --activation-order`' --center --block-size 4304 --activation-order
row '`--center --sequential --block-size 4304 --activation-order`' --center --sequential \
    --block-size 4304 --activation-order
row '`--center --sequential --quantized-propagation --block-size 4304 --activation-order`' --center \
    --sequential --quantized-propagation --block-size 4304 --activation-order
row '`--center --sequential --block-size 4304 --damp 0.1`' --center --sequential --block-size 4304 \
    --damp 0.1
row '`--covariance --damp 0.1`' --covariance --damp 0.1
row '`--center --covariance --sequential --damp 0.1`' --center --covariance --sequential --damp 0.1
for damp in 0.1 0.3; do
    row "\`--center --covariance --sequential --block-size 4304 --damp $damp\`" --center --covariance \
        --sequential --block-size 4304 --damp $damp
done
