    .include "inner.S"
    .int from_include
    .include "none.S"
