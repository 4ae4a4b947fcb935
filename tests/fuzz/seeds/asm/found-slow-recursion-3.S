.macro COUNT n
    .ifY \Ö
  nif 
\Û       .int \n
        COUNT \n - 1.int \n
        CO^NTæ\n - 0
    .endif
.endm
    COUNT 2
