/* Internal: which kernel call turns an F16 shard into an F143 one, or packs it. */
#pragma once

#include "plan/plan.h"

/* One call for shards of the same rectangle; false if there is none: the orders differ in more than
 * the width of their panels, or a kernel's limit is broken. Row-major F16 may become the left order
 * at once. `fast`: the source lies in interleaved memory. */
bool cast_spec(const Layout *from, const Layout *to, bool fast, KernelSpec *spec);

/* The same for a row-major shard that becomes packed along its rows, all padding included, or the
 * other way round. */
bool pack_spec(const Layout *from, const Layout *to, KernelSpec *spec);
