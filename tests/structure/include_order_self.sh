#!/usr/bin/env bash
# Plants includes in a small tree of modules and demands that include_order.sh finds the bad ones
# and passes the good ones.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/cmake"
cp "$here/../../cmake/modules.cmake" "$tree/cmake"
failures=0

# expect good|bad FILE INCLUDE
expect() {
    rm -rf "$tree/src" "$tree/include"
    mkdir -p "$tree/src/base" "$tree/$(dirname "$2")"
    echo '#include "base/base.h"' >"$tree/src/base/base.c"
    echo "  # include $3 /* planted */" >>"$tree/$2"
    local verdict=good
    "$here/include_order.sh" "$tree" >/dev/null || verdict=bad
    if [[ $verdict != "$1" ]]; then
        echo "$2 with $3: expected $1, found $verdict"
        failures=$((failures + 1))
    fi
}

expect good src/sim/tile.c '"isa/isa.h"'
expect good src/sim/tile.c '"sim/tile.h"'
expect good src/sim/tile.c '<stdio.h>'
expect good src/sim/tile.c '<sys/mman.h>'
expect good src/cli/main.c '"api/api.h"'
expect good src/cli/main.c '"tilework/tilework.h"'
expect good include/tilework/a.h '"tilework/b.h"'
expect bad src/base/mem.c '"num/f143.h"'
expect bad src/isa/isa.h '"sim/sim.h"'
expect bad src/isa/isa.def '"sim/sim.h"'
expect bad src/sim/tile.c '"tile.h"'
expect bad src/sim/tile.c '<isa/isa.h>'
expect bad src/sim/tile.c '"tilework/tilework.h"'
expect bad src/cli/main.c '"num/f143.h"'
expect bad src/check/twin.c '"tensor/tensor.h"'
expect bad src/check/twin.c '"lower/lower.h"'
expect bad src/check/twin.c '"sim/sim.h"'
expect bad src/emit/emit.c '"plan/plan.h"'
expect bad src/run/run.c '"compile/compile.h"'
expect bad src/quant/gptq.c '"chip/chip.h"'
expect bad src/other/x.c '"base/mem.h"'
expect bad include/tilework/a.h '"base/mem.h"'
((failures == 0)) && echo "all planted includes were judged rightly"
