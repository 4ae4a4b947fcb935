.macro copy from=$m0, to=$m1, bits=64, n=1
    .if \bits == 64
    ld64step $a0:1, $mzero, \from+=, \n
    st64step $a0:1, $mzero, \to+=, \n
    .else
    ld32step $a0, $mzero, \from+=, \n
    st32step $a0, $mzero, \to+=, \n
    .endif
.endm
    .worker
    copy
    copy $m2
    copy , $m3
    copy bits=32
    copy $m4, $m5, 32, 2
    copy n=(1+1)
