.macro axpy d, s, t
    f16v4mul $a6:7, \s, \t
    f16v4add \d, \d, $a6:7
.endmacro
    .worker
    axpy $a0:1, $a2:BL, $a4:5
