// words through a table of 16-bit offsets
    .worker
    .align 8
    .global gather
gather:
    ld32 $m0, $mvertex_base, $mzero, 0
    ld32 $m1, $mvertex_base, $mzero, 1
    ld32 $m2, $mvertex_base, $mzero, 2
    ldz16step $m3, $mzero, $m0+=, 1
    ldz16 $m4, $mvertex_base, $mzero, 6
    .align 8
    {rpt $m4, 1; fnop}
    {ldd16a32 $a0, $m0++, $m1, $m3@; fnop}
    {st32step $a0, $mzero, $m2+=, 1; fnop}
    exitz $mzero
