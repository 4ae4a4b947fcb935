    .worker
    add $m0, $m1, $m2 // to the end
    add $m0, /* between */ $m1, $m2
/* over
   lines */ nop
    {nop // first
     // nothing
     fnop /* second */ }
    .ascii "// no comment", "/* nor here */"
