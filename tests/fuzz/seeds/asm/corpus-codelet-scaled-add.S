// a[i] += k * b[i], halves, with every way to be aligned behind one macro
.macro SCALED_ADD kind, width, bits=64
    .section .text.scaled_add_\kind, "ax", @progbits
    .globl scaled_add_\kind
    .type scaled_add_\kind, @function
    .align 8
    .worker
scaled_add_\kind\():
    ld32 $m0, $mvertex_base, $mzero, 0
    ld32 $m1, $mvertex_base, $mzero, 1
    ld32 $m2, $mvertex_base, $mzero, 2
    .ifc \kind, half
    ldb16 $a7, $mvertex_base, $mzero, 6
    .else
    ld32 $a7, $mvertex_base, $mzero, 3
    .endif
    brz $m2, .Lend\@
    add $m2, $m2, -1
    mov $m3, $m0
    .if \bits == 64
    {ld64step $a0:1, $mzero, $m0+=, 1; fnop}
    {ld64step $a2:3, $mzero, $m1+=, 1; fnop}
    .elseif \bits == 32
    {ld32step $a0, $mzero, $m0+=, 1; fnop}
    {ld32step $a2, $mzero, $m1+=, 1; fnop}
    .else
    .error "no such width"
    .endif
.Lloop\@:
    .ifc \kind, half
    f16v\width\()mul $a2:3, $a7:BL, $a2:3
    {brz $m2, .Llast\@; f16v\width\()add $a0:1, $a0:1, $a2:3}
    .else
    f32v\width\()mul $a2:3, $a7:B, $a2:3
    {brz $m2, .Llast\@; f32v\width\()add $a0:1, $a0:1, $a2:3}
    .endif
    st64step $a0:1, $mzero, $m3+=, 1
    ld64step $a0:1, $mzero, $m0+=, 1
    ld64step $a2:3, $mzero, $m1+=, 1
    add $m2, $m2, -1
    bri .Lloop\@
.Llast\@:
    st64step $a0:1, $mzero, $m3+=, 1
.Lend\@:
    exitz $mzero
    .size scaled_add_\kind, . - scaled_add_\kind
.endm
    SCALED_ADD half, 4
    SCALED_ADD kind=float width=2
