    .file "other.c"
    .loc 1 2 3
    .ident "someone"
    .cfi_startproc
    nop
    .cfi_endproc
    .local x
    .title "a page"
    .sbttl "a part of it"
    .list
    .nolist
    .eject
    .version "1"
    .line 7
