#!/usr/bin/env bash
# Outputs that cannot be written, and a command that is killed while it writes: coded errors, no
# half files, nothing that breaks the next run.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

complain() {
    echo "$1" >&2
    failures=$((failures + 1))
}

# expect CODE TEXT COMMAND...: the exit code, and a text in the error output.
expect() {
    local code=$1 text=$2 found=0
    shift 2
    "$@" >"$folder/out" 2>"$folder/err" || found=$?
    ((found == code)) || complain "exit code $found, not $code: $*"
    grep -q "$text" "$folder/err" || complain "no '$text' from: $* ($(cat "$folder/err"))"
}

# No files but these in the folder of packages.
expect_files() {
    local found
    found=$(ls -A "$folder/packages")
    [[ $found == "$1" ]] || complain "files are '$found', not '$1'"
}

mkdir "$folder/packages"
compile=("$TILEWORK" compile examples/gemm/gemm.graph --generated -o)
package=$folder/packages/p.twpkg

expect 3 TW0104 "${compile[@]}" "$folder/packages"
expect 3 TW0104 "${compile[@]}" "$folder/absent/p.twpkg"
expect 3 TW0104 "${compile[@]}" /dev/null
expect_files ""
if ((EUID != 0)); then
    chmod a-w "$folder/packages"
    expect 3 TW0104 "${compile[@]}" "$package"
    chmod u+w "$folder/packages"
fi

# A file system that is full after 40 kB: the limit on file sizes acts alike.
expect 3 TW0104 bash -c 'trap "" XFSZ; ulimit -f 40; exec "$@"' limited "${compile[@]}" "$package"
expect_files ""

# Standard output that takes nothing.
full=(bash -c '"$@" >/dev/full' full "$TILEWORK")
expect 3 TW0104 "${full[@]}" isa
expect 3 TW0104 "${full[@]}" bench gemm --rows 2 --inner 2 --columns 2 --tiles 1 --json

# The old package survives a failed write.
"${compile[@]}" "$package" >/dev/null || complain "cannot compile"
before=$(cksum <"$package")
expect 3 TW0104 bash -c 'trap "" XFSZ; ulimit -f 40; exec "$@"' limited "${compile[@]}" "$package"
[[ $(cksum <"$package") == "$before" ]] || complain "a failed write changed the old package"
expect_files p.twpkg

# Killed at twenty moments: whatever is there is whole, and the next run cleans up.
for i in {1..20}; do
    rm -f "$package"
    "${compile[@]}" "$package" --seed "$i" >/dev/null 2>&1 &
    child=$!
    sleep "0.0$((RANDOM % 40 + 10))"
    kill -KILL "$child" 2>/dev/null
    wait "$child" 2>/dev/null
    if [[ -e $package ]]; then
        "$TILEWORK" verify "$package" >/dev/null || complain "a killed run left half a package"
    fi
done
"${compile[@]}" "$package" >/dev/null || complain "cannot compile after a killed run"
expect_files p.twpkg
((failures == 0)) && echo "all writes behaved"
exit $((failures > 0))
