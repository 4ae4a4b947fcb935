#!/usr/bin/env bash
# include_order.sh [ROOT]: fails on every #include in src/ and include/ that breaks the order of the
# modules (MODULE_ORDER of cmake/modules.cmake) or one of the rules below, with one line each.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

# What the order alone does not forbid (docs/architecture.md): "module: headers it must not see".
rules='
model: chip isa asm sim
check: tensor sim
xchg: kernel
emit: plan
run: plan lower place emit compile
prof: plan lower place emit compile
quant: chip isa asm sim
'

order=$(tr '\n' ' ' <cmake/modules.cmake | sed -n 's/.*set(MODULE_ORDER \([a-z ]*\)).*/\1/p')
[[ -n $order ]] || { echo "cmake/modules.cmake has no MODULE_ORDER" >&2; exit 1; }
folders=(src)
[[ -d include ]] && folders+=(include)

{ grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "${folders[@]}" \
    --include='*.c' --include='*.h' --include='*.def' || true; } |
awk -v order="$order" -v rules="$rules" '
function complain(text) { printf "%s:%s: %s\n", file, line, text; bad++ }
BEGIN {
    modules = split(order, names, " ")
    for (i = 1; i <= modules; i++) place[names[i]] = i
    count = split(rules, rows, "\n")
    for (i = 1; i <= count; i++) {
        split(rows[i], side, ":")
        words = split(side[2], word, " ")
        for (j = 1; j <= words; j++) forbidden[side[1], word[j]] = 1
    }
}
{
    match($0, /^[^:]*:[0-9]+:/)
    split(substr($0, 1, RLENGTH), part, ":")
    file = part[1]; line = part[2]; edges++
    match($0, /["<][^">]*[">]/)
    system_header = substr($0, RSTART, 1) == "<"
    header = substr($0, RSTART + 1, RLENGTH - 2)
    split(file, folder, "/")
    from = folder[1] == "include" ? "include" : folder[2]
    slash = index(header, "/")
    to = slash ? substr(header, 1, slash - 1) : ""

    if (from != "include" && !(from in place))
        complain("module " from " is not in MODULE_ORDER")
    else if (!(to in place) && to != "tilework") {
        if (!system_header) complain("\"" header "\" does not start with the name of a module")
    } else if (system_header)
        complain("<" header "> is ours: write it with quotes")
    else if (to == "tilework") {
        if (from != "include" && from != "api" && from != "cli")
            complain(from " must not include the public interface " header)
    } else if (from == "include")
        complain("a public header must not include " header)
    else if (place[to] > place[from])
        complain(from " stands before " to " and must not include " header)
    else if (from == "cli" && to != "cli" && to != "api" && to != "base")
        complain("cli may include api and base only, not " header)
    else if ((from, to) in forbidden)
        complain(from " must know nothing of " to ", but includes " header)
}
END {
    printf "%d includes checked, %d against the order\n", edges, bad
    exit bad > 0 || edges == 0
}'
