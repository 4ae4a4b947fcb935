// Runtime of a tile: what the program calls besides kernels. Return address in $m10 but where told
// otherwise; $m11 is the
// supervisor's stack pointer; nothing else survives.
//
// Symbols    RUNTIME_END, WORKER_BASE, WORKER_STEP, SAMPLE_SLOT: memory layout; MUX_NEUTRAL;
//            TEXCH_SYNCZONE_LOCAL; START_PADDING

    .section .text.runtime, "ax", @progbits

// Sets up the tile after a start: stack, floating-point control (round to nearest even, saturate, no
// traps), exchange registers at rest, the workers' base registers.
    .supervisor
    .globl tilework_start
    .type tilework_start, @function
tilework_start:
    setzi $m11, RUNTIME_END
    setzi $m0, WORKER_BASE
    setzi $m1, MUX_NEUTRAL
    put $FP_ICTL, $m15
    put $OUTGOING_BASE, $m15
    put $INCOMING_MUX, $m1
    put $WORKER0_BASE, $m0
    add $m0, $m0, WORKER_STEP
    put $WORKER1_BASE, $m0
    add $m0, $m0, WORKER_STEP
    put $WORKER2_BASE, $m0
    add $m0, $m0, WORKER_STEP
    put $WORKER3_BASE, $m0
    add $m0, $m0, WORKER_STEP
    put $WORKER4_BASE, $m0
    add $m0, $m0, WORKER_STEP
    put $WORKER5_BASE, $m0
    .rept START_PADDING
    nop
    .endr
    br $m10
    .size tilework_start, . - tilework_start

// Stores the cycle counter to the address in $m2. Worker 0 reads it in its fourth bundle, as in the
// public runtime's profiles; two samples in a row differ by 90.
    .globl tilework_sample
    .type tilework_sample, @function
tilework_sample:
    setzi $m3, SAMPLE_SLOT
    setzi $m4, sample_worker
    st32 $m2, $m3, $m15, 0
    runall $m4, $m15, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size tilework_sample, . - tilework_sample

// Returns to $m7 when no worker runs. The launch of all of them cannot begin before.
    .globl tilework_barrier
    .type tilework_barrier, @function
tilework_barrier:
    setzi $m0, barrier_worker
    runall $m0, $m15, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m7
    .size tilework_barrier, . - tilework_barrier

    .worker
    .type sample_worker, @function
sample_worker:
    get $m0, $WSR
    and $m0, $m0, 7
    brnz $m0, .Lend
    get $m1, $COUNT_L
    setzi $m2, SAMPLE_SLOT
    ld32 $m2, $m2, $m15, 0
    st32 $m1, $m2, $m15, 0
.Lend:
    exitz $m15
    .size sample_worker, . - sample_worker

    .type barrier_worker, @function
barrier_worker:
    exitz $m15
    .size barrier_worker, . - barrier_worker
