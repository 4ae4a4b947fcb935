    .include "inner.S"
    .int from_include
