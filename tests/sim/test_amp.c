/* The matrix units: how partials, dot products and results move, instruction by instruction. */
#include "rig.h"

#include "base/random.h"
#include "num/aligned.h"

#define WEIGHTS 0x80000u /* 512 bytes */
#define INPUT   0x90000u
#define PARTIAL 0xA0000u
#define OUTPUT  0xB0000u

/* Slots of the weight registers in the order in which a block of 16 channels lies in memory. */
static const char load_in_channel_order[] =
    ".supervisor\n"
    ".macro unit first\n"
    " ld128putcs \\first\n ld128putcs \\first + 2\n ld128putcs \\first + 4\n ld128putcs \\first + "
    "6\n"
    ".endm\n"
    "unit 0\n unit 32\n unit 8\n unit 40\n unit 16\n unit 48\n unit 24\n unit 56\n";

/* Supervisor: formats and scale, weights, one worker (0), host barrier. */
static char *wrap(const char *format, const char *scale, const char *worker) {
    return mem_printf(".supervisor\n"
                      "setzi $m0, %s\n put $FP_INFMT, $m0\n setzi $m0, %s\n put $FP_ISCL, $m0\n"
                      "setzi $m0, 0x%X\n put $CCCSLOAD, $m0\n%s"
                      "setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
                      ".worker\nworker:\n%s exitz $mzero\n",
                      format, scale, WEIGHTS, load_in_channel_order, worker);
}

/* One instruction a line: x from $m2 up, partials from $m3 up, results to $m4 up. */
static char *stream(const char *mnemonic, unsigned phases, unsigned count, const char *x,
                    const char *load_x, const char *p, const char *load_p, const char *d,
                    const char *store_d) {
    char *text =
        mem_printf("setzi $m2, 0x%X\n setzi $m3, 0x%X\n setzi $m4, 0x%X\n", INPUT, PARTIAL, OUTPUT);
    for (unsigned i = 0; i < count; i++) {
        char *more =
            mem_printf("%s%s %s, $mzero, $m2+=, 1\n%s %s, $mzero, $m3+=, 1\n"
                       "%s %s, %s, %s, %u\n%s %s, $mzero, $m4+=, 1\n",
                       text, load_x, x, load_p, p, mnemonic, d, x, p, i % phases, store_d, d);
        mem_free(text);
        text = more;
    }
    return text;
}

static void put_halves(Machine *machine, uint32_t address, const double *values, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        F16 half = f64_to_f16(values[i], F16_OVERFLOW_INFINITE);
        machine_write(machine, 0, address + 2 * i, &half, 2, NULL);
    }
}

static double get_half(Machine *machine, uint32_t address) {
    F16 half;
    machine_read(machine, 0, address, &half, 2, NULL);
    return (double)f16_to_f32(half);
}

/* Two rows of 16 inputs: warm-up, both rows, drain; the published order of results. */
static void worked_example_f16(void **state) {
    (void)state;
    char *worker = stream("f16v4hihov4amp", 4, 16, "$a0:1", "ld64step", "$a2:3", "ld64step",
                          "$a4:5", "st64step");
    char *text = wrap("0", "0", worker);
    Machine *machine = rig_load(text, 1);
    double weight[256], x[64] = {0}, partial[64] = {0};
    for (unsigned c = 0; c < 16; c++)
        for (unsigned k = 0; k < 16; k++)
            weight[16 * c + k] = (double)((c + 2 * k) % 5) - 2;
    for (unsigned b = 0; b < 2; b++)
        for (unsigned k = 0; k < 16; k++)
            x[16 * (b + 1) + k] = (double)(k % 4 + 1 + b);
    for (unsigned b = 0; b < 2; b++)
        for (unsigned c = 0; c < 16; c++)
            partial[16 * b + c] = (double)(c + 100 * b);
    put_halves(machine, WEIGHTS, weight, 256);
    put_halves(machine, INPUT, x, 64);
    put_halves(machine, PARTIAL, partial, 64);
    rig_run(machine);
    static const double first[16] = {-5, -4, 7, 3, 9, 0, 1, 12, 8, 14, 5, 6, 17, 13, 19, 10};
    static const double second[16] = {93,  95,  107, 104, 111, 98,  100, 112,
                                      109, 116, 103, 105, 117, 114, 121, 108};
    for (unsigned i = 0; i < 16; i++) {
        assert_true(get_half(machine, OUTPUT + 2 * (32 + i)) == first[i]);
        assert_true(get_half(machine, OUTPUT + 2 * (48 + i)) == second[i]);
    }
    machine_free(machine);
    mem_free(text);
    mem_free(worker);
}

/* F143 on both sides, scales -3 and +1: step by step 0.1875, 1.1875, 1.1875, 3. */
static void worked_example_f8(void **state) {
    (void)state;
    char *worker = stream("f8v8hihov4amp", 4, 12, "$a0:1", "ld64step", "$a2:3", "ld64step", "$a4:5",
                          "st64step");
    char *text = wrap("3", "62", worker); /* -2 in six bits */
    Machine *machine = rig_load(text, 1);
    static const uint8_t x[8] = {0x40, 0x44, 0x48, 0xC0, 0x38, 0x40, 0x4C, 0x00};
    static const uint8_t cycle[5] = {0x40, 0x38, 0xC0, 0x44, 0x00};
    uint8_t weight[512];
    for (unsigned c = 0; c < 16; c++)
        for (unsigned k = 0; k < 32; k++)
            weight[32 * c + k] = cycle[(c + k) % 5];
    machine_write(machine, 0, WEIGHTS, weight, sizeof weight, NULL);
    for (unsigned i = 0; i < 4; i++)
        machine_write(machine, 0, INPUT + 8 * (4 + i), x, sizeof x, NULL);
    double partial[16] = {0};
    partial[5] = 5;
    put_halves(machine, PARTIAL, partial, 16);
    rig_run(machine);
    assert_true(get_half(machine, OUTPUT + 2 * 32) == 3.0);
    assert_true(get_half(machine, OUTPUT + 2 * (32 + 5)) == 8.0);
    machine_free(machine);
    mem_free(text);
    mem_free(worker);
}

/* The accumulator of a unit after each instruction: the worker ends there and reads the even
 * accumulators of the unit's set down to it. */
static float accumulator_after(const char *mnemonic, const char *format, const char *scale,
                               unsigned count, unsigned unit, const void *weight, const void *x,
                               const void *partial) {
    char *steps =
        stream(mnemonic, 4, count, "$a0:1", "ld64step", "$a2:3", "ld64step", "$a4:5", "st64step");
    char *worker = mem_printf("setzi $a0, 8\n uput $FP_CLR, $a0\n%s.rept %u\n"
                              "f32v2gina $a4:5, $azeros, %u\n.endr\n"
                              "st64step $a4:5, $mzero, $m4+=, 1\n",
                              steps, unit % 8 / 2 + 1, unit < 8 ? 0 : CHIP_GINA_SET1_EVEN);
    char *text = wrap(format, scale, worker);
    Machine *machine = rig_load(text, 1);
    machine_write(machine, 0, WEIGHTS, weight, 512, NULL);
    machine_write(machine, 0, INPUT, x, 128, NULL);
    machine_write(machine, 0, PARTIAL, partial, 128, NULL);
    rig_run(machine);
    float got[2];
    machine_read(machine, 0, OUTPUT + 8 * count, got, sizeof got, NULL);
    machine_free(machine);
    mem_free(text);
    mem_free(worker);
    mem_free(steps);
    return got[unit % 2];
}

/* Channel 6 of the first example, channels 0 and 5 of the second, step by step. */
static void worked_examples_by_step(void **state) {
    (void)state;
    F16 weight[256], x[64] = {0}, partial[64] = {0};
    for (unsigned c = 0; c < 16; c++)
        for (unsigned k = 0; k < 16; k++)
            weight[16 * c + k] = f64_to_f16((double)((c + 2 * k) % 5) - 2, 0);
    for (unsigned k = 0; k < 16; k++)
        x[16 + k] = f64_to_f16((double)(k % 4 + 1), 0);
    for (unsigned c = 0; c < 16; c++)
        partial[c] = f64_to_f16((double)c, 0);
    static const float channel_6[5] = {0, 1, -4, 1, 1};
    for (unsigned i = 0; i < 5; i++)
        assert_true(accumulator_after("f16v4hihov4amp", "0", "0", 4 + i, 10, weight, x, partial) ==
                    channel_6[i]);
    static const uint8_t bytes[8] = {0x40, 0x44, 0x48, 0xC0, 0x38, 0x40, 0x4C, 0x00};
    static const uint8_t cycle[5] = {0x40, 0x38, 0xC0, 0x44, 0x00};
    uint8_t weight_8[512], x_8[128] = {0};
    for (unsigned c = 0; c < 16; c++)
        for (unsigned k = 0; k < 32; k++)
            weight_8[32 * c + k] = cycle[(c + k) % 5];
    for (unsigned i = 0; i < 4; i++)
        memcpy(x_8 + 8 * (4 + i), bytes, 8);
    memset(partial, 0, sizeof partial);
    partial[5] = f64_to_f16(5, 0);
    static const float channel_0[4] = {0.1875f, 1.1875f, 1.1875f, 3};
    for (unsigned i = 0; i < 4; i++) {
        float c0 = accumulator_after("f8v8hihov4amp", "3", "62", 5 + i, 0, weight_8, x_8, partial);
        float c5 = accumulator_after("f8v8hihov4amp", "3", "62", 5 + i, 3, weight_8, x_8, partial);
        assert_true(c0 == channel_0[i]);
        assert_true(c5 == channel_0[i] + 5);
    }
}

/* Rows of random numbers: each row leaves as the model of num says, channel by channel. */
static void check_random_rows(bool aligned) {
    enum { ROWS = 5, COUNT = 4 * (ROWS + 2) };
    uint64_t seed = 99;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (unsigned kind = 0; kind < 2; kind++) {
        char *worker = stream(kind ? "f8v8hihov4amp" : "f16v4hihov4amp", 4, COUNT, "$a0:1",
                              "ld64step", "$a2:3", "ld64step", "$a4:5", "st64step");
        char *text = wrap("3", "60", worker);
        AsmImage image = rig_assemble(text);
        MachineOptions options = {.amp_aligned33 = aligned};
        Machine *machine = rig_machine(&image, 1, NULL, &options);
        asm_image_free(&image);
        uint64_t words[64], x[4 * ROWS], partial[4 * ROWS];
        F16 *all[] = {(F16 *)words, (F16 *)x, (F16 *)partial};
        const unsigned counts[] = {256, 16 * ROWS, 16 * ROWS};
        for (unsigned a = 0; a < 3; a++)
            for (unsigned i = 0; i < counts[a]; i++)
                all[a][i] = kind && a < 2 ? (F16)(random_next(&random) & 0x7F7F)
                                          : f64_to_f16((double)random_d1(&random, 1), 0);
        machine_write(machine, 0, WEIGHTS, words, sizeof words, NULL);
        machine_write(machine, 0, INPUT + 32, x, sizeof x, NULL);
        machine_write(machine, 0, PARTIAL, partial, sizeof partial, NULL);
        rig_run(machine);
        for (unsigned r = 0; r < ROWS; r++) {
            for (unsigned c = 0; c < 16; c++) {
                float acc = f16_to_f32(((F16 *)partial)[16 * r + c]);
                for (unsigned p = 0; p < 4; p++) {
                    const void *input = &x[4 * r + p], *weight = &words[4 * c + p];
                    if (kind)
                        acc = (aligned ? amp_aligned_f8 : amp_step_f8)(acc, input, F8_F143, weight,
                                                                       F8_F143, -4);
                    else
                        acc = (aligned ? amp_aligned_f16 : amp_step_f16)(acc, input, weight);
                }
                F16 want = f32_to_f16(acc, F16_OVERFLOW_SATURATE), got;
                machine_read(machine, 0, OUTPUT + 32 * (r + 2) + 2 * c, &got, 2, NULL);
                assert_int_equal(got, want);
            }
        }
        machine_free(machine);
        mem_free(text);
        mem_free(worker);
    }
}

static void random_rows(void **state) {
    (void)state;
    check_random_rows(false);
}

/* The same with units that align to 33 bits. */
static void random_rows_aligned(void **state) {
    (void)state;
    check_random_rows(true);
}

/* The eight-channel forms use set 0 only; units 0 … 7 are channels 0 … 7. */
static void eight_channels(void **state) {
    (void)state;
    static const struct {
        const char *mnemonic, *p, *load_p, *d, *store_d;
        bool single_in, single_out;
    } forms[] = {
        {"f16v4hihoamp", "$a2", "ld32step", "$a4", "st32step", false, false},
        {"f16v4sihoamp", "$a2:3", "ld64step", "$a4", "st32step", true, false},
        {"f16v4sisoamp", "$a2:3", "ld64step", "$a4:5", "st64step", true, true},
    };
    for (unsigned f = 0; f < COUNT_OF(forms); f++) {
        char *worker = stream(forms[f].mnemonic, 4, 12, "$a0:1", "ld64step", forms[f].p,
                              forms[f].load_p, forms[f].d, forms[f].store_d);
        char *text = mem_printf(".supervisor\nsetzi $m0, 0x%X\n put $CCCSLOAD, $m0\n"
                                ".set i, 0\n.rept 32\n ld64putcs i\n .set i, i + 1\n.endr\n"
                                "setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
                                ".worker\nworker:\n%s exitz $mzero\n",
                                WEIGHTS, worker);
        Machine *machine = rig_load(text, 1);
        double weight[128], x[32] = {0}, partial[8];
        float single[8];
        for (unsigned c = 0; c < 8; c++) {
            partial[c] = c * 10;
            single[c] = (float)partial[c];
            for (unsigned k = 0; k < 16; k++)
                weight[16 * c + k] = c + 1;
        }
        for (unsigned k = 0; k < 16; k++)
            x[16 + k] = k;
        put_halves(machine, WEIGHTS, weight, 128);
        put_halves(machine, INPUT, x, 32);
        if (forms[f].single_in)
            machine_write(machine, 0, PARTIAL, single, sizeof single, NULL);
        else
            put_halves(machine, PARTIAL, partial, 8);
        rig_run(machine);
        for (unsigned c = 0; c < 8; c++) {
            double want = 10 * c + 120 * (c + 1);
            float got;
            machine_read(machine, 0, OUTPUT + 4 * (16 + c), &got, 4, NULL);
            if (forms[f].single_out)
                assert_true((double)got == want);
            else
                assert_true(get_half(machine, OUTPUT + 2 * (16 + c)) == want);
        }
        machine_free(machine);
        mem_free(text);
        mem_free(worker);
    }
}

/* F32: phase p takes word p % 2 of register p / 2. In the two-set form set 0 gives its results in
 * even phases, set 1 in odd ones. */
static void single_precision(void **state) {
    (void)state;
    for (unsigned sets = 1; sets <= 2; sets++) {
        char *worker = stream(sets == 2 ? "f32sisov2amp" : "f32sisoamp", 8, 24, "$a0", "ld32step",
                              "$a2:3", "ld64step", "$a4:5", "st64step");
        char *text = mem_printf(".supervisor\nsetzi $m0, 0x%X\n put $CCCSLOAD, $m0\n"
                                ".set i, 0\n.rept 64\n ld64putcs i\n .set i, i + 1\n.endr\n"
                                "setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
                                ".worker\nworker:\n%s exitz $mzero\n",
                                WEIGHTS, worker);
        Machine *machine = rig_load(text, 1);
        float weight[128], x[16] = {0}, partial[16], out[48];
        for (unsigned u = 0; u < 16; u++)
            for (unsigned k = 0; k < 8; k++)
                weight[8 * u + k] = (float)(u + 1) + 0.25f * (float)k;
        for (unsigned k = 0; k < 8; k++)
            x[8 + k] = (float)k + 0.5f;
        for (unsigned i = 0; i < 16; i++)
            partial[i] = 1000.0f * (float)(i + 1);
        machine_write(machine, 0, WEIGHTS, weight, sizeof weight, NULL);
        machine_write(machine, 0, INPUT, x, sizeof x, NULL);
        machine_write(machine, 0, PARTIAL, partial, sizeof partial, NULL);
        rig_run(machine);
        machine_read(machine, 0, OUTPUT, out, sizeof out, NULL);
        for (unsigned p = 0; p < 8; p++) {
            unsigned set = p % 2;
            for (unsigned i = 0; i < 2; i++) {
                float want = 0;
                if (set < sets) {
                    unsigned unit = 8 * set + (p & ~1u) + i;
                    want = partial[2 * p + i];
                    for (unsigned k = 0; k < 8; k++)
                        want += x[8 + k] * weight[8 * unit + k];
                }
                assert_true(out[2 * (16 + p) + i] == want);
            }
        }
        machine_free(machine);
        mem_free(text);
        mem_free(worker);
    }
}

/* A window of four: R_j = P_j + sum of x[j + t] times the weights of tap t, four steps later. */
static void slim_convolution(void **state) {
    (void)state;
    enum { STEPS = 10 };
    static const unsigned slot[4][4] = {
        {24, 28, 56, 60}, {16, 20, 48, 52}, {8, 12, 40, 44}, {0, 4, 32, 36}};
    char *worker = stream("f16v4hihov4slic", 1, STEPS, "$a0:1", "ld64step", "$a2:3", "ld64step",
                          "$a4:5", "st64step");
    char *text = mem_printf(".supervisor\nsetzi $m0, 0x%X\n put $CCCSLOAD, $m0\n"
                            ".set i, 0\n.rept 64\n ld64putcs i\n .set i, i + 1\n.endr\n"
                            "setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
                            ".worker\nworker:\n%s exitz $mzero\n",
                            WEIGHTS, worker);
    Machine *machine = rig_load(text, 1);
    double weight[256] = {0}, tap[4][4][4], x[4 * STEPS], partial[4 * STEPS];
    for (unsigned t = 0; t < 4; t++)
        for (unsigned c = 0; c < 4; c++)
            for (unsigned l = 0; l < 4; l++)
                weight[4 * slot[t][c] + l] = tap[t][c][l] = (double)((7 * t + 3 * c + l) % 11) - 5;
    for (unsigned i = 0; i < 4 * STEPS; i++) {
        x[i] = (double)(i % 9) - 4;
        partial[i] = 100 + (double)i;
    }
    put_halves(machine, WEIGHTS, weight, 256);
    put_halves(machine, INPUT, x, 4 * STEPS);
    put_halves(machine, PARTIAL, partial, 4 * STEPS);
    rig_run(machine);
    for (unsigned j = 0; j + 4 < STEPS; j++) {
        for (unsigned c = 0; c < 4; c++) {
            double want = partial[4 * j + c];
            for (unsigned t = 0; t < 4; t++)
                for (unsigned l = 0; l < 4; l++)
                    want += x[4 * (j + t) + l] * tap[t][c][l];
            assert_true(get_half(machine, OUTPUT + 2 * (4 * (j + 4) + c)) == want);
        }
    }
    machine_free(machine);
    mem_free(text);
    mem_free(worker);
}

/* Any order of phases ------------------------------------------------------------------------*/

/* The movement of accumulators as documented, in plain arrays; small integers keep sums exact. */
typedef struct Model {
    double compute[16], shift[16], weight[16][4][8]; /* unit, phase, lane */
} Model;

typedef struct Matrix {
    const char *mnemonic;
    unsigned lanes, sets;
    bool f8, single_in, single_out, f32, slim;
} Matrix;

static void move(double *set, unsigned units, double *out, const double *in) {
    for (unsigned i = 0; i < 2; i++)
        out[i] = set[i];
    for (unsigned u = 0; u + 2 < units; u++)
        set[u] = set[u + 2];
    set[units - 2] = in[0];
    set[units - 1] = in[1];
}

/* F32: bit 0 of the immediate is the step, which picks the word; bit 1 the weights. */
static void slim_f32_step(Model *m, unsigned immediate, double x, const double *in, double *out) {
    out[0] = out[1] = 0;
    if (immediate % 2 == 0)
        move(m->compute, 8, out, in);
    for (unsigned u = 0; u < 8; u++)
        m->compute[u] += x * m->weight[u][immediate / 2][immediate % 2];
}

static void model_step(Model *m, const Matrix *form, unsigned immediate, const double *x,
                       const double *in, double *out) {
    unsigned engines = 4, phase = immediate, group = form->f32 ? 8 : 4;
    if (immediate >= group) {
        engines = immediate < group + group / 2 ? 2 : 1;
        phase = immediate - (engines == 2 ? group : group + group / 2);
    }
    unsigned units = form->slim ? 8 : 2 * engines;
    for (unsigned set = 0; set < form->sets; set++) {
        double *compute = m->compute + 8 * set, *shift = m->shift + 8 * set;
        if (form->slim && form->f32) {
            slim_f32_step(m, immediate, x[0], in, out);
            return;
        }
        if (form->slim)
            move(compute, 8, out + 2 * set, in + 2 * set);
        for (unsigned u = 0; u < units; u++) {
            double dot = 0;
            const double *weight = m->weight[8 * set + u][form->f32 ? phase / 2 : phase];
            for (unsigned l = 0; l < form->lanes; l++)
                dot += x[l] * weight[form->f32 ? phase % 2 : l];
            if (phase == 0 && !form->slim) {
                double computed = compute[u];
                compute[u] = shift[u];
                shift[u] = computed;
            }
            compute[u] += dot;
        }
        if (!form->slim && !form->f32)
            move(shift, units, out + 2 * set, in + 2 * set);
        if (form->f32 && phase % 2 == set)
            move(shift, units, out, in);
    }
    if (form->f32 && phase % 2 >= form->sets)
        out[0] = out[1] = 0;
}

/* Bytes of `count` numbers as the form wants them; -3 … 3. */
static unsigned encode_small(uint8_t *bytes, const double *values, unsigned count, bool f8,
                             bool single) {
    for (unsigned i = 0; i < count; i++) {
        float value = (float)values[i];
        F16 half = f64_to_f16(values[i], F16_OVERFLOW_INFINITE);
        if (f8)
            bytes[i] = f8_from_f64(values[i], F8_F143, 0, F8_HOST);
        else if (single)
            memcpy(bytes + 4 * i, &value, 4);
        else
            memcpy(bytes + 2 * i, &half, 2);
    }
    return count * (f8 ? 1 : single ? 4 : 2);
}

static void check_any_order(const Matrix *form, Random *random) {
    enum { STEPS = 80 };
    static const unsigned f16_immediates[] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6};
    static const unsigned f32_immediates[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14};
    unsigned results = form->f32 ? 2 : 2 * form->sets;
    unsigned p_words = results / 2 * (form->single_in ? 2 : 1);
    unsigned d_words = results / 2 * (form->single_out ? 2 : 1);
    Model model = {0};
    double want[STEPS][4];
    uint8_t x_bytes[8 * STEPS], p_bytes[16 * STEPS];
    unsigned x_size = 0, p_size = 0;
    uint8_t weights[512];
    for (unsigned u = 0; u < 16; u++) {
        for (unsigned n = 0; n < 4; n++) {
            unsigned lanes = form->f32 ? 2 : form->lanes;
            for (unsigned l = 0; l < lanes; l++)
                model.weight[u][n][l] = (double)random_below(random, 7) - 3;
            encode_small(weights + 32 * u + 8 * n, model.weight[u][n], lanes, form->f8, form->f32);
        }
    }
    char *worker =
        mem_printf("setzi $m2, 0x%X\n setzi $m3, 0x%X\n setzi $m4, 0x%X\n", INPUT, PARTIAL, OUTPUT);
    const char *x_load = form->f32 ? "ld32step $a0" : "ld64step $a0:1";
    const char *p_load = p_words == 2 ? "ld64step $a2:3" : "ld32step $a2";
    const char *d_store = d_words == 2 ? "st64step $a4:5" : "st32step $a4";
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned immediate = form->slim ? (unsigned)random_below(random, form->f32 ? 4 : 2)
                             : form->f32
                                 ? f32_immediates[random_below(random, COUNT_OF(f32_immediates))]
                                 : f16_immediates[random_below(random, COUNT_OF(f16_immediates))];
        double x[8], in[4];
        for (unsigned l = 0; l < form->lanes; l++)
            x[l] = (double)random_below(random, 7) - 3;
        for (unsigned l = 0; l < results; l++)
            in[l] = (double)random_below(random, 7) - 3;
        x_size += encode_small(x_bytes + x_size, x, form->lanes, form->f8, form->f32);
        p_size += encode_small(p_bytes + p_size, in, results, false, form->single_in);
        model_step(&model, form, immediate, x, in, want[i]);
        char *more =
            mem_printf("%s%s, $mzero, $m2+=, 1\n %s, $mzero, $m3+=, 1\n"
                       "%s $a4%s, $a0%s, $a2%s, %u\n %s, $mzero, $m4+=, 1\n",
                       worker, x_load, p_load, form->mnemonic, d_words == 2 ? ":5" : "",
                       form->f32 ? "" : ":1", p_words == 2 ? ":3" : "", immediate, d_store);
        mem_free(worker);
        worker = more;
    }
    char *text = mem_printf(".supervisor\n setzi $m0, 3\n put $FP_INFMT, $m0\n"
                            "setzi $m0, 0x%X\n put $CCCSLOAD, $m0\n"
                            ".set i, 0\n .rept 64\n ld64putcs i\n .set i, i + 1\n .endr\n"
                            "setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
                            ".worker\n worker:\n %s exitz $mzero\n",
                            WEIGHTS, worker);
    Machine *machine = rig_load(text, 1);
    machine_write(machine, 0, WEIGHTS, weights, sizeof weights, NULL);
    machine_write(machine, 0, INPUT, x_bytes, x_size, NULL);
    machine_write(machine, 0, PARTIAL, p_bytes, p_size, NULL);
    rig_run(machine);
    /* Three setzi, three accesses and the instruction itself a step, exitz: one slot each. */
    assert_int_equal(machine_tile_counters(machine, 0).worker_slots, 3 + 4 * STEPS + 1);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned l = 0; l < results; l++) {
            float single;
            machine_read(machine, 0, OUTPUT + 4 * (d_words * i + l), &single, 4, NULL);
            double got = form->single_out ? (double)single
                                          : get_half(machine, OUTPUT + 4 * d_words * i + 2 * l);
            if (got != want[i][l])
                fail_msg("%s step %u lane %u: %g, not %g", form->mnemonic, i, l, got, want[i][l]);
        }
    }
    machine_free(machine);
    mem_free(text);
    mem_free(worker);
}

static void any_order(void **state) {
    (void)state;
    static const Matrix forms[] = {
        {"f16v4hihoamp", 4, 1, .f8 = false},
        {"f16v4sihoamp", 4, 1, .single_in = true},
        {"f16v4sisoamp", 4, 1, .single_in = true, .single_out = true},
        {"f16v4hihov4amp", 4, 2, .f8 = false},
        {"f8v8hihov4amp", 8, 2, .f8 = true},
        {"f32sisoamp", 1, 1, .f32 = true, .single_in = true, .single_out = true},
        {"f32sisov2amp", 1, 2, .f32 = true, .single_in = true, .single_out = true},
        {"f16v4hihoslic", 4, 1, .slim = true},
        {"f16v4sihoslic", 4, 1, .slim = true, .single_in = true},
        {"f16v4sisoslic", 4, 1, .slim = true, .single_in = true, .single_out = true},
        {"f16v4hihov4slic", 4, 2, .slim = true},
        {"f8v8hihov4slic", 8, 2, .slim = true, .f8 = true},
        {"f32sisoslic", 1, 1, .slim = true, .f32 = true, .single_in = true, .single_out = true},
    };
    uint64_t seed = 3;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (unsigned f = 0; f < COUNT_OF(forms); f++)
        for (unsigned i = 0; i < 4; i++)
            check_any_order(&forms[f], &random);
    /* tested.def gives these instructions to this test, and no others. */
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const char *mnemonic = isa_form_info((IsaForm)form)->mnemonic;
        const char *test = isa_tested_by(mnemonic);
        bool here = false;
        for (unsigned f = 0; f < COUNT_OF(forms); f++)
            here |= strcmp(forms[f].mnemonic, mnemonic) == 0;
        assert_int_equal(here, test && strcmp(test, "sim.amp") == 0);
    }
}

/* Weights are the tile's, so that a change between launches is seen; formats and scale too. */
static void weights_change(void **state) {
    (void)state;
    const char *text =
        ".supervisor\n"
        "setzi $m0, 3\n put $FP_INFMT, $m0\n"
        "setzi $m2, 0x80000\n put $CCCSLOAD, $m2\n ld64putcs 0\n"
        "setzi $m1, worker\n setzi $m3, 0x90000\n runall $m1, $m3, 2\n sync 2\n"
        "setzi $m0, 1\n put $FP_ISCL, $m0\n"
        "setzi $m3, 0x90040\n runall $m1, $m3, 2\n sync 2\n"
        "put $CCCSLOAD, $m2\n ld64putcs 1\n ld64putcs 0\n"
        "setzi $m3, 0x90080\n runall $m1, $m3, 2\n sync 2\n"
        "setzi $m0, 4\n put $CR, $m0\n"
        "setzi $m3, 0x900C0\n runall $m1, $m3, 2\n sync 2\n sync 7\n"
        ".worker\nworker:\n setzi $a0, 8\n uput $FP_CLR, $a0\n setzi $a0, 0x40\n setzi $a1, 0\n"
        "f8v8hihov4amp $azeros, $a0:1, $azeros, 0\n"
        "f8v8hihov4amp $a2:3, $azeros, $azeros, 0\n st64 $a2:3, $mvertex_base, $mzero, 0\n"
        "exitz $mzero\n";
    Machine *machine = rig_load(text, 1);
    static const uint8_t codes[16] = {0x40, 0, 0, 0, 0, 0, 0, 0, 0x44, 0, 0, 0, 0, 0, 0, 0};
    machine_write(machine, 0, 0x80000, codes, sizeof codes, NULL);
    rig_run(machine);
    for (unsigned w = 0; w < 6; w++) {
        assert_true(get_half(machine, 0x90000 + 8 * w) == 1);
        assert_true(get_half(machine, 0x90040 + 8 * w) == 2);
        assert_true(get_half(machine, 0x90080 + 8 * w) == 3);
        assert_true(get_half(machine, 0x900C0 + 8 * w) == 0);
    }
    machine_free(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example_f16),
        cmocka_unit_test(worked_example_f8),
        cmocka_unit_test(worked_examples_by_step),
        cmocka_unit_test(random_rows),
        cmocka_unit_test(random_rows_aligned),
        cmocka_unit_test(eight_channels),
        cmocka_unit_test(single_precision),
        cmocka_unit_test(slim_convolution),
        cmocka_unit_test(any_order),
        cmocka_unit_test(weights_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
