#!/usr/bin/env bash
# bench_quant beside the same recipe in NumPy, on one layer of so400m shapes, each with two cores. Shows
# that both use the same OpenBLAS.
# usage: bench/quant_numpy.sh BUILD   (a build folder with tilework and bench/bench_quant)
set -euo pipefail
build=${1:?usage: bench/quant_numpy.sh BUILD}
here=$(dirname "$0")
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy' 2>/dev/null || {
    echo "NumPy is missing: apt-get install python3-numpy" >&2
    exit 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/bench/bench_quant" --generate "$folder/model"

module=$("$python" -c 'import glob, numpy, os
print(glob.glob(os.path.join(os.path.dirname(numpy.__file__), "core", "_multiarray_umath*.so"))[0])')
echo "NumPy's: $(ldd "$module" | awk '/blas/ { print $3 }' | xargs -n1 realpath | sort -u | paste -sd' ')"
echo "ours:    $(realpath "$(ldconfig -p | awk '/libopenblas.so.0/ { print $NF; exit }')")"

OPENBLAS_NUM_THREADS=2 taskset -c 0,1 "$python" "$here/quant_numpy.py" "$build/bench/bench_quant" \
    "$folder/model"
