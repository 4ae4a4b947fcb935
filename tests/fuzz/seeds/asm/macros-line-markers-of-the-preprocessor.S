# 1 "case.c"
# 1 "<built-in>"
# 40 "kernel.S" 2
    nop
    bad
#line 7 "other.S"
    bad
# a comment of the preprocessor
