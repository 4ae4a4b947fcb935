/* How calls of the published structures are built. Every instruction of a worker is a bundle that
 * does nothing, but for loads of counts, loops, long operations and the exit. */
#include "accuracy.h"

#include "base/mem.h"
#include "streams.h"

/* Units w, w + 6, … are worker w's. Equal runs of neighbours have the same lengths. */
static uint32_t share(int units, unsigned worker) {
    return (uint32_t)(units + WORKERS - 1 - (int)worker) / WORKERS;
}

static void deal(Call *call, unsigned word, int units, int less) {
    for (unsigned w = 0; w < WORKERS; w++) {
        uint32_t count = share(units, w);
        call->word[w][word] = count > 0 ? count - (uint32_t)less : 0;
    }
}

static void fill(FILE *out, int bundles) {
    if (bundles < 0) {
        fprintf(stderr, "a prologue has %d bundles too few\n", -bundles);
        fprintf(out, ".error \"too few bundles\"\n");
    }
    fprintf(out, " bundles %d\n", bundles);
}

/* A launch of `entry`; before and behind it supervisor instructions, the latter in a chain. */
static void launch_between(Call *call, unsigned entry, int before, int behind) {
    call->entries = MAX_OF(call->entries, entry + 1);
    fprintf(call->supervisor, " cycles %d\n runall $m%u, $m9, %d\n", before, entry, WORDS);
    fprintf(call->supervisor, " .rept %d\n add $m7, $m7, 1\n .endr\n sync 2\n", behind);
}

static void launch(Call *call, unsigned entry) {
    launch_between(call, entry, 0, 0);
}

/* Loops -----------------------------------------------------------------------------------------*/

enum { NO_WORD = -1 };

/* `body` bundles, as often as `count` says, or word `word` of the worker. */
typedef struct Loop {
    int body, count, word;
} Loop;

/* A worker's program: prologue, rounds of `fixed` bundles and inner loops, exit. */
typedef struct Nest {
    const char *label;
    int prologue;    /* exit included */
    int rounds_word; /* number of rounds; NO_WORD: one, `fixed` being part of the prologue */
    int fixed;       /* slots of a round outside its loops; starting a loop takes one of them */
    int longs;       /* among them: f32oox, of three slots each */
    Loop loop[3];
    int loop_count;
} Nest;

static void print_loops(FILE *out, const Nest *nest) {
    for (int i = 0; i < nest->loop_count; i++) {
        const Loop *loop = &nest->loop[i];
        if (loop->word == NO_WORD)
            fprintf(out, " {rpt %d, %d; fnop}\n", loop->count, loop->body - 1);
        else
            fprintf(out, " {rpt $m%d, %d; fnop}\n", 3 + i, loop->body - 1);
        fill(out, loop->body);
    }
}

static void print_nest(Call *call, const Nest *nest) {
    FILE *out = call->workers;
    bool rounds = nest->rounds_word != NO_WORD;
    int used = rounds ? 4 : 1 + nest->loop_count; /* with the exit */
    fprintf(out, "%s:\n", nest->label);
    if (rounds)
        fprintf(out,
                " {ld32 $m2, $mvertex_base, $mzero, %d; fnop}\n {brz $m2, %s_end; fnop}\n"
                " {add $m2, $m2, -1; fnop}\n",
                nest->rounds_word, nest->label);
    for (int i = 0; i < nest->loop_count; i++) {
        if (nest->loop[i].word == NO_WORD)
            continue;
        fprintf(out, " {ld32 $m%d, $mvertex_base, $mzero, %d; fnop}\n", 3 + i, nest->loop[i].word);
        used++;
    }
    fill(out, nest->prologue - used);
    fprintf(out, "%s_round:\n", nest->label);
    if (rounds)
        fill(out, nest->fixed - nest->loop_count - 3 * nest->longs - 1);
    print_loops(out, nest);
    for (int i = 0; i < nest->longs; i++)
        fprintf(out, " {nop; f32oox $a0, $a1}\n");
    if (rounds)
        fprintf(out, " {brnzdec $m2, %s_round; fnop}\n", nest->label);
    fprintf(out, "%s_end: {exitz $mzero; fnop}\n", nest->label);
}

/* A single launch of one loop over units dealt to the workers. */
static void build_loop(Call *call, const Stream *stream, int units, int body, int peeled) {
    deal(call, 0, units, peeled);
    launch(call, 0);
    print_nest(call, &(Nest){.label = "work",
                             .prologue = stream->prologue,
                             .rounds_word = NO_WORD,
                             .loop = {{.body = body, .word = 0}},
                             .loop_count = 1});
}

/* Elementwise -----------------------------------------------------------------------------------*/

void build_blocks(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    build_loop(call, stream, (int)div_up((uint64_t)p[0], (uint64_t)c[BLOCK_UNITS]),
               c[BLOCK_BUNDLES], c[BLOCK_PEELED]);
}

void build_gelu_tail(Call *call, const Stream *stream, const int *p) {
    int pairs = (p[0] + 1) / 2;
    for (int w = 0; w < WORKERS; w++) {
        int own = pairs - 8 * w;
        int blocks = own < 8 ? 0 : (own - 8) / 48 + 1, tail = own - 48 * blocks;
        call->word[w][0] = (uint32_t)blocks;
        call->word[w][1] = (uint32_t)(tail > 0 && tail < 8 ? tail : 0);
    }
    launch(call, 0);
    FILE *out = call->workers;
    fputs("work: {ld32 $m2, $mvertex_base, $mzero, 0; fnop}\n"
          " {ld32 $m3, $mvertex_base, $mzero, 1; fnop}\n",
          out);
    fill(out, stream->prologue - 5);
    fprintf(out, " {rpt $m2, %d; fnop}\n", stream->constant[TAIL_BLOCK] - 1);
    fill(out, stream->constant[TAIL_BLOCK]);
    fputs(" {brz $m3, work_end; fnop}\n", out);
    fill(out, stream->constant[TAIL_EXTRA] - 1);
    fprintf(out, " {rpt $m3, %d; fnop}\n", stream->constant[TAIL_PAIR] - 1);
    fill(out, stream->constant[TAIL_PAIR]);
    fputs("work_end: {exitz $mzero; fnop}\n", out);
}

void build_reduce(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    build_loop(call, stream, (p[0] + 7) / 8, c[0] + c[1] * (p[1] - 1), 0);
}

void build_width_rows(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    deal(call, 1, p[1] / 4, 0);
    for (int w = 0; w < WORKERS; w++)
        call->word[w][0] = (uint32_t)p[0];
    launch(call, 0);
    print_nest(call, &(Nest){.label = "work",
                             .prologue = stream->prologue,
                             .fixed = c[WIDTH_ROW],
                             .loop = {{.body = c[WIDTH_QUAD], .word = 1}},
                             .loop_count = 1});
}

void build_panel_cast(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    int rows = p[0], panels = p[1] / 32;
    bool whole = rows <= 32 && panels >= WORKERS;
    deal(call, 0, panels, 0);
    deal(call, 1, rows, 0);
    for (int w = 0; w < WORKERS; w++) {
        if (whole)
            call->word[w][1] = (uint32_t)rows;
        else
            call->word[w][0] = (uint32_t)panels;
    }
    launch(call, 0);
    print_nest(call, &(Nest){.label = "work",
                             .prologue = stream->prologue,
                             .fixed = c[PANEL_FIXED],
                             .loop = {{.body = c[PANEL_ROW], .word = 1}},
                             .loop_count = 1});
}

/* Rows dealt to the workers
 * -----------------------------------------------------------------------*/

void build_pack_left(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    int full = p[1] / 16, pairs = p[1] % 16 / 2, zero_pairs = pairs ? 8 - pairs : 0;
    deal(call, 0, p[0], 0);
    launch(call, 0);
    print_nest(call, &(Nest){.label = "work",
                             .prologue = stream->prologue,
                             .fixed = c[PACK_ROW] + 3,
                             .loop = {{.body = c[PACK_PANEL], .count = full, .word = NO_WORD},
                                      {.body = c[PACK_PAIR], .count = pairs, .word = NO_WORD},
                                      {.body = c[PACK_ZERO], .count = zero_pairs, .word = NO_WORD}},
                             .loop_count = 3});
}

void build_pairs_of_rows(Call *call, const Stream *stream, const int *p) {
    build_loop(call, stream, p[0] / 2, stream->constant[0], 0);
}

/* Slots of a row with masked keys, beside its full panels. */
static int masked_row(int keys, int padded) {
    int full = keys / 16, pairs = keys % 16 / 2, odd = keys % 2;
    int zero_pairs = 8 - (keys % 16 + 1) / 2, zero_panels = padded / 16 - full - 1;
    return 31 + 5 + 6 * (full > 0) + 21 + (full > 0 ? 4 : 2) + 2 * (pairs > 0) + 12 * pairs +
           12 * odd + (zero_pairs > 0) + 2 * zero_pairs + (zero_panels > 0) + 10 * zero_panels;
}

void build_softmax_whole(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    int keys = p[1], padded = p[2];
    bool masked = keys != padded;
    deal(call, 0, p[0], 0);
    launch(call, 0);
    int full = keys / 16, scan = c[SOFTMAX_SCAN];
    print_nest(call,
               &(Nest){.label = "work",
                       .prologue = stream->prologue + (masked ? c[SOFTMAX_MASKED] : 0),
                       .fixed = masked ? masked_row(keys, padded) : 38 + c[SOFTMAX_ROW],
                       .loop = {{.body = scan, .count = full, .word = NO_WORD},
                                {.body = c[SOFTMAX_PANEL] - scan, .count = full, .word = NO_WORD}},
                       .loop_count = 2});
}

void build_softmax_split(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    int rows = p[0], segment = (int)div_up((uint64_t)p[1], 48), scan = c[SOFTMAX_SCAN];
    for (int w = 0; w < WORKERS; w++) /* workers 0 ... 2: even rows; 3 ... 5: odd ones */
        call->word[w][0] = (uint32_t)(w < 3 ? rows + 1 : rows) / 2;
    deal(call, 1, rows, 0);
    for (unsigned i = 0; i < 3; i++)
        launch_between(call, i, i > 0 ? c[SOFTMAX_BETWEEN] : 0, c[SOFTMAX_BEHIND]);
    Nest nest = {.label = "work",
                 .prologue = stream->prologue / 3,
                 .fixed = 128 / 2,
                 .loop = {{.body = scan, .count = segment, .word = NO_WORD}},
                 .loop_count = 1};
    print_nest(call, &nest);
    nest.label = "work1";
    nest.loop[0].body = c[SOFTMAX_PANEL] - scan;
    print_nest(call, &nest);
    print_nest(call, &(Nest){.label = "work2",
                             .prologue = stream->prologue - 2 * (stream->prologue / 3),
                             .rounds_word = 1,
                             .fixed = 21});
}

void build_merge(Call *call, const Stream *stream, const int *p) {
    bool update = p[2], final = p[3];
    int columns = p[1], panels = columns / 16;
    deal(call, 0, p[0], 0);
    launch(call, 0);
    int longs = final ? 1 : 0; /* the reciprocal of the denominator, and two bundles or none */
    print_nest(
        call,
        &(Nest){.label = "work",
                .prologue = stream->prologue,
                .fixed = (update ? 34 : 27) + 1 + (final ? (update ? 5 : 3) : 0),
                .longs = longs,
                .loop = {{.body = 3, .count = panels, .word = NO_WORD},
                         {.body = update ? 6 : 4, .count = (columns + 1) / 2, .word = NO_WORD}},
                .loop_count = 2});
}

/* Layer normalisation: launches for each row
 * ------------------------------------------------------*/

static void norm_launch(Call *call, const char *label, int prologue, unsigned word, int body) {
    print_nest(call, &(Nest){.label = label,
                             .prologue = prologue,
                             .rounds_word = NO_WORD,
                             .loop = {{.body = body, .word = (int)word}},
                             .loop_count = 1});
}

void build_norm(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    int rows = p[0], width = p[1], launches = c[NORM_APPLY] ? 3 : 2;
    deal(call, 0, width / 8, 0);
    deal(call, 1, width / 4, 0);
    deal(call, 2, width / c[NORM_APPLY_UNITS], 0);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < launches; i++) {
            int before = i ? c[NORM_BETWEEN] : c[NORM_BETWEEN_ROWS];
            launch_between(call, (unsigned)i, row + i > 0 ? before : 0, 0);
        }
    int part = stream->prologue / launches;
    norm_launch(call, "work", stream->prologue - (launches - 1) * part, 0, c[NORM_SUM]);
    norm_launch(call, "work1", part, 1, c[NORM_SQUARES]);
    if (launches == 3)
        norm_launch(call, "work2", part, 2, c[NORM_APPLY]);
}

void build_norm_apply(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    deal(call, 1, p[1] / 4, 0);
    for (int w = 0; w < WORKERS; w++)
        call->word[w][0] = (uint32_t)p[0];
    launch(call, 0);
    print_nest(call, &(Nest){.label = "work",
                             .prologue = stream->prologue,
                             .fixed = c[0] + c[1] * p[2],
                             .loop = {{.body = c[2], .word = 1}},
                             .loop_count = 1});
}

/* Matrix products -------------------------------------------------------------------------------*/

/* A worker's panel of r rows: `bundles` and four a row. Word 0 holds r - 1. */
static void gemm_panel(Call *call, const char *label, int bundles) {
    fprintf(call->workers, "%s: {ld32 $m2, $mvertex_base, $mzero, 0; fnop}\n", label);
    fill(call->workers, bundles + 4 - 3);
    fputs(" {rpt $m2, 3; fnop}\n", call->workers);
    fill(call->workers, 4);
    fputs(" {exitz $mzero; fnop}\n", call->workers);
}

void build_gemm(Call *call, const Stream *stream, const int *p) {
    const int *c = stream->constant;
    int rows = p[0], panels = (int)div_up((uint64_t)p[1], (uint64_t)p[3]);
    int groups = (int)div_up((uint64_t)p[2], 16);
    deal(call, 0, rows, 1);
    FILE *out = call->supervisor;
    call->entries = 3; /* $m0 of the next launch, $m1 of a further panel, $m2 of a new group */
    fprintf(out,
            " setzi $m8, 0x80000\n setzi $m3, %d\n cycles 4\n put $CCCSLOAD, $m8\n cycles %d\n",
            groups - 1, c[GEMM_PROLOGUE] - 7);
    fprintf(out, "group: setzi $m8, %d\n", panels - 1);
    fputs("panel: sync 2\n .set i, 0\n .rept 32\n ld128putcs 2 * i\n .set i, i + 1\n .endr\n"
          " runall $m0, $m9, 8\n"
          /* Three instructions each needing the one before, two that need nothing. */
          " add $m7, $m7, 1\n or $m0, $m1, $m15\n add $m7, $m7, 1\n add $m7, $m7, 1\n nop\n"
          " brnzdec $m8, panel\n",
          out);
    fprintf(out, " or $m0, $m2, $m15\n cycles %d\n brnzdec $m3, group\n sync 2\n",
            c[GEMM_GROUP] - 2);
    gemm_panel(call, "work", rows % WORKERS ? 29 : 24);
    gemm_panel(call, "work1", c[GEMM_NEXT]);
    gemm_panel(call, "work2", c[GEMM_NEW]);
}
