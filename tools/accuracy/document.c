/* The page. */
#include "accuracy.h"
#include "page.h"

#include "base/mem.h"
#include "chip/chip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Assumption as_it_is;

/* 12345 -> "12,345"; a few results live at once. */
static const char *number(long long value) {
    static char texts[8][32];
    static unsigned next;
    char digits[24], *text = texts[next++ % 8], *out = text;
    int count = snprintf(digits, sizeof digits, "%lld", llabs(value));
    if (value < 0)
        *out++ = '-';
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return text;
}

static const char *difference(long long value) {
    static char texts[4][40];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s%s", value > 0 ? "+" : "", number(value));
    return text;
}

typedef struct Row {
    const Measurement *measurement;
    long long simulated, error;
} Row;

static Row *simulate_all(const Assumption *assumption) {
    Row *rows = mem_alloc(measurement_count, sizeof *rows);
    if (!rows)
        abort();
    for (size_t i = 0; i < measurement_count; i++) {
        rows[i].measurement = &measurements[i];
        rows[i].simulated = sampled_call(&measurements[i], assumption);
        rows[i].error = rows[i].simulated - (long long)measurements[i].cycles;
    }
    return rows;
}

static double percent(const Row *row) {
    return 100.0 * (double)row->error / (double)row->measurement->cycles;
}

static bool is_gemm(const Row *row) {
    return strcmp(row->measurement->stream->family, "matrix product") == 0;
}

/* What costs cycles around every kernel; nothing of it is chosen. */
typedef struct Overheads {
    unsigned samples, call_4, call_6, phase;
} Overheads;

enum {
    PUBLISHED_CALL_4 = 60,
    PUBLISHED_CALL_6 = 66,
    PUBLISHED_PHASE_LEAST = 229,
    PUBLISHED_PHASE_MOST = 295
};

static Overheads overheads(void) {
    unsigned samples = sampled_nothing(&as_it_is);
    return (Overheads){.samples = samples,
                       .call_4 = sampled_empty_call(4, &as_it_is) - samples,
                       .call_6 = sampled_empty_call(6, &as_it_is) - samples,
                       .phase = sampled_empty_phase(&as_it_is)};
}

/* Summary ---------------------------------------------------------------------------------------*/

static bool begins_stream(size_t i) {
    return i == 0 || measurements[i].stream != measurements[i - 1].stream;
}

static void print_summary(FILE *out, const Row *rows) {
    unsigned fitted = 0, exact = 0, counted = 0, counted_exact = 0, chosen = 0, gemm = 0;
    double worst = 0;
    for (size_t i = 0; i < measurement_count; i++) {
        bool own = rows[i].measurement->stream->origin == ORIGIN_CHOSEN;
        chosen += own && begins_stream(i);
        if (is_gemm(&rows[i])) {
            gemm++;
            worst = fmax(worst, fabs(percent(&rows[i])));
        } else if (own) {
            fitted++;
            exact += rows[i].error == 0;
        } else {
            counted++;
            counted_exact += rows[i].error == 0;
        }
    }
    Overheads found = overheads();
    unsigned around = 0;
    around += found.samples == CHIP_SAMPLE_CYCLES;
    around += found.call_4 == PUBLISHED_CALL_4;
    around += found.call_6 == PUBLISHED_CALL_6;
    fprintf(
        out,
        "| Rows | Number | Exact to the cycle | Largest error |\n|---|---:|---:|---:|\n"
        "| samples and empty calls: nothing chosen | 3 | %u | |\n"
        "| empty phase: nothing chosen | 1 | within the published spread | |\n"
        "| kernels with a published prologue: nothing chosen | %u | %u | |\n"
        "| kernels with a chosen prologue: fitted | %u | %u | see the notes |\n"
        "| matrix products, fitted too | %u | | %.2f %% |\n\n"
        "%u streams have a chosen prologue, one number each for all of a stream's sizes (those of\n"
        "layer normalisation and softmax in split rows also a number of supervisor instructions\n"
        "before a further launch, 1 to 4, and softmax three behind a launch: those of a matrix "
        "product\n"
        "that need each other, which cost time only where all workers have the same number of "
        "rows).\n"
        "A stream with one row therefore shows nothing; the test of the simulator is in\n"
        "[Slopes](#slopes), where no prologue enters.\n",
        around, counted, counted_exact, fitted, exact, gemm, worst, chosen);
}

/* Tables ----------------------------------------------------------------------------------------*/

static void print_notes(FILE *out, const Row *rows, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        const char *reason = rows[i].error ? rows[i].measurement->reason : NULL;
        bool seen = false;
        for (size_t j = first; j < i; j++)
            seen |= rows[j].error && rows[j].measurement->reason == reason;
        if (!reason || seen)
            continue;
        fprintf(out, "\n*%s", rows[i].measurement->stream->name);
        if (!is_gemm(&rows[i]))
            fprintf(out, ", %s", rows[i].measurement->shape);
        else
            fputs(" and the others", out);
        fprintf(out, ":* %s.\n", reason);
    }
}

static void print_family(FILE *out, const Row *rows, size_t first, size_t end) {
    fprintf(out, "\n### %s\n\n| Stream | Structure | Prologue |\n|---|---|---|\n",
            measurements[first].stream->family);
    bool gemm = is_gemm(&rows[first]);
    for (size_t i = first; i < end; i++) {
        const Stream *stream = measurements[i].stream;
        if (begins_stream(i))
            fprintf(out, "| %s | %s | %d %s, %s |\n", stream->name, stream->structure,
                    stream->prologue, gemm ? "supervisor cycles" : "bundles",
                    stream->origin == ORIGIN_CHOSEN ? "chosen" : "published");
    }
    fputs("\n| Stream | Size | Published | Simulated | Difference | |\n"
          "|---|---|---:|---:|---:|---:|\n",
          out);
    for (size_t i = first; i < end; i++) {
        const Measurement *m = &measurements[i];
        fprintf(out, "| %s | %s | %s | %s | %s | %+.2f %% |\n",
                begins_stream(i) || i == first ? m->stream->name : "", m->shape, number(m->cycles),
                number(rows[i].simulated), difference(rows[i].error), percent(&rows[i]));
    }
    print_notes(out, rows, first, end);
}

static void print_overheads(FILE *out) {
    Overheads found = overheads();
    fprintf(out,
            "\n### samples, empty calls, phases\n\nNothing is chosen here.\n\n"
            "| What | Published | Simulated |\n|---|---|---:|\n"
            "| between two samples in a row | %d, follows from the fits | %u |\n"
            "| call of 3 or 4 words, workers that only end, less the sample | %d, follows | %u |\n"
            "| the same with 5 or 6 words | %d, follows | %u |\n"
            "| exchange phase without messages, launch to the next sample | %d ... %d in twelve "
            "measurements, mean %d | %u |\n",
            CHIP_SAMPLE_CYCLES, found.samples, PUBLISHED_CALL_4, found.call_4, PUBLISHED_CALL_6,
            found.call_6, PUBLISHED_PHASE_LEAST, PUBLISHED_PHASE_MOST, CHIP_EXCHANGE_PHASE_OVERHEAD,
            found.phase);
}

static void print_slopes(FILE *out, const Row *rows) {
    unsigned count = 0, exact = 0;
    fputs("\n## Slopes\n\nDifferences between two sizes of one stream. The prologue drops out: "
          "what is compared\nfollows from published bundle counts and the slot model alone. Matrix "
          "products are left out,\nbecause their supervisor loop is part of every panel.\n\n"
          "| Stream | From | To | Published | Simulated | |\n|---|---|---|---:|---:|---|\n",
          out);
    for (size_t i = 1; i < measurement_count; i++) {
        if (begins_stream(i) || is_gemm(&rows[i]))
            continue;
        const Measurement *m = &measurements[i];
        long long published = (long long)m->cycles - (long long)m[-1].cycles;
        long long simulated = rows[i].simulated - rows[i - 1].simulated;
        count++;
        exact += published == simulated;
        fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", m->stream->name, m[-1].shape, m->shape,
                number(published), number(simulated),
                published == simulated ? "exact" : difference(simulated - published));
    }
    fprintf(out, "\n%u of %u are exact. What is not involves a row that has a note above.\n", exact,
            count);
}

/* Assumptions -----------------------------------------------------------------------------------*/

static bool decides_cycles(const char *name) {
    static const char *const names[] = {"WORKER_SLOTS",  "WORKER_BUNDLE",
                                        "SUP_",          "RUNALL_LATENCY",
                                        "EXIT_TO_",      "SYNC_",
                                        "SLOT_RETURN",   "CCCSLOAD_",
                                        "BANK_STALL",    "SLOTS_",
                                        "SAMPLE_",       "EXCHANGE_PHASE_OVERHEAD",
                                        "ROW_START",     "EXCHANGE_RECEIVE_PIPE",
                                        "EXCHANGE_BASE", "HOST_PHASE",
                                        "AMP_MODEL"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void print_assumptions(FILE *out) {
    fputs(
        "\n## What the simulator assumes\n\nThe constants that decide cycles, best evidence first. "
        "`tilework isa --evidence` lists all.\nNone was adjusted to make this page better.\n",
        out);
    size_t count;
    const ChipConstant *constants = chip_constants(&count);
    for (int evidence = 0; evidence < CHIP_EVIDENCE_COUNT; evidence++) {
        fprintf(out, "\n**%s**\n\n| Constant | Value | Meaning | Source |\n|---|---:|---|---|\n",
                chip_evidence_name((ChipEvidence)evidence));
        for (size_t i = 0; i < count; i++)
            if ((int)constants[i].evidence == evidence && decides_cycles(constants[i].name))
                fprintf(out, "| `%s` | %lld | %s | %s |\n", constants[i].name,
                        (long long)constants[i].value, constants[i].meaning, constants[i].source);
    }
}

typedef struct Variation {
    const char *name;
    Assumption assumption;
} Variation;

static const Variation variations[] = {
    {"launch 14 instead of 15", {.runall_latency = 14}},
    {"taken branch 9 instead of 8", {.taken_branch = 9}},
    {"join 5 instead of 6", {.exit_to_resume = 5}},
    {"9, 14 and 5 together", {.runall_latency = 14, .taken_branch = 9, .exit_to_resume = 5}},
};

static void print_variation(FILE *out, const Variation *variation, const Row *rows) {
    Row *moved = simulate_all(&variation->assumption);
    unsigned exact = 0, calls = 0;
    long long largest = 0;
    double largest_part = 0, gemm = 0, gemm_error = 0;
    for (size_t i = 0; i < measurement_count; i++) {
        long long move = moved[i].simulated - rows[i].simulated;
        double part = 100.0 * (double)llabs(move) / (double)rows[i].simulated;
        if (is_gemm(&rows[i])) {
            gemm = fmax(gemm, part);
            gemm_error = fmax(gemm_error, fabs(percent(&moved[i])));
            continue;
        }
        calls++;
        exact += moved[i].error == 0;
        largest_part = fmax(largest_part, part);
        largest = llabs(move) > largest ? llabs(move) : largest;
    }
    fprintf(out, "| %s | %s | %.2f %% | %u of %u | %.2f %% | %.2f %% | %u |\n", variation->name,
            number(largest), largest_part, exact, calls, gemm, gemm_error,
            sampled_empty_phase(&variation->assumption));
    mem_free(moved);
}

static void print_sensitivity(FILE *out, const Row *rows) {
    fputs(
        "\n## How far a result moves with an assumption\n\nAll rows above, simulated again with "
        "latencies at the other end of what the published timings\nallow, the chosen prologues as "
        "they are.\n\n"
        "| Assumption | Most cycles | Largest part | Still exact | Matrix products move | and are "
        "off "
        "by | Empty phase |\n|---|---:|---:|---:|---:|---:|---:|\n",
        out);
    print_variation(out, &(Variation){"none", as_it_is}, rows);
    for (size_t i = 0; i < COUNT_OF(variations); i++)
        print_variation(out, &variations[i], rows);
    unsigned phase = sampled_empty_phase(&as_it_is);
    Assumption less = {.sync_internal_cycles = CHIP_SYNC_INTERNAL_CYCLES - 30};
    Assumption more = {.sync_internal_cycles = CHIP_SYNC_INTERNAL_CYCLES + 30};
    fprintf(
        out,
        "\nThe published timings do not tell the three launch latencies apart: inside a call the\n"
        "last line cancels, and what moves is the sample around it, by 2 of 90 cycles. A cycle a\n"
        "launch shows as a step of the sampling, 6 cycles, or as several where a call launches "
        "once\n"
        "or more a row.\n\n"
        "**Barrier of all tiles.** The twelve published phases spread over 66 cycles; the "
        "barrier is\n"
        "set so that an empty phase has their mean. 30 cycles less or more make the empty "
        "phase %u or\n"
        "%u instead of %u, and every program longer or shorter by 30 cycles a phase.\n",
        sampled_empty_phase(&less), sampled_empty_phase(&more), phase);
}

static void print_amp(FILE *out) {
    fputs("\n**AMP model.** No cycles depend on it, values might. The simulator sums the products "
          "of an\n"
          "instruction and the accumulator exactly and rounds once to F32. The alternative aligns "
          "them\n"
          "to the largest, keeps 33 bits and cuts off the rest. Products of normal values "
          "(weights\ndivided by the root of the inner dimension), panels as the kernels take "
          "them:\n\n"
          "| Operands | Size | F32 sums that differ | by at most | F16 results that differ | "
          "Largest error, "
          "exact | aligned |\n|---|---|---:|---:|---:|---:|---:|\n",
          out);
    static const unsigned inner[] = {1152, 4320};
    for (int f8 = 0; f8 < 2; f8++)
        for (size_t i = 0; i < COUNT_OF(inner); i++) {
            AmpComparison c = amp_compare(f8, inner[i]);
            fprintf(out, "| %s | %u x %u x %u | %.2f %% | %.1e | %.2f %% | %.5f | %.5f |\n",
                    f8 ? "FP8 F143, scale -4" : "F16", c.rows, c.inner, c.columns,
                    100 * c.sums_share, c.sums_largest, 100 * c.share, c.error[0], c.error[1]);
        }
}

/* The page --------------------------------------------------------------------------------------*/

static const char introduction[] =
    "# How accurate the simulated cycles are\n\n"
    "This page is generated by `./dev accuracy`; a test fails when it is out of date. It puts "
    "every\n"
    "published timing of ipu-stack's kernels whose bundle structure is described in public beside "
    "a\n"
    "bundle stream of that structure, run on the simulator between two samples of the cycle "
    "counter,\n"
    "as the published timings were taken.\n\n"
    "A stream has the loops, the work split and the launches of the kernel; its bundles do "
    "nothing,\n"
    "since only their number and order decide the cycles. What is not described is the prologue:\n"
    "loading arguments, working out a worker's share. Where its bundles are published they stand "
    "in\n"
    "the stream; elsewhere a number is *chosen*, the same for all sizes, so that the fixed part "
    "of\n"
    "the time is met; bundles a row or a panel are those of the published formulas. Such rows are\n"
    "*fitted* and counted apart. Published times have a resolution of 6 cycles, since the "
    "sampling\n"
    "worker reads the counter in its own slot.\n\n";

/* Rows that may not differ must not, and the others have a bound. */
static void demand(const Row *rows) {
    for (size_t i = 0; i < measurement_count; i++) {
        const Measurement *m = rows[i].measurement;
        if ((rows[i].error != 0 && !m->reason) ||
            (is_gemm(&rows[i]) && fabs(percent(&rows[i])) > 1.2)) {
            fprintf(stderr, "%s, %s: published %u, simulated %lld\n", m->stream->name, m->shape,
                    m->cycles, rows[i].simulated);
            exit(1);
        }
    }
    Overheads found = overheads();
    if (found.samples != CHIP_SAMPLE_CYCLES || found.call_4 != PUBLISHED_CALL_4 ||
        found.call_6 != PUBLISHED_CALL_6 || found.phase < PUBLISHED_PHASE_LEAST ||
        found.phase > PUBLISHED_PHASE_MOST) {
        fprintf(stderr, "samples %u, empty calls %u and %u, empty phase %u\n", found.samples,
                found.call_4, found.call_6, found.phase);
        exit(1);
    }
}

void document_write(FILE *out) {
    Row *rows = simulate_all(&as_it_is);
    demand(rows);
    fputs(introduction, out);
    print_summary(out, rows);
    fputs("\n## Measurements\n", out);
    for (size_t first = 0, end; first < measurement_count; first = end) {
        end = first + 1;
        while (end < measurement_count &&
               strcmp(measurements[end].stream->family, measurements[first].stream->family) == 0)
            end++;
        print_family(out, rows, first, end);
    }
    print_overheads(out);
    print_slopes(out, rows);
    print_assumptions(out);
    print_sensitivity(out, rows);
    print_amp(out);
    mem_free(rows);
}
