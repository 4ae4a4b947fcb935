.macro COUNT n
    .if \n
  if \n
Û       .int \n
        COUNT \n - 1.int \n
         \n
  if \n
Û       .int \n
        COUNT \n - 1.int \n
        COUN@Tæ\n - 0
    .endif
.endm
    COUNT COUN@Tæ\n - 0
    .endif
.endm
    COUNT 2
