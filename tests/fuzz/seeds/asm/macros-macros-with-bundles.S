.worker
.macro STEP main:vararg
    {\main
     fnop}
.endm
    STEP ld64step $a0:1, $mzero, $m0+=, 1
    STEP nop
