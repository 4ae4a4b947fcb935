.macro pair first, last, bank=a
    or64 $\bank\first:\last, $azeros, $azeros
.endm
.macro numbered n
    add $m\n, $m\n, \n
.endm
    .worker
    pair 0, 1
    pair 2 3
    numbered 4
    numbered 11
