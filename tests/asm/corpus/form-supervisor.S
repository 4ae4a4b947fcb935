// supervisor: every form, registers and immediates at their ends
    .supervisor
target:
1:
    run          $m0, $m1, 0x44ad
    run          $sp, $sp, 0
    run          $lr, $fp, 0xf256
    runall       $m0, $m1, 65535
    runall       $lr, $m8, 65535
    runall       $sp, $m5, 0x7a41
    sync         TEXCH_SYNCZONE_LOCAL
    sync         7
    sync         TEXCH_SYNCZONE_LOCAL
    ld64putcs    (1 << 5) - 1
    ld64putcs    63
    ld64putcs    63
    ld128putcs   52
    ld128putcs   10
    ld128putcs   26
