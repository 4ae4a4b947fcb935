    fnop
    sync 2
    get $m0, $WSR
    get $m0, $SSR
    get $m0, 0x44
