#!/usr/bin/env bash
# How compiling grows with tiles, blocks and shape: processor seconds of all threads (median of $RUNS
# runs, three unless it is set) and the peak of memory, for MLPs whose blocks are a repeat. What
# others do on the machine counts little that way.
# usage: bench/compile.sh [FOLDER]   (writes the figures of docs/performance.md into FOLDER)
set -euo pipefail
runs=${RUNS:-3}
figures=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."
tilework=$(realpath "${TILEWORK:-build/release/tilework}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# graph TOKENS WIDTH HIDDEN BLOCKS
graph() {
    local tokens=$1 width=$2 hidden=$3 blocks=$4 i ups=() downs=()
    local f8='f8f143(s=-4)'
    echo "input %x \"x\" : f16[$tokens,$width]"
    for ((i = 0; i < blocks; i++)); do
        echo "parameter %up$i \"up$i\" : ${f8}[$width,$hidden]"
        echo "parameter %down$i \"down$i\" : ${f8}[$hidden,$width]"
        ups+=("%up$i") downs+=("%down$i")
    done
    local IFS=,
    cat <<END
%blocks = repeat $blocks {
  carried %h = %x : f16[$tokens,$width]
  iterated %wu = ${ups[*]} : ${f8}[$width,$hidden]
  iterated %wd = ${downs[*]} : ${f8}[$hidden,$width]
  %h.cast = cast %h : ${f8}[$tokens,$width]
  %up = gemm %h.cast, %wu : f16[$tokens,$hidden]
  %act = gelu %up : f16[$tokens,$hidden]
  %act.cast = cast %act : ${f8}[$tokens,$hidden]
  %down = gemm %act.cast, %wd : f16[$tokens,$width]
  yield %down
}
output %blocks "y"
END
}

# measure X TILES TOKENS WIDTH HIDDEN BLOCKS: a line "X SECONDS MIB" for $folder/points.
measure() {
    local x=$1 tiles=$2 run seconds=()
    shift 2
    graph "$@" >"$folder/graph"
    TIMEFORMAT='%U %S'
    for ((run = 1; run <= runs; run++)); do
        { time "$tilework" compile "$folder/graph" --generated --device-input --tiles "$tiles" \
            -o "$folder/package" --json >"$folder/report"; } 2>"$folder/time"
        seconds+=("$(awk '{ print $1 + $2 }' "$folder/time")")
    done
    local peak median
    peak=$(sed -nE 's/^  "peak_rss_bytes": ([0-9]+),?$/\1/p' "$folder/report")
    median=$(printf '%s\n' "${seconds[@]}" | sort -n | sed -n "$(((runs + 1) / 2))p")
    printf '%-6s %6.2f s %6d MiB\n' "$x" "$median" $((peak >> 20))
    echo "$x $median $((peak >> 20))" >>"$folder/points"
}

# figure NAME LABEL: the points so far, seconds as circles with the straight line that fits best,
# MiB as squares.
figure() {
    [[ -n $figures ]] || return 0
    awk -v label="$2" '
        function round_up(v,   p) { p = 10 ^ int(log(v) / log(10)); while (p > v / 4) p /= 2; return p }
        { x[NR] = $1; y[NR] = $2; m[NR] = $3; sx += $1; sy += $2; sxx += $1 * $1; sxy += $1 * $2
          if ($1 > mx) mx = $1; if ($2 > my) my = $2; if ($3 > mm) mm = $3 }
        END {
            my *= 1.1; mm *= 1.1
            slope = (NR * sxy - sx * sy) / (NR * sxx - sx * sx); start = (sy - slope * sx) / NR
            print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 320\" font-family=\"sans-serif\" font-size=\"12\">"
            print "<rect width=\"600\" height=\"320\" fill=\"white\"/>"
            print "<path d=\"M60 16V274H544V16\" fill=\"none\" stroke=\"black\"/>"
            step = round_up(my); for (v = 0; v <= my; v += step)
                printf "<text x=\"54\" y=\"%.0f\" text-anchor=\"end\">%g</text>\n", 278 - v / my * 258, v
            step = round_up(mm); for (v = 0; v <= mm; v += step)
                printf "<text x=\"550\" y=\"%.0f\" fill=\"#b71c1c\">%g</text>\n", 278 - v / mm * 258, v
            printf "<path d=\"M60 %.1fL544 %.1f\" stroke=\"gray\" stroke-dasharray=\"4 3\"/>\n", \
                274 - start / my * 258, 274 - (start + slope * mx) / my * 258
            for (i = 1; i <= NR; i++) {
                at = 60 + x[i] / mx * 484
                printf "<text x=\"%.0f\" y=\"290\" text-anchor=\"middle\">%g</text>\n", at, x[i]
                printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#1565c0\"/>\n", at, 274 - y[i] / my * 258
                printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"#b71c1c\"/>\n", at - 3, 271 - m[i] / mm * 258
            }
            printf "<text x=\"302\" y=\"310\" text-anchor=\"middle\">%s</text>\n", label
            print "<text x=\"14\" y=\"145\" transform=\"rotate(-90 14 145)\" text-anchor=\"middle\">processor seconds</text>"
            print "<text x=\"592\" y=\"145\" transform=\"rotate(-90 592 145)\" text-anchor=\"middle\" fill=\"#b71c1c\">MiB</text>"
            print "</svg>"
        }' "$folder/points" >"$figures/performance-compile-$1.svg"
    rm "$folder/points"
}

echo "tiles: MLP 729 x 1152 x 4304, one block"
for tiles in 96 184 368 736 1104 1472; do measure "$tiles" "$tiles" 729 1152 4304 1; done
figure tiles tiles
echo "blocks: the same on 1,472 tiles"
for blocks in 1 2 3 4 6; do measure "$blocks" 1472 729 1152 4304 "$blocks"; done
figure blocks blocks
echo "hidden values: 729 x 1152 x N, one block on 1,472 tiles"
for hidden in 538 1076 2152 4304 8608; do measure "$hidden" 1472 729 1152 "$hidden" 1; done
figure shape "hidden values"
