.macro co main:vararg
    {\main
     fnop}
.endm
.macro both a, b
    { \a ; \b }
.endm
    .worker
    co add $m0, $m1, $m2
    both "ld64step $a0:1, $mzero, $m1+=, 1", "f16v4add $a2:3, $a0:1, $a2:3"
