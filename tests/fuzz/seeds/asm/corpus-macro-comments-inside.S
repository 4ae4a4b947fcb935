.macro quiet a /* first */, b // second
    // add \a
    add \a, \b, 1 /* and so on
    over lines */
.endm
    quiet $m0, $m1
    quiet $m2 /* here */, $m3
