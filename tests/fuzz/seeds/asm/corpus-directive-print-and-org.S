    nop
    .org 16
    nop
    .org . + 8
    nop
    .print "half way"
