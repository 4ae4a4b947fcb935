/* One layer of so400m shapes: Hessians, reconstruction and the whole layer, medians of five. The
 * same recipe in NumPy is bench/quant_numpy.py; bench/quant_numpy.sh runs both side by side. usage:
 * bench_quant [FOLDER]: a model and its images.safetensors; without it they are made in a temporary
 * folder. bench_quant --generate FOLDER only makes them. bench_quant --paced FOLDER makes the next
 * measurement when it reads a line, and answers with the seconds; last, with the weighted error. */
#include "base/mem.h"
#include "base/progress.h"
#include "quant/generate.h"
#include "quant/solve.h"
#include "quant/task.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 5, IMAGES = 3, SITES = 4 };

typedef struct Bench {
    Task task;
    Pool *pool;
    TaskSamples sources;
    NetSample samples[IMAGES];
    float *inputs[SITES][IMAGES]; /* what the sites see */
    float *streams[IMAGES];       /* what enters the layer */
    int image;
    Stats stats[SITES];
    double ratio;
} Bench;

static void need(bool done, const char *what) {
    if (!done) {
        fprintf(stderr, "%s fails\n", what);
        exit(1);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double times[RUNS]) {
    qsort(times, RUNS, sizeof *times, compare);
    return times[RUNS / 2];
}

static Status keep(void *context, uint32_t site, const float *x, uint32_t rows) {
    Bench *b = context;
    size_t count = (size_t)rows * b->task.net.sites.items[site].inputs;
    b->inputs[site][b->image] = mem_alloc(count, sizeof *x);
    need(b->inputs[site][b->image], "memory");
    memcpy(b->inputs[site][b->image], x, count * sizeof *x);
    return STATUS_OK;
}

static Status observe(void *context, uint32_t site, const float *x, uint32_t rows) {
    Bench *b = context;
    bool no_memory;
    need(stats_add(&b->stats[site], b->task.net.blas, b->pool, x, rows, &no_memory), "statistics");
    return STATUS_OK;
}

static void clear(Bench *b) {
    for (int site = 0; site < SITES; site++)
        stats_clear(&b->stats[site]);
}

static double hessians(Bench *b) {
    clear(b);
    double begin = clock_seconds();
    for (b->image = 0; b->image < IMAGES; b->image++)
        for (uint32_t site = 0; site < SITES; site++)
            observe(b, site, b->inputs[site][b->image], b->samples[b->image].rows);
    for (uint32_t site = 0; site < SITES; site++)
        stats_fold(&b->stats[site]);
    return clock_seconds() - begin;
}

/* Scales, column loop and bias correction of all six, from factors that are there. */
static double solve(Bench *b, const Factor *factors) {
    Net *net = &b->task.net;
    SolveOptions options = {.damp = 0.01, .bias_correction = true};
    double begin = clock_seconds(), nearest = 0, reconstructed = 0;
    for (size_t i = 0; i < net->linears.count; i++) {
        const NetLinear *linear = &net->linears.items[i];
        Solved solved;
        need(solve_linear(&factors[linear->site], &options, b->pool, linear->outputs,
                          net->params.items[linear->weight].values,
                          net->params.items[linear->bias].values, SOLVE_FREE, &solved,
                          NULL) == STATUS_OK,
             "reconstruction");
        nearest += solved.nearest;
        reconstructed += solved.reconstructed;
        solved_free(&solved);
    }
    b->ratio = reconstructed / nearest;
    return clock_seconds() - begin;
}

static double factor(Bench *b, Factor *factors) {
    SolveOptions options = {.damp = 0.01};
    double begin = clock_seconds();
    for (uint32_t site = 0; site < SITES; site++)
        need(factor_make(&b->stats[site], &options, b->task.net.blas, b->pool, &factors[site],
                         NULL) == STATUS_OK,
             "factorization");
    return clock_seconds() - begin;
}

static size_t stream_bytes(const Bench *b, const NetSample *sample) {
    return (size_t)b->task.net.buffers.items[SIGLIP_STREAM].width * sample->rows * sizeof(float);
}

static void rewind_streams(Bench *b) {
    for (int i = 0; i < IMAGES; i++)
        memcpy(b->samples[i].buffers[SIGLIP_STREAM], b->streams[i],
               stream_bytes(b, &b->samples[i]));
}

static double forward(Bench *b, bool statistics) {
    rewind_streams(b);
    NetRun run = {.observe = statistics ? observe : NULL, .context = b};
    double begin = clock_seconds();
    for (int i = 0; i < IMAGES; i++)
        need(net_run(&b->task.net, 1, &b->samples[i], &run, NULL) == STATUS_OK, "forward pass");
    for (uint32_t site = 0; site < SITES && statistics; site++)
        stats_fold(&b->stats[site]);
    return clock_seconds() - begin;
}

static double layer(Bench *b) {
    Factor factors[SITES];
    clear(b);
    double begin = clock_seconds();
    forward(b, true);
    factor(b, factors);
    solve(b, factors);
    double seconds = clock_seconds() - begin;
    for (int site = 0; site < SITES; site++)
        factor_free(&factors[site]);
    return seconds;
}

static void open_bench(Bench *b, const char *folder) {
    Diag diag = {0};
    char *images = mem_printf("%s/images.safetensors", folder);
    const char *path = images;
    b->pool = pool_create(0);
    bool opened = task_open(folder, &(TaskLinears){0}, &b->task, &diag) == STATUS_OK &&
                  task_list(&b->task, &path, 1, &b->sources, &diag) == STATUS_OK &&
                  b->sources.count >= IMAGES &&
                  net_prepare(&b->task.net, b->pool, b->sources.most_rows, &diag) == STATUS_OK &&
                  net_load(&b->task.net, 0, NULL, &diag) == STATUS_OK &&
                  net_load(&b->task.net, 1, NULL, &diag) == STATUS_OK;
    NetRun plain = {0}, keeping = {.observe = keep, .context = b, .sites_only = true};
    for (int i = 0; i < IMAGES && opened; i++) {
        b->image = i;
        opened = net_sample_make(&b->task.net, "image", b->sources.most_rows, &b->samples[i],
                                 &diag) == STATUS_OK &&
                 task_load(&b->task, &b->sources.items[i], &b->samples[i], &diag) == STATUS_OK &&
                 net_run(&b->task.net, 0, &b->samples[i], &plain, &diag) == STATUS_OK;
        size_t bytes = opened ? stream_bytes(b, &b->samples[i]) : 0;
        opened = opened && (b->streams[i] = mem_alloc(bytes, 1));
        if (opened)
            memcpy(b->streams[i], b->samples[i].buffers[SIGLIP_STREAM], bytes);
        opened = opened && net_run(&b->task.net, 1, &b->samples[i], &keeping, &diag) == STATUS_OK;
    }
    diag_print(&diag, stderr);
    need(opened, "opening the model");
    for (int site = 0; site < SITES; site++)
        need(stats_make(&b->stats[site], b->task.net.sites.items[site].inputs, 64, false),
             "memory");
    mem_free(images);
}

static void generate(const char *folder) {
    SiglipConfig config = siglip_so400m;
    config.layers = 1;
    need(generate_model(&config, folder, IMAGES, NULL) == STATUS_OK, "generating the model");
}

static double solve_only(Bench *b) {
    Factor factors[SITES];
    factor(b, factors);
    double seconds = solve(b, factors);
    for (int site = 0; site < SITES; site++)
        factor_free(&factors[site]);
    return seconds;
}

static double forward_only(Bench *b) {
    return forward(b, false);
}

static double (*const measurements[])(Bench *) = {hessians, solve_only, forward_only, layer};
#define MEASUREMENTS COUNT_OF(measurements)

static void run_paced(Bench *b) {
    for (size_t run = 0; run <= RUNS * MEASUREMENTS; run++) {
        need(getchar() == '\n', "reading a line");
        printf("%.6f\n",
               run < RUNS * MEASUREMENTS ? measurements[run % MEASUREMENTS](b) : b->ratio);
        fflush(stdout);
    }
}

static void run_all(Bench *b) {
    double times[MEASUREMENTS][RUNS];
    for (int run = 0; run < RUNS; run++)
        for (size_t m = 0; m < MEASUREMENTS; m++)
            times[m][run] = measurements[m](b);
    printf("threads %u, %d images of %u rows\n", pool_threads(b->pool), IMAGES, b->samples[0].rows);
    printf("hessian %.4f\nscales_and_columns %.4f\nforward %.4f\nlayer %.4f\nratio %.5f\n",
           median(times[0]), median(times[1]), median(times[2]), median(times[3]), b->ratio);
}

int main(int argc, char **argv) {
    Bench b = {0};
    char made[] = "/tmp/bench-quant-XXXXXX", *folder = NULL;
    if (argc == 3 && strcmp(argv[1], "--generate") == 0) {
        generate(argv[2]);
        return 0;
    }
    if (argc < 2) {
        need(mkdtemp(made), "a temporary folder");
        folder = mem_printf("%s/model", made);
        generate(folder);
    }
    bool paced = argc == 3 && strcmp(argv[1], "--paced") == 0;
    open_bench(&b, argc < 2 ? folder : argv[argc - 1]);
    (paced ? run_paced : run_all)(&b);
    static const char *const files[] = {"config.json", "model.safetensors", "images.safetensors"};
    for (size_t i = 0; folder && i < COUNT_OF(files); i++) {
        char *path = mem_printf("%s/%s", folder, files[i]);
        unlink(path);
        mem_free(path);
    }
    if (folder) {
        rmdir(folder);
        rmdir(made);
    }
    mem_free(folder);
    return 0;
}
